// Kernels of a tensor and a number: arithmetic, comparisons, and tensors that one number fills.
#include "interpret/half.h"
#include "targets/host/family.h"

namespace isthmus::host {
namespace {

// The tensor and the number in the type in which the kernels compute: a real number beside integers makes both f32, an
// integer beside bools makes them i64, and halves are computed as f32.
struct Operands {
  Tensor tensor;
  Tensor number;
  DType common;  // the type of the result of arithmetic
};
DType promoted(const RunningCall& call, std::size_t i, DType dtype) {
  if (call.is_real(i) && !is_floating(dtype)) return DType::kF32;
  if (dtype == DType::kBool && !call.is_boolean(i)) return DType::kI64;
  return dtype;
}
Expected<Tensor> number_as(const RunningCall& call, std::size_t i, DType dtype) {
  if (call.is_real(i)) return call.compute(Op::kCast, DTypeAttrs{dtype}, scalar(TRY(call.number(i))));
  return call.compute(Op::kCast, DTypeAttrs{dtype}, scalar(TRY(call.integer(i))));
}
Expected<Operands> operands(const RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const DType common = promoted(call, 1, input.dtype());
  const DType computed = is_half(common) ? DType::kF32 : common;
  Tensor wide = input;
  if (input.dtype() != computed) wide = TRY(call.compute(Op::kCast, DTypeAttrs{computed}, input));
  const Tensor number = TRY(number_as(call, 1, computed));
  return Operands{wide, number, common};
}

Expected<void> store_arithmetic(RunningCall& call, std::size_t out, Op op, const Operands& both, const Tensor& left,
                                const Tensor& right) {
  if (!is_half(both.common)) return call.store(out, op, NoAttrs{}, left, right);
  return call.set_tensor(out, narrowed(TRY(call.compute(op, NoAttrs{}, left, right)), both.common));
}
template <Op op>
Expected<void> run_arithmetic(RunningCall& call) {
  const Operands both = TRY(operands(call));
  return store_arithmetic(call, 2, op, both, both.tensor, both.number);
}
template <Op op>
Expected<void> run_compared(RunningCall& call) {
  const Operands both = TRY(operands(call));
  return call.store(2, op, NoAttrs{}, both.tensor, both.number);
}

// a + alpha * b, a - alpha * b, and b - alpha * a.
template <Op op>
Expected<void> run_scaled(RunningCall& call) {
  Operands both = TRY(operands(call));
  if (TRY(call.number(2)) != 1) {
    const Tensor alpha = TRY(number_as(call, 2, both.number.dtype()));
    both.number = TRY(call.compute(Op::kMul, NoAttrs{}, both.number, alpha));
  }
  return store_arithmetic(call, 3, op, both, both.tensor, both.number);
}
Expected<void> run_reversed_difference(RunningCall& call) {
  const Operands both = TRY(operands(call));
  if (TRY(call.number(2)) == 1) return store_arithmetic(call, 3, Op::kSub, both, both.number, both.tensor);
  const Tensor alpha = TRY(number_as(call, 2, both.tensor.dtype()));
  const Tensor scaled = TRY(call.compute(Op::kMul, NoAttrs{}, both.tensor, alpha));
  return store_arithmetic(call, 3, Op::kSub, both, both.number, scaled);
}

// Integers are divided as floats.
Expected<void> run_quotient(RunningCall& call) {
  Operands both = TRY(operands(call));
  if (!is_floating(both.common)) {
    both.common = DType::kF32;
    both.tensor = TRY(call.compute(Op::kCast, DTypeAttrs{DType::kF32}, both.tensor));
    both.number = TRY(number_as(call, 1, DType::kF32));
  }
  return store_arithmetic(call, 2, Op::kDiv, both, both.tensor, both.number);
}
Expected<void> run_quotient_by_mode(RunningCall& call) {
  const std::string mode = TRY(call.text(2));
  if (mode != "trunc" && mode != "floor") return bad_input("a rounding mode that is neither trunc nor floor");
  const Operands both = TRY(operands(call));
  return store_arithmetic(call, 3, mode == "trunc" ? Op::kTruncDiv : Op::kFloorDiv, both, both.tensor, both.number);
}

// Tensors of one number, of the result's own type.
Expected<void> fill(RunningCall& call, std::size_t out, const Tensor& number, const std::vector<std::int64_t>& sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 0) return bad_input("a size below 0");
  }
  const DType dtype = TRY(call.tensor(out)).dtype();
  const Tensor element = TRY(call.compute(Op::kCast, DTypeAttrs{dtype}, number));
  return call.store(out, Op::kExpand, ShapeAttrs{Dims(sizes.begin(), sizes.end())}, element);
}
Expected<Tensor> filler(const RunningCall& call, std::size_t i) {
  if (call.is_real(i)) return scalar(TRY(call.number(i)));
  return scalar(TRY(call.integer(i)));
}
Expected<void> run_full(RunningCall& call) {
  const Tensor number = TRY(filler(call, 1));
  return fill(call, 2, number, TRY(call.integers(0)));
}
Expected<void> run_full_like(RunningCall& call) {
  const Tensor number = TRY(filler(call, 1));
  return fill(call, 3, number, TRY(call.tensor(0)).sizes());
}
Expected<void> run_fill(RunningCall& call) {
  const Tensor number = TRY(filler(call, 1));
  return fill(call, 2, number, TRY(call.tensor(0)).sizes());
}
Expected<void> run_fill_with_tensor(RunningCall& call) {
  const Tensor number = TRY(call.tensor(1));
  if (number.count() != 1) return bad_input("it fills with a tensor of one number");
  return fill(call, 2, number.with_sizes({}), TRY(call.tensor(0)).sizes());
}
template <std::int64_t number>
Expected<void> run_constant(RunningCall& call) {
  return fill(call, 1, scalar(number), TRY(call.integers(0)));
}
Expected<void> run_scalar_tensor(RunningCall& call) { return fill(call, 1, TRY(filler(call, 0)), {}); }

