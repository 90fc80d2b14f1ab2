// Opening a model file, for the commands that take one.
#pragma once

#include <string>

#include "base/diag.h"
#include "base/expected.h"
#include "formats/pt2.h"
#include "load/load.h"

namespace isthmus {

struct OpenModel {
  pt2::Archive archive;
  Model model;
};

// Errors name the file.
Expected<OpenModel> open_model(const std::string& path, Diagnostics& diagnostics);

}  // namespace isthmus
