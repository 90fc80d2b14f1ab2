// What the rewrites of several families need.
#include "transforms/legalize/rewrites.h"

#include <algorithm>

#include "ops/known.h"

namespace isthmus::rewrites {

Replacement formed(const Site& site, std::span<const OpForm> forms) {
  const auto row = std::ranges::find(forms, site.node.op, &OpForm::op);
  if (row == forms.end() || !is_float(site) || !site.target.needs_other_form(site.rewriter.source(), site.node)) {
    return unchanged();
  }
  return row->form(site);
}

bool is_float(const Site& site) { return site.result().dtype == DType::kF32; }

ValueId number(Emitter& emitter, double value, std::size_t rank) {
  return emitter.floats({value}, DType::kF32, std::vector<std::int64_t>(rank, 1));
}

Expected<ValueId> with_number(Emitter& emitter, Op op, ValueId x, double value) {
  const std::size_t rank = emitter.shape(x).size();
  return emitter.binary(op, x, number(emitter, value, rank));
}

}  // namespace isthmus::rewrites
