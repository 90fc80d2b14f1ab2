// ExecuTorch's conversions between numbers and quantized values: scales are floats, and so are their reciprocals.
#include <algorithm>
#include <cmath>

#include "interpret/kernels/slice_parameters.h"
#include "targets/host/portable/kernels.h"

namespace isthmus::executorch_kernels {
namespace {

template <class To>
std::vector<To> numbers_of(const Tensor& tensor) {
  return dispatch(tensor.dtype(), [&]<class Number>(Number) {
    std::vector<To> result;
    for (const Number number : tensor.data<Number>()) result.push_back(converted<To>(number));
    return result;
  });
}

using Parameters = SliceParameters<float, std::int32_t>;
Expected<Parameters> parameters_of(const KernelContext& context, std::int64_t axis) {
  if (context.inputs.size() == 1) return bad_input("its parameters stand in types");
  return slice_parameters(context.inputs[0], axis, numbers_of<float>(context.inputs[1]),
                          numbers_of<std::int32_t>(context.inputs[2]));
}

// Calls use(begin, end, scale, zero point) for each run of elements with the same parameters.
template <class Use>
void for_each_run(const Parameters& parameters, std::size_t count, Use use) {
  std::size_t slice = 0;
  for (std::size_t begin = 0; begin < count; begin += parameters.inner) {
    use(begin, std::min(begin + parameters.inner, count), parameters.scales[slice], parameters.zero_points[slice]);
    slice = slice + 1 == parameters.scales.size() ? 0 : slice + 1;
  }
}

// A number beyond all quantized values has the quantized value at that end: what the processor would make of one beyond
// 64 bits differs.
Expected<Tensor> quantize(const KernelContext& context) {
  const QuantizeAttrs& attrs = context.as<QuantizeAttrs>();
  const Parameters parameters = TRY(parameters_of(context, attrs.axis));
  Tensor result = context.result();
  dispatch_float(context.inputs[0].dtype(), [&]<class In>(In) {
    const auto in = context.inputs[0].data<In>();
    dispatch(context.dtype, [&]<class Int>(Int) {
      const auto out = result.mutable_data<Int>();
      const auto min = static_cast<float>(attrs.min);
      const auto max = static_cast<float>(attrs.max);
      for_each_run(parameters, in.size(), [&](std::size_t begin, std::size_t end, float scale, std::int32_t zero) {
        const float factor = 1.0f / scale;
        for (std::size_t i = begin; i < end; ++i) {
          const float q =
              static_cast<float>(zero) + std::nearbyint(static_cast<float>(static_cast<In>(factor) * in[i]));
          out[i] = converted<Int>(q < min ? min : q > max ? max : q);
        }
      });
    });
  });
  return result;
}

Expected<Tensor> dequantize(const KernelContext& context) {
  const Parameters parameters = TRY(parameters_of(context, context.as<DequantizeAttrs>().axis));
  Tensor result = context.result();
  dispatch(context.inputs[0].dtype(), [&]<class Int>(Int) {
    const auto in = context.inputs[0].data<Int>();
    dispatch_float(context.dtype, [&]<class Out>(Out) {
      const auto out = result.mutable_data<Out>();
      for_each_run(parameters, in.size(), [&](std::size_t begin, std::size_t end, float scale, std::int32_t zero) {
        for (std::size_t i = begin; i < end; ++i) {
          out[i] = static_cast<Out>(static_cast<float>(converted<std::int64_t>(in[i]) - zero) * scale);
        }
      });
    });
  });
  return result;
}

constexpr KernelDef kTypeKernels[] = {
    {Op::kQuantize, quantize},
    {Op::kDequantize, dequantize},
};

}  // namespace

std::span<const KernelDef> type_kernels() { return kTypeKernels; }

}  // namespace isthmus::executorch_kernels
