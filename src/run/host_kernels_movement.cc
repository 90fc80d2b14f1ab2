// Host kernels that move elements: views, slices, joins, padding.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "run/host_kernels.h"

namespace isthmus::run {
namespace {

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
  if (unknown > 1 || !fits) return bad_input("a view of another number of elements");
  if (unknown == 1) std::ranges::replace(sizes, -1, tensor.count() / known);
  return tensor.with_sizes(std::move(sizes));
}

Expected<void> view_copy(HostCall& call) {
  return call.set_tensor(2, TRY(reshaped(TRY(call.tensor(0)), TRY(call.integers(1)))));
}

Expected<void> squeeze(HostCall& call, const Tensor& input, const std::vector<std::int64_t>& axes) {
  std::vector<bool> is_dropped(input.sizes().size(), false);
  for (const std::int64_t axis : axes) is_dropped[static_cast<std::size_t>(axis)] = true;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < is_dropped.size(); ++i) {
    if (!is_dropped[i] || input.sizes()[i] != 1) sizes.push_back(input.sizes()[i]);
  }
  return call.set_tensor(2, input.with_sizes(std::move(sizes)));
}
Expected<void> squeeze_dims(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return squeeze(call, input, TRY(call.axes(1, input.rank())));
}
Expected<void> squeeze_dim(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return squeeze(call, input, {TRY(call.axis(1, input.rank()))});
}

Expected<void> unsqueeze(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank() + 1));
  std::vector<std::int64_t> sizes = input.sizes();
  sizes.insert(sizes.begin() + axis, 1);
  return call.set_tensor(2, input.with_sizes(std::move(sizes)));
}

Expected<void> expand(HostCall& call) {
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

Expected<void> select(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  const std::int64_t index = TRY(call.axis(2, input.size(axis)));
  const Tensor slice = TRY(call.compute(Op::kSlice, SliceAttrs{axis, index, index + 1, 1}, input));
  std::vector<std::int64_t> sizes = input.sizes();
  sizes.erase(sizes.begin() + axis);
  return call.set_tensor(3, slice.with_sizes(std::move(sizes)));
}

Expected<void> slice(HostCall& call) {
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

Expected<void> permute(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return call.store(2, Op::kPermute, AxesAttrs{TRY(call.axes(1, input.rank()))}, input);
}

Expected<void> transpose(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  AxesAttrs attrs;
  attrs.axes.resize(input.sizes().size());
  std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
  const auto first = static_cast<std::size_t>(TRY(call.axis(1, input.rank())));
  const auto second = static_cast<std::size_t>(TRY(call.axis(2, input.rank())));
  std::swap(attrs.axes[first], attrs.axes[second]);
  return call.store(3, Op::kPermute, attrs, input);
}

Expected<void> cat(HostCall& call) {
  std::vector<Tensor> inputs = TRY(call.tensors(0));
  // Empty vectors take no part, whatever their rank.
  std::erase_if(inputs, [](const Tensor& tensor) { return tensor.rank() == 1 && tensor.count() == 0; });
  if (inputs.empty()) return bad_input("nothing to join");
  return call.store(2, Op::kCat, AxisAttrs{TRY(call.axis(1, inputs[0].rank()))}, inputs);
}

// The result's own order of memory makes the difference.
Expected<void> clone(HostCall& call) { return call.set_tensor(2, TRY(call.tensor(0))); }
Expected<void> clone_in_order(HostCall& call) { return call.set_tensor(3, TRY(call.tensor(0))); }

// Pads the last axes; the list names the last one first.
Expected<void> pad(HostCall& call, PadMode mode, double value, std::size_t out, std::size_t axes) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> sides = TRY(call.integers(1));
  const std::size_t rank = input.sizes().size();
  if (sides.size() % 2 != 0 || sides.size() > 2 * rank || (axes != 0 && sides.size() != 2 * axes)) {
    return bad_input(fmt::format("{} numbers to pad a tensor of rank {}", sides.size(), rank));
  }
  PadAttrs attrs{mode, Ints(rank, 0), Ints(rank, 0), value};
  for (std::size_t i = 0; i < sides.size(); i += 2) {
    attrs.before[rank - 1 - i / 2] = sides[i];
    attrs.after[rank - 1 - i / 2] = sides[i + 1];
  }
  return call.store(out, Op::kPad, attrs, input);
}
Expected<void> constant_pad(HostCall& call) { return pad(call, PadMode::kConstant, TRY(call.number(2)), 3, 0); }
template <PadMode mode, std::size_t axes>
Expected<void> border_pad(HostCall& call) {
  return pad(call, mode, 0, 2, axes);
}

Expected<void> flip(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  AxesAttrs attrs{TRY(call.axes(1, input.rank()))};
  std::ranges::sort(attrs.axes);
  return call.store(2, Op::kFlip, attrs, input);
}

constexpr HostKernel kMovementKernels[] = {
    {"aten::squeeze_copy.dims_out", squeeze_dims},
    {"aten::squeeze_copy.dim_out", squeeze_dim},
    {"aten::unsqueeze_copy.out", unsqueeze},
    {"aten::expand_copy.out", expand},
    {"aten::select_copy.int_out", select},
    {"aten::slice_copy.Tensor_out", slice},
    {"aten::view_copy.out", view_copy},
    {"executorch_prim::et_view.default", view_copy},
    {"aten::permute_copy.out", permute},
    {"aten::transpose_copy.int_out", transpose},
    {"aten::cat.out", cat},
    {"aten::clone.out", clone},
    {"dim_order_ops::_clone_dim_order.out", clone_in_order},
    {"aten::flip.out", flip},
    {"aten::constant_pad_nd.out", constant_pad},
    {"aten::reflection_pad1d.out", border_pad<PadMode::kReflect, 1>},
    {"aten::reflection_pad2d.out", border_pad<PadMode::kReflect, 2>},
    {"aten::reflection_pad3d.out", border_pad<PadMode::kReflect, 3>},
    {"aten::replication_pad1d.out", border_pad<PadMode::kReplicate, 1>},
    {"aten::replication_pad2d.out", border_pad<PadMode::kReplicate, 2>},
    {"aten::replication_pad3d.out", border_pad<PadMode::kReplicate, 3>},
};

}  // namespace

std::span<const HostKernel> movement_host_kernels() { return kMovementKernels; }

}  // namespace isthmus::run