constexpr Kernel kNumberKernels[] = {
    {.name = names::kAddNumber, .arguments = "tnn", .run = run_scaled<Op::kAdd>},
    {.name = "aten::sub.Scalar_out", .arguments = "tnn", .run = run_scaled<Op::kSub>},
    {.name = "aten::rsub.Scalar_out", .arguments = "tnn", .run = run_reversed_difference},
    {.name = "aten::mul.Scalar_out", .arguments = "tn", .run = run_arithmetic<Op::kMul>},
    {.name = "aten::div.Scalar_out", .arguments = "tn", .run = run_quotient},
    {.name = "aten::div.Scalar_mode_out", .arguments = "tns", .run = run_quotient_by_mode},
    {.name = "aten::fmod.Scalar_out", .arguments = "tn", .run = run_arithmetic<Op::kFmod>},
    {.name = "aten::remainder.Scalar_out", .arguments = "tn", .run = run_arithmetic<Op::kRemainder>},
    {.name = "aten::pow.Tensor_Scalar_out", .arguments = "tn", .run = run_arithmetic<Op::kPow>},
    {.name = "aten::bitwise_and.Scalar_out", .arguments = "tn", .run = run_arithmetic<Op::kBitwiseAnd>},
    {.name = "aten::bitwise_or.Scalar_out", .arguments = "tn", .run = run_arithmetic<Op::kBitwiseOr>},
    {.name = "aten::bitwise_xor.Scalar_out", .arguments = "tn", .run = run_arithmetic<Op::kBitwiseXor>},
    {.name = names::kEqNumber, .arguments = "tn", .run = run_compared<Op::kEq>},
    {.name = "aten::ne.Scalar_out", .arguments = "tn", .run = run_compared<Op::kNe>},
    {.name = names::kLtNumber, .arguments = "tn", .run = run_compared<Op::kLt>},
    {.name = "aten::le.Scalar_out", .arguments = "tn", .run = run_compared<Op::kLe>},
    {.name = "aten::gt.Scalar_out", .arguments = "tn", .run = run_compared<Op::kGt>},
    {.name = "aten::ge.Scalar_out", .arguments = "tn", .run = run_compared<Op::kGe>},
    {.name = "aten::full.out", .arguments = "In", .run = run_full},
    {.name = "aten::full_like.out", .arguments = "tnj", .run = run_full_like},
    {.name = "aten::fill.Scalar_out", .arguments = "tn", .run = run_fill},
    {.name = "aten::fill.Tensor_out", .arguments = "tt", .run = run_fill_with_tensor},
    {.name = "aten::zeros.out", .arguments = "I", .run = run_constant<0>},
    {.name = "aten::ones.out", .arguments = "I", .run = run_constant<1>},
    {.name = "aten::scalar_tensor.out", .arguments = "n", .run = run_scalar_tensor},
};

}  // namespace

Family number_family() { return {kNumberKernels, {}}; }

}  // namespace isthmus::host
