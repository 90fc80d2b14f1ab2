// Kernels that divide or shift; ops are written in forms with which they give PyTorch's numbers.
#include <algorithm>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

using Index = pte::ValueIndex;

// Where a and b are of different signs and the rest is not 0: there the quotient's floor is not its integer part.
Expected<Index> is_uneven(NodeWriter& node, Index rest) {
  const DType dtype = node.type(0).dtype;
  const TensorType mask_type{DType::kBool, node.result_type().shape};
  const auto is_negative = [&](std::size_t i) -> Expected<Index> {
    return node.step(names::kLtNumber, {TRY(node.input(i)), node.number(0, dtype)}, {DType::kBool, node.type(i).shape});
  };
  const Index a = TRY(is_negative(0));
  const Index differs = TRY(node.step(names::kLogicalXor, {a, TRY(is_negative(1))}, mask_type));
  return node.step(names::kLogicalAnd, {rest, differs}, mask_type);
}

// Quotient and rest of integers, both exact: the kernel for the rest is C's %, those for others compute with doubles.
struct Divided {
  Index floor;
  Index product;  // floor * b
};
Expected<Divided> divided(NodeWriter& node) {
  const TensorType& type = node.result_type();
  const Index b = TRY(node.input(1));
  const Index floor = TRY(node.step(names::kFloorDivide, {TRY(node.input(0)), b}, type));
  return Divided{floor, TRY(node.step(names::kMul, {floor, b}, type))};
}

bool is_signed(DType dtype) { return is_integer(dtype) && dtype != DType::kU8; }

Expected<void> write_remainder(NodeWriter& node) {
  const TensorType& type = node.result_type();
  if (is_signed(type.dtype)) {
    const Divided parts = TRY(divided(node));
    return node.finish(names::kSub, {TRY(node.input(0)), parts.product, node.integer(1)});
  }
  if (type.dtype != DType::kF64) return write_inputs(node);
  // The kernel keeps rests in floats. That of C is exact, and has the sign of the dividend.
  const Index b = TRY(node.input(1));
  const Index rest = TRY(node.step(names::kFmod, {TRY(node.input(0)), b}, type));
  const Index is_other = TRY(is_uneven(node, rest));
  const Index moved = TRY(node.step(names::kAdd, {rest, b, node.integer(1)}, type));
  return node.finish(names::kWhere, {is_other, moved, rest});
}

// The kernel computes with doubles, which hold every number of 32 bits.
Expected<void> write_fmod(NodeWriter& node) {
  const TensorType& type = node.result_type();
  if (type.dtype != DType::kI64) return write_inputs(node);
  const Divided parts = TRY(divided(node));
  const Index rest = TRY(node.step(names::kSub, {TRY(node.input(0)), parts.product, node.integer(1)}, type));
  const Index is_other = TRY(is_uneven(node, rest));
  const Index moved = TRY(node.step(names::kSub, {rest, TRY(node.input(1)), node.integer(1)}, type));
  return node.finish(names::kWhere, {is_other, moved, rest});
}

Expected<void> write_trunc_div(NodeWriter& node) {
  const TensorType& type = node.result_type();
  if (type.dtype != DType::kI64) return node.finish({TRY(node.input(0)), TRY(node.input(1)), node.text("trunc")});
  const Divided parts = TRY(divided(node));
  const Index rest = TRY(node.step(names::kSub, {TRY(node.input(0)), parts.product, node.integer(1)}, type));
  const Index is_other = TRY(is_uneven(node, rest));
  const Index next = TRY(node.step(names::kAddNumber, {parts.floor, node.integer(1), node.integer(1)}, type));
  return node.finish(names::kWhere, {is_other, next, parts.floor});
}

// The kernel's quotient of floats is a whole number up to a rounding, and infinite wherever the divisor is 0.
Expected<void> write_floor_div(NodeWriter& node) {
  const TensorType& type = node.result_type();
  if (!is_floating(type.dtype)) return write_inputs(node);
  const TensorType mask_type{DType::kBool, type.shape};
  const Index a = TRY(node.input(0));
  const Index b = TRY(node.input(1));
  const Index near = TRY(node.step(names::kFloorDivide, {a, b}, type));
  const Index below = TRY(node.step(names::kFloor, {near}, type));
  const Index rest = TRY(node.step(names::kSub, {below, near, node.integer(1)}, type));
  const Index is_above = TRY(node.step(names::kLtNumber, {rest, node.real(-0.5)}, mask_type));
  const Index above = TRY(node.step(names::kAddNumber, {below, node.real(1), node.integer(1)}, type));
  if (node.is_never(1, 0)) return node.finish(names::kWhere, {is_above, above, below});
  const Index whole = TRY(node.step(names::kWhere, {is_above, above, below}, type));
  const Index is_zero = TRY(node.step(names::kEqNumber, {b, node.real(0)}, {DType::kBool, node.type(1).shape}));
  const Index ratio = TRY(node.step(names::kDiv, {a, b}, type));
  return node.finish(names::kWhere, {is_zero, ratio, whole});
}

