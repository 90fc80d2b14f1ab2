// Opening model and program files, for the commands that take one.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/diag.h"
#include "base/expected.h"
#include "formats/torch/pt2.h"
#include "frontends/model.h"

namespace isthmus {

enum class FileKind : std::uint8_t {
  kArchive,     // of torch.export (.pt2)
  kProgram,     // of the ExecuTorch runtime (.pte)
  kStatistics,  // of `isthmus calibrate` (.stats)
  kTosa,        // a graph in integers (.tosa)
};

// A file and what it is: by its content, and by its name only where the content is neither.
struct OpenFile {
  std::string path;
  Blob bytes;
  FileKind kind;
};
Expected<OpenFile> open_file(const std::string& path);

struct OpenModel {
  pt2::Archive archive;
  Model model;
};

// Errors name the file.
Expected<OpenModel> open_model(const OpenFile& file, Diagnostics& diagnostics);
Expected<OpenModel> open_model(const std::string& path, Diagnostics& diagnostics);

}  // namespace isthmus
