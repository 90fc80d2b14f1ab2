// The table of host ops.
#include "lower/host_ops.h"

#include <algorithm>

namespace isthmus {
namespace {

using Args = std::vector<pte::ValueIndex>;

Expected<void> inputs(ProgramValues& values, const Node& node, Args& args) {
  for (const ValueId input : node.inputs) args.push_back(TRY(values.tensor(input)));
  return {};
}
// a + alpha * b
Expected<void> scaled_sum(ProgramValues& values, const Node& node, Args& args) {
  TRY(inputs(values, node, args));
  args.push_back(values.integer(1));
  return {};
}

constexpr HostOp kOps[] = {
    {Op::kAdd, "aten::add", "out", scaled_sum},
    {Op::kSub, "aten::sub", "out", scaled_sum},
    {Op::kMul, "aten::mul", "out", inputs},
    {Op::kDiv, "aten::div", "out", inputs},
    {Op::kSigmoid, "aten::sigmoid", "out", inputs},
    {Op::kTanh, "aten::tanh", "out", inputs},
};

}  // namespace

const HostOp* find_host_op(Op op) {
  const auto found = std::ranges::find(kOps, op, &HostOp::op);
  return found == std::end(kOps) ? nullptr : found;
}

}  // namespace isthmus
