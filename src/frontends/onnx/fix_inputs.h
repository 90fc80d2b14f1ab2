// What the user says about the inputs of an ONNX model before it is loaded: loading computes all that follows from
// sizes and from constants, down to which branch of an `If` is left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "formats/onnx/onnx.h"
#include "frontends/shapes.h"

namespace isthmus {

// In order; nothing where an input's sizes are open.
using SizesOfInputs = std::vector<std::optional<std::vector<std::int64_t>>>;

struct InputRequest {
  ShapeRequest shapes = {};
  std::map<std::string, std::vector<double>> constants = {};  // by name of an input
  SizesOfInputs sizes = {};  // of what the model runs on; what does not fit is said when it runs
};

// Sizes become numbers wherever their names stand, and inputs become initializers. Inputs are counted without those
// that become constants. Sizes that are numbers already are compared later, with the graph's.
Expected<void> fix_inputs(onnx::Model& model, const InputRequest& request, Diagnostics& diagnostics);

}  // namespace isthmus
