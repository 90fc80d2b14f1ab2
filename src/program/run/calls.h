// What a call of a program is, for those who read the program without running it.
#pragma once

#include <string>

#include "formats/executorch/pte.h"

namespace isthmus::run {

// The kernel's name with its overload.
std::string kernel_of(const pte::Plan& plan, const pte::KernelCall& call);

// Whether the call stands at a model input or output and only converts: it converts an input, an output or a state
// between numbers and quantized values, or copies to a state.
bool is_io_call(const pte::Plan& plan, const pte::KernelCall& call);

}  // namespace isthmus::run
