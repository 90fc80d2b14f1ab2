// Host ops that are layers of a network: pools, normalization, images.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lower/host_ops.h"

namespace isthmus {
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

Expected<std::vector<pte::ValueIndex>> max_pool_arguments(HostNode& node) {
  const MaxPoolAttrs& attrs = node.as<MaxPoolAttrs>();
  const Ints padding = TRY(even_padding(attrs.padding));
  return std::vector<pte::ValueIndex>{
      TRY(node.input(0)),     node.integers(attrs.kernel),   node.integers(attrs.stride),
      node.integers(padding), node.integers(attrs.dilation), node.truth(attrs.ceil_mode)};
}
Expected<void> write_max_pool(HostNode& node) {
  const pte::ValueIndex positions = TRY(node.scratch({DType::kI64, node.result_type().shape}));
  node.finish(TRY(max_pool_arguments(node)), {TRY(node.result()), positions});
  return {};
}
Expected<void> write_max_pool_indices(HostNode& node) {
  const pte::ValueIndex numbers = TRY(node.scratch({node.type(0).dtype, node.result_type().shape}));
  node.finish(TRY(max_pool_arguments(node)), {numbers, TRY(node.result())});
  return {};
}

Expected<void> demand_averages(HostNode& node) {
  const DType dtype = node.type(0).dtype;
  if (is_floating(dtype) || dtype == DType::kI64) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("ExecuTorch's kernel averages floats and i64, not {}", name_of(dtype)));
}
Expected<void> write_avg_pool(HostNode& node) {
  TRY(demand_averages(node));
  const AvgPoolAttrs& attrs = node.as<AvgPoolAttrs>();
  const Ints padding = TRY(even_padding(attrs.padding));
  return node.finish({TRY(node.input(0)), node.integers(attrs.kernel), node.integers(attrs.stride),
                      node.integers(padding), node.truth(attrs.ceil_mode), node.truth(attrs.count_include_pad),
                      attrs.divisor == 0 ? node.none() : node.integer(attrs.divisor)});
}
// The kernel adds floats, and finds its windows by dividing floats.
Expected<void> write_adaptive_avg_pool(HostNode& node) {
  const TensorType& type = node.type(0);
  if (type.dtype != DType::kF32) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("ExecuTorch's kernel averages {} as f32; make the model f32", name_of(type.dtype)));
  }
  constexpr std::int64_t kMaxExact = 1 << 24;
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim in = type.shape[type.rank() - 2 + i];
    const Dim out = node.as<SizeAttrs>().size[i];
    if (in.is_fixed() && out.is_fixed() && in.value() > kMaxExact / std::max<std::int64_t>(out.value(), 1)) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("ExecuTorch's kernel cannot divide an axis of {} into {}", in.value(), out.value()));
    }
  }
  return node.finish({TRY(node.input(0)), TRY(node.sizes(node.as<SizeAttrs>().size))});
}

// Results that no node reads: means, and reciprocals of deviations.
Expected<void> finish_with_statistics(HostNode& node, std::vector<pte::ValueIndex> args, const Shape& shape) {
  const TensorType statistics{node.type(0).dtype, shape};
  const pte::ValueIndex means = TRY(node.scratch(statistics));
  const pte::ValueIndex factors = TRY(node.scratch(statistics));
  node.finish(std::move(args), {TRY(node.result()), means, factors});
  return {};
}

Expected<void> write_batch_norm(HostNode& node) {
  const DType dtype = node.type(0).dtype;
  std::vector<pte::ValueIndex> args{TRY(node.input(0))};
  for (const std::size_t i : {3u, 4u, 1u, 2u}) args.push_back(TRY(node.input_as(i, dtype)));
  args.insert(args.end(), {node.real(0), node.real(node.as<EpsAttrs>().eps)});
  return finish_with_statistics(node, std::move(args), {Dim(0)});
}

