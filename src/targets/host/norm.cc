// Kernels that normalize.
#include <algorithm>
#include <array>
#include <numeric>

#include "interpret/half.h"
#include "targets/host/family.h"
#include "targets/host/portable/kernels.h"

namespace isthmus::host {
namespace {

// Results that no node reads: means, and reciprocals of deviations.
Expected<void> finish_with_statistics(NodeWriter& node, std::vector<pte::ValueIndex> args, const Shape& shape) {
  const TensorType statistics{node.type(0).dtype, shape};
  const pte::ValueIndex means = TRY(node.scratch(statistics));
  const pte::ValueIndex factors = TRY(node.scratch(statistics));
  node.finish(std::move(args), {TRY(node.result()), means, factors});
  return {};
}

Expected<void> write_batch_norm(NodeWriter& node) {
  const DType dtype = node.type(0).dtype;
  std::vector<pte::ValueIndex> args{TRY(node.input(0))};
  for (const std::size_t i : {3u, 4u, 1u, 2u}) args.push_back(TRY(node.input_as(i, dtype)));
  args.insert(args.end(), {node.real(0), node.real(node.as<EpsAttrs>().eps)});
  return finish_with_statistics(node, std::move(args), {Dim(0)});
}

// x minus its mean over the axes. The kernels take the variance of f32 as mean(x^2) - mean(x)^2, of which nothing is
// left where the mean is large.
Expected<pte::ValueIndex> centered(NodeWriter& node, pte::ValueIndex x, const TensorType& type, const Ints& axes) {
  Shape kept = type.shape;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = Dim(1);
  const pte::ValueIndex mean =
      TRY(node.step(names::kMean, {x, node.integers(axes), node.boolean(true), node.none()}, {type.dtype, kept}));
  return node.step(names::kSub, {x, mean, node.integer(1)}, type);
}
// Centered numbers divided by sqrt(their variance + eps), for doubles: the kernels add them as floats.
Expected<pte::ValueIndex> normalized(NodeWriter& node, pte::ValueIndex x, const TensorType& type, const Ints& axes,
                                     double eps) {
  Shape kept = type.shape;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = Dim(1);
  const TensorType statistics{type.dtype, kept};
  const pte::ValueIndex square = TRY(node.step(names::kMul, {x, x}, type));
  const pte::ValueIndex variance =
      TRY(node.step(names::kMean, {square, node.integers(axes), node.boolean(true), node.none()}, statistics));
  const pte::ValueIndex sum =
      TRY(node.step(names::kAddNumber, {variance, node.real(eps), node.integer(1)}, statistics));
  const pte::ValueIndex factor = TRY(node.step(names::kRsqrt, {sum}, statistics));
  return node.step(names::kMul, {x, factor}, type);
}
// x * weight + bias, as far as there are such, of parameters that broadcast once they are of this shape.
Expected<void> finish_affine(NodeWriter& node, pte::ValueIndex x, const Shape& shape) {
  const DType dtype = node.type(0).dtype;
  for (std::size_t i = 1; i < node.input_count(); ++i) {
    const pte::ValueIndex value = TRY(node.input_as(i, dtype));
    const pte::ValueIndex parameter = TRY(node.reshaped(value, {dtype, node.type(i).shape}, shape));
    if (i == 1) x = TRY(node.step(names::kMul, {x, parameter}, node.result_type()));
    if (i == 2) x = TRY(node.step(names::kAdd, {x, parameter, node.integer(1)}, node.result_type()));
  }
  return node.finish(names::kConvert, node.cast_arguments(x, node.result_type().rank()));
}

Expected<void> write_layer_norm(NodeWriter& node) {
  const auto& [count, eps] = node.as<LayerNormAttrs>();
  const TensorType& type = node.type(0);
  Ints axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(type.rank()) - count);
  const Shape sizes(type.shape.end() - count, type.shape.end());
  const pte::ValueIndex x = TRY(centered(node, TRY(node.input(0)), type, axes));
  if (type.dtype == DType::kF64) return finish_affine(node, TRY(normalized(node, x, type, axes, eps)), sizes);
  Shape kept = type.shape;
  std::fill(kept.end() - count, kept.end(), Dim(1));
  const pte::ValueIndex weight = TRY(node.input_as(1, type.dtype));
  const pte::ValueIndex bias = TRY(node.input_as(2, type.dtype));
  return finish_with_statistics(node, {x, TRY(node.sizes(sizes)), weight, bias, node.real(eps)}, kept);
}

Expected<void> write_group_norm(NodeWriter& node) {
  const auto& [groups, eps] = node.as<GroupNormAttrs>();
  const TensorType& type = node.type(0);
  const Dim places = node.exprs().product(std::span(type.shape).subspan(2));
  const Dim each = node.exprs().multiply(places, node.exprs().floor_divide(type.shape[1], groups));
  const TensorType grouped{type.dtype, {type.shape[0], Dim(groups), each}};
  pte::ValueIndex x = TRY(node.reshaped(TRY(node.input(0)), type, grouped.shape));
  x = TRY(centered(node, x, grouped, {2}));
  if (type.dtype == DType::kF64) {
    x = TRY(node.reshaped(TRY(normalized(node, x, grouped, {2}, eps)), grouped, type.shape));
    Shape channels(type.rank() - 1, Dim(1));
    channels[0] = type.shape[1];
    return finish_affine(node, x, channels);
  }
  x = TRY(node.reshaped(x, grouped, type.shape));
  const pte::ValueIndex weight = TRY(node.input_as(1, type.dtype));
  const pte::ValueIndex bias = TRY(node.input_as(2, type.dtype));
  return finish_with_statistics(node,
                                {x, weight, bias, TRY(node.size(type.shape[0])), TRY(node.size(type.shape[1])),
                                 TRY(node.size(places)), node.integer(groups), node.real(eps)},
                                {type.shape[0], Dim(groups)});
}

// 1 / sqrt(variance + eps)
Expected<Tensor> reciprocal_deviation(const RunningCall& call, const Tensor& variance, double eps) {
  const Tensor offset = TRY(call.compute(Op::kCast, DTypeAttrs{variance.dtype()}, scalar(eps)));
  return call.compute(Op::kRsqrt, NoAttrs{}, TRY(call.compute(Op::kAdd, NoAttrs{}, variance, offset)));
}
// Input, weight and bias; the weight and the bias are optional arguments.
Expected<std::vector<Tensor>> with_affine(const RunningCall& call, std::size_t weight, std::size_t bias) {
  if (call.is_none(weight) && !call.is_none(bias)) return fail(ErrorKind::kUnsupported, "a bias without a weight");
  std::vector<Tensor> inputs{TRY(call.tensor(0))};
  for (const std::size_t i : {weight, bias}) {
    if (!call.is_none(i)) inputs.push_back(TRY(call.tensor(i)));
  }
  return inputs;
}

// Result, means and factors of rows, of which one number is kept each.
struct Normalized {
  std::array<Tensor, 3> tensors;
};
void normalize(const std::vector<Tensor>& inputs, double eps, Normalized& results) {
  dispatch_float(inputs[0].dtype(), [&]<class Number>(Number) {
    auto& [out, means, factors] = results.tensors;
    if (means.count() == 0) return;
    const auto numbers = [&](std::size_t i) { return i < inputs.size() ? inputs[i].data<Number>().data() : nullptr; };
    const auto rows = static_cast<std::size_t>(means.count());
    executorch_kernels::layer_norm(executorch_kernels::NormRows<Number>{
        numbers(0), numbers(1), numbers(2), out.mutable_data<Number>().data(), means.mutable_data<Number>().data(),
        factors.mutable_data<Number>().data(), rows, static_cast<std::size_t>(out.count()) / rows,
        static_cast<float>(eps)});
  });
}
Expected<void> normalize_rows(RunningCall& call, const std::vector<Tensor>& inputs,
                              const std::vector<std::int64_t>& kept, double eps) {
  const DType dtype = inputs[0].dtype();
  Normalized results{{call.place(5, dtype, inputs[0].sizes(), inputs), call.place(6, dtype, kept, inputs),
                      call.place(7, dtype, kept, inputs)}};
  normalize(inputs, eps, results);
  for (std::size_t i = 0; i < 3; ++i) TRY(call.set_tensor(5 + i, results.tensors[i]));
  return {};
}
Expected<void> normalize_halves(RunningCall& call, const std::vector<Tensor>& inputs,
                                const std::vector<std::int64_t>& kept, double eps) {
  std::vector<Tensor> wide;
  for (const Tensor& input : inputs) wide.push_back(widened(input));
  Normalized results{{Tensor(DType::kF32, inputs[0].sizes()), Tensor(DType::kF32, kept), Tensor(DType::kF32, kept)}};
  normalize(wide, eps, results);
  for (std::size_t i = 0; i < 3; ++i) {
    TRY(call.set_tensor(5 + i, narrowed(results.tensors[i], inputs[0].dtype())));
  }
  return {};
}

Expected<void> run_layer_norm(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> shape = TRY(call.integers(1));
  if (shape.empty() || shape.size() > input.sizes().size() ||
      !std::equal(shape.rbegin(), shape.rend(), input.sizes().rbegin())) {
    return bad_input("the normalized shape is not the end of the input's shape");
  }
  const double eps = TRY(call.number(4));
  const std::vector<Tensor> inputs = TRY(with_affine(call, 2, 3));
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const bool fits = inputs[i].dtype() == input.dtype() && inputs[i].sizes() == shape;
    if (!fits) return bad_input("the weight or bias differs in type or shape");
  }
  if (!is_floating(input.dtype()) || size_of(input.dtype()) < 2) return bad_input("it normalizes only floats");
  std::vector<std::int64_t> kept = input.sizes();
  std::fill(kept.end() - static_cast<std::ptrdiff_t>(shape.size()), kept.end(), 1);
  if (!is_half(input.dtype())) return normalize_rows(call, inputs, kept, eps);
  return normalize_halves(call, inputs, kept, eps);
}

