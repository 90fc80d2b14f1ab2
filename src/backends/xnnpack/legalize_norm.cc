// Means, sums and norms by the delegate's mean over an image and by linear layers of equal weights.
#include <algorithm>

#include "backends/xnnpack/legalize.h"
#include "simplify/weights.h"

namespace isthmus::xnnpack {
namespace {

// The product of the axes' sizes; nothing where one is not fixed.
std::optional<std::int64_t> count_of(const Shape& shape, const Ints& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) {
    const Dim dim = shape[static_cast<std::size_t>(axis)];
    if (!dim.is_fixed() || dim.value() == 0) return std::nullopt;
    count *= dim.value();
  }
  return count;
}


bool has(const Ints& axes, std::int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); }

// Whether the value comes from an image without a product between: then its channels lie innermost in memory.
bool is_image(const Graph& graph, ValueId value) {
  constexpr int kFar = 32;
  for (int step = 0; step < kFar; ++step) {
    const Node* node = graph.producer(value);
    if (node == nullptr) return false;
    switch (node->op) {
      case Op::kConv2d:
      case Op::kConvTranspose2d:
      case Op::kMaxPool2d:
      case Op::kAvgPool2d:
      case Op::kResize2d:
        return true;
      case Op::kLinear:
      case Op::kMatmul:
      case Op::kPermute:
        return false;
      default:
        value = node->inputs[0];
    }
  }
  return false;
}

// Applied to what has been reshaped so that the reduced axes are the last ones: [..., R] -> [..., 1].
Expected<ValueId> mean_trailing(Emitter& emitter, ValueId x, std::size_t kept, std::int64_t count) {
  const Shape shape = emitter.shape(x);
  Shape flat(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(kept));
  flat.push_back(Dim(count));
  const ValueId rows = TRY(emitter.reshape(x, std::move(flat)));
  return sum_last(emitter, rows, 1.0 / static_cast<double>(count));
}

}  // namespace

Expected<ValueId> sum_last(Emitter& emitter, ValueId x, double factor, double plus) {
  const auto size = emitter.shape(x).back().value();
  const ValueId weights =
      constant_of(emitter, std::vector<double>(static_cast<std::size_t>(size), factor), DType::kF32, {1, size});
  std::vector<ValueId> inputs{x, weights};
  if (plus != 0) inputs.push_back(constant_of(emitter, {plus}, DType::kF32, {1}));
  return emitter.emit(Op::kLinear, NoAttrs{}, std::move(inputs));
}

Expected<ValueId> mean_keeping(Emitter& emitter, ValueId x, const Ints& axes) {
  return emitter.emit(Op::kMean, ReduceAttrs{axes, true}, {x});
}

Replacement mean_forms(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kMean) return unchanged();
  const auto& attrs = site.attrs<ReduceAttrs>();
  const Shape shape = site.graph().type(site.inputs[0]).shape;
  const std::size_t rank = shape.size();
  const auto count = count_of(shape, attrs.axes);
  if (!count || rank == 0) return unchanged();
  if (rank == 4 && attrs.axes == Ints{2, 3}) {
    if (attrs.keepdim) return unchanged();
    const ValueId kept = TRY(mean_keeping(site.emitter, site.inputs[0], attrs.axes));
    return replaced_by(site.emitter.reshape(kept, site.result().shape));
  }
  if (*count == 1) return replaced_by(site.emitter.reshape(site.inputs[0], site.result().shape));
  // Kept axes before the first reduced one, kept axes behind it, reduced axes.
  Ints outer, inner;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis) {
    if (has(attrs.axes, axis)) continue;
    (axis < attrs.axes.front() ? outer : inner).push_back(axis);
  }
  Exprs& exprs = site.emitter.exprs();
  if (inner.empty() && (outer.size() < 2 || !is_image(site.graph(), site.inputs[0]))) {
    const ValueId mean = TRY(mean_trailing(site.emitter, site.inputs[0], outer.size(), *count));
    return replaced_by(site.emitter.reshape(mean, site.result().shape));
  }
  if (inner.empty()) {  // an image [N, C, ...]: its channels lie innermost
    inner.push_back(outer.back());
    outer.pop_back();
  }
  Ints axes = outer;
  axes.insert(axes.end(), inner.begin(), inner.end());
  axes.insert(axes.end(), attrs.axes.begin(), attrs.axes.end());
  const auto product = [&](const Ints& list) {
    Dim result = 1;
    for (const std::int64_t axis : list) result = exprs.multiply(result, shape[static_cast<std::size_t>(axis)]);
    return result;
  };
  const Dim channels = product(inner);
  const Dim batch = product(outer);
  const ValueId turned = TRY(site.emitter.permute(site.inputs[0], axes));
  const ValueId image = TRY(site.emitter.reshape(turned, {batch, channels, *count, 1}));
  const ValueId mean = TRY(mean_keeping(site.emitter, image, {2, 3}));
  return replaced_by(site.emitter.reshape(mean, site.result().shape));
}

