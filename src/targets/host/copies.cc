// Kernels that ExecuTorch's exporter writes for views, splits and joins, and that are other ops here: copies of whole
// tensors, of parts of them, and of parts into them.
#include <algorithm>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

template <std::size_t out>
Expected<void> run_copy(RunningCall& call) {
  return call.set_tensor(out, TRY(call.tensor(0)));
}
// The second argument, in the sizes of the first.
Expected<void> run_broadcast_copy(RunningCall& call) {
  const Tensor to = TRY(call.tensor(0));
  Tensor from = TRY(call.tensor(1));
  if (TRY(call.boolean(2))) return fail(ErrorKind::kUnsupported, "a non-blocking copy");
  if (from.dtype() != to.dtype()) from = TRY(call.compute(Op::kCast, DTypeAttrs{to.dtype()}, from));
  if (from.sizes() == to.sizes()) return call.set_tensor(3, from);
  return call.store(3, Op::kExpand, ShapeAttrs{Dims(to.sizes().begin(), to.sizes().end())}, from);
}
Expected<void> run_to_copy(RunningCall& call) {
  const DType dtype = TRY(call.tensor(3)).dtype();
  return call.store(3, Op::kCast, DTypeAttrs{dtype}, TRY(call.tensor(0)));
}

Expected<void> run_matrix_transpose(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  if (input.rank() > 2) return bad_input("t() needs at most 2 axes");
  if (input.rank() < 2) return call.set_tensor(1, input);
  return call.store(1, Op::kPermute, AxesAttrs{{1, 0}}, input);
}

Expected<Tensor> part(const RunningCall& call, const Tensor& input, std::int64_t axis, std::int64_t start,
                      std::int64_t size) {
  if (start < 0 || size < 0 || start > input.size(axis) - size) return bad_input("the part does not exist");
  return call.compute(Op::kSlice, SliceAttrs{axis, start, start + size, 1}, input);
}

Expected<void> run_narrow(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  std::int64_t start = TRY(call.integer(2));
  if (start < 0 && start >= -input.size(axis)) start += input.size(axis);
  return call.set_tensor(4, TRY(part(call, input, axis, start, TRY(call.integer(3)))));
}

Expected<void> split(RunningCall& call, const Tensor& input, std::int64_t axis, const std::vector<std::int64_t>& sizes,
                     std::size_t out) {
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(TRY(part(call, input, axis, start, size)));
    start += size;
  }
  if (start != input.size(axis)) return bad_input("the parts do not cover the axis");
  return call.set_tensors(out, parts);
}
Expected<void> run_split(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t size = TRY(call.integer(1));
  const std::int64_t axis = TRY(call.axis(2, input.rank()));
  if (size <= 0) return bad_input("a part is empty");
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = input.size(axis); left > 0; left -= size) sizes.push_back(std::min(left, size));
  return split(call, input, axis, sizes, 3);
}
Expected<void> run_split_with_sizes(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> sizes = TRY(call.integers(1));
  return split(call, input, TRY(call.axis(2, input.rank())), sizes, 3);
}
Expected<void> run_unbind(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  std::vector<std::int64_t> sizes = input.sizes();
  sizes.erase(sizes.begin() + axis);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < input.size(axis); ++i) {
    parts.push_back(TRY(part(call, input, axis, i, 1)).with_sizes(sizes));
  }
  return call.set_tensors(2, parts);
}

Expected<void> run_stack(RunningCall& call) {
  std::vector<Tensor> inputs = TRY(call.tensors(0));
  if (inputs.empty()) return bad_input("no tensors to concatenate");
  const std::int64_t axis = TRY(call.axis(1, inputs[0].rank() + 1));
  for (Tensor& input : inputs) {
    std::vector<std::int64_t> sizes = input.sizes();
    if (axis > input.rank()) return bad_input("tensors of different ranks");
    sizes.insert(sizes.begin() + axis, 1);
    input = input.with_sizes(std::move(sizes));
  }
  return call.store(2, Op::kCat, AxisAttrs{axis}, inputs);
}

