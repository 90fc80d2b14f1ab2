// Pools of ONNX.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/demands.h"
#include "ops/elementwise.h"
#include "ops/known.h"
#include "ops/onnx/families.h"
#include "ops/onnx/layers.h"

namespace isthmus::onnx_ops {
namespace {

// A pool over one axis is one over two of which the first has size 1.
struct Pool {
  ValueId input;
  Shape shape;  // of the input as the file has it
  Ints kernel;
  Ints stride;
  Ints dilation;
  Ints padding;
  bool ceil_mode = false;
  std::size_t spatial = 2;
};

Expected<Pool> read_pool(Call& call) {
  Pool pool{.input = TRY(call.tensor("X")), .shape = {}, .kernel = {}, .stride = {}, .dilation = {}, .padding = {}};
  pool.shape = call.shape(pool.input);
  if (pool.shape.size() < 3 || pool.shape.size() > 5) {
    return Call::unsupported(fmt::format("unsupported pool of rank {}", pool.shape.size()));
  }
  pool.spatial = pool.shape.size() - 2;
  pool.kernel = TRY(call.integers("kernel_shape"));
  if (pool.kernel.size() != pool.spatial) return bad_input(fmt::format("the kernel has {} axes", pool.kernel.size()));
  pool.stride = TRY(per_axis(call, "strides", pool.spatial, 1));
  pool.dilation = TRY(per_axis(call, "dilations", pool.spatial, 1));
  TRY(demand_list(pool.kernel, pool.spatial, 1, "kernel_shape"));
  TRY(demand_list(pool.stride, pool.spatial, 1, "strides"));
  TRY(demand_list(pool.dilation, pool.spatial, 1, "dilations"));
  pool.padding = TRY(window_pads(call, pool.shape, pool.kernel, pool.stride, pool.dilation));
  TRY(demand_list(pool.padding, 2 * pool.spatial, 0, "pads"));
  if (pool.spatial == 1) {
    Shape wide = pool.shape;
    wide.insert(wide.begin() + 2, Dim(1));
    pool.input = TRY(call.reshape(pool.input, std::move(wide)));
    pool.kernel.insert(pool.kernel.begin(), 1);
    pool.stride.insert(pool.stride.begin(), 1);
    pool.dilation.insert(pool.dilation.begin(), 1);
    pool.padding.insert(pool.padding.begin(), 2, 0);
  }
  if (TRY(call.flag("ceil_mode", false))) {
    for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
      const Window window{pool.kernel[i], pool.stride[i], pool.padding[2 * i], pool.padding[2 * i + 1],
                          pool.dilation[i]};
      const Dim size = call.shape(pool.input)[i + 2];
      const bool differs = window_count(call.exprs(), size, window) != window_count_ceil(call.exprs(), size, window);
      pool.ceil_mode = pool.ceil_mode || differs;
    }
  }
  return pool;
}

bool has_wide_padding(const Pool& pool) {
  for (std::size_t i = 0; i < pool.padding.size(); ++i) {
    if (pool.padding[i] > pool.kernel[i / 2] / 2) return true;
  }
  return false;
}

// Elements of each window over those of them that are not padding, along every axis of the image.
Expected<ValueId> full_share(Call& call, const Pool& pool) {
  const Shape shape = call.shape(pool.input);
  const auto sizes = fixed_sizes(Shape(shape.begin() + 2, shape.end()));
  if (!sizes || pool.ceil_mode) return Call::unsupported("padding is more than half of the window");
  ValueId share = call.scalar(1.0, DType::kF32);
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const std::int64_t size = (*sizes)[i];
    const std::int64_t count =
        (size + pool.padding[2 * i] + pool.padding[2 * i + 1] - pool.kernel[i]) / pool.stride[i] + 1;
    if (count < 1 || count > kMaxElements) return bad_input(fmt::format("{} windows", count));
    std::vector<float> shares;
    for (std::int64_t at = 0; at < count; ++at) {
      const std::int64_t start = at * pool.stride[i] - pool.padding[2 * i];
      const std::int64_t inside = std::min(start + pool.kernel[i], size) - std::max<std::int64_t>(start, 0);
      if (inside < 1) return bad_input("a window covers only padding");
      shares.push_back(static_cast<float>(pool.kernel[i]) / static_cast<float>(inside));
    }
    Ints along(sizes->size() + 2, 1);
    along[i + 2] = count;
    share = TRY(call.binary(Op::kMul, share, call.constant(shares, along)));
  }
  return share;
}

