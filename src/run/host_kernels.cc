// Reads the arguments of each host kernel and hands them to the reference kernels.
#include "run/host_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace isthmus::run {
namespace {

// Scalar types of arguments, by their numbers.
Expected<DType> dtype_argument(const HostCall& call, std::size_t i) {
  switch (TRY(call.integer(i))) {
    case 0:
      return DType::kU8;
    case 1:
      return DType::kI8;
    case 2:
      return DType::kI16;
    case 3:
      return DType::kI32;
    case 4:
      return DType::kI64;
    case 6:
      return DType::kF32;
    case 7:
      return DType::kF64;
    case 27:
      return DType::kU16;
    default:
      return bad_input(fmt::format("argument {} is no element type that is known here", i));
  }
}

template <class Number>
Tensor scalar(Number number) {
  Tensor result(ElementType<Number>::kDType, {});
  result.mutable_data<Number>()[0] = number;
  return result;
}

Expected<Tensor> reshaped(const Tensor& tensor, std::vector<std::int64_t> sizes) {
  std::int64_t known = 1;
  std::int64_t unknown = 0;
  for (const std::int64_t size : sizes) {
    if (size < -1) return bad_input(fmt::format("a size of {}", size));
    if (size == -1) {
      ++unknown;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return bad_input("the sizes overflow");
    }
  }
  const bool fits = unknown == 0 ? known == tensor.count() : known != 0 && tensor.count() % known == 0;
  if (unknown > 1 || !fits) return bad_input("a view of another number of elements");
  if (unknown == 1) std::ranges::replace(sizes, -1, tensor.count() / known);
  return tensor.with_sizes(std::move(sizes));
}

Expected<void> view_copy(HostCall& call) {
  return call.set_tensor(2, TRY(reshaped(TRY(call.tensor(0)), TRY(call.integers(1)))));
}

Expected<void> squeeze(HostCall& call, std::vector<std::int64_t> axes) {
  const Tensor input = TRY(call.tensor(0));
  std::vector<bool> is_dropped(input.sizes().size(), false);
  for (const std::int64_t axis : axes) {
    if (axis < -input.rank() || axis >= input.rank()) return bad_input(fmt::format("axis {}", axis));
    is_dropped[static_cast<std::size_t>(axis < 0 ? axis + input.rank() : axis)] = true;
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < is_dropped.size(); ++i) {
    if (!is_dropped[i] || input.sizes()[i] != 1) sizes.push_back(input.sizes()[i]);
  }
  return call.set_tensor(2, input.with_sizes(std::move(sizes)));
}
Expected<void> squeeze_dims(HostCall& call) { return squeeze(call, TRY(call.integers(1))); }
Expected<void> squeeze_dim(HostCall& call) { return squeeze(call, {TRY(call.integer(1))}); }

Expected<void> unsqueeze(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank() + 1));
  std::vector<std::int64_t> sizes = input.sizes();
  sizes.insert(sizes.begin() + axis, 1);
  return call.set_tensor(2, input.with_sizes(std::move(sizes)));
}

Expected<void> expand(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  std::vector<std::int64_t> sizes = TRY(call.integers(1));
  if (sizes.size() < input.sizes().size()) return bad_input("fewer sizes than the tensor has");
  const std::size_t added = sizes.size() - input.sizes().size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && i >= added) sizes[i] = input.sizes()[i - added];
    if (sizes[i] < 0) return bad_input(fmt::format("a size of {}", sizes[i]));
  }
  if (sizes == input.sizes()) return call.set_tensor(3, input);
  return call.set_tensor(3, TRY(call.compute(Op::kExpand, ShapeAttrs{Dims(sizes.begin(), sizes.end())}, {input})));
}

Expected<void> select(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  const std::int64_t index = TRY(call.axis(2, input.size(axis)));
  const Tensor slice = TRY(call.compute(Op::kSlice, SliceAttrs{axis, index, index + 1, 1}, {input}));
  std::vector<std::int64_t> sizes = input.sizes();
  sizes.erase(sizes.begin() + axis);
  return call.set_tensor(3, slice.with_sizes(std::move(sizes)));
}

Expected<void> slice(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(1, input.rank()));
  const std::int64_t size = input.size(axis);
  const auto clipped = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = clipped(call.is_none(2) ? 0 : TRY(call.integer(2)));
  const std::int64_t end = clipped(call.is_none(3) ? size : TRY(call.integer(3)));
  const std::int64_t step = TRY(call.integer(4));
  if (step < 1) return bad_input(fmt::format("a step of {}", step));
  const SliceAttrs attrs{axis, start, std::max(start, end), step};
  return call.set_tensor(5, TRY(call.compute(Op::kSlice, attrs, {input})));
}

Expected<void> permute(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  AxesAttrs attrs{TRY(call.integers(1))};
  for (std::int64_t& axis : attrs.axes) {
    if (axis < -input.rank() || axis >= input.rank()) return bad_input(fmt::format("axis {}", axis));
    if (axis < 0) axis += input.rank();
  }
  return call.set_tensor(2, TRY(call.compute(Op::kPermute, attrs, {input})));
}