// Each axis as many times as the list says, which may name further axes before those of the tensor.
Expected<void> run_repeat(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> times = TRY(call.integers(1));
  if (times.size() < input.sizes().size()) return bad_input("fewer values than the tensor has axes");
  const std::size_t added = times.size() - input.sizes().size();
  std::vector<std::int64_t> single;  // each axis with one of size 1 before it
  Dims repeated;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t size = i < added ? 1 : input.sizes()[i - added];
    if (times[i] < 0) return bad_input("a negative number of repeats");
    single.insert(single.end(), {1, size});
    repeated.insert(repeated.end(), {Dim(times[i]), Dim(size)});
    std::int64_t product = 0;
    if (__builtin_mul_overflow(times[i], size, &product)) return bad_input("the sizes overflow");
    sizes.push_back(product);
  }
  const Tensor wide = TRY(call.compute(Op::kExpand, ShapeAttrs{repeated}, input.with_sizes(single)));
  return call.set_tensor(2, wide.with_sizes(std::move(sizes)));
}

Expected<Tensor> rolled(const RunningCall& call, const Tensor& input, std::int64_t axis, std::int64_t shift) {
  const std::int64_t size = input.size(axis);
  if (size == 0) return input;
  const std::int64_t start = ((-(shift % size)) + size) % size;
  if (start == 0) return input;
  const Tensor front = TRY(part(call, input, axis, start, size - start));
  return call.compute(Op::kCat, AxisAttrs{axis}, front, TRY(part(call, input, axis, 0, start)));
}
Expected<void> run_roll(RunningCall& call) {
  Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> shifts = TRY(call.integers(1));
  const std::vector<std::int64_t> axes = TRY(call.axes(2, input.rank()));
  if (shifts.size() != axes.size()) return bad_input("shifts and axes differ in length");
  for (std::size_t i = 0; i < axes.size(); ++i) input = TRY(rolled(call, input, axes[i], shifts[i]));
  return call.set_tensor(3, input);
}

// Windows of an axis, whose elements become the last axis.
Expected<void> run_unfold(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  const std::int64_t size = TRY(call.integer(2));
  const std::int64_t step = TRY(call.integer(3));
  if (size <= 0 || size > input.size(axis) || step <= 0) return bad_input("the window does not fit");
  std::vector<Tensor> windows;
  Ints order = all_axes(input);
  order.erase(order.begin() + axis);
  order.push_back(axis);
  for (std::int64_t start = 0; start <= input.size(axis) - size; start += step) {
    const Tensor window = TRY(call.compute(Op::kPermute, AxesAttrs{order}, TRY(part(call, input, axis, start, size))));
    std::vector<std::int64_t> sizes = window.sizes();
    sizes.insert(sizes.begin() + axis, 1);
    windows.push_back(window.with_sizes(std::move(sizes)));
    if (step > input.size(axis)) break;
  }
  return call.store(4, Op::kCat, AxisAttrs{axis}, windows);
}

