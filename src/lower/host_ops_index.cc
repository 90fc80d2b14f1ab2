// Host ops that pick or place elements by index.
#include "lower/host_ops.h"

namespace isthmus {
namespace {

// Indices as the kernels want them, of 64 bits. Those of a tensor that is written to may count from the end.
Expected<pte::ValueIndex> wide_index(HostNode& node) { return node.input_as(1, DType::kI64); }
Expected<pte::ValueIndex> index_from_start(HostNode& node, std::int64_t axis) {
  const pte::ValueIndex index = TRY(wide_index(node));
  const Shape& shape = node.type(1).shape;
  const pte::ValueIndex size = TRY(node.size(node.type(0).shape[static_cast<std::size_t>(axis)]));
  const pte::ValueIndex is_negative =
      TRY(node.step("aten::lt.Scalar_out", {index, node.integer(0)}, {DType::kBool, shape}));
  const pte::ValueIndex moved =
      TRY(node.step("aten::add.Scalar_out", {index, size, node.integer(1)}, {DType::kI64, shape}));
  return node.step("aten::where.self_out", {is_negative, moved, index}, {DType::kI64, shape});
}

// Unlike the kernel that is called index_select, index lets indices count from the end. Bytes would be a mask to it,
// and an index of several axes slows it down: rows of a table are copied whole by embedding.
Expected<void> write_index_select(HostNode& node) {
  const auto axis = static_cast<std::size_t>(node.as<AxisAttrs>().axis);
  const pte::ValueIndex index = node.type(1).dtype == DType::kI32 ? TRY(node.input(1)) : TRY(wide_index(node));
  if (axis == 0 && node.type(0).rank() == 2 && node.type(1).rank() > 1) {
    return node.finish("aten::embedding.out",
                       {TRY(node.input(0)), index, node.integer(-1), node.truth(false), node.truth(false)});
  }
  std::vector<std::optional<pte::ValueIndex>> indices(axis);
  indices.emplace_back(index);
  return node.finish("aten::index.Tensor_out", {TRY(node.input(0)), node.optional_tensors(std::move(indices))});
}

Expected<void> write_gather(HostNode& node) {
  const pte::ValueIndex index = TRY(wide_index(node));
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), index, node.truth(false)});
}

Expected<void> write_scatter(HostNode& node) {
  const std::int64_t axis = node.as<ScatterAttrs>().axis;
  const pte::ValueIndex index = TRY(index_from_start(node, axis));
  return node.finish({TRY(node.input(0)), node.integer(axis), index, TRY(node.input(2))});
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

constexpr HostOp kIndexOps[] = {
    {.op = Op::kIndexSelect,
     .kernel = "",
     .write = write_index_select,
     .types = HostTypes::kBytes,
     .knows_codes = true},
    {.op = Op::kGather, .kernel = "aten::gather.out", .write = write_gather, .knows_codes = true},
    {Op::kScatter, "aten::scatter.src_out", write_scatter},
    {Op::kScatterReduce, "aten::scatter_add.out", write_scatter_reduce},
    {Op::kArange, "aten::arange.start_out", write_arange},
};

}  // namespace

std::span<const HostOp> host_index_ops() { return kIndexOps; }

}  // namespace isthmus