// x minus its mean over the axes. The kernels take the variance of f32 as mean(x^2) - mean(x)^2, of which nothing is
// left where the mean is large.
Expected<pte::ValueIndex> centered(HostNode& node, pte::ValueIndex x, const TensorType& type, const Ints& axes) {
  Shape kept = type.shape;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = Dim(1);
  const pte::ValueIndex mean =
      TRY(node.step("aten::mean.out", {x, node.integers(axes), node.truth(true), node.none()}, {type.dtype, kept}));
  return node.step("aten::sub.out", {x, mean, node.integer(1)}, type);
}
// Centered numbers divided by sqrt(their variance + eps), for doubles: the kernels add them as floats.
Expected<pte::ValueIndex> normalized(HostNode& node, pte::ValueIndex x, const TensorType& type, const Ints& axes,
                                     double eps) {
  Shape kept = type.shape;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = Dim(1);
  const TensorType statistics{type.dtype, kept};
  const pte::ValueIndex square = TRY(node.step("aten::mul.out", {x, x}, type));
  const pte::ValueIndex variance =
      TRY(node.step("aten::mean.out", {square, node.integers(axes), node.truth(true), node.none()}, statistics));
  const pte::ValueIndex sum =
      TRY(node.step("aten::add.Scalar_out", {variance, node.real(eps), node.integer(1)}, statistics));
  const pte::ValueIndex factor = TRY(node.step("aten::rsqrt.out", {sum}, statistics));
  return node.step("aten::mul.out", {x, factor}, type);
}
// x * weight + bias, as far as there are such, of parameters that broadcast once they are of this shape.
Expected<void> finish_affine(HostNode& node, pte::ValueIndex x, const Shape& shape) {
  const DType dtype = node.type(0).dtype;
  for (std::size_t i = 1; i < node.input_count(); ++i) {
    const pte::ValueIndex value = TRY(node.input_as(i, dtype));
    const pte::ValueIndex parameter = TRY(node.reshaped(value, {dtype, node.type(i).shape}, shape));
    if (i == 1) x = TRY(node.step("aten::mul.out", {x, parameter}, node.result_type()));
    if (i == 2) x = TRY(node.step("aten::add.out", {x, parameter, node.integer(1)}, node.result_type()));
  }
  return node.finish("dim_order_ops::_to_dim_order_copy.out", node.cast_arguments(x, node.result_type().rank()));
}

Expected<void> write_layer_norm(HostNode& node) {
  const auto& [count, eps] = node.as<LayerNormAttrs>();
  const TensorType& type = node.type(0);
  Ints axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(type.rank()) - count);
  const Shape sizes(type.shape.end() - count, type.shape.end());
  const pte::ValueIndex x = TRY(centered(node, TRY(node.input(0)), type, axes));
  if (type.dtype == DType::kF64) return finish_affine(node, TRY(normalized(node, x, type, axes, eps)), sizes);
  Shape kept = type.shape;
  std::fill(kept.end() - count, kept.end(), Dim(1));
  const pte::ValueIndex weight = TRY(node.input_as(1, type.dtype));
  const pte::ValueIndex bias = TRY(node.input_as(2, type.dtype));
  return finish_with_statistics(node, {x, TRY(node.sizes(sizes)), weight, bias, node.real(eps)}, kept);
}

