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
// Of a table. Negative indices are an error there.
Expected<void> embedding(HostCall& call) {
  const Tensor table = TRY(call.tensor(0));
  const Tensor indices = TRY(call.tensor(1));
  if (table.rank() != 2) return bad_input("the table of an embedding is 2-d");
  if (indices.dtype() != DType::kI64 && indices.dtype() != DType::kI32) return bad_input("indices are i64 or i32");
  bool is_negative = false;
  dispatch(indices.dtype(), [&]<class Number>(Number) {
    is_negative = std::ranges::any_of(indices.data<Number>(), [](Number number) { return number < Number{0}; });
  });
  if (is_negative) return bad_input("a negative index of an embedding");
  return call.store(5, Op::kIndexSelect, AxisAttrs{0}, table, indices);
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
    {"aten::embedding.out", embedding},
    {"aten::gather.out", gather},
    {"aten::scatter.src_out", scatter<Op::kScatter, ScatterMode::kSet>},
    {"aten::scatter_add.out", scatter<Op::kScatterReduce, ScatterMode::kAdd>},
    {"aten::arange.start_out", arange},
};

}  // namespace

std::span<const HostKernel> index_host_kernels() { return kIndexKernels; }

}  // namespace isthmus::run