Replacement sum_to_mean(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kSum) return unchanged();
  const auto& attrs = site.attrs<ReduceAttrs>();
  const TensorType type = site.graph().type(site.inputs[0]);
  const auto count = count_of(type.shape, attrs.axes);
  if (!count || type.dtype != DType::kF32) return unchanged();
  const ValueId mean = TRY(site.emitter.emit(Op::kMean, attrs, {site.inputs[0]}));
  return replaced_by(with_number(site.emitter, Op::kMul, mean, static_cast<double>(*count)));
}

Replacement variance_to_means(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kVariance) return unchanged();
  const auto& attrs = site.attrs<VarianceAttrs>();
  const auto count = count_of(site.graph().type(site.inputs[0]).shape, attrs.axes);
  if (!count || static_cast<double>(*count) <= attrs.correction) return unchanged();
  Emitter& emitter = site.emitter;
  const ValueId mean = TRY(mean_keeping(emitter, site.inputs[0], attrs.axes));
  const ValueId difference = TRY(emitter.binary(Op::kSub, site.inputs[0], mean));
  const ValueId square = TRY(emitter.binary(Op::kMul, difference, difference));
  ValueId variance = TRY(mean_keeping(emitter, square, attrs.axes));
  if (attrs.correction != 0) {
    const auto n = static_cast<double>(*count);
    variance = TRY(with_number(emitter, Op::kMul, variance, n / (n - attrs.correction)));
  }
  return replaced_by(emitter.reshape(variance, site.result().shape));
}

Replacement layer_norm_to_means(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kLayerNorm) return unchanged();
  const auto& attrs = site.attrs<LayerNormAttrs>();
  const Shape shape = site.result().shape;
  const auto kept = shape.size() - static_cast<std::size_t>(attrs.axes);
  Ints axes;
  for (std::size_t i = kept; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const auto count = count_of(shape, axes);
  if (!count) return unchanged();
  Emitter& emitter = site.emitter;
  Shape flat(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(kept));
  flat.push_back(Dim(*count));
  const ValueId rows = TRY(emitter.reshape(site.inputs[0], std::move(flat)));
  const double share = 1.0 / static_cast<double>(*count);
  const ValueId mean = TRY(sum_last(emitter, rows, share));
  const ValueId difference = TRY(emitter.binary(Op::kSub, rows, mean));
  const ValueId square = TRY(emitter.binary(Op::kMul, difference, difference));
  const ValueId variance = TRY(sum_last(emitter, square, share, attrs.eps));
  const ValueId factor = TRY(emitter.unary(Op::kRsqrt, variance));
  ValueId result = TRY(emitter.reshape(TRY(emitter.binary(Op::kMul, difference, factor)), shape));
  if (site.inputs.size() > 1) result = TRY(emitter.binary(Op::kMul, result, site.inputs[1]));
  if (site.inputs.size() > 2) result = TRY(emitter.binary(Op::kAdd, result, site.inputs[2]));
  return std::optional(result);
}

Replacement group_norm_to_means(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kGroupNorm) return unchanged();
  const auto& attrs = site.attrs<GroupNormAttrs>();
  const Shape shape = site.result().shape;
  if (!shape[1].is_fixed()) return unchanged();
  const std::int64_t channels = shape[1].value() / attrs.groups;
  std::int64_t pixels = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    if (!shape[i].is_fixed() || shape[i].is(0)) return unchanged();
    pixels *= shape[i].value();
  }
  if (channels == 0) return unchanged();
  Emitter& emitter = site.emitter;
  const Dim batch = shape[0];
  const ValueId groups = TRY(emitter.reshape(site.inputs[0], {batch, attrs.groups, channels, pixels}));
  // Over the image first: so neither step needs the numbers in another order.
  const auto group_mean = [&](ValueId x, double plus) -> Expected<ValueId> {
    const ValueId image = TRY(emitter.reshape(x, {batch, shape[1], pixels, 1}));
    const ValueId means = TRY(mean_keeping(emitter, image, {2, 3}));
    const ValueId rows = TRY(emitter.reshape(means, {batch, attrs.groups, channels}));
    const ValueId mean = TRY(sum_last(emitter, rows, 1.0 / static_cast<double>(channels), plus));
    return emitter.reshape(mean, {batch, attrs.groups, 1, 1});
  };
  const ValueId difference = TRY(emitter.binary(Op::kSub, groups, TRY(group_mean(groups, 0))));
  const ValueId square = TRY(emitter.binary(Op::kMul, difference, difference));
  const ValueId factor = TRY(emitter.unary(Op::kRsqrt, TRY(group_mean(square, attrs.eps))));
  ValueId result = TRY(emitter.reshape(TRY(emitter.binary(Op::kMul, difference, factor)), shape));
  Shape per_channel(shape.size(), Dim(1));
  per_channel[1] = shape[1];
  constexpr Op kOps[] = {Op::kMul, Op::kAdd};
  for (std::size_t i = 1; i < site.inputs.size(); ++i) {
    result = TRY(emitter.binary(kOps[i - 1], result, TRY(emitter.reshape(site.inputs[i], per_channel))));
  }
  return std::optional(result);
}

}  // namespace isthmus::xnnpack
