// Forms of functions of one and two numbers, each at its place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpret/quantized_types.h"
#include "ops/known.h"
#include "ops/table.h"
#include "targets/ethos_u/forms/form_families.h"
#include "targets/ethos_u/forms/mantissa.h"
#include "targets/ethos_u/forms/product.h"
#include "targets/ethos_u/limits.h"

namespace isthmus::ethos_u {
namespace {

double scale_of(const TensorType& type) { return static_cast<double>(type.quant->scale()); }

std::optional<Reason> refuse_two_ranks(const NodeForm& form) {
  if (form.sizes(0).size() == form.sizes(1).size()) return std::nullopt;
  return Reason{ReasonCode::kRanks, "operands of two ranks"};
}

// One of two operands, of the type that both have: NPUs compute with two types in three steps of 32 bits, with one type
// in one step.
struct Side {
  Operand values;
  double scale;
  std::int32_t zero_point;
};
Side side_of(NodeLowering& lowering, std::size_t i, DType wanted) {
  constexpr std::int64_t kGain = 128;  // of values of 8 bits less their zero point, so that they fit 16 bits
  const TensorType type = lowering.type(i);
  const std::int32_t zero = type.quant->zero_point;
  if (type.dtype != DType::kI8 || wanted != DType::kI16) return {lowering.inputs[i], scale_of(type), zero};
  const double scale = scale_of(type) / kGain;
  if (lowering.is_constant(i) && lowering.out.writes_constants()) {
    std::vector<std::int64_t> values = lowering.integers(i, lowering.reads[i]);
    for (std::int64_t& value : values) value = (value - zero) * kGain;
    return {lowering.out.numbers(tosa::Type::kI16, lowering.inputs[i].shape, values), scale, 0};
  }
  if (lowering.is_constant(i)) return {lowering.out.constant(tosa::Type::kI16, lowering.inputs[i].shape, {}), scale, 0};
  const Multiplier gain = *multiplier_of(kGain, ScaleBits::k31);
  return {lowering.out.rescale(lowering.inputs[i], tosa::Type::kI16, {{gain}, zero}), scale, 0};
}

// Both in one scale of 32 bits.
template <tosa::Op kOp>
Expected<Operand> in_common_scale(NodeLowering& lowering) {
  const DType type = wider(lowering.type(0).dtype, lowering.type(1).dtype);
  const Side a = side_of(lowering, 0, type);
  const Side b = side_of(lowering, 1, type);
  const auto common = common_scale(a.scale, b.scale, type);
  if (!common) return bad_input("scales too far apart");
  const Operand left = lowering.out.rescale(a.values, tosa::Type::kI32, {{common->a}, a.zero_point});
  const Operand right = lowering.out.rescale(b.values, tosa::Type::kI32, {{common->b}, b.zero_point});
  return to_quantized(lowering, lowering.out.binary(kOp, left, right), common->unit / scale_of(lowering.type()));
}

Expected<Operand> mul(NodeLowering& lowering) {
  const DType type = wider(lowering.type(0).dtype, lowering.type(1).dtype);
  const Side a = side_of(lowering, 0, type);
  const Side b = side_of(lowering, 1, type);
  const Operand left = lowering.out.widened(a.values, a.zero_point);
  const Operand right = lowering.out.widened(b.values, b.zero_point);
  const double factor = a.scale * b.scale / scale_of(lowering.type());
  Operand product = lowering.out.mul(left, right);
  // Where most of them saturate, products of 16 bits may be more than RESCALE takes.
  if (type == DType::kI16) product = bounded_for(lowering.out, product, TRY(factor_of(factor, product.type)));
  return to_quantized(lowering, product, factor);
}

// By the reciprocal of the divisor's mantissa; only the last step rounds to quantized values.
//   x = RESCALE(a), z = RESCALE(b): 32 bits, zero points removed; sign = MIN(MAX(2 * z + 1, -1), 1)
//   w = MAX(ABS(z), 1): of zero it is the smallest divisor that there is, so that quotients are large
//   n = CLZ(w); r = TABLE16(RESCALE_i16((w << (n - 1)) - 3 * 2^29, 2^-14)) + 3 * 2^22: 24 bits of fraction
//   q = MUL(x * sign, r, product_shift) >> (31 - n), rounded; y = RESCALE(q), q in the bounds that RESCALE has
Expected<Operand> div(NodeLowering& lowering) {
  TosaBuilder& out = lowering.out;
  const TensorType a = lowering.type(0);
  const TensorType b = lowering.type(1);
  const auto constants = quotient_constants(a, b, lowering.type());
  if (!constants) return bad_input("scales too far apart");
  const Operand x = out.widened(lowering.inputs[0], a.quant->zero_point);
  const Operand z = out.widened(lowering.inputs[1], b.quant->zero_point);
  const Operand odd = out.binary(tosa::Op::kAdd, out.shift_left(z, 1), 1);
  const Operand sign = out.binary(tosa::Op::kMinimum, out.binary(tosa::Op::kMaximum, odd, -1), 1);
  const Operand w = out.binary(tosa::Op::kMaximum, out.unary(tosa::Op::kAbs, z), 1);
  const Operand n = out.unary(tosa::Op::kClz, w);
  const Operand r = look_up(out, reciprocal_table(), out.shift_left(w, out.binary(tosa::Op::kSub, n, 1)));
  const Operand product = out.mul(out.mul(x, sign), r, constants->product_shift);
  const Operand quotient = bounded_for(out, out.shift_right(product, less_than(out, 31, n)), constants->result);
  return out.rescale(quotient, lowering.result_type(), {{constants->result}, 0, lowering.type().quant->zero_point});
}

// Quantized values of 16 bits as 8 bits. NPUs take far longer for a RESCALE alone than for one behind a product.
Expected<Operand> narrowed(NodeLowering& lowering, const Operand& x, const Multiplier& factor) {
  TosaBuilder& out = lowering.out;
  const std::int32_t zero = lowering.type().quant->zero_point;
  const std::int64_t channels = x.shape.empty() ? 1 : x.shape.back();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.shape.size(); ++i) rows *= x.shape[i];
  const Ints image = image_of_rows(rows);
  if (lowering.device == Device::kTosaInt || channels > kMaxCount || image[1] > kMaxCount) {
    return out.rescale(x, lowering.result_type(), {{factor}, 0, zero});
  }
  const Operand pixels = out.reshape(x, {1, image[0], image[1], channels});
  const Operand ones = out.numbers(tosa::Type::kI8, {1, 1, channels, 1},
                                   std::vector<std::int64_t>(static_cast<std::size_t>(channels), 1));
  const tosa::Conv fields{{0, 0, 0, 0}, {1, 1}, {1, 1}, false, tosa::Type::kI48};
  const Operand products = out.emit(tosa::Op::kDepthwiseConv2d, fields,
                                    {pixels.id, ones.id, out.number(tosa::Type::kI48, 0).id,
                                     out.number(tosa::Type::kI16, 0).id, out.number(tosa::Type::kI8, 0).id},
                                    tosa::Type::kI48, pixels.shape);
  const Multiplier shorter =
      TRY(factor_of(std::ldexp(static_cast<double>(factor.multiplier), -factor.shift), tosa::Type::kI48));
  return out.reshape(out.rescale(products, lowering.result_type(), {{shorter}, 0, zero}), x.shape);
}

// A table of 8 bits; one of 16 where quantized values of 16 are read or made, whose results have 7 bits more.
Expected<Operand> by_table(NodeLowering& lowering, std::optional<double> other) {
  const TensorType from = lowering.type(0);
  const TensorType to = lowering.type();
  const Multiplier unit = *multiplier_of(1, ScaleBits::k31);
  FunctionTable made;
  made.result = unit;
  if (lowering.out.writes_constants())
    made = TRY(function_table(lowering.node.op, lowering.node.attrs, from, to, other));
  const Operand& x = lowering.inputs[0];
  if (from.dtype == DType::kI8 && to.dtype == DType::kI8) return lowering.out.table(x, made.narrow);
  Operand index = x;
  if (from.dtype == DType::kI8) {
    index = lowering.out.rescale(x, tosa::Type::kI16, {{*multiplier_of(128, ScaleBits::k31)}});
  }
  constexpr std::int32_t kMaxShift = 62;
  constexpr std::int32_t kTableBits = 7;
  const Multiplier factor{made.result.multiplier, made.result.shift + kTableBits};
  if (lowering.device == Device::kU85 && to.dtype == DType::kI8 && factor.shift <= kMaxShift) {
    // One step with what is before it, as a table and a RESCALE alone are not.
    const Operand found = lowering.out.binary(tosa::Op::kAdd, lowering.out.table(index, made.wide), 0);
    return lowering.out.rescale(found, lowering.result_type(), {{factor}, 0, to.quant->zero_point});
  }
  // NPUs look up 16 bits at once, and 32 bits in six steps.
  const Operand found = short_table(lowering.out, index, made.wide);
  if (to.dtype == DType::kI16 && made.result == unit) return found;
  if (to.dtype == DType::kI8) return narrowed(lowering, found, made.result);
  return lowering.out.rescale(found, lowering.result_type(), {{made.result}, 0, to.quant->zero_point});
}
Expected<Operand> table(NodeLowering& lowering) { return by_table(lowering, std::nullopt); }

// A function of one number where the other one is known.
OrderDemand first_alone(const Graph&, const Node&) { return {OrderRule::kSame, 1}; }
std::optional<Reason> refuse_two_tensors(const NodeForm& form) {
  const Ints sizes = form.sizes(1);
  const bool is_number = form.is_constant(1) && std::ranges::all_of(sizes, [](auto size) { return size == 1; });
  if (is_number && form.sizes(0) == form.sizes()) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("{} of two tensors", name_of(form.node.op))};
}
Expected<Operand> table_of_first(NodeLowering& lowering) {
  const Constant& constant = *lowering.graph.constant(lowering.node.inputs[1]);
  if (!lowering.out.writes_constants() || !constant.data) return by_table(lowering, 0);
  if (const auto numbers = numbers_of(&*constant.data)) return by_table(lowering, numbers->front());
  const TensorType type = lowering.type(1);
  return by_table(lowering, exponent_of(lowering.integers(1, row_major(type.rank())).front(), *type.quant));
}