// A shift by as many bits as there are, or by a negative number of them, is undefined in the kernels. In PyTorch it
// leaves 0, or the sign of what is shifted to the right.
Expected<void> write_shift(NodeWriter& node, bool keeps_sign) {
  const DType dtype = node.type(0).dtype;
  const auto last = static_cast<std::int64_t>(8 * size_of(dtype)) - 1;
  if (node.is_within(1, 0, static_cast<double>(last))) return write_inputs(node);
  const TensorType& type = node.result_type();
  const TensorType& amounts = node.type(1);
  const TensorType mask_type{DType::kBool, amounts.shape};
  const Index a = TRY(node.input(0));
  const Index b = TRY(node.input(1));
  const Index bounded = TRY(node.step(names::kClamp, {b, node.integer(0), node.integer(last)}, amounts));
  const Index is_outside = TRY(node.step(names::kNe, {b, bounded}, mask_type));
  if (keeps_sign && dtype != DType::kU8) {
    const Index amount = TRY(node.step(names::kMaskedFill, {bounded, is_outside, node.integer(last)}, amounts));
    return node.finish({a, amount});
  }
  const Index shifted = TRY(node.row_step({a, bounded}, type));
  return node.finish(names::kMaskedFill, {shifted, is_outside, node.integer(0)});
}
Expected<void> write_shift_left(NodeWriter& node) { return write_shift(node, false); }
Expected<void> write_shift_right(NodeWriter& node) { return write_shift(node, true); }

// The kernel takes powers of doubles: they hold 53 bits, and what is beyond the type does not wrap around.
Expected<void> write_pow(NodeWriter& node) {
  const TensorType& type = node.result_type();
  if (is_floating(type.dtype)) return write_inputs(node);
  const std::optional<std::int64_t> exponent = node.known_integer(1);
  if (!exponent || *exponent < 1 || node.type(0).shape != type.shape) {
    return fail(
        ErrorKind::kUnsupported,
        "ExecuTorch's kernel computes powers of integers in double; use floats or one positive constant exponent");
  }
  const Index x = TRY(node.input(0));
  if (*exponent == 1) return node.finish(names::kConvert, node.cast_arguments(x, type.rank()));
  // From the exponent's highest bit down: each one squares, and each that is set multiplies once more.
  std::vector<bool> multiplies;
  for (std::int64_t left = *exponent; left > 1; left >>= 1) {
    if ((left & 1) != 0) multiplies.push_back(true);
    multiplies.push_back(false);
  }
  Index power = x;
  for (std::size_t i = multiplies.size(); i-- > 0;) {
    const std::vector<Index> factors{power, multiplies[i] ? x : power};
    if (i == 0) return node.finish(names::kMul, factors);
    power = TRY(node.step(names::kMul, factors, type));
  }
  return {};
}

Expected<void> run_divide_by_mode(RunningCall& call) {
  const std::string mode = TRY(call.text(2));
  if (mode != "trunc" && mode != "floor") return bad_input("a rounding mode that is neither trunc nor floor");
  const Op op = mode == "trunc" ? Op::kTruncDiv : Op::kFloorDiv;
  return call.store(3, op, NoAttrs{}, TRY(call.tensor(0)), TRY(call.tensor(1)));
}

constexpr Kernel kDivisionKernels[] = {
    {.name = names::kFloorDivide,
     .arguments = "tt",
     .run = run_binary<Op::kFloorDiv>,
     .written = {.op = Op::kFloorDiv, .write = write_floor_div, .types = ElementTypes::kNoBool, .widens = true}},
    {.name = "aten::div.out_mode",
     .arguments = "tts",
     .run = run_divide_by_mode,
     .written = {.op = Op::kTruncDiv, .write = write_trunc_div, .types = ElementTypes::kNoBool, .widens = true}},
    {.name = "aten::remainder.Tensor_out",
     .arguments = "tt",
     .run = run_binary<Op::kRemainder>,
     .written = {Op::kRemainder, write_remainder, ElementTypes::kNoBool}},
    {.name = names::kFmod,
     .arguments = "tt",
     .run = run_binary<Op::kFmod>,
     .written = {Op::kFmod, write_fmod, ElementTypes::kNoBool}},
    {.name = "aten::pow.Tensor_Tensor_out",
     .arguments = "tt",
     .run = run_binary<Op::kPow>,
     .written = {Op::kPow, write_pow, ElementTypes::kNoBool}},
    {.name = "aten::bitwise_left_shift.Tensor_out",
     .arguments = "tt",
     .run = run_binary<Op::kShiftLeft>,
     .written = {Op::kShiftLeft, write_shift_left, ElementTypes::kNoBool}},
    {.name = "aten::bitwise_right_shift.Tensor_out",
     .arguments = "tt",
     .run = run_binary<Op::kShiftRight>,
     .written = {Op::kShiftRight, write_shift_right, ElementTypes::kNoBool}},
};

}  // namespace

Family division_family() { return {kDivisionKernels, {}}; }

}  // namespace isthmus::host
