// Functions of one number that the delegate lacks, by those that it has.
#include <cmath>

#include "backends/xnnpack/legalize.h"

namespace isthmus::xnnpack {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expected<ValueId> clamped(Emitter& emitter, ValueId x, double min, double max) {
  return emitter.emit(Op::kClamp, ClampAttrs{min, max}, {x});
}

using Form = Expected<ValueId> (*)(Emitter&, ValueId, const Attrs&);

Expected<ValueId> silu(Emitter& emitter, ValueId x, const Attrs&) {
  return emitter.binary(Op::kMul, x, TRY(emitter.unary(Op::kSigmoid, x)));
}
Expected<ValueId> hardsigmoid(Emitter& emitter, ValueId x, const Attrs&) {
  const ValueId scaled = TRY(with_number(emitter, Op::kMul, x, 1.0 / 6));
  return clamped(emitter, TRY(with_number(emitter, Op::kAdd, scaled, 0.5)), 0, 1);
}

struct Row {
  Op op;
  Form form;
};
constexpr Row kRows[] = {
    {Op::kSilu, silu},
    {Op::kHardsigmoid, hardsigmoid},
};

}  // namespace

Replacement activation_forms(const Site& site) {
  if (!is_float(site) || site.graph().type(site.inputs[0]).dtype != DType::kF32) return unchanged();
  for (const Row& row : kRows) {
    if (row.op == site.node.op) return replaced_by(row.form(site.emitter, site.inputs[0], site.node.attrs));
  }
  return unchanged();
}

}  // namespace isthmus::xnnpack
