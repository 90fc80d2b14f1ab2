// Converts between floats and what a program takes and gives.
#include "session/io_quant.h"

#include <algorithm>
#include <utility>

#include "evaluate/layer_errors.h"
#include "formats/executorch/io_params.h"
#include "formats/executorch/pte.h"
#include "interpret/integer.h"

namespace isthmus {
namespace {

std::optional<TensorType> type_of(const std::optional<pte::IoParams>& params) {
  if (!params) return std::nullopt;
  Quant quant;
  quant.scales = {static_cast<float>(params->scale)};
  quant.zero_point = static_cast<std::int32_t>(params->zero_point);
  return TensorType{params->dtype, {}, quant};
}

}  // namespace

bool IoQuant::is_empty() const {
  const auto has = [](const std::optional<TensorType>& type) { return type.has_value(); };
  return std::ranges::none_of(inputs, has) && std::ranges::none_of(outputs, has);
}

Expected<IoQuant> io_quant_of(const Blob& program, std::size_t inputs, std::size_t outputs) {
  const pte::Program read = TRY(pte::read_program(program));
  IoQuant result;
  for (std::size_t i = 0; i < inputs; ++i) {
    result.inputs.push_back(type_of(find_io_params(read, pte::IoSide::kInput, i)));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    result.outputs.push_back(type_of(find_io_params(read, pte::IoSide::kOutput, i)));
  }
  return result;
}

bool quantize_inputs(const IoQuant& quant, std::vector<Tensor>& inputs) {
  bool has_any = false;
  for (std::size_t i = 0; i < inputs.size() && i < quant.inputs.size(); ++i) {
    if (!quant.inputs[i] || inputs[i].dtype() != DType::kF32) continue;
    inputs[i] = quantized_tensor(inputs[i], *quant.inputs[i]);
    has_any = true;
  }
  return has_any;
}

void dequantize_outputs(const IoQuant& quant, std::vector<std::optional<Tensor>>& outputs) {
  for (std::size_t i = 0; i < outputs.size() && i < quant.outputs.size(); ++i) {
    if (!outputs[i] || !quant.outputs[i] || outputs[i]->dtype() != quant.outputs[i]->dtype) continue;
    const std::vector<float> numbers = dequantized(*outputs[i], *quant.outputs[i]->quant);
    Tensor tensor(DType::kF32, outputs[i]->sizes());
    std::ranges::copy(numbers, tensor.mutable_data<float>().begin());
    outputs[i] = std::move(tensor);
  }
}

Runner with_float_io(Runner inner, IoQuant quant) {
  if (quant.is_empty()) return inner;
  return [inner = std::move(inner),
          quant = std::move(quant)](std::span<const Tensor> given) -> Expected<std::vector<std::optional<Tensor>>> {
    std::vector<Tensor> inputs(given.begin(), given.end());
    quantize_inputs(quant, inputs);
    auto outputs = TRY(inner(inputs));
    dequantize_outputs(quant, outputs);
    return outputs;
  };
}

}  // namespace isthmus
