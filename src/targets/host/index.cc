// Kernels that pick or place elements by index.
#include <algorithm>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

// Indices as the kernels want them, of 64 bits. Those of a tensor that is written to may count from the end.
Expected<pte::ValueIndex> wide_index(NodeWriter& node) { return node.input_as(1, DType::kI64); }
Expected<pte::ValueIndex> index_from_start(NodeWriter& node, std::int64_t axis) {
  const pte::ValueIndex index = TRY(wide_index(node));
  const Shape& shape = node.type(1).shape;
  const pte::ValueIndex size = TRY(node.size(node.type(0).shape[static_cast<std::size_t>(axis)]));
  const pte::ValueIndex is_negative = TRY(node.step(names::kLtNumber, {index, node.integer(0)}, {DType::kBool, shape}));
  const pte::ValueIndex moved = TRY(node.step(names::kAddNumber, {index, size, node.integer(1)}, {DType::kI64, shape}));
  return node.step(names::kWhere, {is_negative, moved, index}, {DType::kI64, shape});
}

// Unlike the kernel that is called index_select, index lets indices count from the end. Bytes would be a mask to it,
// and an index of several axes slows it down: rows of a table are copied whole by embedding.
Expected<void> write_index_select(NodeWriter& node) {
  const auto axis = static_cast<std::size_t>(node.as<AxisAttrs>().axis);
  const pte::ValueIndex index = node.type(1).dtype == DType::kI32 ? TRY(node.input(1)) : TRY(wide_index(node));
  if (axis == 0 && node.type(0).rank() == 2 && node.type(1).rank() > 1) {
    return node.finish(names::kEmbedding,
                       {TRY(node.input(0)), index, node.integer(-1), node.boolean(false), node.boolean(false)});
  }
  std::vector<std::optional<pte::ValueIndex>> indices(axis);
  indices.emplace_back(index);
  return node.finish(names::kIndex, {TRY(node.input(0)), node.optional_tensors(std::move(indices))});
}

Expected<void> write_gather(NodeWriter& node) {
  const pte::ValueIndex index = TRY(wide_index(node));
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), index, node.boolean(false)});
}

Expected<void> write_scatter(NodeWriter& node) {
  const std::int64_t axis = node.as<ScatterAttrs>().axis;
  const pte::ValueIndex index = TRY(index_from_start(node, axis));
  return node.finish({TRY(node.input(0)), node.integer(axis), index, TRY(node.input(2))});
}

Expected<void> write_scatter_reduce(NodeWriter& node) {
  if (node.as<ScatterAttrs>().mode != ScatterMode::kAdd) {
    return fail(ErrorKind::kUnsupported, "ExecuTorch's kernels only set or add");
  }
  return write_scatter(node);
}

// The length of a range is symbolic.
Expected<void> write_arange(NodeWriter& node) {
  const ArangeAttrs& attrs = node.as<ArangeAttrs>();
  return node.finish({TRY(node.size(attrs.start)), TRY(node.size(attrs.end)), node.integer(attrs.step)});
}

Expected<void> run_index_select(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const AxisAttrs attrs{TRY(call.axis(1, input.rank()))};
  return call.store(3, Op::kIndexSelect, attrs, input, TRY(call.tensor(2)));
}
// One index for one axis, of all that this kernel can do.
Expected<void> run_index(RunningCall& call) {
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
Expected<void> run_embedding(RunningCall& call) {
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
Expected<void> run_gather(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const AxisAttrs attrs{TRY(call.axis(1, input.rank()))};
  return call.store(4, Op::kGather, attrs, input, TRY(call.tensor(2)));
}
template <Op op, ScatterMode mode>
Expected<void> run_scatter(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const ScatterAttrs attrs{TRY(call.axis(1, input.rank())), mode};
  return call.store(4, op, attrs, input, TRY(call.tensor(2)), TRY(call.tensor(3)));
}
Expected<void> run_scatter_number(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const Tensor index = TRY(call.tensor(2));
  const ScatterAttrs attrs{TRY(call.axis(1, input.rank())), ScatterMode::kSet};
  const Tensor number = TRY(call.compute(Op::kCast, DTypeAttrs{input.dtype()}, scalar(TRY(call.number(3)))));
  const ShapeAttrs shape{Dims(index.sizes().begin(), index.sizes().end())};
  return call.store(4, Op::kScatter, attrs, input, index, TRY(call.compute(Op::kExpand, shape, number)));
}
// The type is that of the result.
Expected<void> run_arange(RunningCall& call) {
  const ArangeAttrs attrs{Dim(TRY(call.integer(0))), Dim(TRY(call.integer(1))), TRY(call.integer(2)),
                          TRY(call.tensor(3)).dtype()};
  return call.store(3, Op::kArange, attrs);
}

Expected<void> run_arange_from_zero(RunningCall& call) {
  const ArangeAttrs attrs{Dim(0), Dim(TRY(call.integer(0))), 1, TRY(call.tensor(1)).dtype()};
  return call.store(1, Op::kArange, attrs);
}

constexpr Kernel kIndexKernels[] = {
    {.name = "aten::index_select.out", .arguments = "tit", .run = run_index_select},
    {.name = names::kIndex, .arguments = "tq", .run = run_index},
    {.name = names::kEmbedding, .arguments = "ttibb", .run = run_embedding},
    {.name = names::kGather,
     .arguments = "titb",
     .run = run_gather,
     .written = {.op = Op::kGather, .write = write_gather, .takes_quantized = true}},
    {.name = "aten::scatter.src_out",
     .arguments = "titt",
     .run = run_scatter<Op::kScatter, ScatterMode::kSet>,
     .written = {Op::kScatter, write_scatter}},
    {.name = "aten::scatter.value_out", .arguments = "titn", .run = run_scatter_number},
    {.name = "aten::scatter_add.out",
     .arguments = "titt",
     .run = run_scatter<Op::kScatterReduce, ScatterMode::kAdd>,
     .written = {Op::kScatterReduce, write_scatter_reduce}},
    {.name = "aten::arange.out", .arguments = "n", .run = run_arange_from_zero},
    {.name = "aten::arange.start_out", .arguments = "nnn", .run = run_arange, .written = {Op::kArange, write_arange}},
};
constexpr WrittenOp kIndexComposites[] = {
    {.op = Op::kIndexSelect, .write = write_index_select, .types = ElementTypes::kBytes, .takes_quantized = true},
};

}  // namespace

Family index_family() { return {kIndexKernels, kIndexComposites}; }

}  // namespace isthmus::host
