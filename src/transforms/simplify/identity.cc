// Rewrites of ops that do nothing, or that do together what one of them can do alone.
#include <algorithm>
#include <cmath>

#include "ops/known.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus {
namespace {

// Every place of the axis, in order.
bool selects_all(const Site& site) {
  const auto places = known_integers(site.graph(), site.inputs[1]);
  if (!places || site.graph().type(site.inputs[0]).shape != site.result().shape) return false;
  for (std::size_t i = 0; i < places->size(); ++i) {
    if ((*places)[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

bool does_nothing(const Site& site) {
  const TensorType& input = site.graph().type(site.inputs[0]);
  const auto all_zero = [](const Ints& numbers) { return std::ranges::all_of(numbers, [](auto n) { return n == 0; }); };
  switch (site.node.op) {
    case Op::kReshape:
    case Op::kExpand:
      return site.attrs<ShapeAttrs>().shape == input.shape;
    case Op::kPermute:
      return std::ranges::is_sorted(site.attrs<AxesAttrs>().axes);
    case Op::kFlip:
      return std::ranges::all_of(site.attrs<AxesAttrs>().axes,
                                 [&](auto axis) { return input.shape[static_cast<std::size_t>(axis)].is(1); });
    case Op::kSlice: {
      const SliceAttrs& slice = site.attrs<SliceAttrs>();
      return slice.start.is(0) && slice.step == 1 && slice.end == input.shape[static_cast<std::size_t>(slice.axis)];
    }
    case Op::kPad:
      return all_zero(site.attrs<PadAttrs>().before) && all_zero(site.attrs<PadAttrs>().after);
    case Op::kCat:
      return site.inputs.size() == 1;
    case Op::kIndexSelect:
      return selects_all(site);
    case Op::kCast:
      return site.attrs<DTypeAttrs>().dtype == input.dtype;
    case Op::kClamp:
      return std::isinf(site.attrs<ClampAttrs>().min) && site.attrs<ClampAttrs>().min < 0 &&
             std::isinf(site.attrs<ClampAttrs>().max) && site.attrs<ClampAttrs>().max > 0;
    default:
      return false;
  }
}

// A permute that only moves axes of size one keeps the order of the numbers.
bool keeps_order(const Shape& shape, const Ints& axes) {
  Ints moved;
  std::ranges::copy_if(axes, std::back_inserter(moved),
                       [&](auto axis) { return !shape[static_cast<std::size_t>(axis)].is(1); });
  return std::ranges::is_sorted(moved);
}

}  // namespace

Replacement drop_identity(const Site& site) {
  if (site.inputs.empty() || !does_nothing(site)) return unchanged();
  return std::optional(site.inputs[0]);
}

Replacement merge_movement(const Site& site) {
  if (site.inputs.empty()) return unchanged();
  if (site.node.op == Op::kPermute &&
      keeps_order(site.graph().type(site.inputs[0]).shape, site.attrs<AxesAttrs>().axes)) {
    return replaced_by(site.emitter.reshape(site.inputs[0], site.result().shape));
  }
  const Node* before = site.producer(0);
  if (before == nullptr || before->op != site.node.op) return unchanged();
  const ValueId source = before->inputs[0];
  switch (site.node.op) {
    case Op::kReshape:
      return replaced_by(site.emitter.reshape(source, site.attrs<ShapeAttrs>().shape));
    case Op::kExpand:
      return replaced_by(site.emitter.expand(source, site.attrs<ShapeAttrs>().shape));
    case Op::kPermute: {
      const Ints& first = std::get<AxesAttrs>(before->attrs).axes;
      Ints axes;
      for (const std::int64_t axis : site.attrs<AxesAttrs>().axes)
        axes.push_back(first[static_cast<std::size_t>(axis)]);
      return replaced_by(site.emitter.permute(source, std::move(axes)));
    }
    case Op::kSlice: {
      const SliceAttrs inner = std::get<SliceAttrs>(before->attrs);
      const SliceAttrs& outer = site.attrs<SliceAttrs>();
      if (inner.axis != outer.axis || inner.step != 1) return unchanged();
      Exprs& exprs = site.emitter.exprs();
      return replaced_by(site.emitter.slice(source, outer.axis, exprs.add(inner.start, outer.start),
                                            exprs.add(inner.start, outer.end), outer.step));
    }
    default:
      return unchanged();
  }
}

Replacement merge_clamps(const Site& site) {
  if (site.node.op != Op::kClamp || !site.is_only_reader(0)) return unchanged();
  const Node* before = site.producer(0);
  if (before == nullptr || before->op != Op::kClamp) return unchanged();
  const ClampAttrs& inner = std::get<ClampAttrs>(before->attrs);
  const ClampAttrs& outer = site.attrs<ClampAttrs>();
  // The second clamp wins where the two exclude each other; max wins over min, as within one clamp.
  const ClampAttrs merged{std::min(std::max(inner.min, outer.min), outer.max),
                          std::min(std::max(std::min(inner.max, outer.max), outer.min), outer.max)};
  return replaced_by(site.emitter.emit(Op::kClamp, merged, {before->inputs[0]}));
}

}  // namespace isthmus
