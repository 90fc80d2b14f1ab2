// Integer kernels that only move codes or compare codes of one scale: the reference kernels do that already.
#include <fmt/format.h>

#include "exec/integer_kernel.h"
#include "exec/integer_unary.h"

namespace isthmus {
namespace {

Expected<Tensor> move_codes(const IntegerContext& context) { return run_kernel(context.node.op, context.plain); }

// The filler is a number, its code is what is put there.
Expected<Tensor> pad_codes(const IntegerContext& context) {
  PadAttrs pad = context.as<PadAttrs>();
  pad.value = code_of(context.arithmetic, pad.value, context.quant(), context.plain.dtype);
  const Attrs attrs = pad;
  return run_kernel(context.node.op, {context.plain.inputs, attrs, context.plain.dtype, context.plain.sizes});
}

}  // namespace

std::span<const IntegerKernelDef> integer_movement_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kReshape, .kernel = move_codes, .shares = true},
      {.op = Op::kPermute, .kernel = move_codes, .shares = true},
      {.op = Op::kExpand, .kernel = move_codes, .shares = true},
      {.op = Op::kSlice, .kernel = move_codes, .shares = true},
      {.op = Op::kFlip, .kernel = move_codes, .shares = true},
      {.op = Op::kPad, .kernel = pad_codes, .shares = true},
      {.op = Op::kIndexSelect, .kernel = move_codes, .shares = true},
      {.op = Op::kGather, .kernel = move_codes, .shares = true},
      {.op = Op::kCat, .kernel = move_codes, .shares = true},
      {.op = Op::kWhere, .kernel = move_codes, .shares = true},
      {.op = Op::kMaxPool2d, .kernel = move_codes, .shares = true},
      {.op = Op::kAmax, .kernel = move_codes, .in_xnnpack = false, .shares = true},
      {.op = Op::kAmin, .kernel = move_codes, .in_xnnpack = false, .shares = true},
  };
  return kKernels;
}

}  // namespace isthmus
