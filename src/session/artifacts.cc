// TOSA graphs as files and as text.
#include "session/artifacts.h"

#include <fmt/format.h>

#include <span>

#include "formats/tosa/tosa.h"
#include "formats/tosa/tosa_mlir.h"

namespace isthmus {

const ArtifactKind kTosaFile{
    .flag = "--emit-tosa", .ending = "tosa", .make = [](const Blob& delegate) -> Expected<Blob> { return delegate; }};
const ArtifactKind kMlirFile{
    .flag = "--emit-mlir", .ending = "mlir", .make = [](const Blob& delegate) -> Expected<Blob> {
      const std::string text = tosa::to_mlir(TRY(tosa::read_graph(delegate)));
      const auto bytes = std::as_bytes(std::span(text));
      return Blob::owning(std::vector<std::byte>(bytes.begin(), bytes.end()));
    }};

Expected<std::vector<Blob>> make_artifacts(const ArtifactKind& kind, const Compiled& compiled,
                                           std::string_view target) {
  std::vector<Blob> artifacts;
  for (const DelegateSummary& delegate : compiled.delegates) {
    if (!tosa::looks_like_graph(delegate.blob)) {
      return bad_input(fmt::format("{}: delegates for {} hold no TOSA graphs", kind.flag, target));
    }
    artifacts.push_back(TRY(kind.make(delegate.blob)));
  }
  return artifacts;
}

}  // namespace isthmus