Expected<void> write_group_norm(HostNode& node) {
  const auto& [groups, eps] = node.as<GroupNormAttrs>();
  const TensorType& type = node.type(0);
  const Dim places = node.exprs().product(std::span(type.shape).subspan(2));
  const Dim each = node.exprs().multiply(places, node.exprs().floor_divide(type.shape[1], groups));
  const TensorType grouped{type.dtype, {type.shape[0], Dim(groups), each}};
  pte::ValueIndex x = TRY(node.reshaped(TRY(node.input(0)), type, grouped.shape));
  x = TRY(centered(node, x, grouped, {2}));
  if (type.dtype == DType::kF64) {
    x = TRY(node.reshaped(TRY(normalized(node, x, grouped, {2}, eps)), grouped, type.shape));
    Shape channels(type.rank() - 1, Dim(1));
    channels[0] = type.shape[1];
    return finish_affine(node, x, channels);
  }
  x = TRY(node.reshaped(x, grouped, type.shape));
  const pte::ValueIndex weight = TRY(node.input_as(1, type.dtype));
  const pte::ValueIndex bias = TRY(node.input_as(2, type.dtype));
  return finish_with_statistics(node,
                                {x, weight, bias, TRY(node.size(type.shape[0])), TRY(node.size(type.shape[1])),
                                 TRY(node.size(places)), node.integer(groups), node.real(eps)},
                                {type.shape[0], Dim(groups)});
}

// The kernels take either sizes or scales.
Expected<void> write_resize(HostNode& node) {
  const ResizeAttrs& attrs = node.as<ResizeAttrs>();
  const bool has_scales = !attrs.scales.empty();
  const pte::ValueIndex input = TRY(node.input(0));
  const pte::ValueIndex size = has_scales ? node.none() : TRY(node.sizes(attrs.size));
  const pte::ValueIndex scales = has_scales ? node.reals(attrs.scales) : node.none();
  if (attrs.mode == ResizeMode::kNearest) {
    return node.finish("aten::upsample_nearest2d.vec_out", {input, size, scales});
  }
  if (attrs.mode == ResizeMode::kLinear && node.type(0).dtype == DType::kF64) {
    return fail(ErrorKind::kUnsupported, "ExecuTorch's kernel weighs pixels by floats; make the model f32");
  }
  if (attrs.mode == ResizeMode::kLinear) {
    return node.finish("aten::upsample_bilinear2d.vec_out", {input, size, node.truth(attrs.align_corners), scales});
  }
  return fail(ErrorKind::kUnsupported, "ExecuTorch's kernels resize to the nearest pixel or linearly");
}

Expected<void> write_grid_sample(HostNode& node) {
  const GridSampleAttrs& attrs = node.as<GridSampleAttrs>();
  const std::int64_t mode = attrs.mode == ResizeMode::kLinear ? 0 : attrs.mode == ResizeMode::kNearest ? 1 : 2;
  return node.finish({TRY(node.input(0)), TRY(node.input(1)), node.integer(mode),
                      node.integer(static_cast<std::int64_t>(attrs.padding)), node.truth(attrs.align_corners)});
}

constexpr HostOp kLayerOps[] = {
    {Op::kMaxPool2d, "aten::max_pool2d_with_indices.out", write_max_pool, HostTypes::kNoBool},
    {Op::kMaxPool2dIndices, "aten::max_pool2d_with_indices.out", write_max_pool_indices, HostTypes::kNoBool},
    {.op = Op::kAvgPool2d, .kernel = "aten::avg_pool2d.out", .write = write_avg_pool, .widens = true},
    {.op = Op::kAdaptiveAvgPool2d,
     .kernel = "aten::_adaptive_avg_pool2d.out",
     .write = write_adaptive_avg_pool,
     .widens = true},
    {.op = Op::kBatchNorm,
     .kernel = "aten::_native_batch_norm_legit_no_training.out",
     .write = write_batch_norm,
     .widens = true},
    {.op = Op::kLayerNorm, .kernel = "aten::native_layer_norm.out", .write = write_layer_norm, .widens = true},
    {.op = Op::kGroupNorm, .kernel = "aten::native_group_norm.out", .write = write_group_norm, .widens = true},
    {.op = Op::kResize2d, .kernel = "", .write = write_resize, .types = HostTypes::kNoBool, .widens = true},
    {.op = Op::kGridSample, .kernel = "aten::grid_sampler_2d.out", .write = write_grid_sample, .widens = true},
};

}  // namespace

std::span<const HostOp> host_layer_ops() { return kLayerOps; }

}  // namespace isthmus
