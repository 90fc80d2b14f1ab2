// Kernels that move elements: views, slices, joins, padding.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

Expected<void> write_reshape(NodeWriter& node) {
  return node.finish({TRY(node.input(0)), TRY(node.view_sizes(node.result_type().shape))});
}

Expected<void> write_permute(NodeWriter& node) {
  return node.finish({TRY(node.input(0)), node.integers(node.as<AxesAttrs>().axes)});
}

// A size of -1 leaves the axis as it is.
Expected<void> write_expand(NodeWriter& node) {
  const Shape& from = node.type(0).shape;
  Shape to = node.result_type().shape;
  const std::size_t added = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[added + i] == from[i]) to[added + i] = Dim(-1);
  }
  return node.finish({TRY(node.input(0)), TRY(node.sizes(to)), node.boolean(false)});
}

Expected<void> write_slice(NodeWriter& node) {
  const SliceAttrs& attrs = node.as<SliceAttrs>();
  const bool is_to_the_end = attrs.end == node.type(0).shape[static_cast<std::size_t>(attrs.axis)];
  return node.finish({TRY(node.input(0)), node.integer(attrs.axis), TRY(node.size(attrs.start)),
                      is_to_the_end ? node.none() : TRY(node.size(attrs.end)), node.integer(attrs.step)});
}

Expected<void> write_flip(NodeWriter& node) {
  return node.finish({TRY(node.input(0)), node.integers(node.as<AxesAttrs>().axes)});
}

Expected<void> write_cat(NodeWriter& node) {
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

// Reflection and replication padding exist for the last one, two or three axes with one or two axes before them.
Expected<void> write_edge_pad(NodeWriter& node) {
  const PadAttrs& pad = node.as<PadAttrs>();
  const TensorType& type = node.type(0);
  const std::size_t rank = type.rank();
  std::size_t first = 0;
  while (first < rank && pad.before[first] == 0 && pad.after[first] == 0) ++first;
  constexpr std::size_t kMaxAxes = 3;
  const std::size_t axes = rank - first;
  if (axes < 1 || axes > kMaxAxes) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("ExecuTorch's kernels reflect or replicate 1 to 3 of the last axes, not {}", axes));
  }
  static constexpr std::array<std::string_view, 3> kReflect{names::kReflectionPad1d, names::kReflectionPad2d,
                                                            names::kReflectionPad3d};
  static constexpr std::array<std::string_view, 3> kReplicate{names::kReplicationPad1d, names::kReplicationPad2d,
                                                              names::kReplicationPad3d};
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
  return node.finish(names::kView, {padded, TRY(node.view_sizes(shape))});
}

Expected<void> write_constant_pad(NodeWriter& node) {
  const PadAttrs& pad = node.as<PadAttrs>();
  const pte::ValueIndex sides = node.integers(sides_from_the_last(pad, pad.before.size()));
  return node.finish(names::kConstantPad, {TRY(node.input(0)), sides, node.number(pad.value, node.type(0).dtype)});
}

Expected<void> write_pad(NodeWriter& node) {
  return node.as<PadAttrs>().mode == PadMode::kConstant ? write_constant_pad(node) : write_edge_pad(node);
}

Expected<Tensor> reshaped(const Tensor& tensor, std::vector<std::int64_t> sizes) {
  std::int64_t known = 1;
  std::int64_t unknown = 0;
  for (const std::int64_t size : sizes) {
    if (size < -1) return bad_input(fmt::format("a size of {}", size));
    if (size == -1) {
      ++unknown;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return bad_input("the sizes overflow");
    }
  }
  const bool fits = unknown == 0 ? known == tensor.count() : known != 0 && tensor.count() % known == 0;
  if (unknown > 1 || !fits) return bad_input("the view has another number of elements");
  if (unknown == 1) std::ranges::replace(sizes, -1, tensor.count() / known);
  return tensor.with_sizes(std::move(sizes));
}

Expected<void> run_view_copy(RunningCall& call) {
  return call.set_tensor(2, TRY(reshaped(TRY(call.tensor(0)), TRY(call.integers(1)))));
}

