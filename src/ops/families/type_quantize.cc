// Quantize and dequantize as archives that PyTorch has converted write them.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/demands.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/integer_range.h"
#include "ops/known.h"

namespace isthmus {

IntegerRange integer_range(DType dtype) {
  const auto bits = static_cast<unsigned>(8 * size_of(dtype));
  if (bits == 64) return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  if (info(dtype).kind == DTypeClass::kUnsigned) return {0, (std::int64_t{1} << bits) - 1};
  return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

Expected<void> check_range(IntegerRange range, DType dtype) {
  if (!is_integer(dtype)) {
    return fail(ErrorKind::kUnsupported, fmt::format("the quantized type is {}, expected integers", name_of(dtype)));
  }
  const IntegerRange all = integer_range(dtype);
  if (range.min > range.max || range.min < all.min || range.max > all.max) {
    return bad_input(fmt::format("quantized range {} to {} does not fit {}", range.min, range.max, name_of(dtype)));
  }
  return {};
}

namespace {

// Scale and zero point: 0-d, or one for each slice of an axis. Quantized values that are dequantized may have a zero
// point between two of them, as those of embedding tables have.
Expected<void> check_parameters(const InferContext& context, std::int64_t axis, bool takes_fractions) {
  const TensorType& data = context.inputs[0];
  const TensorType& scale = context.inputs[1];
  const TensorType& zero_point = context.inputs[2];
  if (scale.dtype != DType::kF32 && scale.dtype != DType::kF64) {
    return bad_input(fmt::format("the scale is {}, expected f32 or f64", name_of(scale.dtype)));
  }
  if (!is_integer(zero_point.dtype) && !(takes_fractions && is_floating(zero_point.dtype))) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("the zero point is {}, expected an integer", name_of(zero_point.dtype)));
  }
  if (axis < -1 || axis >= static_cast<std::int64_t>(data.rank())) {
    return bad_input(fmt::format("axis {} is out of range for rank {}", axis, data.rank()));
  }
  for (const TensorType* parameter : {&scale, &zero_point}) {
    TRY(demand_rank(*parameter, axis < 0 ? 0 : 1));
    if (axis < 0) continue;
    TRY(demand_equal(context.exprs, parameter->shape[0], data.shape[static_cast<std::size_t>(axis)],
                     "the number of scales"));
  }
  return {};
}

// With one input the parameters stand in the types.
bool has_parameters(const InferContext& context) { return context.inputs.size() > 1; }

Expected<TensorType> infer_quantize(const InferContext& context) {
  const auto& attrs = context.as<QuantizeAttrs>();
  TRY(demand(Numbers::kFloats, context.inputs[0]));
  if (has_parameters(context)) TRY(check_parameters(context, attrs.axis, false));
  TRY(check_range({attrs.min, attrs.max}, attrs.dtype));
  return TensorType{attrs.dtype, context.inputs[0].shape};
}

Expected<TensorType> infer_fake_quantize(const InferContext& context) {
  const auto& attrs = context.as<FakeQuantizeAttrs>();
  TRY(demand(Numbers::kFloats, context.inputs[0]));
  TRY(check_range({attrs.min, attrs.max}, attrs.dtype));
  if (!(attrs.scale > 0) || !std::isfinite(attrs.scale))
    return bad_input(fmt::format("scale {} is out of range", attrs.scale));
  return context.inputs[0];
}

Expected<TensorType> infer_dequantize(const InferContext& context) {
  const auto& attrs = context.as<DequantizeAttrs>();
  if (!is_integer(context.inputs[0].dtype)) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("the quantized type is {}, expected integers", name_of(context.inputs[0].dtype)));
  }
  if (has_parameters(context)) TRY(check_parameters(context, attrs.axis, true));
  const TensorType result{attrs.dtype, context.inputs[0].shape};
  TRY(demand(Numbers::kFloats, result));
  return result;
}

// The same numbers in quantized values of other parameters.
Expected<TensorType> infer_rescale(const InferContext& context) {
  if (is_integer(context.inputs[0].dtype)) return context.inputs[0];
  return bad_input(fmt::format("the quantized type is {}, expected integers", name_of(context.inputs[0].dtype)));
}

struct Parameters {
  ValueId scale;
  ValueId zero_point;
};

// Numbers, or tensors of one element.
Expected<ValueId> parameter(Call& call, std::string_view name, DType dtype) {
  const auto tensor = call.tensor_if(name);
  if (!tensor) return call.operand(name, dtype);
  return call.reshape(*tensor, {});
}
Expected<Parameters> tensor_parameters(Call& call) {
  const ValueId scale = TRY(parameter(call, "scale", DType::kF64));
  return Parameters{scale, TRY(parameter(call, "zero_point", DType::kI64))};
}

Expected<Parameters> channel_parameters(Call& call, std::string_view scales, std::string_view zero_points) {
  const ValueId scale = TRY(call.tensor(scales));
  if (const auto given = call.tensor_if(zero_points)) return Parameters{scale, *given};
  return Parameters{scale, TRY(filled(call, 0, DType::kI64, call.shape(scale)))};
}