Expected<void> transpose(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  AxesAttrs attrs;
  attrs.axes.resize(input.sizes().size());
  std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
  const auto first = static_cast<std::size_t>(TRY(call.axis(1, input.rank())));
  const auto second = static_cast<std::size_t>(TRY(call.axis(2, input.rank())));
  std::swap(attrs.axes[first], attrs.axes[second]);
  return call.set_tensor(3, TRY(call.compute(Op::kPermute, attrs, {input})));
}

Expected<void> cat(HostCall& call) {
  std::vector<Tensor> inputs = TRY(call.tensors(0));
  // Empty vectors take no part, whatever their rank.
  std::erase_if(inputs, [](const Tensor& tensor) { return tensor.rank() == 1 && tensor.count() == 0; });
  if (inputs.empty()) return bad_input("nothing to join");
  return call.set_tensor(2, TRY(call.compute(Op::kCat, AxisAttrs{TRY(call.axis(1, inputs[0].rank()))}, inputs)));
}

// The result's own order of memory makes the difference.
Expected<void> clone(HostCall& call) { return call.set_tensor(2, TRY(call.tensor(0))); }
Expected<void> clone_in_order(HostCall& call) { return call.set_tensor(3, TRY(call.tensor(0))); }

Expected<void> quantize(HostCall& call) {
  QuantizeAttrs attrs;
  attrs.min = TRY(call.integer(3));
  attrs.max = TRY(call.integer(4));
  attrs.dtype = TRY(dtype_argument(call, 5));
  const Tensor result = TRY(call.compute(
      Op::kQuantize, attrs, {TRY(call.tensor(0)), scalar(TRY(call.number(1))), scalar(TRY(call.integer(2)))}));
  return call.set_tensor(6, result);
}

Expected<void> dequantize(HostCall& call) {
  DequantizeAttrs attrs;
  if (!call.is_none(6)) attrs.dtype = TRY(dtype_argument(call, 6));
  const Tensor result = TRY(call.compute(
      Op::kDequantize, attrs, {TRY(call.tensor(0)), scalar(TRY(call.number(1))), scalar(TRY(call.integer(2)))}));
  return call.set_tensor(7, result);
}

Expected<void> layer_norm(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> shape = TRY(call.integers(1));
  if (shape.empty() || shape.size() > input.sizes().size() ||
      !std::equal(shape.rbegin(), shape.rend(), input.sizes().rbegin())) {
    return bad_input("the normalized sizes are not the last ones of the input");
  }
  if (call.is_none(2) && !call.is_none(3)) return fail(ErrorKind::kUnsupported, "a bias without a weight");
  const double eps = TRY(call.number(4));
  std::vector<Tensor> inputs{input};
  for (const std::size_t i : {2u, 3u}) {
    if (!call.is_none(i)) inputs.push_back(TRY(call.tensor(i)));
  }
  const auto axes = static_cast<std::int64_t>(shape.size());
  const Tensor result = TRY(call.compute(Op::kLayerNorm, LayerNormAttrs{axes, eps}, inputs));
  std::vector<std::int64_t> reduced(shape.size());
  std::iota(reduced.begin(), reduced.end(), input.rank() - axes);
  const Tensor mean = TRY(call.compute(Op::kMean, ReduceAttrs{reduced, true}, {input}));
  const Tensor variance = TRY(call.compute(Op::kVariance, VarianceAttrs{reduced, true, 0}, {input}));
  Tensor factor = variance;
  if (variance.dtype() == DType::kF32) {
    const Tensor shifted = TRY(call.compute(Op::kAdd, NoAttrs{}, {variance, scalar(static_cast<float>(eps))}));
    factor = TRY(call.compute(Op::kRsqrt, NoAttrs{}, {shifted}));
  } else {
    const Tensor shifted = TRY(call.compute(Op::kAdd, NoAttrs{}, {variance, scalar(eps)}));
    factor = TRY(call.compute(Op::kRsqrt, NoAttrs{}, {shifted}));
  }
  TRY(call.set_tensor(5, result));
  TRY(call.set_tensor(6, mean));
  return call.set_tensor(7, factor);
}

template <Op op>
Expected<void> unary(HostCall& call) {
  return call.set_tensor(1, TRY(call.compute(op, default_attrs(op), {TRY(call.tensor(0))})));
}
Expected<void> relu(HostCall& call) {
  return call.set_tensor(1, TRY(call.compute(Op::kClamp, ClampAttrs{.min = 0}, {TRY(call.tensor(0))})));
}
template <Op op>
Expected<void> binary(HostCall& call) {
  return call.set_tensor(2, TRY(call.compute(op, NoAttrs{}, {TRY(call.tensor(0)), TRY(call.tensor(1))})));
}
// add and sub: the second operand is multiplied by a number, of which we know only 1.
template <Op op>
Expected<void> scaled_binary(HostCall& call) {
  if (TRY(call.number(2)) != 1) return fail(ErrorKind::kUnsupported, "an alpha other than 1");
  return call.set_tensor(3, TRY(call.compute(op, NoAttrs{}, {TRY(call.tensor(0)), TRY(call.tensor(1))})));
}
Expected<void> softmax(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  if (TRY(call.truth(2))) return fail(ErrorKind::kUnsupported, "softmax of halves as floats");
  return call.set_tensor(3, TRY(call.compute(Op::kSoftmax, AxisAttrs{TRY(call.axis(1, input.rank()))}, {input})));
}

