// Host ops that change element types.
#include <limits>

#include "lower/host_ops.h"

namespace isthmus {
namespace {

Expected<void> write_cast(HostNode& node) {
  return node.finish(node.cast_arguments(TRY(node.input(0)), node.type(0).rank()));
}

// Scale and zero point as numbers, or else as tensors of the types that the kernels want. `kernels` are those for
// numbers, for tensors and for one pair a channel.
struct QuantizeKernels {
  std::string_view of_numbers, of_tensors, of_channels;
};
Expected<void> write_with_parameters(HostNode& node, const QuantizeKernels& kernels, std::int64_t axis,
                                     const std::vector<pte::ValueIndex>& rest) {
  std::optional<double> scale;
  std::optional<std::int64_t> zero_point;
  if (node.input_count() > 1 && axis < 0) {
    scale = node.known_number(1);
    zero_point = node.known_integer(2);
  }
  if (node.input_count() == 1) {
    // The parameters stand in the type of the side that is codes.
    const std::optional<Quant>& quant = node.type(0).quant ? node.type(0).quant : node.result_type().quant;
    const bool has_one_side = node.type(0).quant.has_value() != node.result_type().quant.has_value();
    if (!has_one_side) return fail(ErrorKind::kUnsupported, "ExecuTorch's kernel converts between floats and codes");
    if (quant->axis >= 0) return fail(ErrorKind::kUnsupported, "codes at the border have one scale");
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

Expected<void> write_quantize(HostNode& node) {
  static constexpr QuantizeKernels kKernels{"quantized_decomposed::quantize_per_tensor.out",
                                            "quantized_decomposed::quantize_per_tensor.Tensor_out",
                                            "quantized_decomposed::quantize_per_channel.out"};
  const QuantizeAttrs& attrs = node.as<QuantizeAttrs>();
  return write_with_parameters(node, kKernels, attrs.axis,
                               {node.integer(attrs.min), node.integer(attrs.max), TRY(node.element_type(attrs.dtype))});
}

template <class Number>
std::pair<std::int64_t, std::int64_t> all_codes() {
  return {std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()};
}
Expected<std::pair<std::int64_t, std::int64_t>> codes_of(DType dtype) {
  if (dtype == DType::kU8) return all_codes<std::uint8_t>();
  if (dtype == DType::kI8) return all_codes<std::int8_t>();
  if (dtype == DType::kI16) return all_codes<std::int16_t>();
  if (dtype == DType::kI32) return all_codes<std::int32_t>();
  return fail(ErrorKind::kUnsupported, "ExecuTorch's kernel takes codes of u8, i8, i16 and i32");
}

Expected<void> write_dequantize(HostNode& node) {
  static constexpr QuantizeKernels kKernels{"quantized_decomposed::dequantize_per_tensor.out",
                                            "quantized_decomposed::dequantize_per_tensor.Tensor_out",
                                            "quantized_decomposed::dequantize_per_channel.out"};
  const DequantizeAttrs& attrs = node.as<DequantizeAttrs>();
  const DType codes = node.type(0).dtype;
  const auto [least, most] = TRY(codes_of(codes));
  return write_with_parameters(
      node, kKernels, attrs.axis,
      {node.integer(least), node.integer(most), TRY(node.element_type(codes)), TRY(node.element_type(attrs.dtype))});
}

constexpr HostOp kTypeOps[] = {
    {Op::kCast, "dim_order_ops::_to_dim_order_copy.out", write_cast},
    {.op = Op::kQuantize, .kernel = "", .write = write_quantize, .knows_codes = true, .keeps_order = true},
    {.op = Op::kDequantize, .kernel = "", .write = write_dequantize, .knows_codes = true, .keeps_order = true},
};

}  // namespace

std::span<const HostOp> host_type_ops() { return kTypeOps; }

}  // namespace isthmus
