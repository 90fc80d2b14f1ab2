#include "report/part.h"

#include <fmt/format.h>

namespace isthmus {

std::string to_text(const Manifest& part) {
  std::string shards;
  for (const Manifest::Part& row : part.parts)
    shards += fmt::format("{}{}", shards.empty() ? "" : ", ", text_of(row.shard));
  std::string out = fmt::format("  part: {} of {} samples", part.known_samples(), part.samples);
  if (part.parts.size() == 1)
    return fmt::format("{}, from sample {} on, shard {}\n", out, part.range_of(part.parts[0]).begin, shards);
  return fmt::format("{}, shards {}\n", out, shards);
}

}  // namespace isthmus
