// Reference kernels: element types, ranges, quantized values.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "interpret/kernel.h"
#include "interpret/kernels/slice_parameters.h"

namespace isthmus {
namespace {

// Numbers that do not fit: integers wrap around; of floats the low bits of the lowest wide integer remain, which is
// what PyTorch's processors do.
template <class To, class From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Wide = std::conditional_t<(sizeof(To) < 8 && std::is_signed_v<To>), std::int32_t, std::int64_t>;
    constexpr auto kLowest = std::numeric_limits<Wide>::min();
    const auto limit = static_cast<From>(-static_cast<double>(kLowest));
    const bool fits = value > -limit - 1 && value < limit;
    return static_cast<To>(fits ? static_cast<Wide>(value) : kLowest);
  } else {
    return static_cast<To>(value);
  }
}

Expected<Tensor> cast(const KernelContext& context) {
  const Tensor& input = context.inputs[0];
  Tensor result = context.result();
  dispatch(input.dtype(), [&]<class From>(From) {
    const auto in = input.data<From>();
    if (context.dtype == DType::kBool) {
      const auto out = result.mutable_data<std::uint8_t>();
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] != 0 ? 1 : 0;
      return;
    }
    dispatch(context.dtype, [&]<class To>(To) {
      const auto out = result.mutable_data<To>();
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = converted<To>(in[i]);
    });
  });
  return result;
}

Expected<Tensor> bitcast(const KernelContext& context) {
  Tensor result = context.result();
  const auto from = context.inputs[0].bytes();
  const auto to = result.mutable_bytes();
  if (from.size() != to.size()) return bad_input("the last axis is not divisible by the size of the wider element");
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  return result;
}

Expected<Tensor> arange(const KernelContext& context) {
  const auto& attrs = context.as<ArangeAttrs>();
  Tensor result = context.result();
  const auto start = static_cast<std::uint64_t>(attrs.start.value());
  const auto step = static_cast<std::uint64_t>(attrs.step);
  dispatch(context.dtype, [&]<class Number>(Number) {
    const auto out = result.mutable_data<Number>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<Number>(static_cast<std::int64_t>(start + step * i));
    }
  });
  return result;
}

std::vector<double> as_doubles(const Tensor& tensor) {
  std::vector<double> result;
  dispatch(tensor.dtype(), [&]<class Number>(Number) {
    for (const Number number : tensor.data<Number>()) result.push_back(static_cast<double>(number));
  });
  return result;
}

using Parameters = SliceParameters<double, double>;
Expected<Parameters> parameters_of(const KernelContext& context, std::int64_t axis) {
  return slice_parameters(context.inputs[0], axis, as_doubles(context.inputs[1]), as_doubles(context.inputs[2]));
}

// round(x * (1 / scale)) + zero_point. PyTorch multiplies in f32 by a scale that is a number, and in the wider of the
// two types by scales that are a tensor.
template <class Number>
Expected<Tensor> quantize_as(const KernelContext& context) {
  const auto& attrs = context.as<QuantizeAttrs>();
  const Parameters parameters = TRY(parameters_of(context, attrs.axis));
  std::vector<Number> factors;
  for (const double scale : parameters.scales) factors.push_back(static_cast<Number>(1.0 / scale));
  const auto min = static_cast<Number>(attrs.min);
  const auto max = static_cast<Number>(attrs.max);
  Tensor result = context.result();
  dispatch_float(context.inputs[0].dtype(), [&]<class In>(In) {
    const auto in = context.inputs[0].data<In>();
    dispatch(context.dtype, [&]<class Int>(Int) {
      const auto out = result.mutable_data<Int>();
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t k = parameters.of(i);
        const Number q =
            std::nearbyint(static_cast<Number>(in[i]) * factors[k]) + static_cast<Number>(parameters.zero_points[k]);
        out[i] = converted<Int>(q < min ? min : q > max ? max : q);
      }
    });
  });
  return result;
}

// The parameters of such nodes stand in their types, which only the integer kernels see.
Expected<Tensor> need_types(const KernelContext&) { return bad_input("its parameters stand in types"); }

Expected<Tensor> quantize(const KernelContext& context) {
  if (context.inputs.size() == 1) return need_types(context);
  const bool is_wide = context.inputs[0].dtype() == DType::kF64 ||
                       (context.as<QuantizeAttrs>().axis >= 0 && context.inputs[1].dtype() == DType::kF64);
  return is_wide ? quantize_as<double>(context) : quantize_as<float>(context);
}

template <class Number>
Expected<Tensor> dequantize_as(const KernelContext& context) {
  const Parameters parameters = TRY(parameters_of(context, context.as<DequantizeAttrs>().axis));
  Tensor result = context.result();
  dispatch(context.inputs[0].dtype(), [&]<class Int>(Int) {
    const auto in = context.inputs[0].data<Int>();
    dispatch_float(context.dtype, [&]<class Out>(Out) {
      const auto out = result.mutable_data<Out>();
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t k = parameters.of(i);
        const Number steps = static_cast<Number>(in[i]) - static_cast<Number>(parameters.zero_points[k]);
        out[i] = static_cast<Out>(steps * static_cast<Number>(parameters.scales[k]));
      }
    });
  });
  return result;
}

Expected<Tensor> dequantize(const KernelContext& context) {
  if (context.inputs.size() == 1) return need_types(context);
  const bool is_wide = context.dtype == DType::kF64 ||
                       (context.as<DequantizeAttrs>().axis >= 0 && context.inputs[1].dtype() == DType::kF64);
  return is_wide ? dequantize_as<double>(context) : dequantize_as<float>(context);
}

// Quantizes and dequantizes.
Expected<Tensor> fake_quantize(const KernelContext& context) {
  const auto& attrs = context.as<FakeQuantizeAttrs>();
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const auto factor = static_cast<Number>(1.0 / attrs.scale);
    const auto zero_point = static_cast<Number>(attrs.zero_point);
    const auto min = static_cast<Number>(attrs.min);
    const auto max = static_cast<Number>(attrs.max);
    const auto in = context.inputs[0].data<Number>();
    const auto out = result.mutable_data<Number>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Number q = std::nearbyint(in[i] * factor) + zero_point;
      // What is not a number has the quantized value that a conversion to integers gives it.
      const Number bounded = std::isnan(q) ? Number{0} : std::clamp(q, min, max);
      out[i] = (bounded - zero_point) * static_cast<Number>(attrs.scale);
    }
  });
  return result;
}

constexpr KernelDef kTypeKernels[] = {
    {Op::kCast, cast},
    {Op::kBitcast, bitcast, HalfPrecision::kAsBytes},
    {Op::kArange, arange},
    {Op::kQuantize, quantize},
    {Op::kDequantize, dequantize},
    {Op::kRescale, need_types},
    {Op::kFakeQuantize, fake_quantize},
};

}  // namespace

std::span<const KernelDef> type_kernels() { return kTypeKernels; }

}  // namespace isthmus