// A number, or a constant of one.
Expected<std::int64_t> read_bound(Call& call, std::string_view name, std::int64_t otherwise) {
  const auto tensor = call.tensor_if(name);
  if (!tensor) return call.integer(name, otherwise);
  const auto known = known_integers(call.graph(), *tensor);
  if (known && known->size() == 1) return known->front();
  return Call::unsupported("the quantized range is known only at run time");
}
Expected<IntegerRange> read_range(Call& call, DType dtype) {
  const IntegerRange all = integer_range(dtype);
  const std::int64_t min = TRY(read_bound(call, "quant_min", all.min));
  return IntegerRange{min, TRY(read_bound(call, "quant_max", all.max))};
}

Expected<ValueId> quantize(Call& call, ValueId input, Parameters parameters, std::int64_t axis, IntegerRange range,
                           DType dtype) {
  return call.emit(Op::kQuantize, QuantizeAttrs{axis, range.min, range.max, dtype},
                   {input, parameters.scale, parameters.zero_point});
}

Expected<Values> read_quantize(Call& call) {
  const DType dtype = TRY(call.dtype("dtype"));
  const IntegerRange range = TRY(read_range(call, dtype));
  const Parameters parameters = TRY(tensor_parameters(call));
  return one(quantize(call, TRY(call.tensor("input")), parameters, -1, range, dtype));
}
Expected<Values> read_quantize_channels(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const DType dtype = TRY(call.dtype("dtype"));
  const IntegerRange range = TRY(read_range(call, dtype));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(input)));
  return one(quantize(call, input, TRY(channel_parameters(call, "scales", "zero_points")), axis, range, dtype));
}

Expected<Values> read_dequantize(Call& call) {
  const DequantizeAttrs attrs{-1, TRY(call.dtype("out_dtype", DType::kF32))};
  const Parameters parameters = TRY(tensor_parameters(call));
  const ValueId input = TRY(call.tensor("input"));
  return one(call.emit(Op::kDequantize, attrs, {input, parameters.scale, parameters.zero_point}));
}
Expected<Values> read_dequantize_channels(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const DequantizeAttrs attrs{TRY(call.axis("axis", call.rank(input))), TRY(call.dtype("out_dtype", DType::kF32))};
  const Parameters parameters = TRY(channel_parameters(call, "scales", "zero_points"));
  return one(call.emit(Op::kDequantize, attrs, {input, parameters.scale, parameters.zero_point}));
}

// A model trained to be quantized: there and back. The quantized values never leave the pair, so the narrowest type
// will do.
Expected<Values> fake_quantize(Call& call, Parameters parameters, std::int64_t axis) {
  const ValueId self = TRY(call.tensor("self"));
  const IntegerRange range{TRY(call.integer("quant_min")), TRY(call.integer("quant_max"))};
  DType storage = DType::kI32;
  for (const DType dtype : {DType::kI16, DType::kU8, DType::kI8}) {
    const IntegerRange all = integer_range(dtype);
    if (range.min >= all.min && range.max <= all.max) storage = dtype;
  }
  const DType dtype = call.type(self).dtype;
  const ValueId quantized = TRY(quantize(call, self, parameters, axis, range, storage));
  const ValueId result = TRY(
      call.emit(Op::kDequantize, DequantizeAttrs{axis, dtype}, {quantized, parameters.scale, parameters.zero_point}));
  if (call.result_count() < 2) return std::vector<ValueId>{result};
  return Call::unsupported("the mask of clamped elements is used only in training");
}
Expected<Values> read_fake_quantize(Call& call) { return fake_quantize(call, TRY(tensor_parameters(call)), -1); }
Expected<Values> fake_quantize_channels(Call& call, std::string_view scales, std::string_view zero_points) {
  const std::int64_t axis = TRY(call.axis("axis", call.rank(TRY(call.tensor("self")))));
  return fake_quantize(call, TRY(channel_parameters(call, scales, zero_points)), axis);
}
Expected<Values> read_fake_quantize_channels(Call& call) { return fake_quantize_channels(call, "scale", "zero_point"); }
Expected<Values> read_fake_quant_channels(Call& call) { return fake_quantize_channels(call, "scales", "zero_points"); }

}  // namespace

Family quantize_family() {
  static const OpDef kOps[] = {
      {.op = Op::kQuantize,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kParameter, Role::kParameter},
       .required = 1,
       .infer = infer_quantize,
       .spellings =
           {
               {"quantized_decomposed.quantize_per_tensor", read_quantize},
               {"quantized_decomposed.quantize_per_channel", read_quantize_channels},
           }},
      {.op = Op::kDequantize,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kParameter, Role::kParameter},
       .required = 1,
       .infer = infer_dequantize,
       .spellings =
           {
               {"quantized_decomposed.dequantize_per_tensor", read_dequantize},
               {"quantized_decomposed.dequantize_per_channel", read_dequantize_channels},
           }},
      // What a pair of the two above becomes where both have the same parameters.
      {.op = Op::kFakeQuantize, .flow = QFlow::kPins, .roles = {Role::kData}, .infer = infer_fake_quantize},
      {.op = Op::kRescale, .flow = QFlow::kComputes, .roles = {Role::kData}, .infer = infer_rescale},
  };
  static const Spelling kCompounds[] = {
      {"aten.fake_quantize_per_tensor_affine", read_fake_quantize},
      {"aten.fake_quantize_per_channel_affine", read_fake_quantize_channels},
      {"quantized_decomposed.fake_quant_per_channel", read_fake_quant_channels},
  };
  return {"quantize", kOps, kCompounds};
}

}  // namespace isthmus
