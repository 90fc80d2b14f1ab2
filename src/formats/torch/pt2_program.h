// The exported program: graph, signature and symbols, from the JSON text of any torch.export archive.
#pragma once

#include <string_view>

#include "base/expected.h"
#include "formats/torch/pt2.h"

namespace isthmus::pt2 {

// Names are not checked here: whether they are defined, unique and in order is for the reader of the program to say.
Expected<Program> read_program(std::string_view json_text);

}  // namespace isthmus::pt2
