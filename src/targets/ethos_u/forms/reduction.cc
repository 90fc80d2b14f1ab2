// Forms of reductions. Sums keep all of their bits until the one RESCALE behind them.
#include <algorithm>
#include <functional>

#include "targets/ethos_u/forms/form_families.h"

namespace isthmus::ethos_u {
namespace {

std::int64_t count_of(const NodeForm& form) {
  std::int64_t count = 1;
  for (const std::int64_t axis : form.attrs<ReduceAttrs>().axes) count *= form.sizes(0)[static_cast<std::size_t>(axis)];
  return count;
}

std::optional<Reason> refuse_dropped_axes(const NodeForm& form) {
  if (form.attrs<ReduceAttrs>().keepdim) return std::nullopt;
  return Reason{ReasonCode::kNoForm, "a reduction whose axes vanish"};
}
std::optional<Reason> refuse_sum(const NodeForm& form) {
  if (auto reason = refuse_count(form.type(0).dtype, count_of(form))) return reason;
  return refuse_dropped_axes(form);
}

// From the innermost axis outwards, so that less and less is left beside them.
Operand reduced(NodeLowering& lowering, tosa::Op op, Operand value) {
  Ints places;
  for (const std::int64_t axis : lowering.attrs<ReduceAttrs>().axes) places.push_back(lowering.place(axis));
  std::ranges::sort(places, std::greater<>());
  for (const std::int64_t place : places) value = lowering.out.reduce(op, value, place);
  return value;
}

Expected<Operand> summed(NodeLowering& lowering, std::int64_t divisor) {
  const TensorType from = lowering.type(0);
  const Operand sums =
      reduced(lowering, tosa::Op::kReduceSum, lowering.out.widened(lowering.inputs[0], from.quant->zero_point));
  const double factor = static_cast<double>(from.quant->scale()) /
                        (static_cast<double>(divisor) * static_cast<double>(lowering.type().quant->scale()));
  return to_quantized(lowering, sums, factor);
}
Expected<Operand> sum(NodeLowering& lowering) { return summed(lowering, 1); }

// Vela turns a sum over an image for U85 into a transpose that it makes part of the convolution before, whose weights
// are then read again and again. A pool has no such cost. It rounds, so that 8 bits are given 7 more behind the point,
// and only where that is next to nothing beside the last rounding.
struct ImageMean {
  Ints window;
  double unit;  // of what the pool reads, in steps of the input
};
std::optional<ImageMean> image_mean(const NodeLowering& lowering) {
  constexpr std::int64_t kMaxWindow = 4096;
  // Half a unit is what it may be off by: the 16th part of a step.
  constexpr double kMaxUnit = 0x1p-3;
  const Ints sizes = lowering.sizes(0);
  const Ints& axes = lowering.attrs<ReduceAttrs>().axes;
  if (lowering.out.device() != Device::kU85 || sizes.size() != 4 || axes != Ints{2, 3}) return std::nullopt;
  const ImageMean result{{sizes[2], sizes[3]}, lowering.inputs[0].type == tosa::Type::kI8 ? 1.0 / 128 : 1.0};
  const double gain =
      static_cast<double>(lowering.type(0).quant->scale()) / static_cast<double>(lowering.type().quant->scale());
  if (sizes[2] * sizes[3] > kMaxWindow || gain * result.unit > kMaxUnit) return std::nullopt;
  return result;
}

Expected<Operand> mean_by_pool(NodeLowering& lowering, const ImageMean& mean) {
  TosaBuilder& out = lowering.out;
  const TensorType from = lowering.type(0);
  // Channels last, whatever the order in memory: numbers may not depend on it.
  Ints there, back(4);
  for (const std::uint8_t axis : kChannelsLast) there.push_back(lowering.place(axis));
  for (std::size_t i = 0; i < 4; ++i) back[static_cast<std::size_t>(there[i])] = static_cast<std::int64_t>(i);
  Operand image = out.transpose(lowering.inputs[0], there);
  if (image.type == tosa::Type::kI8) {
    image =
        out.rescale(image, tosa::Type::kI16, {{*multiplier_of(1 / mean.unit, ScaleBits::k31)}, from.quant->zero_point});
  }
  const tosa::AvgPool fields{narrow(mean.window), {1, 1}, {0, 0, 0, 0}, tosa::Type::kI32};
  const Operand zero = out.number(tosa::Type::kI16, 0);
  const Operand means = out.emit(tosa::Op::kAvgPool2d, fields, {image.id, zero.id, zero.id}, tosa::Type::kI16,
                                 {image.shape[0], 1, 1, image.shape[3]});
  return to_quantized(
      lowering, out.transpose(means, back),
      mean.unit * static_cast<double>(from.quant->scale()) / static_cast<double>(lowering.type().quant->scale()));
}

Expected<Operand> mean(NodeLowering& lowering) {
  if (const auto of_image = image_mean(lowering)) return mean_by_pool(lowering, *of_image);
  return summed(lowering, count_of(lowering));
}

template <tosa::Op kOp>
Expected<Operand> extreme(NodeLowering& lowering) {
  return reduced(lowering, kOp, lowering.inputs[0]);
}
template <tosa::Op kOp>
constexpr FormRow extreme_row(Op op) {
  return {op, kOp, same_order, refuse_dropped_axes, extreme<kOp>};
}

constexpr FormRow kReductionForms[] = {
    {Op::kSum, tosa::Op::kReduceSum, same_order, refuse_sum, sum, true, WideReads::kAlways},
    {Op::kMean, tosa::Op::kReduceSum, same_order, refuse_sum, mean, true, WideReads::kAlways},
    extreme_row<tosa::Op::kReduceMax>(Op::kAmax),
    extreme_row<tosa::Op::kReduceMin>(Op::kAmin),
    extreme_row<tosa::Op::kReduceAny>(Op::kAny),
    extreme_row<tosa::Op::kReduceAll>(Op::kAll),
};

}  // namespace

std::span<const FormRow> reduction_forms() { return kReductionForms; }

}  // namespace isthmus::ethos_u
