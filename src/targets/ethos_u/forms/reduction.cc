// Forms of reductions. Sums keep all of their bits until the one RESCALE behind them.
#include <algorithm>
#include <functional>
#include <span>
#include <vector>

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

// From sums of the input's steps to the result's.
double factor_of_sums(const NodeLowering& lowering, std::int64_t divisor) {
  return static_cast<double>(lowering.type(0).quant->scale()) /
         (static_cast<double>(divisor) * static_cast<double>(lowering.type().quant->scale()));
}
double mean_factor(const NodeLowering& lowering) { return factor_of_sums(lowering, count_of(lowering)); }

Expected<Operand> summed(NodeLowering& lowering, std::int64_t divisor) {
  const TensorType from = lowering.type(0);
  const Operand sums =
      reduced(lowering, tosa::Op::kReduceSum, lowering.out.widened(lowering.inputs[0], from.quant->zero_point));
  return to_quantized(lowering, sums, factor_of_sums(lowering, divisor));
}
Expected<Operand> sum(NodeLowering& lowering) { return summed(lowering, 1); }

Expected<Operand> mean_by_sums(NodeLowering& lowering) { return summed(lowering, count_of(lowering)); }

// A mean over an image: its channels last, whatever the order in memory, as sums of 48 bits are scaled otherwise than
// those of 32 and numbers may not depend on the order.
bool is_image_mean(const NodeForm& form) {
  return form.sizes(0).size() == 4 && form.attrs<ReduceAttrs>().axes == Ints{2, 3};
}

// An image whose channels lie beside each other in parts, [N, pixels, parts, channels]: parts share filters, of which
// NPUs read few then, and compute several parts at once.
Operand in_parts(TosaBuilder& out, const Operand& image, std::int64_t max_part) {
  const Ints& sizes = image.shape;
  std::int64_t part = std::min(max_part, sizes[3]);
  while (sizes[3] % part != 0) --part;
  return out.reshape(image, {sizes[0], sizes[1] * sizes[2], sizes[3] / part, part});
}
// The sums of all pixels of each column, by filters of ones.
Operand sums_of_columns(TosaBuilder& out, const Operand& image, std::int32_t zero_point) {
  const Ints& sizes = image.shape;
  const tosa::Type sum = sum_type(image.type);
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(sizes[1] * sizes[3]), 1);
  const Operand filters = out.numbers(tosa::Type::kI8, {sizes[1], 1, sizes[3], 1}, ones);
  const Operand bias = out.number(sum, 0);
  const Operand zero = out.number(image.type, zero_point);
  const Operand filter_zero = out.number(tosa::Type::kI8, 0);
  const tosa::Conv fields{{0, 0, 0, 0}, {1, 1}, {1, 1}, false, sum};
  return out.emit(tosa::Op::kDepthwiseConv2d, fields, {image.id, filters.id, bias.id, zero.id, filter_zero.id}, sum,
                  {sizes[0], 1, sizes[2], sizes[3]});
}

// NPUs turn an image before they sum along its sides, and Vela makes that a part of the convolution before, whose
// weights are then read again and again; filters of ones need no other order than channels last.
Expected<Operand> mean_by_filters(NodeLowering& lowering, std::int64_t max_part, bool has_columns_first) {
  TosaBuilder& out = lowering.out;
  const std::int32_t zero_point = lowering.type(0).quant->zero_point;
  Ints there, back(4);
  for (const std::uint8_t axis : kChannelsLast) there.push_back(lowering.place(axis));
  for (std::size_t i = 0; i < 4; ++i) back[static_cast<std::size_t>(there[i])] = static_cast<std::int64_t>(i);
  Operand image = out.transpose(lowering.inputs[0], there);
  const Ints sizes = image.shape;
  if (has_columns_first) {
    const Operand sums = sums_of_columns(out, image, zero_point);
    image = out.rescale(sums, tosa::Type::kI16, {{TRY(factor_of(1, sums.type))}});
  }
  const Operand sums = sums_of_columns(out, in_parts(out, image, max_part), has_columns_first ? 0 : zero_point);
  const Operand means = TRY(to_quantized(lowering, sums, mean_factor(lowering)));
  return out.transpose(out.reshape(means, {sizes[0], 1, 1, sizes[3]}), back);
}
template <std::int64_t kMaxPart>
Expected<Operand> mean_by_filters(NodeLowering& lowering) {
  return mean_by_filters(lowering, kMaxPart, false);
}

// The columns first, and then their sums: far fewer products. The sums of a column are 16 bits between two
// convolutions, which those of 8 bits fit; those of 16 bits would be rounded twice.
bool has_short_columns(const NodeForm& form) {
  constexpr std::int64_t kMaxRows = 128;  // of 8 bits and a zero point
  return form.type(0).dtype == DType::kI8 && form.sizes(0)[2] <= kMaxRows;
}
template <std::int64_t kMaxPart>
Expected<Operand> mean_by_columns(NodeLowering& lowering) {
  return mean_by_filters(lowering, kMaxPart, true);
}

// The way is chosen for channels last, so that it does not depend on the order either.
Expected<Operand> mean(NodeLowering& lowering) {
  if (!is_image_mean(lowering)) return mean_by_sums(lowering);
  NodeLowering usual = lowering;
  usual.order = kChannelsLast;
  usual.reads = {usual.order};
  usual.inputs[0].shape = usual.placed(lowering.sizes(0));
  std::vector<Lower> ways{mean_by_sums};
  const bool has_columns = has_short_columns(lowering);
  // On a U85 parts of 16 channels take twice as long as those of 8.
  if (lowering.device != Device::kU85) {
    ways.push_back(mean_by_filters<16>);
    if (has_columns) ways.push_back(mean_by_columns<16>);
  }
  ways.push_back(mean_by_filters<8>);
  if (has_columns) ways.push_back(mean_by_columns<8>);
  return (*std::ranges::min_element(ways, {}, [&](Lower way) { return cycles_of(usual, way); }))(lowering);
}

template <tosa::Op kOp>
Expected<Operand> extreme(NodeLowering& lowering) {
  return reduced(lowering, kOp, lowering.inputs[0]);
}
template <tosa::Op kOp>
constexpr FormRow extreme_row(Op op, bool reads_bools = false) {
  return {.op = op,
          .core = kOp,
          .order = same_order,
          .refusal = refuse_dropped_axes,
          .lower = extreme<kOp>,
          .reads_bools = reads_bools};
}

constexpr FormRow kReductionForms[] = {
    {.op = Op::kSum,
     .core = tosa::Op::kReduceSum,
     .order = same_order,
     .refusal = refuse_sum,
     .lower = sum,
     .has_bounds = true,
     .wide_reads = WideReads::kAlways},
    {.op = Op::kMean,
     .core = tosa::Op::kReduceSum,
     .order = same_order,
     .refusal = refuse_sum,
     .lower = mean,
     .has_bounds = true,
     .wide_reads = WideReads::kAlways},
    extreme_row<tosa::Op::kReduceMax>(Op::kAmax),
    extreme_row<tosa::Op::kReduceMin>(Op::kAmin),
    extreme_row<tosa::Op::kReduceAny>(Op::kAny, true),
    extreme_row<tosa::Op::kReduceAll>(Op::kAll, true),
};

}  // namespace

std::span<const FormRow> reduction_forms() { return kReductionForms; }

}  // namespace isthmus::ethos_u
