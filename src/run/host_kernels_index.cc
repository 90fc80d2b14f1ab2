// Host kernels that pick or place elements by index.
#include <algorithm>

#include "run/host_kernels.h"

namespace isthmus::run {
namespace {

Expected<void> index_select(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const AxisAttrs attrs{TRY(call.axis(1, input.rank()))};
  return call.store(3, Op::kIndexSelect, attrs, input, TRY(call.tensor(2)));
}
// One index for one axis, of all that this kernel can do.
Expected<void> index(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::optional<Tensor>> indices = TRY(call.optional_tensors(1));
  const auto is_there = [](const std::optional<Tensor>& item) { return item.has_value(); };
  const auto found = std::ranges::find_if(indices, is_there);
  if (std::ranges::count_if(indices, is_there) != 1) {
    return fail(ErrorKind::kUnsupported, "indices for several axes, or for none");
  }
  return call.store(2, Op::kIndexSelect, AxisAttrs{found - indices.begin()}, input, **found);
}
Expected<void> gather(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const AxisAttrs attrs{TRY(call.axis(1, input.rank()))};
  return call.store(4, Op::kGather, attrs, input, TRY(call.tensor(2)));
}
template <Op op, ScatterMode mode>
Expected<void> scatter(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const ScatterAttrs attrs{TRY(call.axis(1, input.rank())), mode};
  return call.store(4, op, attrs, input, TRY(call.tensor(2)), TRY(call.tensor(3)));
}
// The type is that of the result.
Expected<void> arange(HostCall& call) {
  const ArangeAttrs attrs{Dim(TRY(call.integer(0))), Dim(TRY(call.integer(1))), TRY(call.integer(2)),
                          TRY(call.tensor(3)).dtype()};
  return call.store(3, Op::kArange, attrs);
}

constexpr HostKernel kIndexKernels[] = {
    {"aten::index_select.out", index_select},
    {"aten::index.Tensor_out", index},
    {"aten::gather.out", gather},
    {"aten::scatter.src_out", scatter<Op::kScatter, ScatterMode::kSet>},
    {"aten::scatter_add.out", scatter<Op::kScatterReduce, ScatterMode::kAdd>},
    {"aten::arange.start_out", arange},
};

}  // namespace

std::span<const HostKernel> index_host_kernels() { return kIndexKernels; }

}  // namespace isthmus::run
