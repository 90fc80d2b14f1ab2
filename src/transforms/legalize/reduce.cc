// Reductions that the delegate lacks: the greatest by pools, products by halves, running sums by doubling.
#include <limits>

#include "transforms/legalize/formula.h"
#include "transforms/legalize/pick.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

constexpr double kMaxFloat = std::numeric_limits<float>::max();

bool is_reducible(const Site& site, const Ints& axes) {
  return site.graph().type(site.inputs[0]).dtype == DType::kF32 &&
         count_of(site.graph().type(site.inputs[0]).shape, axes).has_value();
}

Expected<ValueId> greatest(Emitter& emitter, ValueId x, const ReduceAttrs& attrs) {
  return emitter.emit(Op::kAmax, attrs, {x});
}
Expected<ValueId> sum_keeping(Emitter& emitter, ValueId x, const Ints& axes) {
  return emitter.emit(Op::kSum, ReduceAttrs{axes, true}, {x});
}

Replacement amax(const Site& site) {
  const Ints& axes = site.attrs<ReduceAttrs>().axes;
  if (!is_reducible(site, axes)) return unchanged();
  Emitter& emitter = site.emitter;
  const Shape shape = emitter.shape(site.inputs[0]);
  const std::int64_t count = *count_of(shape, axes);
  ValueId value = site.inputs[0];
  if (count > 1) {
    const bool is_image = shape.size() == 4 && axes == Ints{2, 3};
    if (!is_image && !can_reshape(shape)) return unchanged();
    const ValueId image = is_image ? value : TRY(image_of_reduced(emitter, value, axes));
    const Ints kernel{emitter.size(image, 2).value(), emitter.size(image, 3).value()};
    MaxPoolAttrs pool{.kernel = kernel, .stride = {1, 1}, .padding = {0, 0, 0, 0}, .dilation = {1, 1}};
    value = TRY(emitter.emit(Op::kMaxPool2d, std::move(pool), {image}));
  }
  return replaced_by(emitter.reshape(value, site.result().shape));
}

Replacement amin(const Site& site) {
  const auto& attrs = site.attrs<ReduceAttrs>();
  if (!is_reducible(site, attrs.axes)) return unchanged();
  const ValueId negative = TRY(site.emitter.unary(Op::kNeg, site.inputs[0]));
  return replaced_by(site.emitter.unary(Op::kNeg, TRY(greatest(site.emitter, negative, attrs))));
}

// One half of the axis times the other, until one element is left; what halving leaves over comes in the end.
Expected<ValueId> product_over(Emitter& emitter, ValueId x, std::int64_t axis) {
  std::optional<ValueId> over;
  for (std::int64_t size = emitter.size(x, axis).value(); size > 1; size /= 2) {
    const std::int64_t half = size / 2;
    if (size % 2 != 0) {
      const ValueId last = TRY(emitter.slice(x, axis, size - 1, size));
      over = over ? TRY(emitter.binary(Op::kMul, *over, last)) : last;
    }
    const ValueId low = TRY(emitter.slice(x, axis, 0, half));
    x = TRY(emitter.binary(Op::kMul, low, TRY(emitter.slice(x, axis, half, 2 * half))));
  }
  return over ? emitter.binary(Op::kMul, x, *over) : x;
}

Replacement prod(const Site& site) {
  const Ints& axes = site.attrs<ReduceAttrs>().axes;
  if (!is_reducible(site, axes)) return unchanged();
  ValueId value = site.inputs[0];
  for (const std::int64_t axis : axes) value = TRY(product_over(site.emitter, value, axis));
  return replaced_by(site.emitter.reshape(value, site.result().shape));
}

// After each step an element holds twice as many of those before it.
Replacement running(const Site& site, Op op, double neutral) {
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  if (site.result().rank() == 0 || !is_reducible(site, {axis})) return unchanged();
  const std::int64_t size = site.emitter.size(site.inputs[0], axis).value();
  ValueId value = site.inputs[0];
  for (std::int64_t shift = 1; shift < size; shift *= 2) {
    const ValueId early = TRY(site.emitter.slice(value, axis, 0, size - shift));
    value = TRY(site.emitter.binary(op, value, TRY(padded(site.emitter, early, axis, {shift, 0}, neutral))));
  }
  return std::optional(value);
}
Replacement cumsum(const Site& site) { return running(site, Op::kAdd, 0); }
Replacement cumprod(const Site& site) { return running(site, Op::kMul, 1); }

