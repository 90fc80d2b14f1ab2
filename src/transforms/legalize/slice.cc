// Slices stand before the movement whose result they are taken of: then less is moved, in fewer axes.
#include <algorithm>

#include "ops/table.h"
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

// Along which axis of each input a node reads what it needs for a part of its result along this axis: nothing where it
// needs all of the input, and no list where it does not compute such parts by themselves.
std::optional<std::vector<std::optional<std::int64_t>>> axes_of_parts(const Graph& graph, const Node& node,
                                                                      std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(graph.type(node.outputs[0]).rank());
  std::vector<std::optional<std::int64_t>> axes(node.inputs.size());
  if (def(node.op).is_elementwise) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Shape& shape = graph.type(node.inputs[i]).shape;
      const std::int64_t own = axis - (rank - std::ssize(shape));
      if (own >= 0 && !shape[static_cast<std::size_t>(own)].is(1)) axes[i] = own;
    }
    return axes;
  }
  const bool is_of_rows = [&] {
    switch (node.op) {
      case Op::kLayerNorm:
        return axis < rank - std::get<LayerNormAttrs>(node.attrs).axes;
      case Op::kSoftmax:
      case Op::kLogSoftmax:
        return axis != std::get<AxisAttrs>(node.attrs).axis;
      case Op::kLinear:
        return axis < rank - 1;
      case Op::kMatmul:
        return axis == rank - 2;
      default:
        return false;
    }
  }();
  if (!is_of_rows || std::ssize(graph.type(node.inputs[0]).shape) != rank) return std::nullopt;
  axes[0] = axis;
  return axes;
}

}  // namespace

Replacement slice_before_rows(const Site& site) {
  if (site.node.op != Op::kSlice || site.producer(0) == nullptr || !site.is_only_reader(0)) return unchanged();
  const SliceAttrs slice = site.attrs<SliceAttrs>();
  const Node maker = *site.producer(0);  // a copy: emitting moves the nodes
  if (maker.op == Op::kForeign || maker.outputs.size() != 1 || slice.step != 1) return unchanged();
  // Numbers of bools are made before they are moved.
  if (maker.op == Op::kCast && site.graph().type(maker.inputs[0]).dtype == DType::kBool) return unchanged();
  const auto axes = axes_of_parts(site.graph(), maker, slice.axis);
  if (!axes || std::ranges::none_of(*axes, [](const auto& axis) { return axis.has_value(); })) return unchanged();
  std::vector<ValueId> inputs = maker.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if ((*axes)[i]) inputs[i] = TRY(site.emitter.slice(inputs[i], *(*axes)[i], slice.start, slice.end));
  }
  return replaced_by(site.emitter.emit(maker.op, maker.attrs, std::move(inputs)));
}

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
