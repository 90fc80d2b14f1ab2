// Undoes the movement from base to view, one op at a time.
#include "transforms/canonicalize/write_through.h"

#include <fmt/format.h>

namespace isthmus {
namespace {

Expected<ValueId> replace_slice(Emitter& emitter, ValueId whole, ValueId part, const SliceAttrs& slice) {
  const Dim size = emitter.size(whole, slice.axis);
  if (slice.step == 1) {
    std::vector<ValueId> parts;
    if (!slice.start.is(0)) parts.push_back(TRY(emitter.slice(whole, slice.axis, 0, slice.start)));
    parts.push_back(part);
    if (slice.end != size) parts.push_back(TRY(emitter.slice(whole, slice.axis, slice.end, size)));
    return emitter.cat(std::move(parts), slice.axis);
  }
  const Dim count = emitter.size(part, slice.axis);
  if (!slice.start.is_fixed() || !count.is_fixed()) {
    return fail(ErrorKind::kUnsupported, "the model writes with a step to a dimension of unknown size");
  }
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count.value()));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    positions[i] = slice.start.value() + static_cast<std::int64_t>(i) * slice.step;
  }
  Shape line(static_cast<std::size_t>(emitter.rank(whole)), Dim(1));
  line[static_cast<std::size_t>(slice.axis)] = count;
  const ValueId index =
      TRY(emitter.expand(TRY(emitter.reshape(emitter.integers(positions), line)), emitter.shape(part)));
  return emitter.emit(Op::kScatter, ScatterAttrs{slice.axis, ScatterMode::kSet}, {whole, index, part});
}

Expected<ValueId> undo(Emitter& emitter, const Node& node, ValueId written) {
  const ValueId before = node.inputs[0];
  if (std::holds_alternative<SliceAttrs>(node.attrs)) {
    return replace_slice(emitter, before, written, std::get<SliceAttrs>(node.attrs));
  }
  if (node.op == Op::kReshape) return emitter.reshape(written, emitter.shape(before));
  if (node.op == Op::kFlip) return emitter.emit(Op::kFlip, node.attrs, {written});
  if (node.op == Op::kPermute) {
    const Ints& axes = std::get<AxesAttrs>(node.attrs).axes;
    Ints inverse(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
      inverse[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
    return emitter.permute(written, std::move(inverse));
  }
  return fail(ErrorKind::kUnsupported, fmt::format("the model writes through a view made by {}, whose elements may "
                                                   "overlap; write to a clone of the tensor instead",
                                                   name_of(node.op)));
}

}  // namespace

Expected<ValueId> write_through(Emitter& emitter, ValueId base, ValueId view, ValueId written) {
  while (view != base) {
    const Node* found = emitter.graph().producer(view);
    if (found == nullptr || found->inputs.empty()) {
      return fail(ErrorKind::kUnsupported, "the model writes through a view of an unknown tensor");
    }
    const Node node = *found;  // a copy: emitting moves the nodes
    written = TRY(undo(emitter, node, written));
    view = node.inputs[0];
  }
  return written;
}

}  // namespace isthmus
