// Arrays that a user gives to a program, against the inputs that it has.
#pragma once

#include <span>
#include <string>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "program/run/method.h"

namespace isthmus {

// Says of the first array that does not fit what the input takes, and what would make it fit. The arrays come from
// files of these names.
Expected<void> check_inputs(std::span<const run::TensorInfo> inputs, std::span<const Tensor> arrays,
                            std::span<const std::string> files);

}  // namespace isthmus
