// Partitionings in words.
#include "targets/partitioning.h"

#include <fmt/format.h>

namespace isthmus {

std::string segment_name(std::string_view target, std::size_t segment) { return fmt::format("{}:{}", target, segment); }

std::vector<std::string> notes_of(const Partitioning& partitioning, std::string_view target) {
  std::vector<std::string> notes;
  for (const auto& place : partitioning.place) {
    const auto* segment = std::get_if<std::size_t>(&place);
    notes.push_back(segment != nullptr ? "  |" + segment_name(target, *segment)
                                       : fmt::format("  |host {}", code_text(std::get<Reason>(place).code)));
  }
  return notes;
}

}  // namespace isthmus
