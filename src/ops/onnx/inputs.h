// Calls of ONNX have inputs by position. Their rows in the op table name them.
#pragma once

#include <string_view>

namespace isthmus {

// "X W B": the names of an operator's inputs in order, in words; empty for unknown operators. A last word that ends in
// "..." stands for all that are left. The target as a call has it: "onnx.Conv.17".
std::string_view onnx_inputs(std::string_view target);

}  // namespace isthmus