Expected<void> run_group_norm(RunningCall& call) {
  const std::vector<Tensor> inputs = TRY(with_affine(call, 1, 2));
  const Tensor& input = inputs[0];
  const std::int64_t batch = TRY(call.integer(3));
  const std::int64_t channels = TRY(call.integer(4));
  const std::int64_t places = TRY(call.integer(5));
  const std::int64_t groups = TRY(call.integer(6));
  const double eps = TRY(call.number(7));
  const Tensor result = TRY(call.compute(Op::kGroupNorm, GroupNormAttrs{groups, eps}, inputs));
  const std::int64_t image = batch == 0 || channels == 0 ? places : input.count() / batch / channels;
  if (input.size(0) != batch || input.size(1) != channels || image != places) {
    return bad_input("the sizes are not those of the input");
  }
  const std::int64_t each = batch == 0 ? 0 : input.count() / batch / groups;
  const Tensor grouped = input.with_sizes({batch, groups, each});
  const Tensor mean = TRY(call.compute(Op::kMean, ReduceAttrs{{2}, false}, grouped));
  const Tensor variance = TRY(call.compute(Op::kVariance, VarianceAttrs{{2}, false, 0}, grouped));
  TRY(call.set_tensor(8, result));
  TRY(call.set_tensor(9, mean));
  return call.set_tensor(10, TRY(reciprocal_deviation(call, variance, eps)));
}