Expected<Operand> clamp(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ClampAttrs>();
  const TensorType type = lowering.type();
  const auto bound = [&](double number) { return quantized_value(number, *type.quant, type.dtype); };
  // The upper bound wins where they exclude each other.
  const std::int64_t max = bound(attrs.max);
  return lowering.out.clamp(lowering.inputs[0], std::min<std::int64_t>(bound(attrs.min), max), max);
}

Expected<Operand> rescale(NodeLowering& lowering) {
  const TensorType from = lowering.type(0);
  const TensorType to = lowering.type();
  const Multiplier factor = TRY(factor_of(scale_of(from) / scale_of(to), lowering.inputs[0].type));
  if (from.dtype == DType::kI16 && to.dtype == DType::kI8) return narrowed(lowering, lowering.inputs[0], factor);
  return lowering.out.rescale(
      lowering.inputs[0], lowering.result_type(),
      {{factor}, from.quant->zero_point, to.quant->zero_point, from.dtype == DType::kU8, to.dtype == DType::kU8});
}

template <tosa::Op kOp>
constexpr FormRow pair_row(Op op) {
  return {op, kOp, same_order, refuse_two_ranks, in_common_scale<kOp>, true, WideReads::kForWide};
}
// Every function of one number is a table. One of 16 bits is interpolated, so that a step becomes a slope: quantized
// values of 8 bits give the exact result.
FormRow table_row(const OpDef& row) {
  const WideReads reads = row.function == RealFunction::kSmooth ? WideReads::kForWide : WideReads::kNever;
  return {row.op, tosa::Op::kTable, same_order, nullptr, table, false, reads};
}

