// The hash of the text form.
#include "ir/fingerprint.h"

#include <xxhash.h>

#include "ir/text.h"

namespace isthmus {

std::uint64_t fingerprint(const Graph& graph, std::uint32_t version) {
  TextOptions options;
  options.with_origins = false;
  const std::string text = print(graph, options);
  return XXH3_64bits_withSeed(text.data(), text.size(), version);
}

}  // namespace isthmus