// Statistics are given; those that it would return are empty.
Expected<void> run_batch_norm(RunningCall& call) {
  if (call.is_none(1) || call.is_none(2)) return fail(ErrorKind::kUnsupported, "batch norm without weight or bias");
  std::vector<Tensor> inputs{TRY(call.tensor(0))};
  for (const std::size_t i : {3u, 4u, 1u, 2u}) inputs.push_back(TRY(call.tensor(i)));
  const Tensor result = TRY(call.compute(Op::kBatchNorm, EpsAttrs{TRY(call.number(6))}, inputs));
  TRY(call.set_tensor(7, result));
  TRY(call.set_tensor(8, Tensor(result.dtype(), {0})));
  return call.set_tensor(9, Tensor(result.dtype(), {0}));
}

constexpr Kernel kNormKernels[] = {
    {.name = "aten::_native_batch_norm_legit_no_training.out",
     .arguments = "toottrr",
     .run = run_batch_norm,
     .written = {.op = Op::kBatchNorm, .write = write_batch_norm, .widens = true},
     .outs = 3},
    {.name = "aten::native_layer_norm.out",
     .arguments = "tIoor",
     .run = run_layer_norm,
     .written = {.op = Op::kLayerNorm, .write = write_layer_norm, .widens = true},
     .outs = 3},
    {.name = "aten::native_group_norm.out",
     .arguments = "tooiiiir",
     .run = run_group_norm,
     .written = {.op = Op::kGroupNorm, .write = write_group_norm, .widens = true},
     .outs = 3},
};

}  // namespace

Family norm_family() { return {kNormKernels, {}}; }

}  // namespace isthmus::host
