// Slices stand before the movement whose result they are taken of: then less is moved, in fewer axes.
#include <algorithm>

#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

// Where a reshape splits one axis into several, of which the outermost is this one: that axis, and what lies inside.
struct SplitAxis {
  std::int64_t axis;
  std::int64_t inner;
};
std::optional<SplitAxis> split_axis(const Shape& from, const Shape& to, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < from.size() && k < to.size()) {
    if (!from[i].is_fixed() || !to[k].is_fixed()) {
      if (from[i] != to[k] || k == at) return std::nullopt;
      ++i, ++k;
      continue;
    }
    std::int64_t before = from[i].value();
    std::int64_t after = to[k].value();
    const std::size_t first = k;
    while (after < before && k + 1 < to.size() && to[k + 1].is_fixed()) after *= to[++k].value();
    if (after != before) return std::nullopt;
    if (first == at) return SplitAxis{static_cast<std::int64_t>(i), before / std::max<std::int64_t>(to[at].value(), 1)};
    if (at <= k) return std::nullopt;
    ++i, ++k;
  }
  return std::nullopt;
}

}  // namespace

Replacement slice_before_movement(const Site& site) {
  if (site.node.op != Op::kSlice || site.producer(0) == nullptr) return unchanged();
  const SliceAttrs slice = site.attrs<SliceAttrs>();
  if (slice.step != 1 || !slice.start.is_fixed() || !slice.end.is_fixed()) return unchanged();
  const Node movement = *site.producer(0);  // a copy: emitting moves the nodes
  Emitter& emitter = site.emitter;
  if (movement.op == Op::kPermute) {
    const Ints& axes = std::get<AxesAttrs>(movement.attrs).axes;
    const std::int64_t axis = axes[static_cast<std::size_t>(slice.axis)];
    const ValueId part = TRY(emitter.slice(movement.inputs[0], axis, slice.start, slice.end));
    return replaced_by(emitter.permute(part, axes));
  }
  if (movement.op == Op::kReshape) {
    const auto split = split_axis(emitter.shape(movement.inputs[0]), emitter.shape(site.inputs[0]), slice.axis);
    if (!split) return unchanged();
    const ValueId part = TRY(emitter.slice(movement.inputs[0], split->axis, slice.start.value() * split->inner,
                                           slice.end.value() * split->inner));
    return replaced_by(emitter.reshape(part, site.result().shape));
  }
  return unchanged();
}

}  // namespace isthmus::rewrites
