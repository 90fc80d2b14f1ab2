// Opens model and program files; what they are is told by content.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/diag.h"
#include "base/expected.h"
#include "formats/onnx/onnx.h"
#include "formats/torch/pt2.h"
#include "frontends/model.h"
#include "frontends/onnx/fix_inputs.h"
#include "session/file_kind.h"
#include "session/stage.h"

namespace isthmus {

// A file and what it is.
struct OpenFile {
  std::string path;
  Blob bytes;
  FileKind kind;
};
Expected<OpenFile> open_file(const std::string& path);

struct OpenModel {
  std::string path;
  Blob bytes;            // of the file
  pt2::Archive archive;  // empty where the file is of ONNX
  std::optional<onnx::Model> onnx;
  Model model;
  std::map<std::string, std::vector<double>> constants;  // inputs that were asked to be these
  Diagnostics diagnostics;                               // what reading it had to say
  std::vector<StageTime> times;                          // of `load`
};

// Errors name the file. What is asked of inputs is heeded where loading depends on it, which it does for ONNX; only
// there inputs can be made constants.
Expected<OpenModel> open_model(const OpenFile& file, const InputRequest& request = {});
Expected<OpenModel> open_model(const std::string& path, const InputRequest& request = {});

}  // namespace isthmus
