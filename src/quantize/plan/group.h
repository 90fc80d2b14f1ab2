// Ties between values, the cuts of some of them, and the groups that share parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "stats/range.h"

namespace isthmus {

// A node asks one of its inputs to have the parameters of its result.
struct Tie {
  NodeId node;
  std::size_t input = 0;
  auto operator<=>(const Tie&) const = default;
};

enum class CutCause : std::uint8_t {
  kPrecision,  // other readers of the value, or of what is tied to it, would lose bits
  kPins,       // fixed parameters disagree
  kRatio,      // the device has no such ratio of scales
  kStorage,    // quantized values of another width
};

// A tie that is met by a rescale on this edge instead.
struct Cut {
  Tie tie;
  CutCause cause = CutCause::kPrecision;
  double bits = 0;          // what would be lost without it
  std::uint64_t bytes = 0;  // its cost: one pass over this many bytes
  std::string because;      // a sentence
};

struct Member {
  ValueId value;
  Range own;             // what it would have alone; [0, 0] where nothing is known
  double bits_lost = 0;  // log2 of the group's range over its own
};

// Values with one set of parameters.
struct Group {
  std::vector<Member> members;  // by ValueId
  std::vector<ValueId> held;    // of other groups: rescaled to this one for an op that computes, which must not clip
  std::vector<Tie> ties;        // what brought them together
  Range range;
  DType storage = DType::kI8;
  Quant quant;
  std::optional<ValueId> pin;  // the member whose parameters, given by the model, are those of all
};

}  // namespace isthmus
