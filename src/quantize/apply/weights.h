// Quantized weights and biases of one layer.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "ir/graph.h"
#include "quantize/config/config.h"
#include "quantize/improve/input_moments.h"
#include "stats/statistics.h"
#include "targets/integers.h"

namespace isthmus {

// The largest difference between an int8 value and a zero point.
constexpr double kMaxInputDifference = 255;

struct LayerOptions {
  bool per_channel = true;
  // Scales that lose the least, and errors that balance in each window of an image, else scales that clip nothing.
  bool least_squares = true;
  // The mean of each channel of the input, where the bias is to make up for what rounding the weights does to it.
  std::optional<std::vector<double>> input_means;
  // Of the layer's input, where weights are to be rounded so that their errors cancel; null where they are not.
  const LayerMoments* moments = nullptr;
  // Channels without a bias get none: they take zeros to zeros, and what reads them may divide by their norm.
  bool keeps_zeros = false;
  // Of the device, for int8 inputs; null where it has none.
  const SumLimit* sums = nullptr;
  float result_scale = 0;  // 0: the result is in float

  bool operator==(const LayerOptions&) const = default;
};

struct QuantizedLayer {
  TensorView weights;
  Quant weight_quant;
  TensorView bias;
  Quant bias_quant;
  TensorView float_bias;  // the same before it was quantized
};

// The sum of the magnitudes of each output channel's weights, of floats or quantized values, and the number of these.
struct Magnitudes {
  std::vector<double> sums;
  double count = 0;
};
Magnitudes magnitudes_of(const Node& node, const TensorView& weights);

// The bias may be null: then it is zero but for what it makes up for. Quantized values are -127 .. 127. Scales per
// channel need an axis of the weights that numbers the output channels.
QuantizedLayer quantize_layer(const Node& node, const TensorView& weights, const TensorView* bias, float input_scale,
                              const LayerOptions& options);

// How much of the means of channels another sample would show again, from 0 to 1. Means of few numbers are mostly
// chance: of their average square, the variance within channels over the number of each channel's elements is.
double trust_in_means(const Moments& moments, const ChannelStatistics& channels);

}  // namespace isthmus
