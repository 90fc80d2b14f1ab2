// Host ops that pick or place elements by index.
#include "lower/host_ops.h"

namespace isthmus {
namespace {

// Some kernels take 64-bit indices only.
Expected<pte::ValueIndex> wide_index(HostNode& node) { return node.input_as(1, DType::kI64); }

Expected<void> write_index_select(HostNode& node) {
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), TRY(node.input(1))});
}

Expected<void> write_gather(HostNode& node) {
  const pte::ValueIndex index = TRY(wide_index(node));
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), index, node.truth(false)});
}

Expected<void> write_scatter(HostNode& node) {
  const pte::ValueIndex index = TRY(wide_index(node));
  return node.finish({TRY(node.input(0)), node.integer(node.as<ScatterAttrs>().axis), index, TRY(node.input(2))});
}

Expected<void> write_scatter_reduce(HostNode& node) {
  if (node.as<ScatterAttrs>().mode != ScatterMode::kAdd) {
    return fail(ErrorKind::kUnsupported, "ExecuTorch's kernels add to what is there, and no more");
  }
  return write_scatter(node);
}

// The length of a range is symbolic.
Expected<void> write_arange(HostNode& node) {
  const ArangeAttrs& attrs = node.as<ArangeAttrs>();
  return node.finish({TRY(node.size(attrs.start)), TRY(node.size(attrs.end)), node.integer(attrs.step)});
}

constexpr HostOp kOps[] = {
    {Op::kIndexSelect, "aten::index_select.out", write_index_select, HostTypes::kBytes},
    {Op::kGather, "aten::gather.out", write_gather},
    {Op::kScatter, "aten::scatter.src_out", write_scatter},
    {Op::kScatterReduce, "aten::scatter_add.out", write_scatter_reduce},
    {Op::kArange, "aten::arange.start_out", write_arange},
};

}  // namespace

std::span<const HostOp> host_index_ops() { return kOps; }

}  // namespace isthmus
