// Form of layer_norm: exact differences to the mean, the sum of their squares in 32 bits with an exponent for each row,
// its root by a table of the mantissa; only the last step rounds to the result. For long rows; norm_short.cc has the
// rest.
//
// Row by row, all numbers of 32 bits; P, k, p, the weights and biases are LayerNormConstants; all right shifts round:
//   x = RESCALE(in); sum = REDUCE_SUM(x); d = P * x - sum: P times the difference to the mean, exact where P is C
//   where it is not, sum = REDUCE_SUM(MUL(REDUCE_SUM(x of each part), mean)): the parts of P times the mean
//   a = MAX(P * RESCALE(REDUCE_MAX(in)) - sum, sum - P * RESCALE(REDUCE_MIN(in))): the greatest difference
//   n = MIN(CLZ(MAX(a, 1)), max_shift); t = (d << (n - 1)) >> 16: 16 bits, as many of them used as the row allows
//   high = floor(t * t / 2^16), low = t * t - (high << 16)
//   s = REDUCE_SUM(high), rest = REDUCE_SUM(low); carry = floor(rest / 2^16)
//   s = s + carry, rest = rest - (carry << 16): two numbers, because 32 bits do not hold the sum of squares
//   in several parts, each of them / 2^p: u = floor(s / 2^p), v = floor((((s - (u << p)) << 16) + rest) / 2^p);
//   s = REDUCE_SUM(u), rest = REDUCE_SUM(v), and the carry once more
//   h = floor((CLZ(s + (eps >> MIN(eps_shift - 2n + 16, 31)) + 1) - 1) / 2)
//   q = (s << 2h) + rest * 2^(2h - 16) + (eps >> MIN(eps_shift - 2n - 2h + 16, 31)), by shifts to the side of the sign
//   g = floor((CLZ(MAX(q, 1)) - 1) / 2); m = q << 2g: at least 2^29
//   f = TABLE16(RESCALE_i16(m - 5 * 2^28, 2^-13 / 3)) + 2^23: sqrt(2^30 / m) in 23 bits of fraction
//   z = MUL(d, f, k) shifted by the row's exponent n + h + g + (k - 33): y / sqrt(C) in 30 bits of fraction
//   y = RESCALE(MUL(z, weight, shift) + bias)
#include <fmt/format.h>

#include <algorithm>

#include "ops/known.h"
#include "targets/ethos_u/forms/form_families.h"
#include "targets/ethos_u/forms/mantissa.h"
#include "targets/ethos_u/limits.h"

