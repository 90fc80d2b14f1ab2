// Norms and reductions by those that the lowering knows as a whole.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "ops/known.h"
#include "targets/ethos_u/legalize/legalize.h"
#include "transforms/legalize/pick.h"

namespace isthmus::ethos_u {
namespace {

using Numbers = std::vector<double>;

// x * factor + summand of each channel, the second axis: a convolution by 1x1 of each channel, which rounds once.
Expected<ValueId> scaled_by_channel(Emitter& emitter, ValueId x, const Numbers& factor, const Numbers& summand) {
  const Shape shape = emitter.shape(x);
  const auto channels = std::ssize(factor);
  std::int64_t pixels = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) pixels *= shape[i].value();
  const ValueId image = shape.size() == 4 ? x : TRY(emitter.reshape(x, {shape[0], channels, pixels, 1}));
  const ConvAttrs attrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, channels};
  const ValueId filters = emitter.floats(factor, DType::kF32, {channels, 1, 1, 1});
  const ValueId bias = emitter.floats(summand, DType::kF32, {channels});
  return emitter.reshape(TRY(emitter.emit(Op::kConv2d, attrs, {image, filters, bias})), shape);
}

Replacement batch_norm(const Site& site) {
  Numbers parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    auto numbers = numbers_of(site.constant(i + 1));
    if (!numbers) return unchanged();
    parameters[i] = *std::move(numbers);
  }
  auto& [mean, variance, weight, bias] = parameters;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] /= std::sqrt(variance[i] + site.attrs<EpsAttrs>().eps);
    bias[i] -= mean[i] * weight[i];
  }
  return replaced_by(scaled_by_channel(site.emitter, site.inputs[0], weight, bias));
}

// A group is a row of a layer norm; its channels are scaled behind it.
Replacement group_norm(const Site& site) {
  const auto& attrs = site.attrs<GroupNormAttrs>();
  Emitter& emitter = site.emitter;
  const Shape shape = site.result().shape;
  const auto channels = static_cast<std::size_t>(shape[1].value());
  Numbers parameters[2] = {Numbers(channels, 1), Numbers(channels, 0)};
  for (std::size_t i = 1; i < site.inputs.size(); ++i) {
    auto numbers = numbers_of(site.constant(i));
    if (!numbers) return unchanged();
    parameters[i - 1] = *std::move(numbers);
  }
  const std::int64_t count = emitter.exprs().product(shape).value() / (shape[0].value() * attrs.groups);
  const ValueId rows = TRY(emitter.reshape(site.inputs[0], {shape[0], attrs.groups, count}));
  ValueId value = TRY(emitter.emit(Op::kLayerNorm, LayerNormAttrs{1, attrs.eps}, {rows}));
  value = TRY(emitter.reshape(value, shape));
  if (site.inputs.size() == 1) return std::optional(value);
  return replaced_by(scaled_by_channel(emitter, value, parameters[0], parameters[1]));
}

Replacement layer_norm(const Site& site) {
  bool is_constant = true;
  for (std::size_t i = 1; i < site.inputs.size(); ++i) is_constant = is_constant && site.constant(i) != nullptr;
  if (is_constant) return unchanged();
  Emitter& emitter = site.emitter;
  ValueId value = TRY(emitter.emit(Op::kLayerNorm, site.node.attrs, {site.inputs[0]}));
  constexpr Op kOps[] = {Op::kMul, Op::kAdd};
  for (std::size_t i = 1; i < site.inputs.size(); ++i) {
    value = TRY(emitter.binary(kOps[i - 1], value, site.inputs[i]));
  }
  return std::optional(value);
}

struct NormRow {
  Op op;
  Replacement (*form)(const Site&);
};
constexpr NormRow kNorms[] = {
    {Op::kBatchNorm, batch_norm},
    {Op::kGroupNorm, group_norm},
    {Op::kLayerNorm, layer_norm},
};

}  // namespace

Replacement norm_forms(const Site& site, Device) {
  const auto row = std::ranges::find(kNorms, site.node.op, &NormRow::op);
  return row == std::end(kNorms) ? unchanged() : row->form(site);
}

Replacement softmax_over_last(const Site& site, Device) {
  if (site.node.op != Op::kSoftmax && site.node.op != Op::kLogSoftmax) return unchanged();
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  const auto last = static_cast<std::int64_t>(site.result().rank()) - 1;
  if (axis >= last) return unchanged();
  const auto moved = TRY(rewrites::moved_last(site.emitter, site.inputs[0], axis));
  const ValueId shares = TRY(site.emitter.emit(site.node.op, AxisAttrs{last}, {moved.value}));
  return replaced_by(site.emitter.permute(shares, moved.back));
}

Replacement running_sum(const Site& site, Device) {
  if (site.node.op != Op::kCumsum || site.result().rank() == 0) return unchanged();
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  const std::int64_t size = site.emitter.size(site.inputs[0], axis).value();
  if (size > rewrites::kMaxWeights / size) return unchanged();
  Numbers ones(static_cast<std::size_t>(size * size), 0);
  for (std::int64_t i = 0; i < size; ++i) std::fill_n(ones.begin() + i * size, i + 1, 1);
  return replaced_by(rewrites::product_along(site.emitter, site.inputs[0], axis, ones));
}

Replacement sum_in_parts(const Site& site, Device device) {
  if (site.node.op != Op::kSum && site.node.op != Op::kMean) return unchanged();
  const auto reason = refusal_of(site, device);
  if (!reason || reason->code != ReasonCode::kDimRange) return unchanged();
  const auto& attrs = site.attrs<ReduceAttrs>();
  Emitter& emitter = site.emitter;
  // In halves along the longest axis that stays.
  std::int64_t longest = -1;
  std::int64_t place = -1;  // of that axis in the result
  std::int64_t kept = 0;
  for (std::int64_t axis = 0; axis < emitter.rank(site.inputs[0]); ++axis) {
    const bool is_summed = std::ranges::find(attrs.axes, axis) != attrs.axes.end();
    const bool is_longer =
        longest < 0 || emitter.size(site.inputs[0], axis).value() > emitter.size(site.inputs[0], longest).value();
    if (!is_summed && is_longer) {
      longest = axis;
      place = attrs.keepdim ? axis : kept;
    }
    kept += is_summed ? 0 : 1;
  }
  if (longest < 0 || emitter.size(site.inputs[0], longest).is(1)) return unchanged();
  const std::int64_t size = emitter.size(site.inputs[0], longest).value();
  std::vector<ValueId> parts;
  for (const auto& [begin, end] : {std::pair{std::int64_t{0}, size / 2}, std::pair{size / 2, size}}) {
    const ValueId part = TRY(emitter.slice(site.inputs[0], longest, begin, end));
    parts.push_back(TRY(emitter.emit(site.node.op, attrs, {part})));
  }
  return replaced_by(emitter.cat(std::move(parts), place));
}

}  // namespace isthmus::ethos_u