// The greatest number along axes, made finite: so that infinity less infinity does not occur.
Expected<ValueId> finite_greatest(Emitter& emitter, ValueId x, const Ints& axes) {
  const ValueId greatest_kept = TRY(greatest(emitter, x, {axes, true}));
  return emitter.emit(Op::kClamp, ClampAttrs{-kMaxFloat, kMaxFloat}, {greatest_kept});
}

Replacement logsumexp(const Site& site) {
  const Ints& axes = site.attrs<ReduceAttrs>().axes;
  if (!is_reducible(site, axes)) return unchanged();
  Emitter& emitter = site.emitter;
  const ValueId max = TRY(finite_greatest(emitter, site.inputs[0], axes));
  const ValueId powers = TRY(emitter.unary(Op::kExp, TRY(emitter.binary(Op::kSub, site.inputs[0], max))));
  const ValueId log = TRY(emitter.unary(Op::kLog, TRY(sum_keeping(emitter, powers, axes))));
  return replaced_by(emitter.reshape(TRY(emitter.binary(Op::kAdd, log, max)), site.result().shape));
}

Replacement log_softmax(const Site& site) {
  const Ints axes{site.attrs<AxisAttrs>().axis};
  if (site.result().rank() == 0 || !is_reducible(site, axes)) return unchanged();
  Emitter& emitter = site.emitter;
  const ValueId max = TRY(finite_greatest(emitter, site.inputs[0], axes));
  const ValueId lower = TRY(emitter.binary(Op::kSub, site.inputs[0], max));
  const ValueId sum = TRY(sum_keeping(emitter, TRY(emitter.unary(Op::kExp, lower)), axes));
  return replaced_by(emitter.binary(Op::kSub, lower, TRY(emitter.unary(Op::kLog, sum))));
}

Replacement vector_norm(const Site& site) {
  const auto& [axes, keepdim, order] = site.attrs<VectorNormAttrs>();
  if (!is_reducible(site, axes)) return unchanged();
  Emitter& emitter = site.emitter;
  const ReduceAttrs reduce{axes, keepdim};
  const ValueId x = site.inputs[0];
  if (order == 2) {
    const ValueId squares = TRY(emitter.binary(Op::kMul, x, x));
    return replaced_by(emitter.unary(Op::kSqrt, TRY(emitter.emit(Op::kSum, reduce, {squares}))));
  }
  const ValueId sizes = TRY(emitter.unary(Op::kAbs, x));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (order == infinity) return replaced_by(emitter.emit(Op::kAmax, reduce, {sizes}));
  if (order == -infinity) return replaced_by(emitter.emit(Op::kAmin, reduce, {sizes}));
  if (order == 1) return replaced_by(emitter.emit(Op::kSum, reduce, {sizes}));
  if (order == 0) {
    Formula formula(emitter);
    const ValueId is_there = TRY(formula.result(is_positive(formula.of(sizes))));
    return replaced_by(emitter.emit(Op::kSum, reduce, {is_there}));
  }
  const ValueId powers = TRY(with_number(emitter, Op::kPow, sizes, order));
  return replaced_by(with_number(emitter, Op::kPow, TRY(emitter.emit(Op::kSum, reduce, {powers})), 1 / order));
}

constexpr OpForm kReduceForms[] = {
    {Op::kAmax, amax},
    {Op::kAmin, amin},
    {Op::kProd, prod},
    {Op::kCumsum, cumsum},
    {Op::kCumprod, cumprod},
    {Op::kLogsumexp, logsumexp},
    {Op::kLogSoftmax, log_softmax},
    {Op::kVectorNorm, vector_norm},
};

}  // namespace

Replacement reduction_forms(const Site& site) { return formed(site, kReduceForms); }

}  // namespace isthmus::rewrites