constexpr FormRow kElementwiseForms[] = {
    pair_row<tosa::Op::kAdd>(Op::kAdd),
    pair_row<tosa::Op::kSub>(Op::kSub),
    pair_row<tosa::Op::kMinimum>(Op::kMinimum),
    pair_row<tosa::Op::kMaximum>(Op::kMaximum),
    {.op = Op::kMul,
     .core = tosa::Op::kMul,
     .order = same_order,
     .refusal = refuse_two_ranks,
     .lower = mul,
     .has_bounds = true,
     .wide_reads = WideReads::kForWide},
    {.op = Op::kDiv,
     .core = tosa::Op::kTable,
     .order = same_order,
     .refusal = refuse_two_ranks,
     .lower = div,
     .has_bounds = true,
     .wide_reads = WideReads::kForWide},
    {.op = Op::kRescale, .core = tosa::Op::kRescale, .order = same_order, .lower = rescale, .has_bounds = true},
    {.op = Op::kClamp, .core = tosa::Op::kClamp, .order = same_order, .lower = clamp},
    {.op = Op::kPow,
     .core = tosa::Op::kTable,
     .order = first_alone,
     .refusal = refuse_two_tensors,
     .lower = table_of_first,
     .wide_reads = WideReads::kForWide},
};

}  // namespace

std::span<const FormRow> elementwise_forms() {
  static const auto kRows = [] {
    std::vector<FormRow> rows(std::begin(kElementwiseForms), std::end(kElementwiseForms));
    for (const Family& family : families()) {
      for (const OpDef& row : family.ops) {
        if (row.function != RealFunction::kNone) rows.push_back(table_row(row));
      }
    }
    return rows;
  }();
  return kRows;
}

}  // namespace isthmus::ethos_u