Expected<void> squeeze(RunningCall& call, const Tensor& input, const std::vector<std::int64_t>& axes) {
  std::vector<bool> is_dropped(input.sizes().size(), false);
  for (const std::int64_t axis : axes) is_dropped[static_cast<std::size_t>(axis)] = true;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < is_dropped.size(); ++i) {
    if (!is_dropped[i] || input.sizes()[i] != 1) sizes.push_back(input.sizes()[i]);
  }
  return call.set_tensor(2, input.with_sizes(std::move(sizes)));
}
Expected<void> run_squeeze_dims(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return squeeze(call, input, TRY(call.axes(1, input.rank())));
}
Expected<void> run_squeeze_dim(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return squeeze(call, input, {TRY(call.axis(1, input.rank()))});
}

Expected<void> run_unsqueeze(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank() + 1));
  std::vector<std::int64_t> sizes = input.sizes();
  sizes.insert(sizes.begin() + axis, 1);
  return call.set_tensor(2, input.with_sizes(std::move(sizes)));
}

Expected<void> run_expand(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  std::vector<std::int64_t> sizes = TRY(call.integers(1));
  if (sizes.size() < input.sizes().size()) return bad_input("fewer sizes than the tensor has");
  const std::size_t added = sizes.size() - input.sizes().size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && i >= added) sizes[i] = input.sizes()[i - added];
    if (sizes[i] < 0) return bad_input(fmt::format("a size of {}", sizes[i]));
  }
  if (sizes == input.sizes()) return call.set_tensor(3, input);
  return call.store(3, Op::kExpand, ShapeAttrs{Dims(sizes.begin(), sizes.end())}, input);
}

Expected<void> run_select(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  const std::int64_t index = TRY(call.axis(2, input.size(axis)));
  const Tensor slice = TRY(call.compute(Op::kSlice, SliceAttrs{axis, index, index + 1, 1}, input));
  std::vector<std::int64_t> sizes = input.sizes();
  sizes.erase(sizes.begin() + axis);
  return call.set_tensor(3, slice.with_sizes(std::move(sizes)));
}

Expected<void> run_slice(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  const std::int64_t size = input.size(axis);
  const auto clipped = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = clipped(call.is_none(2) ? 0 : TRY(call.integer(2)));
  const std::int64_t end = clipped(call.is_none(3) ? size : TRY(call.integer(3)));
  const std::int64_t step = TRY(call.integer(4));
  if (step < 1) return bad_input(fmt::format("a step of {}", step));
  const SliceAttrs attrs{axis, start, std::max(start, end), step};
  return call.store(5, Op::kSlice, attrs, input);
}

Expected<void> run_permute(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return call.store(2, Op::kPermute, AxesAttrs{TRY(call.axes(1, input.rank()))}, input);
}

Expected<void> run_transpose(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  AxesAttrs attrs{all_axes(input)};
  const auto first = static_cast<std::size_t>(TRY(call.axis(1, input.rank())));
  const auto second = static_cast<std::size_t>(TRY(call.axis(2, input.rank())));
  std::swap(attrs.axes[first], attrs.axes[second]);
  return call.store(3, Op::kPermute, attrs, input);
}

Expected<void> run_cat(RunningCall& call) {
  std::vector<Tensor> inputs = TRY(call.tensors(0));
  // Empty vectors take no part, whatever their rank.
  std::erase_if(inputs, [](const Tensor& tensor) { return tensor.rank() == 1 && tensor.count() == 0; });
  if (inputs.empty()) return bad_input("no tensors to concatenate");
  return call.store(2, Op::kCat, AxisAttrs{TRY(call.axis(1, inputs[0].rank()))}, inputs);
}

// The result's own order of memory makes the difference.
Expected<void> run_clone(RunningCall& call) { return call.set_tensor(2, TRY(call.tensor(0))); }
Expected<void> run_clone_in_order(RunningCall& call) { return call.set_tensor(3, TRY(call.tensor(0))); }

