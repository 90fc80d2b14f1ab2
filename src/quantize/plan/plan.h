// Who shares parameters with whom, and which they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/reason.h"
#include "ir/graph.h"
#include "quantize/config/config.h"
#include "quantize/config/pins.h"
#include "stats/range.h"
#include "stats/statistics.h"
#include "targets/target.h"

namespace isthmus {

enum class Precision : std::uint8_t {
  kFloat,
  kRows,  // floats in and out, quantized weights; the device quantizes each row dynamically
  kQuantized,
};

// Why a node has its precision.
enum class PrecisionCause : std::uint8_t {
  kNoReals,       // its numbers are not floats in the model either
  kNoIntegers,    // the device has no integer form of it; the plan has the reason
  kStep,          // a step of something that loses too much in integers
  kWanted,        // the user's configuration keeps it in float
  kFront,         // one of the first layers, which may stay in float
  kGains,         // the outputs gain so much by float that it pays
  kLayer,         // it has weights, and the device computes it with quantized values
  kFused,         // a clamp that is part of the node before it
  kOnlyIntegers,  // the device has no floats
  kWide,          // nor that, and its result has 16 bits: nothing multiplies it
  kArchive,       // the archive has quantized it
  kLeftInFloat,   // the archive has quantized other nodes, not this one
  kFewestBytes,   // so the fewest bytes change their precision around it
};

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

// Affine parameters that cover a range, zero exactly among the quantized values; of 16 bits symmetric. Scales are never
// denormal.
Quant parameters_of(Range range, DType storage);

}  // namespace isthmus