// Padding of more than half of a window is written out.
Expected<void> write_out_padding(Call& call, Pool& pool, double value) {
  if (!has_wide_padding(pool)) return {};
  PadAttrs pad{PadMode::kConstant, Ints(pool.kernel.size() + 2, 0), Ints(pool.kernel.size() + 2, 0), value};
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    pad.before[i + 2] = pool.padding[2 * i];
    pad.after[i + 2] = pool.padding[2 * i + 1];
  }
  std::ranges::fill(pool.padding, 0);
  pool.input = TRY(call.emit(Op::kPad, std::move(pad), {pool.input}));
  return {};
}

Expected<ValueId> result_of(Call& call, const Pool& pool, ValueId result) {
  if (pool.spatial != 1) return result;
  Shape shape = call.shape(result);
  shape.erase(shape.begin() + 2);
  return call.reshape(result, std::move(shape));
}

double min_of(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  return dtype == DType::kI8 ? -128 : 0;
}

// Positions count through the whole tensor, batches and channels included.
Expected<ValueId> positions(Call& call, const Pool& pool, ValueId in_plane) {
  const Shape& from = pool.shape;
  if (!from[1].is_fixed() || !from[0].is_fixed()) return Call::unsupported("MaxPool indices need a static batch");
  const Dim plane = call.exprs().product(std::span(from).subspan(2));
  if (!plane.is_fixed()) return Call::unsupported("MaxPool indices need a static image size");
  const std::int64_t planes = from[0].value() * from[1].value();
  if (planes < 0 || planes > (1 << 22)) return Call::unsupported("MaxPool indices: too many images");
  Ints starts(static_cast<std::size_t>(planes));
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<std::int64_t>(i) * plane.value();
  Shape shape{from[0], from[1]};
  shape.resize(call.shape(in_plane).size(), Dim(1));
  return call.binary(Op::kAdd, in_plane, TRY(call.reshape(call.integers(starts), std::move(shape))));
}

// Positions that count along columns first.
Expected<ValueId> column_major(Call& call, const Pool& pool, ValueId in_plane) {
  const Dim width = call.shape(pool.input).back();
  const Dim height = call.size(pool.input, 2);
  if (pool.spatial != 2 || !width.is_fixed() || !height.is_fixed()) {
    return Call::unsupported("MaxPool indices in column-major order are not supported here");
  }
  const ValueId row_size = call.scalar(width.value(), DType::kI64);
  const ValueId row = TRY(call.binary(Op::kFloorDiv, in_plane, row_size));
  const ValueId column = TRY(call.binary(Op::kRemainder, in_plane, row_size));
  const ValueId start = TRY(call.binary(Op::kMul, column, call.scalar(height.value(), DType::kI64)));
  return call.binary(Op::kAdd, start, row);
}

// Each number goes where a max pool took it from; zeros elsewhere. Positions count through the whole tensor that the
// pool read, which `output_shape` may pad at its ends.
Expected<Values> read_max_unpool(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const auto shape = fixed_sizes(call.shape(x));
  if (!shape || shape->size() < 3) return Call::unsupported("the image size must be static");
  const std::size_t spatial = shape->size() - 2;
  const Ints kernel = TRY(call.integers("kernel_shape"));
  const Ints stride = TRY(per_axis(call, "strides", spatial, 1));
  const Ints pads = TRY(call.integers("pads", Ints(2 * spatial, 0)));
  if (kernel.size() != spatial || pads.size() != 2 * spatial)
    return bad_input("kernel_shape or pads have the wrong length");
  Ints sizes = *shape;
  std::int64_t count = sizes[0] * sizes[1];
  for (std::size_t i = 0; i < spatial; ++i) {
    TRY(demand_list({kernel[i], stride[i]}, 2, 1, "kernel_shape and strides differ in length"));
    sizes[i + 2] = (sizes[i + 2] - 1) * stride[i] + kernel[i] - pads[i] - pads[spatial + i];
    if (sizes[i + 2] < 1 || sizes[i + 2] > kMaxElements) return bad_input("the image is empty");
    count *= sizes[i + 2];
    if (count > kMaxElements) return Call::unsupported("the image is too large");
  }
  const Ints wanted = TRY(integers(call, "output_shape", sizes));
  if (wanted.size() != sizes.size()) return bad_input("output_shape has the wrong length");
  PadAttrs pad{PadMode::kConstant, Ints(sizes.size(), 0), Ints(sizes.size(), 0), 0};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    pad.after[i] = wanted[i] - sizes[i];
    if (pad.after[i] < 0 || wanted[i] > kMaxElements) return bad_input("output_shape is too small");
  }
  const Dim numbers = call.exprs().product(call.shape(x));
  const ValueId zeros = TRY(filled(call, 0, call.type(x).dtype, {Dim(count)}));
  const ValueId places = TRY(call.reshape(TRY(call.tensor("I")), {numbers}));
  const ValueId flat = TRY(
      call.emit(Op::kScatter, ScatterAttrs{0, ScatterMode::kSet}, {zeros, places, TRY(call.reshape(x, {numbers}))}));
  const ValueId image = TRY(call.reshape(flat, as_dims(sizes)));
  return one(wanted == sizes ? Expected<ValueId>(image) : call.emit(Op::kPad, std::move(pad), {image}));
}

