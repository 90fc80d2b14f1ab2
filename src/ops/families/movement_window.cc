// Names that see one tensor through windows: unfold, im2col, as_strided.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/demands.h"
#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

// Windows of a symbolic axis become one slice per element of the window; more of them than this are unreasonable.
constexpr std::int64_t kMaxSlices = 256;

Expected<std::vector<ValueId>> read_unfold(Call& call) {
  ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dimension", call.rank(self)));
  const std::int64_t size = TRY(call.integer("size"));
  const std::int64_t step = TRY(call.integer("step"));
  if (call.rank(self) == 0) {
    if (size != 1) return bad_input(fmt::format("unfold of {} elements needs at least one dimension", size));
    return one(call.reshape(self, {Dim(1)}));
  }
  self = TRY(windows(call, self, axis, size, step, 1));
  Ints order(static_cast<std::size_t>(call.rank(self)));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + axis + 1, order.begin() + axis + 2, order.end());
  return one(call.permute(self, std::move(order)));
}

// A number per axis of a picture; one number stands for both.
Expected<Ints> pair(Call& call, std::string_view name, std::optional<Ints> otherwise, std::int64_t min) {
  Ints result = TRY(call.integers(name, std::move(otherwise)));
  if (result.size() == 1) result.push_back(result[0]);
  TRY(demand_list(result, 2, min, name));
  return result;
}

Expected<std::vector<ValueId>> read_im2col(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Ints kernel = TRY(pair(call, "kernel_size", {}, 1));
  const Ints dilation = TRY(pair(call, "dilation", Ints{1, 1}, 1));
  const Ints padding = TRY(pair(call, "padding", Ints{0, 0}, 0));
  const Ints stride = TRY(pair(call, "stride", Ints{1, 1}, 1));
  const std::int64_t rank = call.rank(self);
  if (rank != 3 && rank != 4) return bad_input(fmt::format("expected an image of rank 3 or 4, got rank {}", rank));
  ValueId value = self;
  if (padding[0] != 0 || padding[1] != 0) {
    PadAttrs pad;
    pad.before.assign(static_cast<std::size_t>(rank), 0);
    std::copy(padding.begin(), padding.end(), pad.before.end() - 2);
    pad.after = pad.before;
    value = TRY(call.emit(Op::kPad, std::move(pad), {value}));
  }
  value = TRY(windows(call, value, rank - 2, kernel[0], stride[0], dilation[0]));
  value = TRY(windows(call, value, rank, kernel[1], stride[1], dilation[1]));
  // From (..., channels, rows, kernel, columns, kernel) to (..., channels * kernel * kernel, rows * columns).
  const Shape parts = call.shape(value);
  const std::int64_t channels = rank - 3;
  Ints order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  const Ints last = {channels + 2, channels + 4, channels + 1, channels + 3};
  std::ranges::copy(last, order.end() - 4);
  value = TRY(call.permute(value, std::move(order)));
  Exprs& exprs = call.exprs();
  Shape shape(parts.begin(), parts.end() - 5);
  shape.push_back(exprs.multiply(parts[parts.size() - 5], kernel[0] * kernel[1]));
  shape.push_back(exprs.multiply(parts[parts.size() - 4], parts[parts.size() - 2]));
  return one(call.reshape(value, std::move(shape)));
}

// Only of values that lie in memory as they are written down: inputs, constants, and other shapes of them.
bool is_row_major(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  while (node != nullptr && node->op == Op::kReshape) {
    value = node->inputs[0];
    node = graph.producer(value);
  }
  return node == nullptr;
}

