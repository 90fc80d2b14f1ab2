// Arithmetic with a constant that changes nothing.
#include <algorithm>
#include <iterator>

#include "ops/known.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus {
namespace {

struct Neutral {
  Op op;
  double number;
  bool is_on_both_sides;
};

constexpr Neutral kNeutrals[] = {
    {.op = Op::kAdd, .number = 0, .is_on_both_sides = true},
    {.op = Op::kSub, .number = 0, .is_on_both_sides = false},
    {.op = Op::kMul, .number = 1, .is_on_both_sides = true},
    {.op = Op::kDiv, .number = 1, .is_on_both_sides = false},
    {.op = Op::kLogicalAnd, .number = 1, .is_on_both_sides = true},
    {.op = Op::kLogicalOr, .number = 0, .is_on_both_sides = true},
    {.op = Op::kLogicalXor, .number = 0, .is_on_both_sides = true},
};

bool is_all(const Site& site, std::size_t i, double wanted) {
  const auto is_it = [&](auto number) { return static_cast<double>(number) == wanted; };
  if (const auto integers = known_integers(site.graph(), site.inputs[i])) return std::ranges::all_of(*integers, is_it);
  const auto numbers = numbers_of(site.constant(i));
  return numbers && std::ranges::all_of(*numbers, is_it);
}

}  // namespace

Replacement drop_neutral(const Site& site) {
  const auto* const row = std::ranges::find(kNeutrals, site.node.op, &Neutral::op);
  if (row == std::end(kNeutrals)) return unchanged();
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    if (i == 0 && !row->is_on_both_sides) break;
    const ValueId other = site.inputs[1 - i];
    // Targets without expand multiply by ones of the size, or add zeros: these stay.
    if (site.graph().type(other) == site.result() && is_all(site, i, row->number)) return std::optional(other);
  }
  return unchanged();
}

}  // namespace isthmus