// Pads the last axes; the list names the last one first.
Expected<void> pad(RunningCall& call, PadMode mode, double value, std::size_t out, std::size_t axes) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> sides = TRY(call.integers(1));
  const std::size_t rank = input.sizes().size();
  if (sides.size() % 2 != 0 || sides.size() > 2 * rank || (axes != 0 && sides.size() != 2 * axes)) {
    return bad_input(fmt::format("{} padding values for rank {}", sides.size(), rank));
  }
  PadAttrs attrs{mode, Ints(rank, 0), Ints(rank, 0), value};
  for (std::size_t i = 0; i < sides.size(); i += 2) {
    attrs.before[rank - 1 - i / 2] = sides[i];
    attrs.after[rank - 1 - i / 2] = sides[i + 1];
  }
  return call.store(out, Op::kPad, attrs, input);
}
Expected<void> run_constant_pad(RunningCall& call) { return pad(call, PadMode::kConstant, TRY(call.number(2)), 3, 0); }
template <PadMode mode, std::size_t axes>
Expected<void> run_edge_pad(RunningCall& call) {
  return pad(call, mode, 0, 2, axes);
}

Expected<void> run_flip(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  AxesAttrs attrs{TRY(call.axes(1, input.rank()))};
  std::ranges::sort(attrs.axes);
  return call.store(2, Op::kFlip, attrs, input);
}

constexpr Kernel kMovementKernels[] = {
    {.name = "aten::squeeze_copy.dims_out", .arguments = "tI", .run = run_squeeze_dims},
    {.name = "aten::squeeze_copy.dim_out", .arguments = "ti", .run = run_squeeze_dim},
    {.name = "aten::unsqueeze_copy.out", .arguments = "ti", .run = run_unsqueeze},
    {.name = names::kExpand,
     .arguments = "tIb",
     .run = run_expand,
     .written = {Op::kExpand, write_expand, ElementTypes::kBytes}},
    {.name = "aten::select_copy.int_out", .arguments = "tii", .run = run_select},
    {.name = names::kSlice,
     .arguments = "tijji",
     .run = run_slice,
     .written = {Op::kSlice, write_slice, ElementTypes::kBytes}},
    {.name = names::kView,
     .arguments = "tI",
     .run = run_view_copy,
     .written = {Op::kReshape, write_reshape, ElementTypes::kBytes}},
    {.name = "executorch_prim::et_view.default", .arguments = "tI", .run = run_view_copy, .outs = 0},
    {.name = names::kPermute, .arguments = "tI", .run = run_permute, .written = {Op::kPermute, write_permute}},
    {.name = "aten::transpose_copy.int_out", .arguments = "tii", .run = run_transpose},
    {.name = "aten::cat.out", .arguments = "li", .run = run_cat, .written = {Op::kCat, write_cat}},
    {.name = names::kClone, .arguments = "tj", .run = run_clone},
    {.name = "dim_order_ops::_clone_dim_order.out", .arguments = "tbJ", .run = run_clone_in_order},
    {.name = "aten::flip.out", .arguments = "tI", .run = run_flip, .written = {Op::kFlip, write_flip}},
    {.name = names::kConstantPad, .arguments = "tIn", .run = run_constant_pad},
    {.name = names::kReflectionPad1d, .arguments = "tI", .run = run_edge_pad<PadMode::kReflect, 1>},
    {.name = names::kReflectionPad2d, .arguments = "tI", .run = run_edge_pad<PadMode::kReflect, 2>},
    {.name = names::kReflectionPad3d, .arguments = "tI", .run = run_edge_pad<PadMode::kReflect, 3>},
    {.name = names::kReplicationPad1d, .arguments = "tI", .run = run_edge_pad<PadMode::kReplicate, 1>},
    {.name = names::kReplicationPad2d, .arguments = "tI", .run = run_edge_pad<PadMode::kReplicate, 2>},
    {.name = names::kReplicationPad3d, .arguments = "tI", .run = run_edge_pad<PadMode::kReplicate, 3>},
};
constexpr WrittenOp kMovementComposites[] = {
    {Op::kPad, write_pad},
};

}  // namespace

Family movement_family() { return {kMovementKernels, kMovementComposites}; }

}  // namespace isthmus::host
