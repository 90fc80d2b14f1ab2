// What a file is, told by its content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/expected.h"

namespace isthmus {

enum class FileKind : std::uint8_t {
  kArchive,     // of torch.export (.pt2)
  kProgram,     // of the ExecuTorch runtime (.pte)
  kStatistics,  // of `isthmus calibrate` (.stats)
  kTosa,        // a graph in integers (.tosa)
  kEvaluation,  // of `isthmus eval` (.eval)
  kOnnx,        // a model of ONNX (.onnx)
};

// Files of these kinds. Their name decides only where the content tells nothing. What else users may have at hand (a
// checkpoint, TorchScript, TFLite, an empty file) is an error that says what it is and what to do.
Expected<FileKind> kind_of(const std::string& path, const Blob& bytes);

// "a program file (.pte)"
std::string_view name_of(FileKind kind);

}  // namespace isthmus
