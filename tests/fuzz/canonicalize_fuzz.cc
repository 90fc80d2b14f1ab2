// Reads arbitrary text as a graph and canonicalizes it: hostile names, arguments, shapes and symbols.
#include <span>

#include "ir/text.h"
#include "transforms/canonicalize/canonicalize.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = isthmus::parse_graph(text);
  if (!graph) return 0;
  isthmus::Diagnostics diagnostics;
  const auto canonical = isthmus::canonicalize(*graph, diagnostics);
  if (!canonical) {
    if (canonical.error().text().empty()) __builtin_trap();
    return 0;
  }
  const auto again = isthmus::canonicalize(*canonical, diagnostics);
  if (!again || isthmus::print(*again) != isthmus::print(*canonical)) __builtin_trap();
  return 0;
}