// Blocks of channels become squares of pixels, and back.
Expected<void> run_pixel_shuffle(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t side = TRY(call.integer(1));
  constexpr std::int64_t kMaxSide = 1 << 15;
  if (input.rank() < 3 || side < 1 || side > kMaxSide || input.size(input.rank() - 3) % (side * side) != 0) {
    return bad_input("the channels are not a multiple of the squared factor");
  }
  std::vector<std::int64_t> sizes = input.sizes();
  const std::int64_t width = sizes.back();
  const std::int64_t height = sizes[sizes.size() - 2];
  const std::int64_t channels = sizes[sizes.size() - 3] / (side * side);
  sizes.resize(sizes.size() - 3);
  const auto batch = static_cast<std::int64_t>(sizes.size());
  std::vector<std::int64_t> split_sizes = sizes;
  split_sizes.insert(split_sizes.end(), {channels, side, side, height, width});
  const Tensor blocks = input.with_sizes(split_sizes);
  Ints order = all_axes(blocks);
  order.resize(sizes.size());
  order.insert(order.end(), {batch, batch + 3, batch + 1, batch + 4, batch + 2});
  sizes.insert(sizes.end(), {channels, height * side, width * side});
  return call.set_tensor(2, TRY(call.compute(Op::kPermute, AxesAttrs{order}, blocks)).with_sizes(std::move(sizes)));
}
Expected<void> run_pixel_unshuffle(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t side = TRY(call.integer(1));
  if (input.rank() < 3 || side < 1 || input.size(input.rank() - 1) % side != 0 ||
      input.size(input.rank() - 2) % side != 0) {
    return bad_input("the image size is not a multiple of the factor");
  }
  std::vector<std::int64_t> sizes = input.sizes();
  const std::int64_t width = sizes.back() / side;
  const std::int64_t height = sizes[sizes.size() - 2] / side;
  const std::int64_t channels = sizes[sizes.size() - 3];
  sizes.resize(sizes.size() - 3);
  const auto batch = static_cast<std::int64_t>(sizes.size());
  std::vector<std::int64_t> split_sizes = sizes;
  split_sizes.insert(split_sizes.end(), {channels, height, side, width, side});
  const Tensor squares = input.with_sizes(split_sizes);
  Ints order = all_axes(squares);
  order.resize(sizes.size());
  order.insert(order.end(), {batch, batch + 2, batch + 4, batch + 1, batch + 3});
  std::int64_t blocks = 0;
  if (__builtin_mul_overflow(channels, side, &blocks) || __builtin_mul_overflow(blocks, side, &blocks)) {
    return bad_input("the sizes overflow");
  }
  sizes.insert(sizes.end(), {blocks, height, width});
  return call.set_tensor(2, TRY(call.compute(Op::kPermute, AxesAttrs{order}, squares)).with_sizes(std::move(sizes)));
}

// A tensor with the elements start, start + step, ... of an axis replaced.
struct Places {
  std::int64_t axis, start, end, step;
};
Expected<void> replace(RunningCall& call, const Tensor& input, const Tensor& source, const Places& places,
                       std::size_t out) {
  std::vector<std::int64_t> positions;
  for (std::int64_t at = places.start; at < places.end; at += places.step) positions.push_back(at);
  std::vector<std::int64_t> sizes = input.sizes();
  sizes[static_cast<std::size_t>(places.axis)] = static_cast<std::int64_t>(positions.size());
  if (source.sizes() != sizes || source.dtype() != input.dtype())
    return bad_input("the sizes differ from those replaced");
  if (positions.empty() || input.count() == 0) return call.set_tensor(out, input);
  std::vector<std::int64_t> along(sizes.size(), 1);
  along[static_cast<std::size_t>(places.axis)] = static_cast<std::int64_t>(positions.size());
  Tensor line(DType::kI64, along);
  std::ranges::copy(positions, line.mutable_data<std::int64_t>().begin());
  const Tensor index = TRY(call.compute(Op::kExpand, ShapeAttrs{Dims(sizes.begin(), sizes.end())}, line));
  return call.store(out, Op::kScatter, ScatterAttrs{places.axis, ScatterMode::kSet}, input, index, source);
}
Expected<void> run_slice_scatter(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(2, input.rank()));
  const std::int64_t size = input.size(axis);
  const auto clipped = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = clipped(call.is_none(3) ? 0 : TRY(call.integer(3)));
  const std::int64_t end = clipped(call.is_none(4) ? size : TRY(call.integer(4)));
  const std::int64_t step = TRY(call.integer(5));
  if (step < 1) return bad_input("a step below 1");
  return replace(call, input, TRY(call.tensor(1)), {axis, start, end, std::min(step, size + 1)}, 6);
}
Expected<void> run_select_scatter(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(2, input.rank()));
  const std::int64_t index = TRY(call.axis(3, input.size(axis)));
  const Tensor source = TRY(call.tensor(1));
  std::vector<std::int64_t> sizes = source.sizes();
  if (axis > source.rank()) return bad_input("the sizes differ from those replaced");
  sizes.insert(sizes.begin() + axis, 1);
  return replace(call, input, source.with_sizes(std::move(sizes)), {axis, index, index + 1, 1}, 4);
}

