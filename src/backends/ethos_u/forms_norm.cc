// Form of layer_norm, step by step as the integer kernel computes it.
#include <algorithm>

#include "backends/ethos_u/form_families.h"
#include "backends/ethos_u/mantissa.h"
#include "simplify/weights.h"

namespace isthmus::ethos_u {
namespace {

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
  return refuse_count(DType::kI16, row_length(form) + 1);
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

// One number, or one for each place of a row.
Operand row_of(TosaBuilder& out, const std::vector<std::int32_t>& numbers) {
  return out.numbers(tosa::Type::kI32, {1, std::ssize(numbers)},
                     std::vector<std::int64_t>(numbers.begin(), numbers.end()));
}

Expected<Operand> layer_norm(NodeLowering& lowering) {
  TosaBuilder& out = lowering.out;
  const TensorType from = lowering.type(0);
  const std::int64_t length = row_length(lowering);
  const auto constants = layer_norm_constants(from, lowering.type(), length, lowering.attrs<LayerNormAttrs>().eps,
                                              floats_of(lowering, 1), floats_of(lowering, 2));
  if (!constants) return bad_input("numbers that leave 32 bits");
  std::int64_t count = 1;
  for (const std::int64_t size : lowering.inputs[0].shape) count *= size;
  const Operand codes = out.reshape(lowering.inputs[0], {count / length, length});
  const std::int32_t zero = from.quant->zero_point;

  const Operand x = out.widened(codes, zero);
  const Operand sum = out.reduce(tosa::Op::kReduceSum, x, 1);
  const Operand difference = out.binary(tosa::Op::kSub, out.mul(x, constants->count), sum);
  // The greatest difference of the row: from its extremes, which devices find in codes.
  const auto extreme = [&](tosa::Op op) {
    return out.mul(out.widened(out.reduce(op, codes, 1), zero), constants->count);
  };
  const Operand above = out.binary(tosa::Op::kSub, extreme(tosa::Op::kReduceMax), sum);
  const Operand below = out.binary(tosa::Op::kSub, sum, extreme(tosa::Op::kReduceMin));
  const Operand reach = out.binary(tosa::Op::kMaximum, out.binary(tosa::Op::kMaximum, above, below), 1);
  const Operand n = out.binary(tosa::Op::kMinimum, out.unary(tosa::Op::kClz, reach), constants->most_shift);

  // Squares in two parts, whose sums fit 32 bits.
  const Operand t = out.shift_right(out.shift_left(difference, out.binary(tosa::Op::kSub, n, 1)), 16);
  const Operand square = out.mul(t, t);
  const Operand high = floor_shift(out, square, 16);
  const Operand low = out.reduce(tosa::Op::kReduceSum, out.binary(tosa::Op::kSub, square, out.shift_left(high, 16)), 1);
  const Operand carry = floor_shift(out, low, 16);
  const Operand squares = out.binary(tosa::Op::kAdd, out.reduce(tosa::Op::kReduceSum, high, 1), carry);
  const Operand rest = out.binary(tosa::Op::kSub, low, out.shift_left(carry, 16));

  // Each shifted to where the sum has its leading bits, and the epsilon with them.
  const auto half_zeros = [&](const Operand& of) {
    return floor_shift(out, out.binary(tosa::Op::kSub, out.unary(tosa::Op::kClz, of), 1), 1);
  };
  const Operand eps_shift = less_than(out, constants->eps_shift + 16, out.shift_left(n, 1));
  const auto eps_at = [&](const Operand& bits) {
    return out.shift_right(out.number(tosa::Type::kI32, constants->eps, 2), bounded_bits(out, bits));
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
  const Operand exponent = out.binary(tosa::Op::kAdd, shifts, constants->exponent);

  const Operand z = shift_by(out, out.mul(difference, factor, constants->product_shift), exponent);
  const Operand weighted = out.mul(z, row_of(out, constants->weight), constants->weight_shift);
  const Operand y = out.binary(tosa::Op::kAdd, weighted, row_of(out, constants->bias));
  const Operand result =
      out.rescale(y, lowering.result_type(), {{constants->result}, 0, lowering.type().quant->zero_point});
  return out.reshape(result, lowering.result_shape());
}

constexpr FormRow kNormForms[] = {
    {Op::kLayerNorm, tosa::Op::kTable, layer_norm_order, refuse_layer_norm, layer_norm, true, WideReads::kAlways},
};

}  // namespace

std::span<const FormRow> norm_forms() { return kNormForms; }

}  // namespace isthmus::ethos_u
