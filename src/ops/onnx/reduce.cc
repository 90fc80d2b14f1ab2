// Reductions of ONNX: axes are an attribute, or since opset 13 and 18 an input.
#include "ops/families/reduce.h"

#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {
namespace {

struct Reduced {
  ValueId data;
  Ints axes;
  bool keeps = true;
  bool is_nothing = false;  // over no axes at all
};

Expected<Reduced> read_reduced(Call& call) {
  Reduced reduced{.data = TRY(call.tensor("data")), .axes = {}};
  const Ints axes = TRY(integers(call, "axes", Ints{}));
  reduced.keeps = TRY(call.flag("keepdims", true));
  reduced.is_nothing = axes.empty() && TRY(call.flag("noop_with_empty_axes", false));
  reduced.axes = TRY(normal_axes(axes, call.rank(reduced.data), !reduced.is_nothing));
  return reduced;
}

Expected<ValueId> over(Call& call, Op op, ValueId data, const Reduced& reduced) {
  if (reduced.is_nothing) return data;
  return reduce(call, op, data, reduced.axes, reduced.keeps);
}

template <Op kOp>
Expected<Values> read_plain(Call& call) {
  const Reduced reduced = TRY(read_reduced(call));
  return one(over(call, kOp, reduced.data, reduced));
}

Expected<Values> read_l1(Call& call) {
  const Reduced reduced = TRY(read_reduced(call));
  return one(over(call, Op::kSum, TRY(call.unary(Op::kAbs, reduced.data)), reduced));
}
Expected<Values> read_l2(Call& call) {
  const Reduced reduced = TRY(read_reduced(call));
  const ValueId squares = TRY(call.binary(Op::kMul, reduced.data, reduced.data));
  return one(call.unary(Op::kSqrt, TRY(over(call, Op::kSum, squares, reduced))));
}
Expected<Values> read_sum_square(Call& call) {
  const Reduced reduced = TRY(read_reduced(call));
  return one(over(call, Op::kSum, TRY(call.binary(Op::kMul, reduced.data, reduced.data)), reduced));
}
Expected<Values> read_log_sum(Call& call) {
  const Reduced reduced = TRY(read_reduced(call));
  return one(call.unary(Op::kLog, TRY(over(call, Op::kSum, reduced.data, reduced))));
}

}  // namespace

Family reduce_family() {
  static constexpr Row kRows[] = {
      row("onnx.ReduceSum", "data axes", read_plain<Op::kSum>),
      row("onnx.ReduceMean", "data axes", read_plain<Op::kMean>),
      row("onnx.ReduceProd", "data axes", read_plain<Op::kProd>),
      row("onnx.ReduceMax", "data axes", read_plain<Op::kAmax>),
      row("onnx.ReduceMin", "data axes", read_plain<Op::kAmin>),
      row("onnx.ReduceLogSumExp", "data axes", read_plain<Op::kLogsumexp>),
      row("onnx.ReduceL1", "data axes", read_l1),
      row("onnx.ReduceL2", "data axes", read_l2),
      row("onnx.ReduceSumSquare", "data axes", read_sum_square),
      row("onnx.ReduceLogSum", "data axes", read_log_sum),
  };
  return family_of("onnx reduce", kRows);
}

}  // namespace isthmus::onnx_ops
