// Convolutions and products that the readers of float and of quantized operators share.
#pragma once

#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {

// A convolution before it is written: over 1 to 3 axes, padding as ConvAttrs has it.
struct Window2d {
  ValueId input;
  ValueId weight;
  std::optional<ValueId> bias;
  Ints kernel = {};
  Ints stride = {};
  Ints padding = {};
  Ints dilation = {};
  std::int64_t groups = 1;
  bool is_transposed = false;
};

// Attributes of one number an axis.
Expected<Ints> per_axis(Call& call, std::string_view name, std::size_t spatial, std::int64_t otherwise);
// "pads" or "auto_pad" as pairs of before and after.
Expected<Ints> window_pads(Call& call, const Shape& input, const Ints& kernel, const Ints& stride,
                           const Ints& dilation);

// With the attributes of Conv.
Expected<ValueId> conv(Call& call, ValueId input, ValueId weight, std::optional<ValueId> bias);
// With the attributes of Gemm.
Expected<ValueId> gemm(Call& call, ValueId a, ValueId b, std::optional<ValueId> c);

}  // namespace isthmus::onnx_ops
