// Kernels that pool, resize and sample images.
#include <fmt/format.h>

#include <algorithm>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

// Padding of each axis where it is the same on both sides.
Expected<Ints> even_padding(const Ints& sides) {
  Ints padding;
  for (std::size_t i = 0; i < sides.size(); i += 2) {
    if (sides[i] != sides[i + 1]) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("ExecuTorch's kernel pads both sides of an axis alike, not by {} and {}", sides[i],
                              sides[i + 1]));
    }
    padding.push_back(sides[i]);
  }
  return padding;
}

Expected<std::vector<pte::ValueIndex>> max_pool_arguments(NodeWriter& node) {
  const MaxPoolAttrs& attrs = node.as<MaxPoolAttrs>();
  const Ints padding = TRY(even_padding(attrs.padding));
  return std::vector<pte::ValueIndex>{
      TRY(node.input(0)),     node.integers(attrs.kernel),   node.integers(attrs.stride),
      node.integers(padding), node.integers(attrs.dilation), node.boolean(attrs.ceil_mode)};
}
Expected<void> write_max_pool(NodeWriter& node) {
  const pte::ValueIndex positions = TRY(node.scratch({DType::kI64, node.result_type().shape}));
  node.finish(TRY(max_pool_arguments(node)), {TRY(node.result()), positions});
  return {};
}
Expected<void> write_max_pool_indices(NodeWriter& node) {
  const pte::ValueIndex numbers = TRY(node.scratch({node.type(0).dtype, node.result_type().shape}));
  node.finish(TRY(max_pool_arguments(node)), {numbers, TRY(node.result())});
  return {};
}

Expected<void> demand_averages(NodeWriter& node) {
  const DType dtype = node.type(0).dtype;
  if (is_floating(dtype) || dtype == DType::kI64) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("ExecuTorch's kernel averages floats and i64, not {}", name_of(dtype)));
}
Expected<void> write_avg_pool(NodeWriter& node) {
  TRY(demand_averages(node));
  const AvgPoolAttrs& attrs = node.as<AvgPoolAttrs>();
  const Ints padding = TRY(even_padding(attrs.padding));
  return node.finish({TRY(node.input(0)), node.integers(attrs.kernel), node.integers(attrs.stride),
                      node.integers(padding), node.boolean(attrs.ceil_mode), node.boolean(attrs.count_include_pad),
                      attrs.divisor == 0 ? node.none() : node.integer(attrs.divisor)});
}
// The kernel adds floats, and finds its windows by dividing floats.
Expected<void> write_adaptive_avg_pool(NodeWriter& node) {
  const TensorType& type = node.type(0);
  if (type.dtype != DType::kF32) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("ExecuTorch's kernel averages {} in f32; use f32", name_of(type.dtype)));
  }
  constexpr std::int64_t kMaxExact = 1 << 24;
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim in = type.shape[type.rank() - 2 + i];
    const Dim out = node.as<SizeAttrs>().size[i];
    if (in.is_fixed() && out.is_fixed() && in.value() > kMaxExact / std::max<std::int64_t>(out.value(), 1)) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("ExecuTorch's kernel cannot divide an axis of size {} into {}", in.value(), out.value()));
    }
  }
  return node.finish({TRY(node.input(0)), TRY(node.sizes(node.as<SizeAttrs>().size))});
}

// The kernels take either sizes or scales.
Expected<void> write_resize(NodeWriter& node) {
  const ResizeAttrs& attrs = node.as<ResizeAttrs>();
  const bool has_scales = !attrs.scales.empty();
  const pte::ValueIndex input = TRY(node.input(0));
  const pte::ValueIndex size = has_scales ? node.none() : TRY(node.sizes(attrs.size));
  const pte::ValueIndex scales = has_scales ? node.reals(attrs.scales) : node.none();
  if (attrs.mode == ResizeMode::kNearest) {
    return node.finish(names::kResizeNearest, {input, size, scales});
  }
  if (attrs.mode == ResizeMode::kLinear && node.type(0).dtype == DType::kF64) {
    return fail(ErrorKind::kUnsupported, "ExecuTorch's kernel weights pixels with f32; use f32");
  }
  if (attrs.mode == ResizeMode::kLinear) {
    return node.finish(names::kResizeLinear, {input, size, node.boolean(attrs.align_corners), scales});
  }
  return fail(ErrorKind::kUnsupported, "ExecuTorch's kernels resize only nearest or linear");
}

Expected<void> write_grid_sample(NodeWriter& node) {
  const GridSampleAttrs& attrs = node.as<GridSampleAttrs>();
  const std::int64_t mode = attrs.mode == ResizeMode::kLinear ? 0 : attrs.mode == ResizeMode::kNearest ? 1 : 2;
  return node.finish({TRY(node.input(0)), TRY(node.input(1)), node.integer(mode),
                      node.integer(static_cast<std::int64_t>(attrs.padding)), node.boolean(attrs.align_corners)});
}