Expected<std::vector<ValueId>> read_as_strided(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const auto sizes = fixed_sizes(TRY(call.dims("size")));
  const auto strides = fixed_sizes(TRY(call.dims("stride")));
  const std::int64_t offset = TRY(call.integer("storage_offset", 0));
  const Dim total = call.exprs().product(call.shape(self));
  if (!sizes || !strides || !total.is_fixed()) return Call::unsupported("as_strided needs static sizes");
  if (!is_row_major(call.graph(), self))
    return Call::unsupported("as_strided needs an input with a known memory layout");
  if (sizes->size() != strides->size()) return bad_input("as_strided: sizes and strides differ in length");
  std::int64_t count = 1;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    if ((*sizes)[i] < 0 || (*strides)[i] < 0) return bad_input("as_strided: a size or stride is negative");
    if ((*sizes)[i] > kMaxElements || (*strides)[i] > total.value()) {
      return Call::unsupported("as_strided: the result is too large");
    }
    count *= (*sizes)[i];
    if (count > kMaxElements) return Call::unsupported("as_strided: the result is too large");
  }
  Ints positions(static_cast<std::size_t>(count), offset);
  std::int64_t repeat = count;
  for (std::size_t axis = 0; axis < sizes->size() && count > 0; ++axis) {
    repeat /= (*sizes)[axis];
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t& position = positions[static_cast<std::size_t>(i)];
      if (__builtin_add_overflow(position, i / repeat % (*sizes)[axis] * (*strides)[axis], &position)) {
        return bad_input("as_strided: an element is outside of the tensor");
      }
    }
  }
  for (const std::int64_t position : positions) {
    if (position < 0 || position >= total.value()) return bad_input("as_strided: an element is outside of the tensor");
  }
  const ValueId flat = TRY(call.reshape(self, {total}));
  const ValueId picked = TRY(select_positions(call, flat, 0, positions));
  return one(call.reshape(picked, Shape(sizes->begin(), sizes->end())));
}

}  // namespace

Expected<ValueId> windows(Emitter& emitter, ValueId value, std::int64_t axis, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation) {
  TRY(demand_list({kernel}, 1, 0, "the window size"));
  TRY(demand_list({stride, dilation}, 2, 1, "the window step"));
  Exprs& exprs = emitter.exprs();
  const Dim size = emitter.size(value, axis);
  const std::int64_t reach = kernel == 0 ? 0 : (kernel - 1) * dilation + 1;
  if (surely_exceeds(exprs, reach, size)) {
    return bad_input(fmt::format("a window of {} elements does not fit into size {}", reach, exprs.text(size)));
  }
  const Dim count = exprs.add(exprs.floor_divide(exprs.subtract(size, reach), stride), 1);
  if (stride == kernel && dilation == 1) {
    const ValueId used = TRY(emitter.slice(value, axis, 0, exprs.multiply(count, kernel)));
    return emitter.reshape(used, with_axis(emitter.shape(used), axis, {count, kernel}));
  }
  if (count.is_fixed()) {
    if (count.value() > kMaxElements / std::max<std::int64_t>(kernel, 1)) {
      return Call::unsupported("the windows are too large");
    }
    Ints positions;
    for (std::int64_t i = 0; i < count.value(); ++i) {
      for (std::int64_t k = 0; k < kernel; ++k) positions.push_back(i * stride + k * dilation);
    }
    const ValueId picked = TRY(select_positions(emitter, value, axis, positions));
    return emitter.reshape(picked, with_axis(emitter.shape(picked), axis, {count, kernel}));
  }
  if (kernel == 0 || kernel > kMaxSlices) return Call::unsupported("windows of this size need a static axis");
  std::vector<ValueId> parts;
  for (std::int64_t k = 0; k < kernel; ++k) {
    const ValueId part = TRY(strided_slice(emitter, value, axis, k * dilation, count, stride));
    parts.push_back(TRY(unsqueeze(emitter, part, axis + 1)));
  }
  return emitter.cat(std::move(parts), axis + 1);
}

std::vector<Spelling> window_spellings() {
  return {
      {"aten.unfold", read_unfold, Aliasing::kView},
      {"aten.im2col", read_im2col},
      {"aten.as_strided", read_as_strided, Aliasing::kView},
  };
}

}  // namespace isthmus
