// Host ops that divide or shift, in forms with which ExecuTorch's kernels give PyTorch's numbers.
#include <algorithm>

#include "lower/host_ops.h"

namespace isthmus {
namespace {

using Index = pte::ValueIndex;

// Where a and b are of different signs and the rest is not 0: there the quotient's floor is not its integer part.
Expected<Index> is_uneven(HostNode& node, Index rest) {
  const DType dtype = node.type(0).dtype;
  const TensorType mask_type{DType::kBool, node.result_type().shape};
  const auto is_negative = [&](std::size_t i) -> Expected<Index> {
    return node.step("aten::lt.Scalar_out", {TRY(node.input(i)), node.number(0, dtype)},
                     {DType::kBool, node.type(i).shape});
  };
  const Index a = TRY(is_negative(0));
  const Index differs = TRY(node.step("aten::logical_xor.out", {a, TRY(is_negative(1))}, mask_type));
  return node.step("aten::logical_and.out", {rest, differs}, mask_type);
}

// Quotient and rest of integers, both exact: the kernel for the rest is C's %, those for others compute with doubles.
struct Divided {
  Index floor;
  Index product;  // floor * b
};
Expected<Divided> divided(HostNode& node) {
  const TensorType& type = node.result_type();
  const Index b = TRY(node.input(1));
  const Index floor = TRY(node.step("aten::floor_divide.out", {TRY(node.input(0)), b}, type));
  return Divided{floor, TRY(node.step("aten::mul.out", {floor, b}, type))};
}

bool is_signed(DType dtype) { return is_integer(dtype) && dtype != DType::kU8; }

Expected<void> write_remainder(HostNode& node) {
  const TensorType& type = node.result_type();
  if (is_signed(type.dtype)) {
    const Divided parts = TRY(divided(node));
    return node.finish("aten::sub.out", {TRY(node.input(0)), parts.product, node.integer(1)});
  }
  if (type.dtype != DType::kF64) return write_inputs(node);
  // The kernel keeps rests in floats. That of C is exact, and has the sign of the dividend.
  const Index b = TRY(node.input(1));
  const Index rest = TRY(node.step("aten::fmod.Tensor_out", {TRY(node.input(0)), b}, type));
  const Index is_other = TRY(is_uneven(node, rest));
  const Index moved = TRY(node.step("aten::add.out", {rest, b, node.integer(1)}, type));
  return node.finish("aten::where.self_out", {is_other, moved, rest});
}

// The kernel computes with doubles, which hold every number of 32 bits.
Expected<void> write_fmod(HostNode& node) {
  const TensorType& type = node.result_type();
  if (type.dtype != DType::kI64) return write_inputs(node);
  const Divided parts = TRY(divided(node));
  const Index rest = TRY(node.step("aten::sub.out", {TRY(node.input(0)), parts.product, node.integer(1)}, type));
  const Index is_other = TRY(is_uneven(node, rest));
  const Index moved = TRY(node.step("aten::sub.out", {rest, TRY(node.input(1)), node.integer(1)}, type));
  return node.finish("aten::where.self_out", {is_other, moved, rest});
}

Expected<void> write_trunc_div(HostNode& node) {
  const TensorType& type = node.result_type();
  if (type.dtype != DType::kI64) return node.finish({TRY(node.input(0)), TRY(node.input(1)), node.text("trunc")});
  const Divided parts = TRY(divided(node));
  const Index rest = TRY(node.step("aten::sub.out", {TRY(node.input(0)), parts.product, node.integer(1)}, type));
  const Index is_other = TRY(is_uneven(node, rest));
  const Index next = TRY(node.step("aten::add.Scalar_out", {parts.floor, node.integer(1), node.integer(1)}, type));
  return node.finish("aten::where.self_out", {is_other, next, parts.floor});
}

// The kernel's quotient of floats is a whole number up to a rounding, and infinite wherever the divisor is 0.
Expected<void> write_floor_div(HostNode& node) {
  const TensorType& type = node.result_type();
  if (!is_floating(type.dtype)) return write_inputs(node);
  const TensorType mask_type{DType::kBool, type.shape};
  const Index a = TRY(node.input(0));
  const Index b = TRY(node.input(1));
  const Index near = TRY(node.step("aten::floor_divide.out", {a, b}, type));
  const Index below = TRY(node.step("aten::floor.out", {near}, type));
  const Index rest = TRY(node.step("aten::sub.out", {below, near, node.integer(1)}, type));
  const Index is_above = TRY(node.step("aten::lt.Scalar_out", {rest, node.real(-0.5)}, mask_type));
  const Index above = TRY(node.step("aten::add.Scalar_out", {below, node.real(1), node.integer(1)}, type));
  if (node.is_never(1, 0)) return node.finish("aten::where.self_out", {is_above, above, below});
  const Index whole = TRY(node.step("aten::where.self_out", {is_above, above, below}, type));
  const Index is_zero = TRY(node.step("aten::eq.Scalar_out", {b, node.real(0)}, {DType::kBool, node.type(1).shape}));
  const Index ratio = TRY(node.step("aten::div.out", {a, b}, type));
  return node.finish("aten::where.self_out", {is_zero, ratio, whole});
}

// A shift by as many bits as there are, or by a negative number of them, is undefined in the kernels. In PyTorch it
// leaves 0, or the sign of what is shifted to the right.
Expected<void> write_shift(HostNode& node, bool keeps_sign) {
  const DType dtype = node.type(0).dtype;
  const auto last = static_cast<std::int64_t>(8 * size_of(dtype)) - 1;
  if (node.is_within(1, 0, static_cast<double>(last))) return write_inputs(node);
  const TensorType& type = node.result_type();
  const TensorType& amounts = node.type(1);
  const TensorType mask_type{DType::kBool, amounts.shape};
  const Index a = TRY(node.input(0));
  const Index b = TRY(node.input(1));
  const Index bounded = TRY(node.step("aten::clamp.out", {b, node.integer(0), node.integer(last)}, amounts));
  const Index is_outside = TRY(node.step("aten::ne.Tensor_out", {b, bounded}, mask_type));
  if (keeps_sign && dtype != DType::kU8) {
    const Index amount =
        TRY(node.step("aten::masked_fill.Scalar_out", {bounded, is_outside, node.integer(last)}, amounts));
    return node.finish({a, amount});
  }
  const Index shifted = TRY(node.row_step({a, bounded}, type));
  return node.finish("aten::masked_fill.Scalar_out", {shifted, is_outside, node.integer(0)});
}
Expected<void> write_shift_left(HostNode& node) { return write_shift(node, false); }
Expected<void> write_shift_right(HostNode& node) { return write_shift(node, true); }

// The kernel takes powers of doubles: they hold 53 bits, and what is beyond the type does not wrap around.
Expected<void> write_pow(HostNode& node) {
  const TensorType& type = node.result_type();
  if (is_floating(type.dtype)) return write_inputs(node);
  const std::optional<std::int64_t> exponent = node.known_integer(1);
  if (!exponent || *exponent < 1 || node.type(0).shape != type.shape) {
    return fail(ErrorKind::kUnsupported,
                "ExecuTorch's kernel takes powers of integers as doubles; it is exact with an exponent that is one "
                "positive constant, or with floats");
  }
  const Index x = TRY(node.input(0));
  if (*exponent == 1) return node.finish("dim_order_ops::_to_dim_order_copy.out", node.cast_arguments(x, type.rank()));
  // From the exponent's highest bit down: each one squares, and each that is set multiplies once more.
  std::vector<bool> multiplies;
  for (std::int64_t left = *exponent; left > 1; left >>= 1) {
    if ((left & 1) != 0) multiplies.push_back(true);
    multiplies.push_back(false);
  }
  Index power = x;
  for (std::size_t i = multiplies.size(); i-- > 0;) {
    const std::vector<Index> factors{power, multiplies[i] ? x : power};
    if (i == 0) return node.finish("aten::mul.out", factors);
    power = TRY(node.step("aten::mul.out", factors, type));
  }
  return {};
}

constexpr HostOp kDivisionOps[] = {
    {.op = Op::kFloorDiv,
     .kernel = "aten::floor_divide.out",
     .write = write_floor_div,
     .types = HostTypes::kNoBool,
     .widens = true},
    {.op = Op::kTruncDiv,
     .kernel = "aten::div.out_mode",
     .write = write_trunc_div,
     .types = HostTypes::kNoBool,
     .widens = true},
    {Op::kRemainder, "aten::remainder.Tensor_out", write_remainder, HostTypes::kNoBool},
    {Op::kFmod, "aten::fmod.Tensor_out", write_fmod, HostTypes::kNoBool},
    {Op::kPow, "aten::pow.Tensor_Tensor_out", write_pow, HostTypes::kNoBool},
    {Op::kShiftLeft, "aten::bitwise_left_shift.Tensor_out", write_shift_left, HostTypes::kNoBool},
    {Op::kShiftRight, "aten::bitwise_right_shift.Tensor_out", write_shift_right, HostTypes::kNoBool},
};

}  // namespace

std::span<const HostOp> host_division_ops() { return kDivisionOps; }

}  // namespace isthmus