namespace isthmus::ethos_u {
namespace {

std::int64_t elements(const Ints& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t row_length(const NodeForm& form) {
  const Ints sizes = form.sizes(0);
  std::int64_t length = 1;
  const auto axes = static_cast<std::size_t>(form.attrs<LayerNormAttrs>().axes);
  for (std::size_t i = sizes.size() - axes; i < sizes.size(); ++i) length *= sizes[i];
  return length;
}

std::optional<Reason> refuse_layer_norm(const NodeForm& form) {
  for (std::size_t i = 1; i < form.node.inputs.size(); ++i) {
    if (!form.is_constant(i)) return Reason{ReasonCode::kNeedsConstant, "a computed weight or bias of a norm"};
  }
  const std::int64_t length = row_length(form);
  if (row_parts(length)) return std::nullopt;
  return Reason{ReasonCode::kSumRange,
                fmt::format("{} numbers in a row, which has no equal parts of at most {}", length, kMaxAdded)};
}

OrderDemand layer_norm_order(const Graph& graph, const Node& node) {
  if (std::get<LayerNormAttrs>(node.attrs).axes == 1) return last_innermost(graph, node);
  return {OrderRule::kFixed, 1, 0, row_major(graph.type(node.inputs[0]).rank())};
}

std::vector<float> floats_of(const NodeLowering& lowering, std::size_t i) {
  if (!lowering.out.writes_constants() || i >= lowering.node.inputs.size()) return {};
  const auto numbers = numbers_of(&*lowering.graph.constant(lowering.node.inputs[i])->data);
  if (!numbers) return {};
  std::vector<float> result;
  for (const double number : *numbers) result.push_back(static_cast<float>(number));
  return result;
}

// Rows of [rows, length], or of [rows, parts, length of a part].
struct Rows {
  TosaBuilder& out;
  Ints shape;

  std::int64_t rank() const { return std::ssize(shape); }
  bool has_parts() const { return rank() > 2; }
  // One number, or one for each place of a row.
  Operand parameters(const std::vector<std::int32_t>& numbers) const {
    Ints sizes = shape;
    sizes[0] = 1;
    return out.numbers(tosa::Type::kI32, numbers.size() == 1 ? Ints(shape.size(), 1) : sizes,
                       std::vector<std::int64_t>(numbers.begin(), numbers.end()));
  }
  // Over each part, and then over all of them.
  Operand of_part(tosa::Op op, const Operand& x) const { return out.reduce(op, x, rank() - 1); }
  Operand of_parts(tosa::Op op, const Operand& x) const { return has_parts() ? out.reduce(op, x, 1) : x; }
  Operand reduce(tosa::Op op, const Operand& x) const { return of_parts(op, of_part(op, x)); }
};

// A sum of squares: high * 2^16 + low.
struct Squares {
  Operand high, low;
};
Squares carried(TosaBuilder& out, const Squares& x) {
  const Operand carry = floor_shift(out, x.low, 16);
  return {out.binary(tosa::Op::kAdd, x.high, carry), out.binary(tosa::Op::kSub, x.low, out.shift_left(carry, 16))};
}
Squares squares_of(const Rows& rows, const Operand& t, std::int32_t shift) {
  TosaBuilder& out = rows.out;
  const Operand square = out.mul(t, t);
  const Operand high = floor_shift(out, square, 16);
  const Operand low = out.binary(tosa::Op::kSub, square, out.shift_left(high, 16));
  const Squares part =
      carried(out, {rows.of_part(tosa::Op::kReduceSum, high), rows.of_part(tosa::Op::kReduceSum, low)});
  if (!rows.has_parts()) return part;
  const Operand whole = floor_shift(out, part.high, shift);
  const Operand left = out.binary(tosa::Op::kSub, part.high, out.shift_left(whole, shift));
  const Operand rest = floor_shift(out, out.binary(tosa::Op::kAdd, out.shift_left(left, 16), part.low), shift);
  return carried(out, {rows.of_parts(tosa::Op::kReduceSum, whole), rows.of_parts(tosa::Op::kReduceSum, rest)});
}

Operand norm_of_rows(NodeLowering& lowering, const Operand& given, const LayerNormConstants& constants) {
  TosaBuilder& out = lowering.out;
  const auto [count, length] = std::pair(given.shape[0], given.shape[1]);
  const Rows rows{out,
                  constants.parts == 1 ? Ints{count, length} : Ints{count, constants.parts, length / constants.parts}};
  const Operand quantized = out.reshape(given, rows.shape);
  const std::int32_t zero = lowering.type(0).quant->zero_point;

  const Operand x = out.widened(quantized, zero);
  const Operand sums = rows.of_part(tosa::Op::kReduceSum, x);
  const Operand means = constants.mean ? out.mul(sums, constants.mean->factor, constants.mean->shift) : sums;
  const Operand sum = rows.of_parts(tosa::Op::kReduceSum, means);
  const Operand difference = out.binary(tosa::Op::kSub, out.mul(x, constants.times), sum);
  // The greatest difference of the row: from its extremes, which devices find in int8 or int16.
  const auto extreme = [&](tosa::Op op) {
    return out.mul(out.widened(rows.reduce(op, quantized), zero), constants.times);
  };
  const Operand above = out.binary(tosa::Op::kSub, extreme(tosa::Op::kReduceMax), sum);
  const Operand below = out.binary(tosa::Op::kSub, sum, extreme(tosa::Op::kReduceMin));
  const Operand reach = out.binary(tosa::Op::kMaximum, out.binary(tosa::Op::kMaximum, above, below), 1);
  const Operand n = out.binary(tosa::Op::kMinimum, out.unary(tosa::Op::kClz, reach), constants.max_shift);

  // Squares in two numbers, whose sums fit 32 bits.
  const Operand t = out.shift_right(out.shift_left(difference, out.binary(tosa::Op::kSub, n, 1)), 16);
  const auto [squares, rest] = squares_of(rows, t, constants.square_shift);

  // Each shifted to where the sum has its leading bits, and the epsilon with them.
  const auto half_zeros = [&](const Operand& of) {
    return floor_shift(out, out.binary(tosa::Op::kSub, out.unary(tosa::Op::kClz, of), 1), 1);
  };
  const Operand eps_shift = less_than(out, constants.eps_shift + 16, out.shift_left(n, 1));
  const auto eps_at = [&](const Operand& bits) {
    return out.shift_right(out.number(tosa::Type::kI32, constants.eps, rows.rank()), bounded_bits(out, bits));
  };
  const Operand bound = out.binary(tosa::Op::kAdd, out.binary(tosa::Op::kAdd, squares, eps_at(eps_shift)), 1);
  const Operand h = half_zeros(bound);
  const Operand twice = out.shift_left(h, 1);
  const Operand upper = out.shift_left(squares, twice);
  const Operand lower = shift_by(out, rest, out.binary(tosa::Op::kSub, twice, 16));
  const Operand eps = eps_at(out.binary(tosa::Op::kSub, eps_shift, twice));
  const Operand all = out.binary(tosa::Op::kAdd, out.binary(tosa::Op::kAdd, upper, lower), eps);
  const Operand q = out.binary(tosa::Op::kMaximum, all, 1);
  const Operand g = half_zeros(q);
  const Operand factor = look_up(out, rsqrt_table(), out.shift_left(q, out.shift_left(g, 1)));
  const Operand shifts = out.binary(tosa::Op::kAdd, out.binary(tosa::Op::kAdd, n, h), g);
  const Operand exponent = out.binary(tosa::Op::kAdd, shifts, constants.exponent);

  const Operand z = shift_by(out, out.mul(difference, factor, constants.product_shift), exponent);
  const Operand weighted = out.mul(z, rows.parameters(constants.weight), constants.weight_shift);
  const Operand y = out.binary(tosa::Op::kAdd, weighted, rows.parameters(constants.bias));
  const Operand result =
      out.rescale(y, lowering.result_type(), {{constants.result}, 0, lowering.type().quant->zero_point});
  return out.reshape(result, given.shape);
}

Expected<Operand> layer_norm(NodeLowering& lowering) {
  const TensorType from = lowering.type(0);
  const std::int64_t length = row_length(lowering);
  const double eps = lowering.attrs<LayerNormAttrs>().eps;
  const std::vector<float> weight = floats_of(lowering, 1);
  const std::vector<float> bias = floats_of(lowering, 2);
  const std::int64_t count = elements(lowering.inputs[0].shape) / length;
  const Operand rows = lowering.out.reshape(lowering.inputs[0], {count, length});
  const auto finish = [&](const Operand& made) { return lowering.out.reshape(made, lowering.result_shape()); };
  const auto short_rows = short_norm_constants(from, lowering.type(), length, eps, weight, bias);
  if (short_rows && count <= kMaxCount) {
    return finish(TRY(by_parts(lowering, rows, lowering.parts / 2,
                               [&](const Operand& part) { return norm_of_short_rows(lowering, part, *short_rows); })));
  }
  const auto constants = layer_norm_constants(from, lowering.type(), length, eps, weight, bias);
  if (!constants) return bad_input("numbers that leave 32 bits");
  return finish(TRY(by_parts(lowering, rows, lowering.parts, [&](const Operand& part) -> Expected<Operand> {
    return norm_of_rows(lowering, part, *constants);
  })));
}

constexpr FormRow kNormForms[] = {
    {.op = Op::kLayerNorm,
     .core = tosa::Op::kTable,
     .order = layer_norm_order,
     .refusal = refuse_layer_norm,
     .lower = layer_norm,
     .has_bounds = true,
     .wide_reads = WideReads::kAlways,
     .is_by_row = true},
};

}  // namespace

std::span<const FormRow> norm_forms() { return kNormForms; }

}  // namespace isthmus::ethos_u
