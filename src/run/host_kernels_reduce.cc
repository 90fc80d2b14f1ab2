// Host kernels that reduce axes or run along one.
#include <algorithm>
#include <numeric>

#include "exec/half.h"
#include "executorch_kernels/kernels.h"
#include "run/host_kernels.h"

namespace isthmus::run {
namespace {

// The axes to reduce, sorted; no list, or an empty one, means all of them.
Expected<Ints> axes_to_reduce(const HostCall& call, std::size_t i, const Tensor& input) {
  Ints axes;
  if (!call.is_none(i)) axes = TRY(call.axes(i, input.rank()));
  if (axes.empty()) {
    axes.resize(input.sizes().size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::ranges::sort(axes);
  return axes;
}

// What is summed: as another type where the call says so, and integers as i64.
Expected<Tensor> summand(const HostCall& call, std::size_t dtype) {
  const Tensor input = TRY(call.tensor(0));
  const DType own = is_floating(input.dtype()) ? input.dtype() : DType::kI64;
  const DType wanted = call.is_none(dtype) ? own : TRY(call.dtype(dtype));
  if (wanted == input.dtype()) return input;
  return call.compute(Op::kCast, DTypeAttrs{wanted}, input);
}

template <Op op>
Expected<void> sum(HostCall& call) {
  const Tensor input = TRY(summand(call, 3));
  const bool keepdim = TRY(call.truth(2));
  const ReduceAttrs attrs{TRY(axes_to_reduce(call, 1, input)), keepdim};
  return call.store(4, op, attrs, input);
}
template <Op op>
Expected<void> extreme(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const bool keepdim = TRY(call.truth(2));
  const ReduceAttrs attrs{TRY(axes_to_reduce(call, 1, input)), keepdim};
  return call.store(3, op, attrs, input);
}
Expected<void> prod(HostCall& call) {
  const Tensor input = TRY(summand(call, 3));
  const bool keepdim = TRY(call.truth(2));
  const ReduceAttrs attrs{{TRY(call.axis(1, input.rank()))}, keepdim};
  return call.store(4, Op::kProd, attrs, input);
}
// Without an axis, the position among all elements.
template <Op op>
Expected<void> position(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const bool keepdim = TRY(call.truth(2));
  if (!call.is_none(1)) {
    const ReduceAttrs attrs{{TRY(call.axis(1, input.rank()))}, keepdim};
    return call.store(3, op, attrs, input);
  }
  const Tensor found = TRY(call.compute(op, ReduceAttrs{{0}, false}, input.with_sizes({input.count()})));
  return call.set_tensor(3, found.with_sizes(std::vector<std::int64_t>(keepdim ? input.sizes().size() : 0, 1)));
}
Expected<void> variance(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const double correction = call.is_none(2) ? 1 : TRY(call.number(2));
  const bool keepdim = TRY(call.truth(3));
  const VarianceAttrs attrs{TRY(axes_to_reduce(call, 1, input)), keepdim, correction};
  return call.store(4, Op::kVariance, attrs, input);
}
Expected<void> running_sum(HostCall& call) {
  const Tensor input = TRY(summand(call, 2));
  return call.store(3, Op::kCumsum, AxisAttrs{TRY(call.axis(1, input.rank()))}, input);
}
template <Op op>
Expected<void> softmax(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  if (TRY(call.truth(2))) return fail(ErrorKind::kUnsupported, "softmax of halves as floats");
  return call.store(3, op, AxisAttrs{TRY(call.axis(1, input.rank()))}, input);
}
Expected<void> topk(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(2, input.rank()));
  const std::int64_t count = TRY(call.integer(1));
  if (count < 0 || count > input.size(axis)) return bad_input("more of the greatest numbers than there are");
  if (!is_floating(input.dtype()) && !is_integer(input.dtype())) return bad_input("elements that have no order");
  const bool largest = TRY(call.truth(3));
  const bool is_narrow = is_half(input.dtype());
  const executorch_kernels::Sorted found =
      executorch_kernels::topk(widened(input), axis, count, largest, TRY(call.truth(4)));
  TRY(call.set_tensor(5, is_narrow ? narrowed(found.numbers, input.dtype()) : found.numbers));
  return call.set_tensor(6, found.positions);
}

constexpr HostKernel kReduceKernels[] = {
    {"aten::sum.IntList_out", sum<Op::kSum>},
    {"aten::mean.out", sum<Op::kMean>},
    {"aten::prod.int_out", prod},
    {"aten::amax.out", extreme<Op::kAmax>},
    {"aten::amin.out", extreme<Op::kAmin>},
    {"aten::any.dims_out", extreme<Op::kAny>},
    {"aten::argmax.out", position<Op::kArgmax>},
    {"aten::argmin.out", position<Op::kArgmin>},
    {"aten::var.correction_out", variance},
    {"aten::cumsum.out", running_sum},
    {"aten::_softmax.out", softmax<Op::kSoftmax>},
    {"aten::_log_softmax.out", softmax<Op::kLogSoftmax>},
    {"aten::topk.values", topk},
};

}  // namespace

std::span<const HostKernel> reduce_host_kernels() { return kReduceKernels; }

}  // namespace isthmus::run
