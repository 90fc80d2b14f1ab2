// Reads arbitrary bytes as an ONNX model, loads and canonicalizes it: hostile sizes, nesting, names and arguments.
#include <span>

#include "formats/onnx/onnx.h"
#include "frontends/onnx/load.h"
#include "transforms/canonicalize/canonicalize.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const isthmus::Blob file(std::as_bytes(std::span(data, size)), nullptr);
  (void)isthmus::onnx::looks_like_model(file);
  const auto none = [](const std::string&) -> isthmus::Expected<isthmus::Blob> {
    return isthmus::bad_input("no other files");
  };
  const auto model = isthmus::onnx::read_model(file, none);
  if (!model) {
    if (model.error().text().empty()) __builtin_trap();
    return 0;
  }
  isthmus::Diagnostics diagnostics;
  const auto loaded = isthmus::load(*model, diagnostics);
  if (!loaded) {
    if (loaded.error().text().empty()) __builtin_trap();
    return 0;
  }
  // What was loaded has types that its calls agree with.
  if (loaded->graph.nodes().size() < 256) (void)isthmus::canonicalize(loaded->graph, diagnostics);
  return 0;
}
