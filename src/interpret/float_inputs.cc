// Quantizes what the graph wants quantized.
#include "interpret/float_inputs.h"

#include "interpret/integer.h"

namespace isthmus {

std::vector<Tensor> quantized_inputs(const Graph& graph, std::span<const Tensor> sample) {
  std::vector<Tensor> result(sample.begin(), sample.end());
  for (std::size_t i = 0; i < result.size() && i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    if (type.quant && result[i].dtype() == DType::kF32) result[i] = quantized_tensor(result[i], type);
  }
  return result;
}

}  // namespace isthmus