// Primitives have no out argument of their own: the last argument is the result.
Expected<void> size_of_axis(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return call.set_number(2, input.size(TRY(call.axis(1, input.rank()))));
}
template <bool (*op)(std::int64_t, std::int64_t, std::int64_t*)>
Expected<void> integer_arithmetic(HostCall& call) {
  std::int64_t result = 0;
  if (!op(TRY(call.integer(0)), TRY(call.integer(1)), &result)) return bad_input("the result is no 64-bit integer");
  return call.set_number(2, result);
}
bool add(std::int64_t a, std::int64_t b, std::int64_t* result) { return !__builtin_add_overflow(a, b, result); }
bool subtract(std::int64_t a, std::int64_t b, std::int64_t* result) { return !__builtin_sub_overflow(a, b, result); }
bool multiply(std::int64_t a, std::int64_t b, std::int64_t* result) { return !__builtin_mul_overflow(a, b, result); }
bool floor_divide(std::int64_t a, std::int64_t b, std::int64_t* result) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return false;
  *result = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  return true;
}
template <class Compare>
Expected<void> comparison(HostCall& call) {
  return call.set_number(2, Compare{}(TRY(call.number(0)), TRY(call.number(1))));
}

// The only place outside of ops/ that knows a frontend's names: they are those of the file format.
constexpr HostKernel kKernels[] = {
    {"aten::native_layer_norm.out", 9, layer_norm},
    {"aten::squeeze_copy.dims_out", 4, squeeze_dims},
    {"aten::squeeze_copy.dim_out", 4, squeeze_dim},
    {"aten::unsqueeze_copy.out", 4, unsqueeze},
    {"aten::expand_copy.out", 5, expand},
    {"aten::select_copy.int_out", 5, select},
    {"aten::slice_copy.Tensor_out", 7, slice},
    {"aten::view_copy.out", 4, view_copy},
    {"aten::permute_copy.out", 4, permute},
    {"aten::transpose_copy.int_out", 5, transpose},
    {"aten::cat.out", 4, cat},
    {"aten::clone.out", 4, clone},
    {"dim_order_ops::_clone_dim_order.out", 5, clone_in_order},
    {"quantized_decomposed::quantize_per_tensor.out", 8, quantize, Border::kQuantizes},
    {"quantized_decomposed::dequantize_per_tensor.out", 9, dequantize, Border::kDequantizes},
    {"aten::add.out", 5, scaled_binary<Op::kAdd>},
    {"aten::sub.out", 5, scaled_binary<Op::kSub>},
    {"aten::mul.out", 4, binary<Op::kMul>},
    {"aten::div.out", 4, binary<Op::kDiv>},
    {"aten::relu.out", 3, relu},
    {"aten::sigmoid.out", 3, unary<Op::kSigmoid>},
    {"aten::tanh.out", 3, unary<Op::kTanh>},
    {"aten::_softmax.out", 5, softmax},
    {"aten::sym_size.int", 3, size_of_axis},
    {"executorch_prim::et_view.default", 3, view_copy},
    {"executorch_prim::add.Scalar", 3, integer_arithmetic<add>},
    {"executorch_prim::sub.Scalar", 3, integer_arithmetic<subtract>},
    {"executorch_prim::mul.Scalar", 3, integer_arithmetic<multiply>},
    {"executorch_prim::floordiv.Scalar", 3, integer_arithmetic<floor_divide>},
    {"executorch_prim::eq.Scalar", 3, comparison<std::equal_to<>>},
    {"executorch_prim::gt.Scalar", 3, comparison<std::greater<>>},
    {"executorch_prim::lt.Scalar", 3, comparison<std::less<>>},
    {"executorch_prim::ge.Scalar", 3, comparison<std::greater_equal<>>},
    {"executorch_prim::le.Scalar", 3, comparison<std::less_equal<>>},
};

}  // namespace

const HostKernel* find_host_kernel(std::string_view name) {
  const auto found = std::ranges::find(kKernels, name, &HostKernel::name);
  return found == std::end(kKernels) ? nullptr : &*found;
}

std::string full_name(const pte::Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

bool is_border_call(const pte::Plan& plan, const HostKernel& kernel, std::span<const pte::ValueIndex> args) {
  if (kernel.border == Border::kNone || args.size() != kernel.arity) return false;
  const bool is_entry = kernel.border == Border::kQuantizes;
  const std::vector<pte::ValueIndex>& outside = is_entry ? plan.inputs : plan.outputs;
  return std::ranges::find(outside, is_entry ? args.front() : args.back()) != outside.end();
}

}  // namespace isthmus::run
