// Collects versions from where each is known.
#include "session/versions.h"

#include <fmt/format.h>

#include "base/version.h"
#include "formats/tosa/tosa.h"
#include "formats/versions.h"

namespace isthmus {

std::string versions_text() {
  const tosa::Version tosa;
  std::string text = fmt::format("isthmus {} (commit {})\n", version(), commit());
  text += fmt::format("XNNPACK {}\n", xnnpack_version());
  text += fmt::format(".pt2 of torch.export, schema {}\n", kTorchSchema);
  text += fmt::format(".onnx of opsets {} to {}\n", kFirstOpset, kLastOpset);
  text += fmt::format(".pte of ExecuTorch, {}\n", kProgramIdentifier);
  text += fmt::format(".tosa of TOSA {}.{}", tosa.major, tosa.minor);
  return text;
}

}  // namespace isthmus
