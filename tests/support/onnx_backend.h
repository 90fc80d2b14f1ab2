// A test of ONNX's own: a model with recorded inputs and outputs, as a folder of ONNX's backend tests has it.
#pragma once

#include <filesystem>
#include <string>

namespace isthmus::test {

struct OnnxOutcome {
  std::string interpreter;  // "agrees", or what does not
  std::string program;      // of a float program on XNNPACK; "-" where there is none
};
// As few inputs are bound to their recorded data as will do: operands that real models have as constants.
OnnxOutcome onnx_outcome(const std::filesystem::path& folder);

}  // namespace isthmus::test
