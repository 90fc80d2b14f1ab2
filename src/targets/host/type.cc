// Kernels that change element types.
#include <limits>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

Expected<void> write_cast(NodeWriter& node) {
  return node.finish(node.cast_arguments(TRY(node.input(0)), node.type(0).rank()));
}

// Scale and zero point as numbers, or else as tensors of the types that the kernels want. `kernels` are those for
// numbers, for tensors and for one pair a channel.
struct QuantizeKernels {
  std::string_view of_numbers, of_tensors, of_channels;
};
Expected<void> write_with_parameters(NodeWriter& node, const QuantizeKernels& kernels, std::int64_t axis,
                                     const std::vector<pte::ValueIndex>& rest) {
  std::optional<double> scale;
  std::optional<std::int64_t> zero_point;
  if (node.input_count() > 1 && axis < 0) {
    scale = node.known_number(1);
    zero_point = node.known_integer(2);
  }
  if (node.input_count() == 1) {
    // The parameters stand in the type of the side that is quantized.
    const std::optional<Quant>& quant = node.type(0).quant ? node.type(0).quant : node.result_type().quant;
    const bool has_one_side = node.type(0).quant.has_value() != node.result_type().quant.has_value();
    if (!has_one_side)
      return fail(ErrorKind::kUnsupported, "ExecuTorch's kernel converts between floats and quantized values");
    if (quant->axis >= 0) return fail(ErrorKind::kUnsupported, "quantized inputs and outputs have one scale");
    scale = static_cast<double>(quant->scale());
    zero_point = quant->zero_point;
  }
  std::vector<pte::ValueIndex> args{TRY(node.input(0))};
  if (scale && zero_point) {
    args.insert(args.end(), {node.real(*scale), node.integer(*zero_point)});
  } else {
    const pte::ValueIndex scales = TRY(node.input_as(1, DType::kF64));
    args.insert(args.end(), {scales, TRY(node.input_as(2, DType::kI64))});
  }
  if (axis >= 0) args.push_back(node.integer(axis));
  args.insert(args.end(), rest.begin(), rest.end());
  if (axis >= 0) return node.finish(kernels.of_channels, std::move(args));
  return node.finish(scale && zero_point ? kernels.of_numbers : kernels.of_tensors, std::move(args));
}

Expected<void> write_quantize(NodeWriter& node) {
  static constexpr QuantizeKernels kKernels{names::kQuantize, names::kQuantizeByTensors, names::kQuantizeChannels};
  const QuantizeAttrs& attrs = node.as<QuantizeAttrs>();
  return write_with_parameters(node, kKernels, attrs.axis,
                               {node.integer(attrs.min), node.integer(attrs.max), TRY(node.element_type(attrs.dtype))});
}

template <class Number>
std::pair<std::int64_t, std::int64_t> all_values() {
  return {std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()};
}
Expected<std::pair<std::int64_t, std::int64_t>> range_of(DType dtype) {
  if (dtype == DType::kU8) return all_values<std::uint8_t>();
  if (dtype == DType::kI8) return all_values<std::int8_t>();
  if (dtype == DType::kI16) return all_values<std::int16_t>();
  if (dtype == DType::kI32) return all_values<std::int32_t>();
  return fail(ErrorKind::kUnsupported, "ExecuTorch's kernel takes u8 values, i8, i16 and i32");
}

Expected<void> write_dequantize(NodeWriter& node) {
  static constexpr QuantizeKernels kKernels{names::kDequantize, names::kDequantizeByTensors,
                                            names::kDequantizeChannels};
  const DequantizeAttrs& attrs = node.as<DequantizeAttrs>();
  const DType storage = node.type(0).dtype;
  const auto [min, max] = TRY(range_of(storage));
  return write_with_parameters(
      node, kKernels, attrs.axis,
      {node.integer(min), node.integer(max), TRY(node.element_type(storage)), TRY(node.element_type(attrs.dtype))});
}

// To the type of the result, in its own order of memory.
Expected<void> run_convert(RunningCall& call) {
  const DType dtype = TRY(call.tensor(3)).dtype();
  return call.store(3, Op::kCast, DTypeAttrs{dtype}, TRY(call.tensor(0)));
}

enum class Parameters : std::uint8_t { kNumbers, kTensors, kChannels };

// Input, scale and zero point.
template <Parameters parameters>
Expected<std::vector<Tensor>> inputs_of(const RunningCall& call) {
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
Expected<void> run_quantize(RunningCall& call) {
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
Expected<void> run_dequantize(RunningCall& call) {
  constexpr std::size_t rest = kRest<parameters>;
  const std::vector<Tensor> inputs = TRY(inputs_of<parameters>(call));
  DequantizeAttrs attrs;
  if (parameters == Parameters::kChannels) attrs.axis = TRY(call.axis(3, inputs[0].rank()));
  if (!call.is_none(rest + 3)) attrs.dtype = TRY(call.dtype(rest + 3));
  return call.store(rest + 4, Op::kDequantize, attrs, inputs);
}

// To the place of its first argument, broadcast.
Expected<void> run_copy_in_place(RunningCall& call) {
  const Tensor to = TRY(call.tensor(0));
  Tensor from = TRY(call.tensor(1));
  if (TRY(call.boolean(2))) return fail(ErrorKind::kUnsupported, "a non-blocking copy");
  if (from.dtype() != to.dtype()) from = TRY(call.compute(Op::kCast, DTypeAttrs{to.dtype()}, from));
  if (from.sizes() == to.sizes()) return call.set_tensor(0, from);
  return call.set_tensor(0,
                         TRY(call.compute(Op::kExpand, ShapeAttrs{Dims(to.sizes().begin(), to.sizes().end())}, from)));
}

constexpr Kernel kTypeKernels[] = {
    {.name = names::kCopyInPlace,
     .arguments = "ttb",
     .run = run_copy_in_place,
     .io_role = IoRole::kWritesBack,
     .outs = 0,
     .writes_first = true},
    {.name = names::kConvert, .arguments = "tbJ", .run = run_convert, .written = {Op::kCast, write_cast}},
    {.name = names::kQuantize,
     .arguments = "triiie",
     .run = run_quantize<Parameters::kNumbers>,
     .io_role = IoRole::kQuantizes},
    {.name = names::kQuantizeByTensors,
     .arguments = "tttiie",
     .run = run_quantize<Parameters::kTensors>,
     .io_role = IoRole::kQuantizes},
    {.name = names::kQuantizeChannels,
     .arguments = "tttiiie",
     .run = run_quantize<Parameters::kChannels>,
     .io_role = IoRole::kQuantizes},
    {.name = names::kDequantize,
     .arguments = "triiief",
     .run = run_dequantize<Parameters::kNumbers>,
     .io_role = IoRole::kDequantizes},
    {.name = names::kDequantizeByTensors,
     .arguments = "tttiief",
     .run = run_dequantize<Parameters::kTensors>,
     .io_role = IoRole::kDequantizes},
    {.name = names::kDequantizeChannels,
     .arguments = "ttoiiief",
     .run = run_dequantize<Parameters::kChannels>,
     .io_role = IoRole::kDequantizes},
};
constexpr WrittenOp kTypeComposites[] = {
    {.op = Op::kQuantize, .write = write_quantize, .takes_quantized = true, .keeps_order = true},
    {.op = Op::kDequantize, .write = write_dequantize, .takes_quantized = true, .keeps_order = true},
};

}  // namespace

Family type_family() { return {kTypeKernels, kTypeComposites}; }

}  // namespace isthmus::host