Expected<Values> read_max_pool(Call& call) {
  Pool pool = TRY(read_pool(call));
  if (call.result_count() < 2) TRY(write_out_padding(call, pool, min_of(call.type(pool.input).dtype)));
  const MaxPoolAttrs attrs{pool.kernel, pool.stride, pool.padding, pool.dilation, pool.ceil_mode};
  const bool is_3d = pool.spatial == 3;
  const ValueId greatest = TRY(call.emit(is_3d ? Op::kMaxPool3d : Op::kMaxPool2d, attrs, {pool.input}));
  Values results{TRY(result_of(call, pool, greatest))};
  if (call.result_count() < 2) return results;
  ValueId in_plane = TRY(call.emit(is_3d ? Op::kMaxPool3dIndices : Op::kMaxPool2dIndices, attrs, {pool.input}));
  if (TRY(call.integer("storage_order", 0)) != 0) in_plane = TRY(column_major(call, pool, in_plane));
  results.push_back(TRY(result_of(call, pool, TRY(positions(call, pool, in_plane)))));
  return results;
}

Expected<Values> read_average_pool(Call& call) {
  Pool pool = TRY(read_pool(call));
  if (std::ranges::any_of(pool.dilation, [](std::int64_t step) { return step != 1; })) {
    return Call::unsupported("AveragePool with dilation is not supported");
  }
  const bool counts_padding = TRY(call.flag("count_include_pad", false));
  const bool has_padding = std::ranges::any_of(pool.padding, [](std::int64_t pad) { return pad != 0; });
  const bool is_wide = has_wide_padding(pool);
  const std::optional<ValueId> share =
      is_wide && !counts_padding ? std::optional(TRY(full_share(call, pool))) : std::nullopt;
  if (is_wide) TRY(write_out_padding(call, pool, 0));
  AvgPoolAttrs attrs{
      pool.kernel, pool.stride, pool.padding, pool.ceil_mode, counts_padding || !has_padding || is_wide, 0};
  ValueId mean = TRY(call.emit(pool.spatial == 3 ? Op::kAvgPool3d : Op::kAvgPool2d, std::move(attrs), {pool.input}));
  if (share) mean = TRY(call.binary(Op::kMul, mean, TRY(call.cast(*share, call.type(mean).dtype))));
  return one(result_of(call, pool, mean));
}

Expected<Ints> image_axes(Call& call, ValueId x) {
  if (call.rank(x) < 3) return bad_input(fmt::format("{}: unsupported input of rank {}", call.target(), call.rank(x)));
  Ints axes(static_cast<std::size_t>(call.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

// As PyTorch's pool to a size of 1 is read.
Expected<Values> read_global_average(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const Ints axes = TRY(image_axes(call, x));
  if (axes.size() == 2) {
    return TorchCall(call, "aten.adaptive_avg_pool2d").tensor("self", x).integers("output_size", {1, 1}).read();
  }
  return one(call.emit(Op::kMean, ReduceAttrs{axes, true}, {x}));
}
Expected<Values> read_global_max(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  return one(call.emit(Op::kAmax, ReduceAttrs{TRY(image_axes(call, x)), true}, {x}));
}
Expected<Values> read_global_lp(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const VectorNormAttrs attrs{TRY(image_axes(call, x)), true, TRY(call.number("p", 2))};
  return one(call.emit(Op::kVectorNorm, attrs, {x}));
}

}  // namespace

Family pool_family() {
  static constexpr Row kRows[] = {
      row("onnx.MaxPool", "X", read_max_pool),         row("onnx.MaxUnpool", "X I output_shape", read_max_unpool),
      row("onnx.AveragePool", "X", read_average_pool), row("onnx.GlobalAveragePool", "X", read_global_average),
      row("onnx.GlobalMaxPool", "X", read_global_max), row("onnx.GlobalLpPool", "X", read_global_lp),
  };
  return family_of("onnx pool", kRows);
}

}  // namespace isthmus::onnx_ops
