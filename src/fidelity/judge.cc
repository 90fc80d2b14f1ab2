// Limits, and the first node that is in question.
#include "fidelity/judge.h"

#include <algorithm>
#include <cmath>

#include "fidelity/rounding.h"

namespace isthmus::fidelity {
namespace {

// A step departs where its own error is more than 3 % of its numbers, and its power 16 times that of what rounding
// explains: of sound programs few steps have 5 times as much.
constexpr double kMinOwnDb = 30;
constexpr double kMaxExcess = 16;
constexpr std::size_t kMinWeights = 64;

// Convolutions and matrices, whose results are the first to be wrong where weights are.
bool has_weights(const anatomy::Graph& program, const anatomy::Node& node) {
  return std::ranges::any_of(node.inputs, [&](std::uint32_t input) {
    const anatomy::Value& value = program.values[input];
    std::size_t elements = 1;
    for (const std::int64_t size : value.sizes) elements *= static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
    return value.is_constant && value.sizes.size() > 1 && elements >= kMinWeights;
  });
}

// What a step takes away of what was there before it.
double loss(const Step& step) {
  constexpr double kGood = 60;  // more is as good
  if (!step.before_db) return 0;
  return std::min(*step.before_db, kGood) - std::min(step.total.db(), kGood);
}

// The value of the model that a node in question should have made.
std::optional<ValueId> counterpart_of(const Evidence& evidence, std::uint32_t node, const Step& step) {
  const anatomy::Node& made_by = evidence.program.nodes[node];
  for (const std::uint32_t output : made_by.outputs) {
    if (const auto suspect = evidence.suspects.find(output); suspect != evidence.suspects.end()) {
      return suspect->second.model;
    }
  }
  return node == step.node ? std::optional(step.model) : std::nullopt;
}

// What moved the elements that a node reads, where they lie as in no value of the model: the first node that did.
std::optional<std::uint32_t> misplacing(const Evidence& evidence, std::uint32_t node) {
  for (const std::uint32_t input : evidence.program.nodes[node].inputs) {
    std::uint32_t value = input;
    std::optional<std::uint32_t> mover;
    while (evidence.matching.matches[value] && evidence.makers[value] && !evidence.is_in_place(value)) {
      mover = evidence.makers[value];
      const std::vector<std::uint32_t>& front = evidence.matching.fronts[*mover];
      if (front.size() != 1) break;
      value = front[0];
    }
    if (mover) return mover;
  }
  return std::nullopt;
}

}  // namespace

// A device that only rounds in another way is no farther from the model than this machine and that rounding together:
// lengths of vectors, not their squares, have this bound, whatever both errors have in common.
bool departs(const Step& step) {
  if (!step.own) return false;
  if (!step.own->is_finite) return true;
  return step.own->db() < kMinOwnDb &&
         std::sqrt(step.own->noise) > std::sqrt(kMaxExcess * step.rounding) + std::sqrt(step.here);
}

void judge(const Evidence& evidence, Verification& result) {
  for (std::size_t i = 0; i < result.steps.size() && !result.departure; ++i) {
    const Step& step = result.steps[i];
    if (!departs(step)) continue;
    Departure departure;
    departure.step = i;
    departure.between = nodes_behind(evidence.program, evidence.makers, evidence.matching.fronts[step.node], step.node);
    const auto is_suspect = [&](std::uint32_t node) {
      const anatomy::Node& one = evidence.program.nodes[node];
      return node == step.node || has_weights(evidence.program, one) ||
             std::ranges::any_of(one.outputs, [&](std::uint32_t value) { return evidence.suspects.contains(value); });
    };
    departure.node = *std::ranges::find_if(departure.between, is_suspect);
    departure.counterpart = counterpart_of(evidence, departure.node, step);
    for (const std::uint32_t node : departure.between) {
      if (node > departure.node) break;
      const auto mover = misplacing(evidence, node);
      if (!mover) continue;
      departure.moves_elements = true;
      departure.node = *mover;
      departure.between.insert(departure.between.begin(), *mover);
      break;
    }
    for (const std::uint32_t output : evidence.program.nodes[departure.node].outputs) {
      if (const auto suspect = evidence.suspects.find(output); suspect != evidence.suspects.end()) {
        departure.own = suspect->second;
      }
    }
    result.departure = std::move(departure);
  }
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    if (loss(result.steps[i]) > 0) result.losses.push_back(i);
  }
  std::ranges::stable_sort(result.losses,
                           [&](std::size_t a, std::size_t b) { return loss(result.steps[a]) > loss(result.steps[b]); });
}

}  // namespace isthmus::fidelity
