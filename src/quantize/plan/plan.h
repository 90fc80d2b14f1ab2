// Who shares parameters with whom, and which they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/diag.h"
#include "base/reason.h"
#include "ir/graph.h"
#include "quantize/config/config.h"
#include "quantize/config/pins.h"
#include "quantize/plan/group.h"
#include "quantize/plan/precision.h"
#include "stats/statistics.h"
#include "targets/target.h"

namespace isthmus {

// Quantized values that one node alone reads: of constant data, or of a value in fewer bits than it has.
struct ReaderParams {
  DType storage = DType::kI8;
  Quant quant;
};

struct QuantPlan {
  std::vector<Precision> precision;                    // by node
  std::vector<PrecisionCause> causes;                  // by node: of its precision
  std::vector<std::optional<Reason>> reasons;          // by node in float: why the device has no integers for it
  std::vector<std::optional<std::uint32_t>> group_of;  // by value: of `groups`; nothing for what is not quantized
  std::vector<Group> groups;                           // by their first member
  std::vector<Cut> cuts;                               // by tie
  std::map<Tie, ReaderParams> constants;               // of constant data that no tie gives parameters to, by reader
  std::map<Tie, ReaderParams> narrowed;  // of values that a reader cannot take in as many bits as they have
  std::set<ValueId> quantized_states;    // the others are kept in float
  bool has_ranges = false;               // false: nothing is known of the numbers of some group
  std::vector<std::uint32_t> unknown;    // those groups
  Pins moved_pins;                       // pins that had to give way, and what they should be

  const Group* group(ValueId id) const { return group_of[id.index] ? &groups[*group_of[id.index]] : nullptr; }
};

// The code of the warning that some values of an archive that is quantized have no parameters there.
inline constexpr const char* kNotPinned = "not-pinned";

// The result does not depend on the order of any node's inputs, nor on the order of nodes. The model's own parameters
// are kept; where they disagree, ties are cut. Without statistics every other tie holds. Statistics must belong to the
// graph, and its pins must be settled.
Expected<QuantPlan> plan(const Graph& graph, const TargetDesc& target, const Statistics* statistics,
                         const QuantConfig& config, Diagnostics& diagnostics);

}  // namespace isthmus
