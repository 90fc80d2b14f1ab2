// Host ops that reduce axes or run along one.
#include "lower/host_ops.h"

namespace isthmus {
namespace {

// To the kernels, no axes are all axes.
Expected<pte::ValueIndex> axes_of(HostNode& node, const Ints& axes) {
  if (axes.empty() && node.type(0).rank() > 0) return fail(ErrorKind::kUnsupported, "it reduces no axis");
  return node.integers(axes);
}

Expected<void> write_extreme(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.truth(attrs.keepdim)});
}

Expected<void> write_reduced(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.truth(attrs.keepdim), node.none()});
}

// All are true where none is false.
Expected<void> write_all(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  const pte::ValueIndex opposite =
      TRY(node.step("aten::logical_not.out", {TRY(node.input(0))}, {DType::kBool, node.type(0).shape}));
  const pte::ValueIndex any =
      TRY(node.step("aten::any.dims_out", {opposite, TRY(axes_of(node, attrs.axes)), node.truth(attrs.keepdim)},
                    {DType::kBool, node.result_type().shape}));
  return node.finish("aten::logical_not.out", {any});
}

// One axis after the other, the last one first: the numbers of those before it stay the same.
Expected<void> write_prod(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  TensorType type = node.type(0);
  pte::ValueIndex value = TRY(node.input(0));
  for (std::size_t i = attrs.axes.size(); i-- > 0;) {
    const std::vector<pte::ValueIndex> args{value, node.integer(attrs.axes[i]), node.truth(attrs.keepdim), node.none()};
    if (i == 0) return node.finish(args);
    if (attrs.keepdim) {
      type.shape[static_cast<std::size_t>(attrs.axes[i])] = Dim(1);
    } else {
      type.shape.erase(type.shape.begin() + attrs.axes[i]);
    }
    value = TRY(node.step("aten::prod.int_out", args, type));
  }
  return fail(ErrorKind::kUnsupported, "it reduces no axis");
}

Expected<void> write_position(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), node.integer(attrs.axes[0]), node.truth(attrs.keepdim)});
}

Expected<void> write_variance(HostNode& node) {
  const VarianceAttrs& attrs = node.as<VarianceAttrs>();
  return node.finish(
      {TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.real(attrs.correction), node.truth(attrs.keepdim)});
}

Expected<void> write_running_sum(HostNode& node) {
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), node.none()});
}

Expected<void> write_softmax(HostNode& node) {
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), node.truth(false)});
}

// All numbers of the axis are its greatest or smallest ones. Equal numbers may come in any order.
Expected<std::vector<pte::ValueIndex>> whole_axis(HostNode& node) {
  const SortAttrs& attrs = node.as<SortAttrs>();
  const pte::ValueIndex count = TRY(node.size(node.type(0).shape[static_cast<std::size_t>(attrs.axis)]));
  return std::vector<pte::ValueIndex>{TRY(node.input(0)), count, node.integer(attrs.axis), node.truth(attrs.descending),
                                      node.truth(true)};
}
Expected<void> write_sort(HostNode& node) {
  const pte::ValueIndex positions = TRY(node.scratch({DType::kI64, node.type(0).shape}));
  node.finish(TRY(whole_axis(node)), {TRY(node.result()), positions});
  return {};
}
Expected<void> write_argsort(HostNode& node) {
  const pte::ValueIndex numbers = TRY(node.scratch(node.type(0)));
  node.finish(TRY(whole_axis(node)), {numbers, TRY(node.result())});
  return {};
}

constexpr HostOp kReduceOps[] = {
    {Op::kSum, "aten::sum.IntList_out", write_reduced},
    {Op::kMean, "aten::mean.out", write_reduced},
    {Op::kProd, "aten::prod.int_out", write_prod},
    {Op::kAmax, "aten::amax.out", write_extreme},
    {Op::kAmin, "aten::amin.out", write_extreme},
    {Op::kAny, "aten::any.dims_out", write_extreme},
    {Op::kAll, "", write_all},
    {Op::kArgmax, "aten::argmax.out", write_position, HostTypes::kNoBool},
    {Op::kArgmin, "aten::argmin.out", write_position, HostTypes::kNoBool},
    {Op::kVariance, "aten::var.correction_out", write_variance},
    {Op::kCumsum, "aten::cumsum.out", write_running_sum},
    {Op::kSoftmax, "aten::_softmax.out", write_softmax},
    {Op::kLogSoftmax, "aten::_log_softmax.out", write_softmax},
    {Op::kSort, "aten::topk.values", write_sort, HostTypes::kNoBool},
    {Op::kArgsort, "aten::topk.values", write_argsort, HostTypes::kNoBool},
};

}  // namespace

std::span<const HostOp> host_reduce_ops() { return kReduceOps; }

}  // namespace isthmus
