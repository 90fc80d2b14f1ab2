// What quantization does to each value of a model.
#pragma once

#include <vector>

#include "base/expected.h"
#include "calibrate/samples.h"
#include "evaluate/evaluate.h"
#include "quantize/apply/apply.h"
#include "quantize/plan/plan.h"
#include "targets/target.h"

namespace isthmus {

struct ValueError {
  ValueId value;           // of the model in float
  SignalToNoise total;     // of the quantized model's number against the model's: what all layers before lost, too
  SignalToNoise rounding;  // of the model's number in the parameters of its group
  SignalToNoise alone;     // of the model's number in parameters of its own: what sharing costs is the difference
};

// Of every value that is quantized, and of every result of quantized weights in float, which nothing rounds, in
// execution order, over at most `most` samples. Both graphs are interpreted.
Expected<std::vector<ValueError>> layer_errors(const Graph& model, const Quantized& quantized, const QuantPlan& plan,
                                               const TargetDesc& target, Samples& samples, std::size_t max);

// The numbers that quantized values stand for.
std::vector<float> dequantized(const Tensor& quantized, const Quant& quant);

}  // namespace isthmus
