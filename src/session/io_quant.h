// The quantization parameters of a program's inputs and outputs, as its file tells them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "evaluate/evaluate.h"
#include "interpret/tensor.h"
#include "ir/types.h"

namespace isthmus {

// By input and by output; nothing for those that are not quantized.
struct IoQuant {
  std::vector<std::optional<TensorType>> inputs, outputs;

  bool is_empty() const;
};

Expected<IoQuant> io_quant_of(const Blob& program, std::size_t inputs, std::size_t outputs);

// Floats for quantized inputs are quantized; tells whether there were any.
bool quantize_inputs(const IoQuant& quant, std::vector<Tensor>& inputs);
// Quantized outputs as floats.
void dequantize_outputs(const IoQuant& quant, std::vector<std::optional<Tensor>>& outputs);

// A runner that takes floats and gives floats.
Runner with_float_io(Runner inner, IoQuant quant);

}  // namespace isthmus
