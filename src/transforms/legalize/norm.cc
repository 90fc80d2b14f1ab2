// Means, sums and norms by the delegate's mean over an image and by linear layers of equal weights.
#include <algorithm>
#include <iterator>

#include "ops/known.h"
#include "transforms/legalize/pick.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

bool has(const Ints& axes, std::int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); }

// Whether the value comes from an image without a product between: then its channels lie innermost in memory.
bool comes_from_image(const Graph& graph, ValueId value) {
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

// The reduced axes are the last ones: their sum, times a factor, as one axis of size one.
Expected<ValueId> sum_trailing(Emitter& emitter, ValueId x, std::size_t kept, std::int64_t count, double factor) {
  const Shape shape = emitter.shape(x);
  Shape flat(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(kept));
  flat.push_back(Dim(count));
  return sum_last(emitter, TRY(emitter.reshape(x, std::move(flat))), factor);
}

}  // namespace

std::optional<std::int64_t> count_of(const Shape& shape, const Ints& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) {
    const Dim dim = shape[static_cast<std::size_t>(axis)];
    if (!dim.is_fixed() || dim.value() == 0) return std::nullopt;
    count *= dim.value();
  }
  return count;
}

Expected<ValueId> image_of_reduced(Emitter& emitter, ValueId x, const Ints& axes) {
  const Shape shape = emitter.shape(x);
  // Kept axes before the first reduced one, and behind it.
  Ints outer, inner;
  for (std::int64_t axis = 0; axis < std::ssize(shape); ++axis) {
    if (!has(axes, axis)) (axis < axes.front() ? outer : inner).push_back(axis);
  }
  if (inner.empty() && !outer.empty() && emitter.size(x, outer.back()).is_fixed()) {
    inner.push_back(outer.back());
    outer.pop_back();
  }
  const auto product = [&](const Ints& list) {
    Dim result = 1;
    for (const std::int64_t axis : list) result = emitter.exprs().multiply(result, emitter.size(x, axis));
    return result;
  };
  const Dim batch = product(outer);
  const Dim channels = product(inner);
  const Dim count = product(axes);
  Ints order = std::move(outer);
  order.insert(order.end(), inner.begin(), inner.end());
  order.insert(order.end(), axes.begin(), axes.end());
  return emitter.reshape(TRY(emitter.permute(x, std::move(order))), {batch, channels, count, 1});
}

Expected<ValueId> sum_last(Emitter& emitter, ValueId x, double factor, double plus) {
  const auto size = emitter.shape(x).back().value();
  const ValueId weights =
      emitter.floats(std::vector<double>(static_cast<std::size_t>(size), factor), DType::kF32, {1, size});
  std::vector<ValueId> inputs{x, weights};
  if (plus != 0) inputs.push_back(emitter.floats({plus}, DType::kF32, {1}));
  return emitter.emit(Op::kLinear, NoAttrs{}, std::move(inputs));
}

Expected<ValueId> mean_keeping(Emitter& emitter, ValueId x, const Ints& axes) {
  return emitter.emit(Op::kMean, ReduceAttrs{axes, true}, {x});
}

// A mean over an image is the delegate's own; others are one over an image that is made for it, or a linear layer of
// equal weights where the reduced axes lie innermost.
Replacement mean_forms(const Site& site) {
  const bool is_sum = site.node.op == Op::kSum;
  if (!is_float(site) || !(is_sum || site.node.op == Op::kMean)) return unchanged();
  const auto& attrs = site.attrs<ReduceAttrs>();
  Emitter& emitter = site.emitter;
  const ValueId x = site.inputs[0];
  const Shape shape = emitter.shape(x);
  const auto count = count_of(shape, attrs.axes);
  const bool is_image = shape.size() == 4 && attrs.axes == Ints{2, 3};
  if (shape.empty() || site.graph().type(x).dtype != DType::kF32) return unchanged();
  if (is_image && attrs.keepdim && !is_sum) return unchanged();
  // Of a symbolic count there is the mean of an image, and no sum.
  const bool is_empty = std::ranges::any_of(shape, [](Dim dim) { return dim.is(0); });
  if (!count && (is_sum || is_empty || !(is_image || can_reshape(shape)))) return unchanged();
  if (count == 1) return replaced_by(emitter.reshape(x, site.result().shape));
  const auto total = static_cast<double>(count.value_or(1));
  const std::size_t kept = shape.size() - attrs.axes.size();
  const bool is_trailing = attrs.axes.front() == static_cast<std::int64_t>(kept);
  if (count && !is_image && is_trailing && (kept < 2 || !comes_from_image(site.graph(), x))) {
    const ValueId sum = TRY(sum_trailing(emitter, x, kept, *count, is_sum ? 1 : 1 / total));
    return replaced_by(emitter.reshape(sum, site.result().shape));
  }
  ValueId mean = TRY(mean_keeping(emitter, is_image ? x : TRY(image_of_reduced(emitter, x, attrs.axes)), {2, 3}));
  if (is_sum) mean = TRY(with_number(emitter, Op::kMul, mean, total));
  return replaced_by(emitter.reshape(mean, site.result().shape));
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

}  // namespace isthmus::rewrites
