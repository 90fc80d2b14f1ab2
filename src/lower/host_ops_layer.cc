// Host ops that are layers of a network: pools, normalization, images.
#include <fmt/format.h>

#include <algorithm>

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
Expected<void> write_adaptive_avg_pool(HostNode& node) {
  TRY(demand_averages(node));
  return node.finish({TRY(node.input(0)), TRY(node.sizes(node.as<SizeAttrs>().size))});
}

// Results that nobody reads: means, and reciprocals of deviations.
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

Expected<void> write_layer_norm(HostNode& node) {
  const auto& [axes, eps] = node.as<LayerNormAttrs>();
  const TensorType& type = node.type(0);
  const Shape normalized(type.shape.end() - axes, type.shape.end());
  Shape kept = type.shape;
  std::fill(kept.end() - axes, kept.end(), Dim(1));
  const pte::ValueIndex weight = TRY(node.input_as(1, type.dtype));
  const pte::ValueIndex bias = TRY(node.input_as(2, type.dtype));
  return finish_with_statistics(node, {TRY(node.input(0)), TRY(node.sizes(normalized)), weight, bias, node.real(eps)},
                                kept);
}

Expected<void> write_group_norm(HostNode& node) {
  const auto& [groups, eps] = node.as<GroupNormAttrs>();
  const TensorType& type = node.type(0);
  const Dim places = node.exprs().product(std::span(type.shape).subspan(2));
  const pte::ValueIndex weight = TRY(node.input_as(1, type.dtype));
  const pte::ValueIndex bias = TRY(node.input_as(2, type.dtype));
  return finish_with_statistics(
      node,
      {TRY(node.input(0)), weight, bias, TRY(node.size(type.shape[0])), TRY(node.size(type.shape[1])),
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
    {Op::kAvgPool2d, "aten::avg_pool2d.out", write_avg_pool},
    {Op::kAdaptiveAvgPool2d, "aten::_adaptive_avg_pool2d.out", write_adaptive_avg_pool},
    {Op::kBatchNorm, "aten::_native_batch_norm_legit_no_training.out", write_batch_norm},
    {Op::kLayerNorm, "aten::native_layer_norm.out", write_layer_norm},
    {Op::kGroupNorm, "aten::native_group_norm.out", write_group_norm},
    {Op::kResize2d, "", write_resize, HostTypes::kNoBool},
    {Op::kGridSample, "aten::grid_sampler_2d.out", write_grid_sample},
};

}  // namespace

std::span<const HostOp> host_layer_ops() { return kLayerOps; }

}  // namespace isthmus
