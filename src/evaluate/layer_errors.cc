// Runs both graphs side by side.
#include "evaluate/layer_errors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "interpret/float_inputs.h"
#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "interpret/quantized_types.h"
#include "quantize/plan/parameters.h"
#include "quantize/plan/precision.h"

namespace isthmus {
namespace {

std::vector<float> rounded(std::span<const float> numbers, const Quant& quant, DType storage) {
  const float scale = quant.scale();
  const auto zero_point = static_cast<float>(quant.zero_point);
  const auto min = static_cast<float>(quantized_range(storage).min);
  const auto max = static_cast<float>(quantized_range(storage).max);
  std::vector<float> result;
  result.reserve(numbers.size());
  for (const float number : numbers) {
    const float q = std::clamp(std::nearbyint(number / scale) + zero_point, min, max);
    result.push_back((q - zero_point) * scale);
  }
  return result;
}

}  // namespace

std::vector<float> dequantized(const Tensor& quantized, const Quant& quant) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(quantized.count()));
  dispatch(quantized.dtype(), [&]<class Number>(Number) {
    for (const Number q : quantized.data<Number>()) {
      result.push_back(
          static_cast<float>(static_cast<double>(quant.scale()) * (static_cast<double>(q) - quant.zero_point)));
    }
  });
  return result;
}

Expected<std::vector<ValueError>> layer_errors(const Graph& model, const Quantized& quantized, const QuantPlan& plan,
                                               const TargetDesc& target, Samples& samples, std::size_t max) {
  const Graph& graph = quantized.graph;
  std::map<ValueId, ValueError> errors;
  std::map<ValueId, Quant> own;
  for (const Group& group : plan.groups) {
    for (const Member& member : group.members) own.try_emplace(member.value, parameters_of(member.own, group.storage));
  }
  // Of several values that stand for one of the model's, the first is what its maker made.
  std::map<ValueId, ValueId> made_as;
  const auto is_of_rows = [&](ValueId source) {
    if (plan.group(source) != nullptr || model.producer(source) == nullptr) return false;
    return plan.precision[model[source].index] == Precision::kRows;
  };
  for (std::uint32_t i = 0; i < quantized.source.size(); ++i) {
    const auto& source = quantized.source[i];
    if (!source) continue;
    const bool is_rounded = graph.type(ValueId{i}).quant && plan.group(*source) != nullptr;
    if (is_rounded || is_of_rows(*source)) made_as.try_emplace(*source, ValueId{i});
  }
  // What stands before a fused clamp is never seen; its quantized values may be saturated.
  const std::vector<bool> is_fused = fused_clamps(model, target);
  for (std::size_t n = 0; n < model.nodes().size(); ++n) {
    if (is_fused[n] && plan.precision[n] == Precision::kQuantized) made_as.erase(model.nodes()[n].inputs[0]);
  }
  StateValues in_float = TRY(initial_states(model));
  StateValues is_quantized = TRY(initial_states(graph));
  IntegerInterpreter interpreter(graph, *target.integers.kernels);
  for (std::size_t done = 0; done < max; ++done) {
    const auto sample = TRY(samples.next());
    if (!sample) break;
    std::map<ValueId, Tensor> reference;
    const auto note = [&](ValueId id, const Tensor& tensor) {
      if (made_as.contains(id)) reference[id] = tensor;
    };
    TRY(interpret(model, *sample, note, &in_float));
    const auto compare = [&](ValueId id, const Tensor& tensor) {
      const auto& source = quantized.source[id.index];
      if (!source) return;
      const auto place = made_as.find(*source);
      const auto wanted = reference.find(*source);
      if (place == made_as.end() || place->second != id || wanted == reference.end()) return;
      const auto numbers = wanted->second.data<float>();
      ValueError& error = errors.try_emplace(*source, ValueError{*source, {}, {}, {}}).first->second;
      if (!graph.type(id).quant) {
        error.total.add(numbers, tensor.data<float>());
        return;
      }
      const Group& group = *plan.group(*source);
      error.total.add(numbers, dequantized(tensor, *graph.type(id).quant));
      error.rounding.add(numbers, rounded(numbers, group.quant, group.storage));
      error.alone.add(numbers, rounded(numbers, own.at(*source), group.storage));
    };
    TRY(interpreter.run(quantized_inputs(graph, *sample), compare, &is_quantized));
  }
  std::vector<ValueError> result;
  for (const auto& [value, error] : errors) result.push_back(error);
  return result;
}

}  // namespace isthmus
