// A TOSA graph as text for people with MLIR's tools.
#pragma once

#include <string>

#include "formats/tosa/tosa.h"

namespace isthmus::tosa {

// A graph that `verify` accepts, in MLIR's `tosa` dialect (of version 1.0, as LLVM 22 has it): a function `main`.
// Equal graphs give equal text.
std::string to_mlir(const Graph& graph);

}  // namespace isthmus::tosa
