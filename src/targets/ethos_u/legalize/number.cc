// Functions of two numbers, constants, choices, indices and joins.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "ops/known.h"
#include "ops/table.h"
#include "targets/ethos_u/legalize/legalize.h"
#include "targets/ethos_u/limits.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::ethos_u {
namespace {

// What stands for infinity. It hides a score from a softmax, exp(-24) being nothing in 8 bits, and does not widen the
// range of the scores beside it by much more than a bit.
constexpr double kFar = 24;

bool is_finite(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

bool takes_far_numbers(Op op) {
  constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kWhere, Op::kCat};
  return std::ranges::find(kOps, op) != std::end(kOps);
}

// Whether a value is used for scores alone: what reads it moves it, adds to it or is a softmax of it.
bool makes_scores(const Graph& graph, ValueId value, int depth = 0) {
  constexpr int kMaxDepth = 8;
  const auto is_value = [&](const Output& output) {
    const auto* id = std::get_if<ValueId>(&output.value);
    return id != nullptr && *id == value;
  };
  if (depth > kMaxDepth || std::ranges::any_of(graph.outputs(), is_value)) return false;
  return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
    if (std::ranges::find(node.inputs, value) == node.inputs.end() || node.op == Op::kSoftmax) return true;
    const bool goes_on = node.op == Op::kAdd || (node.op != Op::kForeign && def(node.op).flow == QFlow::kMovesData);
    return goes_on && makes_scores(graph, node.outputs[0], depth + 1);
  });
}

// A mask as models write it: -10000, -1e9, the lowest float. Quantized values of such a range would hold nothing else.
constexpr double kHides = -1000;

bool hides_scores(const Site& site, const std::vector<double>& numbers) {
  return std::ranges::min(numbers) <= kHides && makes_scores(site.rewriter.source(), site.node.outputs[0]);
}

}  // namespace

Replacement finite_constants(const Site& site, Device) {
  const bool may_be_infinite = takes_far_numbers(site.node.op);
  if (!may_be_infinite && site.node.op != Op::kMul) return unchanged();
  std::vector<ValueId> inputs(site.inputs.begin(), site.inputs.end());
  bool is_changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto numbers = numbers_of(site.constant(i));
    if (!numbers || numbers->empty()) continue;
    if (is_finite(*numbers) ? !hides_scores(site, *numbers) : !may_be_infinite) continue;
    for (double& number : *numbers) {
      if (std::isnan(number)) return unchanged();
      if (!std::isfinite(number) || number <= kHides) number = std::clamp(number, -kFar, kFar);
    }
    inputs[i] = site.emitter.floats(*numbers, DType::kF32, site.constant(i)->sizes);
    is_changed = true;
  }
  return is_changed ? replaced_by(site.emitter.emit(site.node.op, site.node.attrs, std::move(inputs))) : unchanged();
}

Replacement quotient(const Site& site, Device) {
  if (site.node.op != Op::kDiv) return unchanged();
  Emitter& emitter = site.emitter;
  auto divisors = numbers_of(site.constant(1));
  if (!divisors) return unchanged();
  for (double& number : *divisors) number = 1 / number;
  if (!is_finite(*divisors)) return unchanged();
  const ValueId factors = emitter.floats(*divisors, DType::kF32, site.constant(1)->sizes);
  return replaced_by(emitter.binary(Op::kMul, site.inputs[0], factors));
}

Replacement power(const Site& site, Device device) {
  if (site.node.op != Op::kPow || !refusal_of(site, device)) return unchanged();
  return rewrites::power_forms(site);
}

Replacement prelu_by_slope(const Site& site, Device) {
  if (site.node.op != Op::kPrelu) return unchanged();
  const auto slopes = numbers_of(site.constant(1));
  if (slopes && std::ranges::all_of(*slopes, [&](double slope) { return slope == slopes->front(); })) {
    return replaced_by(site.emitter.emit(Op::kLeakyRelu, SlopeAttrs{slopes->front()}, {site.inputs[0]}));
  }
  return rewrites::prelu_by_parts(site);
}

// The comparison as a number is left to the rewrite of casts.
Replacement choice_by_products(const Site& site, Device device) {
  if (site.node.op != Op::kWhere || site.constant(0) != nullptr || exists(tosa::Op::kSelect, device))
    return unchanged();
  Emitter& emitter = site.emitter;
  const ValueId boolean = TRY(emitter.emit(Op::kCast, DTypeAttrs{DType::kF32}, {site.inputs[0]}));
  const ValueId one = rewrites::number(emitter, 1, emitter.shape(boolean).size());
  const ValueId other = TRY(emitter.binary(Op::kSub, one, boolean));
  const ValueId first = TRY(emitter.binary(Op::kMul, site.inputs[1], boolean));
  const ValueId second = TRY(emitter.binary(Op::kMul, site.inputs[2], other));
  return replaced_by(emitter.binary(Op::kAdd, first, second));
}

Replacement narrow_index(const Site& site, Device device) {
  if (site.node.op != Op::kIndexSelect || site.constant(1) != nullptr || !exists(tosa::Op::kGather, device) ||
      site.graph().type(site.inputs[1]).dtype != DType::kI64) {
    return unchanged();
  }
  const ValueId index = TRY(site.emitter.cast(site.inputs[1], DType::kI32));
  return replaced_by(site.emitter.emit(Op::kIndexSelect, site.node.attrs, {site.inputs[0], index}));
}

}  // namespace isthmus::ethos_u