Expected<void> run_max_pool(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  MaxPoolAttrs attrs;
  attrs.kernel = TRY(call.pair(1));
  attrs.stride = TRY(call.integers(2)).empty() ? attrs.kernel : TRY(call.pair(2));
  attrs.padding = TRY(call.both_sides(3));
  attrs.dilation = TRY(call.pair(4));
  attrs.ceil_mode = TRY(call.boolean(5));
  const Tensor result = TRY(call.compute(Op::kMaxPool2d, attrs, input));
  const Tensor positions = TRY(call.compute(Op::kMaxPool2dIndices, attrs, input));
  TRY(call.set_tensor(6, result));
  return call.set_tensor(7, positions);
}
Expected<void> run_avg_pool(RunningCall& call) {
  AvgPoolAttrs attrs;
  attrs.kernel = TRY(call.pair(1));
  attrs.stride = TRY(call.integers(2)).empty() ? attrs.kernel : TRY(call.pair(2));
  attrs.padding = TRY(call.both_sides(3));
  attrs.ceil_mode = TRY(call.boolean(4));
  attrs.count_include_pad = TRY(call.boolean(5));
  attrs.divisor = call.is_none(6) ? 0 : TRY(call.integer(6));
  if (!call.is_none(6) && attrs.divisor == 0) return bad_input("a divisor of 0");
  return call.store(7, Op::kAvgPool2d, attrs, TRY(call.tensor(0)));
}
Expected<void> run_adaptive_avg_pool(RunningCall& call) {
  const Ints size = TRY(call.pair(1));
  const SizeAttrs attrs{Dims(size.begin(), size.end())};
  return call.store(2, Op::kAdaptiveAvgPool2d, attrs, TRY(call.tensor(0)));
}

// Either sizes or scales are given.
Expected<void> resize(RunningCall& call, ResizeMode mode, bool align_corners, std::size_t scales) {
  const Tensor input = TRY(call.tensor(0));
  if (input.rank() != 4) return bad_input(fmt::format("an image of rank {}, expected 4", input.rank()));
  if (call.is_none(1) == call.is_none(scales)) return bad_input("expected either sizes or scales");
  ResizeAttrs attrs{mode, {}, {}, align_corners};
  if (!call.is_none(1)) {
    const Ints size = TRY(call.pair(1));
    attrs.size.assign(size.begin(), size.end());
  } else {
    attrs.scales = TRY(call.numbers(scales));
    constexpr double kMaxScale = 1 << 20;
    if (attrs.scales.size() != 2) return bad_input("the scales have the wrong length");
    for (std::size_t i = 0; i < 2; ++i) {
      if (!(attrs.scales[i] > 0) || attrs.scales[i] > kMaxScale) return bad_input("a scale is out of range");
      const double size = static_cast<double>(input.sizes()[i + 2]) * attrs.scales[i];
      attrs.size.emplace_back(static_cast<std::int64_t>(size));
    }
  }
  return call.store(scales + 1, Op::kResize2d, attrs, input);
}
Expected<void> run_resize_nearest(RunningCall& call) { return resize(call, ResizeMode::kNearest, false, 2); }
Expected<void> run_resize_linear(RunningCall& call) {
  return resize(call, ResizeMode::kLinear, TRY(call.boolean(2)), 3);
}

Expected<void> run_grid_sample(RunningCall& call) {
  static constexpr ResizeMode kModes[] = {ResizeMode::kLinear, ResizeMode::kNearest, ResizeMode::kCubic};
  const std::int64_t mode = TRY(call.integer(2));
  const std::int64_t padding = TRY(call.integer(3));
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return bad_input("unknown mode");
  const GridSampleAttrs attrs{kModes[mode], static_cast<GridPadding>(padding), TRY(call.boolean(4))};
  return call.store(5, Op::kGridSample, attrs, TRY(call.tensor(0)), TRY(call.tensor(1)));
}

constexpr Kernel kImageKernels[] = {
    {.name = names::kMaxPool,
     .arguments = "tIIIIb",
     .run = run_max_pool,
     .written = {Op::kMaxPool2d, write_max_pool, ElementTypes::kNoBool},
     .outs = 2},
    {.name = "aten::avg_pool2d.out",
     .arguments = "tIIIbbj",
     .run = run_avg_pool,
     .written = {.op = Op::kAvgPool2d, .write = write_avg_pool, .widens = true}},
    {.name = "aten::_adaptive_avg_pool2d.out",
     .arguments = "tI",
     .run = run_adaptive_avg_pool,
     .written = {.op = Op::kAdaptiveAvgPool2d, .write = write_adaptive_avg_pool, .widens = true}},
    {.name = names::kResizeNearest, .arguments = "tJR", .run = run_resize_nearest},
    {.name = names::kResizeLinear, .arguments = "tJbR", .run = run_resize_linear},
    {.name = "aten::grid_sampler_2d.out",
     .arguments = "ttiib",
     .run = run_grid_sample,
     .written = {.op = Op::kGridSample, .write = write_grid_sample, .widens = true}},
};
constexpr WrittenOp kImageComposites[] = {
    {.op = Op::kMaxPool2dIndices,
     .write = write_max_pool_indices,
     .types = ElementTypes::kNoBool,
     .kernel = names::kMaxPool},
    {.op = Op::kResize2d, .write = write_resize, .types = ElementTypes::kNoBool, .widens = true},
};

}  // namespace

Family image_family() { return {kImageKernels, kImageComposites}; }

}  // namespace isthmus::host
