// Where each node of a graph runs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/reason.h"
#include "ir/graph.h"
#include "targets/layout.h"

namespace isthmus {

struct Partitioning {
  // By node: the segment that it belongs to, or why it stays on the host.
  std::vector<std::variant<std::size_t, Reason>> place;
  std::vector<Segment> segments;  // in the order in which they run
  // What runs, in order: whole segments by number, and single nodes of the host.
  std::vector<std::variant<std::size_t, NodeId>> schedule;
};

// "xnnpack:0"
std::string segment_name(std::string_view target, std::size_t segment);

// For each node the end of its line in the text form: "  |xnnpack:0", "  |host dtype".
std::vector<std::string> notes_of(const Partitioning& partitioning, std::string_view target);

}  // namespace isthmus
