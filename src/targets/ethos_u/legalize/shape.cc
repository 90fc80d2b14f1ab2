// Axes as the forms want them: as many for each operand, and none that vanishes on the way.
#include <algorithm>
#include <iterator>

#include "ops/table.h"
#include "targets/ethos_u/legalize/legalize.h"

namespace isthmus::ethos_u {
namespace {

bool is_one_of(Op op, std::span<const Op> ops) { return std::ranges::find(ops, op) != ops.end(); }

Shape with_rank(const Shape& shape, std::size_t rank) {
  Shape result(rank - shape.size(), Dim(1));
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

}  // namespace

Replacement equal_ranks(const Site& site, Device) {
  if (!def(site.node.op).broadcasts || !site.target.has_form(site.node.op)) return unchanged();
  const std::size_t rank = site.result().rank();
  std::vector<ValueId> inputs;
  for (const ValueId input : site.inputs) {
    inputs.push_back(TRY(site.emitter.reshape(input, with_rank(site.emitter.shape(input), rank))));
  }
  if (std::ranges::equal(inputs, site.inputs)) return unchanged();
  return replaced_by(site.emitter.emit(site.node.op, site.node.attrs, std::move(inputs)));
}

Replacement kept_axes(const Site& site, Device) {
  constexpr Op kReductions[] = {Op::kSum, Op::kMean, Op::kAmax, Op::kAmin, Op::kAny, Op::kAll};
  if (!is_one_of(site.node.op, kReductions) || site.attrs<ReduceAttrs>().keepdim) return unchanged();
  ReduceAttrs attrs = site.attrs<ReduceAttrs>();
  attrs.keepdim = true;
  const ValueId kept = TRY(site.emitter.emit(site.node.op, std::move(attrs), {site.inputs[0]}));
  return replaced_by(site.emitter.reshape(kept, site.result().shape));
}

}  // namespace isthmus::ethos_u
