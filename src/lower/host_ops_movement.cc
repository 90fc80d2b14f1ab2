// Host ops that move elements: views, slices, joins, padding.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lower/host_ops.h"

namespace isthmus {
namespace {

Expected<void> write_reshape(HostNode& node) {
  return node.finish({TRY(node.input(0)), TRY(node.view_sizes(node.result_type().shape))});
}

Expected<void> write_permute(HostNode& node) {
  return node.finish({TRY(node.input(0)), node.integers(node.as<AxesAttrs>().axes)});
}

// A size of -1 leaves the axis as it is.
Expected<void> write_expand(HostNode& node) {
  const Shape& from = node.type(0).shape;
  Shape to = node.result_type().shape;
  const std::size_t added = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[added + i] == from[i]) to[added + i] = Dim(-1);
  }
  return node.finish({TRY(node.input(0)), TRY(node.sizes(to)), node.truth(false)});
}

Expected<void> write_slice(HostNode& node) {
  const SliceAttrs& attrs = node.as<SliceAttrs>();
  const bool is_to_the_end = attrs.end == node.type(0).shape[static_cast<std::size_t>(attrs.axis)];
  return node.finish({TRY(node.input(0)), node.integer(attrs.axis), TRY(node.size(attrs.start)),
                      is_to_the_end ? node.none() : TRY(node.size(attrs.end)), node.integer(attrs.step)});
}

Expected<void> write_flip(HostNode& node) {
  return node.finish({TRY(node.input(0)), node.integers(node.as<AxesAttrs>().axes)});
}

Expected<void> write_cat(HostNode& node) {
  std::vector<pte::ValueIndex> items;
  for (std::size_t i = 0; i < node.input_count(); ++i) items.push_back(TRY(node.input(i)));
  return node.finish({node.tensors(std::move(items)), node.integer(node.as<AxisAttrs>().axis)});
}

// Kernels name the last axis first.
Ints sides_from_the_last(const PadAttrs& pad, std::size_t axes) {
  Ints sides;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = pad.before.size() - 1 - i;
    sides.push_back(pad.before[axis]);
    sides.push_back(pad.after[axis]);
  }
  return sides;
}

// Mirrors and copies of the border exist for the last one, two or three axes with one or two axes before them.
Expected<void> write_border_pad(HostNode& node) {
  const PadAttrs& pad = node.as<PadAttrs>();
  const TensorType& type = node.type(0);
  const std::size_t rank = type.rank();
  std::size_t first = 0;
  while (first < rank && pad.before[first] == 0 && pad.after[first] == 0) ++first;
  constexpr std::size_t kMostAxes = 3;
  const std::size_t axes = rank - first;
  if (axes < 1 || axes > kMostAxes) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("ExecuTorch's kernels pad 1 to 3 of the last axes with what is there, not {}", axes));
  }
  static constexpr std::array<std::string_view, 3> kReflect{"aten::reflection_pad1d.out", "aten::reflection_pad2d.out",
                                                            "aten::reflection_pad3d.out"};
  static constexpr std::array<std::string_view, 3> kReplicate{
      "aten::replication_pad1d.out", "aten::replication_pad2d.out", "aten::replication_pad3d.out"};
  const std::string_view kernel = (pad.mode == PadMode::kReflect ? kReflect : kReplicate)[axes - 1];
  const pte::ValueIndex sides = node.integers(sides_from_the_last(pad, axes));
  if (first == 1 || first == 2) return node.finish(kernel, {TRY(node.input(0)), sides});
  const auto with_one_axis_before = [&](const Shape& shape) {
    Shape result{node.exprs().product(std::span(shape).first(first))};
    result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
    return result;
  };
  const pte::ValueIndex input = TRY(node.reshaped(TRY(node.input(0)), type, with_one_axis_before(type.shape)));
  const Shape& shape = node.result_type().shape;
  const pte::ValueIndex padded = TRY(node.step(kernel, {input, sides}, {type.dtype, with_one_axis_before(shape)}));
  return node.finish("aten::view_copy.out", {padded, TRY(node.view_sizes(shape))});
}

Expected<void> write_constant_pad(HostNode& node) {
  const PadAttrs& pad = node.as<PadAttrs>();
  const pte::ValueIndex sides = node.integers(sides_from_the_last(pad, pad.before.size()));
  return node.finish("aten::constant_pad_nd.out",
                     {TRY(node.input(0)), sides, node.number(pad.value, node.type(0).dtype)});
}

Expected<void> write_pad(HostNode& node) {
  return node.as<PadAttrs>().mode == PadMode::kConstant ? write_constant_pad(node) : write_border_pad(node);
}

constexpr HostOp kMovementOps[] = {
    {Op::kReshape, "aten::view_copy.out", write_reshape, HostTypes::kBytes},
    {Op::kPermute, "aten::permute_copy.out", write_permute},
    {Op::kExpand, "aten::expand_copy.out", write_expand, HostTypes::kBytes},
    {Op::kSlice, "aten::slice_copy.Tensor_out", write_slice, HostTypes::kBytes},
    {Op::kFlip, "aten::flip.out", write_flip},
    {Op::kPad, "", write_pad},
    {Op::kCat, "aten::cat.out", write_cat},
};

}  // namespace

std::span<const HostOp> host_movement_ops() { return kMovementOps; }

}  // namespace isthmus
