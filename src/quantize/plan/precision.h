// Which nodes compute on quantized values and which in float.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/reason.h"
#include "ir/graph.h"
#include "quantize/config/config.h"
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

// By node: a clamp that alone reads the result of a node which can have it as its bounds. The value between them is
// never seen.
std::vector<bool> fused_clamps(const Graph& graph, const TargetDesc& target);

struct Precisions {
  std::vector<Precision> of_node;
  std::vector<PrecisionCause> causes;          // by node
  std::vector<std::optional<Reason>> reasons;  // by node: why the device has no quantized values for it
  std::vector<bool> can_have_rows;             // by node: it has a form of that precision and may take it
};

// What has weights computes on quantized values where the device can, or with quantized weights alone where it has such
// a form and floats are around; steps of composites and what the user or the device wants in float do not. All others
// take the precision that makes the fewest bytes change theirs; where both make as many, movers take quantized values
// and what computes takes float. Devices without float compute on quantized values whatever they can; on others, where
// the archive has quantized some nodes, what computes does so as it does there. `wanted` says what some nodes shall
// have whatever it costs.
Precisions choose_precisions(const Graph& graph, const TargetDesc& target, const std::vector<NodeSettings>& settings,
                             const QuantConfig& config, std::span<const std::optional<Precision>> wanted = {});

}  // namespace isthmus
