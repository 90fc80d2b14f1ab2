// Host kernels that change element types.
#include "run/host_kernels.h"

namespace isthmus::run {
namespace {

// To the type of the result, in its own order of memory.
Expected<void> convert(HostCall& call) {
  const DType dtype = TRY(call.tensor(3)).dtype();
  return call.store(3, Op::kCast, DTypeAttrs{dtype}, TRY(call.tensor(0)));
}

enum class Parameters : std::uint8_t { kNumbers, kTensors, kChannels };

// Input, scale and zero point.
template <Parameters parameters>
Expected<std::vector<Tensor>> inputs_of(const HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  if constexpr (parameters == Parameters::kNumbers) {
    const double scale = TRY(call.number(1));
    const std::int64_t zero_point = TRY(call.integer(2));
    return std::vector<Tensor>{input, scalar(scale), scalar(zero_point)};
  } else {
    const Tensor scale = TRY(call.tensor(1));
    const Tensor zero_point = call.is_none(2) ? Tensor(DType::kI64, scale.sizes()) : TRY(call.tensor(2));
    return std::vector<Tensor>{input, scale, zero_point};
  }
}
// Where the arguments behind the parameters begin.
template <Parameters parameters>
constexpr std::size_t kRest = parameters == Parameters::kChannels ? 4 : 3;

template <Parameters parameters>
Expected<void> quantize(HostCall& call) {
  constexpr std::size_t rest = kRest<parameters>;
  const std::vector<Tensor> inputs = TRY(inputs_of<parameters>(call));
  QuantizeAttrs attrs;
  if (parameters == Parameters::kChannels) attrs.axis = TRY(call.axis(3, inputs[0].rank()));
  attrs.min = TRY(call.integer(rest));
  attrs.max = TRY(call.integer(rest + 1));
  attrs.dtype = TRY(call.dtype(rest + 2));
  return call.store(rest + 3, Op::kQuantize, attrs, inputs);
}
template <Parameters parameters>
Expected<void> dequantize(HostCall& call) {
  constexpr std::size_t rest = kRest<parameters>;
  const std::vector<Tensor> inputs = TRY(inputs_of<parameters>(call));
  DequantizeAttrs attrs;
  if (parameters == Parameters::kChannels) attrs.axis = TRY(call.axis(3, inputs[0].rank()));
  if (!call.is_none(rest + 3)) attrs.dtype = TRY(call.dtype(rest + 3));
  return call.store(rest + 4, Op::kDequantize, attrs, inputs);
}

// To the place of its first argument, broadcast.
Expected<void> copy_in_place(HostCall& call) {
  const Tensor to = TRY(call.tensor(0));
  Tensor from = TRY(call.tensor(1));
  if (TRY(call.truth(2))) return fail(ErrorKind::kUnsupported, "a copy that does not wait");
  if (from.dtype() != to.dtype()) from = TRY(call.compute(Op::kCast, DTypeAttrs{to.dtype()}, from));
  if (from.sizes() == to.sizes()) return call.set_tensor(0, from);
  return call.set_tensor(0,
                         TRY(call.compute(Op::kExpand, ShapeAttrs{Dims(to.sizes().begin(), to.sizes().end())}, from)));
}

constexpr HostKernel kTypeKernels[] = {
    {"aten::copy_", copy_in_place, Border::kWritesBack},
    {"dim_order_ops::_to_dim_order_copy.out", convert},
    {"quantized_decomposed::quantize_per_tensor.out", quantize<Parameters::kNumbers>, Border::kQuantizes},
    {"quantized_decomposed::quantize_per_tensor.Tensor_out", quantize<Parameters::kTensors>, Border::kQuantizes},
    {"quantized_decomposed::quantize_per_channel.out", quantize<Parameters::kChannels>, Border::kQuantizes},
    {"quantized_decomposed::dequantize_per_tensor.out", dequantize<Parameters::kNumbers>, Border::kDequantizes},
    {"quantized_decomposed::dequantize_per_tensor.Tensor_out", dequantize<Parameters::kTensors>, Border::kDequantizes},
    {"quantized_decomposed::dequantize_per_channel.out", dequantize<Parameters::kChannels>, Border::kDequantizes},
};

}  // namespace

std::span<const HostKernel> type_host_kernels() { return kTypeKernels; }

}  // namespace isthmus::run