// Zero above a diagonal.
Expected<void> run_lower_triangle(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t diagonal = TRY(call.integer(1));
  if (input.rank() < 2) return bad_input("tril and triu need at least 2 axes");
  const std::int64_t rows = input.size(input.rank() - 2);
  const std::int64_t columns = input.size(input.rank() - 1);
  Tensor is_kept(DType::kBool, {rows, columns});
  const auto kept = is_kept.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < columns; ++k)
      kept[static_cast<std::size_t>(i * columns + k)] = k - i <= diagonal ? 1 : 0;
  }
  const Tensor zero = TRY(call.compute(Op::kCast, DTypeAttrs{input.dtype()}, scalar(0.0)));
  return call.store(2, Op::kWhere, NoAttrs{}, is_kept, input, zero);
}

// One half of an axis times the sigmoid of the other.
Expected<void> run_gated(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  const std::int64_t half = input.size(axis) / 2;
  if (input.size(axis) % 2 != 0) return bad_input("the axis has an odd size");
  const Tensor gate = TRY(call.compute(Op::kSigmoid, NoAttrs{}, TRY(part(call, input, axis, half, half))));
  return call.store(2, Op::kMul, NoAttrs{}, TRY(part(call, input, axis, 0, half)), gate);
}

constexpr Kernel kCopyKernels[] = {
    {.name = "aten::alias_copy.out", .arguments = "t", .run = run_copy<1>},
    {.name = "aten::detach_copy.out", .arguments = "t", .run = run_copy<1>},
    {.name = "aten::lift_fresh_copy.out", .arguments = "t", .run = run_copy<1>},
    {.name = "aten::copy.out", .arguments = "ttb", .run = run_broadcast_copy},
    {.name = "aten::_to_copy.out", .arguments = "tbj", .run = run_to_copy},
    {.name = "aten::t_copy.out", .arguments = "t", .run = run_matrix_transpose},
    {.name = "aten::narrow_copy.out", .arguments = "tiii", .run = run_narrow},
    {.name = "aten::split_copy.Tensor_out", .arguments = "tii", .run = run_split, .writes_list = true},
    {.name = "aten::split_with_sizes_copy.out", .arguments = "tIi", .run = run_split_with_sizes, .writes_list = true},
    {.name = "aten::unbind_copy.int_out", .arguments = "ti", .run = run_unbind, .writes_list = true},
    {.name = "aten::stack.out", .arguments = "li", .run = run_stack},
    {.name = "aten::repeat.out", .arguments = "tI", .run = run_repeat},
    {.name = "aten::roll.out", .arguments = "tII", .run = run_roll},
    {.name = "aten::unfold_copy.out", .arguments = "tiii", .run = run_unfold},
    {.name = "aten::pixel_shuffle.out", .arguments = "ti", .run = run_pixel_shuffle},
    {.name = "aten::pixel_unshuffle.out", .arguments = "ti", .run = run_pixel_unshuffle},
    {.name = "aten::slice_scatter.out", .arguments = "ttijji", .run = run_slice_scatter},
    {.name = "aten::select_scatter.out", .arguments = "ttii", .run = run_select_scatter},
    {.name = "aten::tril.out", .arguments = "ti", .run = run_lower_triangle},
    {.name = "aten::glu.out", .arguments = "ti", .run = run_gated},
};

}  // namespace

Family copy_family() { return {kCopyKernels, {}}; }

}  // namespace isthmus::host
