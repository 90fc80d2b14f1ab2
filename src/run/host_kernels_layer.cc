// Host kernels that are layers of a network: products, convolutions, pools, normalization, images.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "exec/half.h"
#include "executorch_kernels/kernels.h"
#include "run/host_kernels.h"

namespace isthmus::run {
namespace {

Expected<void> matmul(HostCall& call) {
  return call.store(2, Op::kMatmul, NoAttrs{}, TRY(call.tensor(0)), TRY(call.tensor(1)));
}
Expected<void> addmm(HostCall& call) {
  if (TRY(call.number(3)) != 1 || TRY(call.number(4)) != 1) {
    return fail(ErrorKind::kUnsupported, "an alpha or a beta other than 1");
  }
  const Tensor product = TRY(call.compute(Op::kMatmul, NoAttrs{}, TRY(call.tensor(1)), TRY(call.tensor(2))));
  return call.store(5, Op::kAdd, NoAttrs{}, product, TRY(call.tensor(0)));
}

// One number for each of two axes; a single one stands for both.
Expected<Ints> pair(const HostCall& call, std::size_t i) {
  Ints list = TRY(call.integers(i));
  if (list.size() == 1) list.push_back(list[0]);
  if (list.size() != 2) return bad_input(fmt::format("argument {} has {} numbers, expected 2", i, list.size()));
  return list;
}
Expected<Ints> both_sides(const HostCall& call, std::size_t i) {
  const Ints padding = TRY(pair(call, i));
  return Ints{padding[0], padding[0], padding[1], padding[1]};
}

Expected<void> convolution(HostCall& call) {
  std::vector<Tensor> inputs{TRY(call.tensor(0))};
  inputs.push_back(TRY(call.tensor(1)));
  if (!call.is_none(2)) inputs.push_back(TRY(call.tensor(2)));
  const Ints stride = TRY(pair(call, 3));
  Ints padding = TRY(both_sides(call, 4));
  const Ints dilation = TRY(pair(call, 5));
  const std::int64_t groups = TRY(call.integer(8));
  if (!TRY(call.truth(6))) {
    return call.store(9, Op::kConv2d, ConvAttrs{stride, padding, dilation, groups}, inputs);
  }
  const Ints added = TRY(pair(call, 7));
  for (std::size_t i = 0; i < 2; ++i) {
    if (__builtin_sub_overflow(padding[2 * i + 1], added[i], &padding[2 * i + 1]))
      return bad_input("padding overflows");
  }
  const ConvTransposeAttrs attrs{stride, padding, dilation, groups};
  return call.store(9, Op::kConvTranspose2d, attrs, inputs);
}

Expected<void> max_pool(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  MaxPoolAttrs attrs;
  attrs.kernel = TRY(pair(call, 1));
  attrs.stride = TRY(call.integers(2)).empty() ? attrs.kernel : TRY(pair(call, 2));
  attrs.padding = TRY(both_sides(call, 3));
  attrs.dilation = TRY(pair(call, 4));
  attrs.ceil_mode = TRY(call.truth(5));
  const Tensor result = TRY(call.compute(Op::kMaxPool2d, attrs, input));
  const Tensor positions = TRY(call.compute(Op::kMaxPool2dIndices, attrs, input));
  TRY(call.set_tensor(6, result));
  return call.set_tensor(7, positions);
}
Expected<void> avg_pool(HostCall& call) {
  AvgPoolAttrs attrs;
  attrs.kernel = TRY(pair(call, 1));
  attrs.stride = TRY(call.integers(2)).empty() ? attrs.kernel : TRY(pair(call, 2));
  attrs.padding = TRY(both_sides(call, 3));
  attrs.ceil_mode = TRY(call.truth(4));
  attrs.count_include_pad = TRY(call.truth(5));
  attrs.divisor = call.is_none(6) ? 0 : TRY(call.integer(6));
  if (!call.is_none(6) && attrs.divisor == 0) return bad_input("a divisor of 0");
  return call.store(7, Op::kAvgPool2d, attrs, TRY(call.tensor(0)));
}
Expected<void> adaptive_avg_pool(HostCall& call) {
  const Ints size = TRY(pair(call, 1));
  const SizeAttrs attrs{Dims(size.begin(), size.end())};
  return call.store(2, Op::kAdaptiveAvgPool2d, attrs, TRY(call.tensor(0)));
}

// 1 / sqrt(variance + eps)
Expected<Tensor> reciprocal_deviation(const HostCall& call, const Tensor& variance, double eps) {
  const Tensor offset = TRY(call.compute(Op::kCast, DTypeAttrs{variance.dtype()}, scalar(eps)));
  return call.compute(Op::kRsqrt, NoAttrs{}, TRY(call.compute(Op::kAdd, NoAttrs{}, variance, offset)));
}
// Input, weight and bias; the weight and the bias are optional arguments.
Expected<std::vector<Tensor>> with_affine(const HostCall& call, std::size_t weight, std::size_t bias) {
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
Expected<void> normalize_rows(HostCall& call, const std::vector<Tensor>& inputs, const std::vector<std::int64_t>& kept,
                              double eps) {
  const DType dtype = inputs[0].dtype();
  Normalized results{{call.place(5, dtype, inputs[0].sizes(), inputs), call.place(6, dtype, kept, inputs),
                      call.place(7, dtype, kept, inputs)}};
  normalize(inputs, eps, results);
  for (std::size_t i = 0; i < 3; ++i) TRY(call.set_tensor(5 + i, results.tensors[i]));
  return {};
}
Expected<void> normalize_halves(HostCall& call, const std::vector<Tensor>& inputs,
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

Expected<void> layer_norm(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::vector<std::int64_t> shape = TRY(call.integers(1));
  if (shape.empty() || shape.size() > input.sizes().size() ||
      !std::equal(shape.rbegin(), shape.rend(), input.sizes().rbegin())) {
    return bad_input("the normalized sizes are not the last ones of the input");
  }
  const double eps = TRY(call.number(4));
  const std::vector<Tensor> inputs = TRY(with_affine(call, 2, 3));
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const bool fits = inputs[i].dtype() == input.dtype() && inputs[i].sizes() == shape;
    if (!fits) return bad_input("a weight or bias of another type or of other sizes");
  }
  if (!is_floating(input.dtype()) || size_of(input.dtype()) < 2) return bad_input("it normalizes floats");
  std::vector<std::int64_t> kept = input.sizes();
  std::fill(kept.end() - static_cast<std::ptrdiff_t>(shape.size()), kept.end(), 1);
  if (!is_half(input.dtype())) return normalize_rows(call, inputs, kept, eps);
  return normalize_halves(call, inputs, kept, eps);
}

Expected<void> group_norm(HostCall& call) {
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
Expected<void> batch_norm(HostCall& call) {
  if (call.is_none(1) || call.is_none(2)) return fail(ErrorKind::kUnsupported, "batch norm without weight or bias");
  std::vector<Tensor> inputs{TRY(call.tensor(0))};
  for (const std::size_t i : {3u, 4u, 1u, 2u}) inputs.push_back(TRY(call.tensor(i)));
  const Tensor result = TRY(call.compute(Op::kBatchNorm, EpsAttrs{TRY(call.number(6))}, inputs));
  TRY(call.set_tensor(7, result));
  TRY(call.set_tensor(8, Tensor(result.dtype(), {0})));
  return call.set_tensor(9, Tensor(result.dtype(), {0}));
}

// Either sizes or scales are given.
Expected<void> resize(HostCall& call, ResizeMode mode, bool align_corners, std::size_t scales) {
  const Tensor input = TRY(call.tensor(0));
  if (input.rank() != 4) return bad_input(fmt::format("an image of rank {}, expected 4", input.rank()));
  if (call.is_none(1) == call.is_none(scales)) return bad_input("either sizes or scales, not both or none");
  ResizeAttrs attrs{mode, {}, {}, align_corners};
  if (!call.is_none(1)) {
    const Ints size = TRY(pair(call, 1));
    attrs.size.assign(size.begin(), size.end());
  } else {
    attrs.scales = TRY(call.numbers(scales));
    constexpr double kMostScale = 1 << 20;
    if (attrs.scales.size() != 2) return bad_input("scales of another number of axes");
    for (std::size_t i = 0; i < 2; ++i) {
      if (!(attrs.scales[i] > 0) || attrs.scales[i] > kMostScale) return bad_input("a scale that is out of range");
      const double size = static_cast<double>(input.sizes()[i + 2]) * attrs.scales[i];
      attrs.size.emplace_back(static_cast<std::int64_t>(size));
    }
  }
  return call.store(scales + 1, Op::kResize2d, attrs, input);
}
Expected<void> resize_nearest(HostCall& call) { return resize(call, ResizeMode::kNearest, false, 2); }
Expected<void> resize_linear(HostCall& call) { return resize(call, ResizeMode::kLinear, TRY(call.truth(2)), 3); }

Expected<void> grid_sample(HostCall& call) {
  static constexpr ResizeMode kModes[] = {ResizeMode::kLinear, ResizeMode::kNearest, ResizeMode::kCubic};
  const std::int64_t mode = TRY(call.integer(2));
  const std::int64_t padding = TRY(call.integer(3));
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return bad_input("a mode that is unknown");
  const GridSampleAttrs attrs{kModes[mode], static_cast<GridPadding>(padding), TRY(call.truth(4))};
  return call.store(5, Op::kGridSample, attrs, TRY(call.tensor(0)), TRY(call.tensor(1)));
}

constexpr HostKernel kLayerKernels[] = {
    {"aten::mm.out", matmul},
    {"aten::bmm.out", matmul},
    {"aten::addmm.out", addmm},
    {"aten::convolution.out", convolution},
    {"aten::max_pool2d_with_indices.out", max_pool},
    {"aten::avg_pool2d.out", avg_pool},
    {"aten::_adaptive_avg_pool2d.out", adaptive_avg_pool},
    {"aten::native_layer_norm.out", layer_norm},
    {"aten::native_group_norm.out", group_norm},
    {"aten::_native_batch_norm_legit_no_training.out", batch_norm},
    {"aten::upsample_nearest2d.vec_out", resize_nearest},
    {"aten::upsample_bilinear2d.vec_out", resize_linear},
    {"aten::grid_sampler_2d.out", grid_sample},
};

}  // namespace

std::span<const HostKernel> layer_host_kernels() { return kLayerKernels; }

}  // namespace isthmus::run
