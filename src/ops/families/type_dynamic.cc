// Dynamic quantization: parameters that are chosen as the model runs, for a tensor or for each of its rows; and groups
// of a row that have parameters of their own.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/integer_range.h"

namespace isthmus {
namespace {

bool has_rows(ScaleChoice choice) { return choice == ScaleChoice::kRows || choice == ScaleChoice::kRowsSymmetric; }

Expected<void> check_dynamic(const InferContext& context) {
  const auto& attrs = context.as<DynamicAttrs>();
  TRY(demand(Numbers::kFloats, context.inputs[0]));
  TRY(check_range({attrs.min, attrs.max}, attrs.dtype));
  if (has_rows(attrs.choice) && context.inputs[0].rank() == 0) return bad_input("a 0-d tensor has no rows");
  if (!(attrs.eps >= 0) || !std::isfinite(attrs.eps)) return bad_input("eps is NaN, infinite or negative");
  return {};
}

// One for the tensor, or one for each row.
template <DType kType>
Expected<TensorType> infer_choice(const InferContext& context) {
  TRY(check_dynamic(context));
  TensorType result{kType, {Dim(1)}};
  if (!has_rows(context.as<DynamicAttrs>().choice)) return result;
  result.shape = context.inputs[0].shape;
  result.shape.back() = Dim(1);
  return result;
}

Expected<TensorType> infer_dynamic_quantize(const InferContext& context) {
  TRY(check_dynamic(context));
  return context.inputs[0];
}

Expected<Values> choose(Call& call, const DynamicAttrs& attrs) {
  const ValueId input = TRY(call.tensor("input"));
  const ValueId scale = TRY(call.emit(Op::kChooseScale, attrs, {input}));
  return std::vector<ValueId>{scale, TRY(call.emit(Op::kChooseZeroPoint, attrs, {input}))};
}

template <ScaleChoice kChoice>
Expected<Values> read_choice_of_tensor(Call& call) {
  const DType dtype = TRY(call.dtype("dtype"));
  const IntegerRange all = integer_range(dtype);
  const std::int64_t min = TRY(call.integer("quant_min", all.min));
  const std::int64_t max = TRY(call.integer("quant_max", all.max));
  return choose(call, {kChoice, min, max, TRY(call.number("eps", 0.0)), dtype});
}

// Of int8, whatever else is asked for.
Expected<Values> read_choice_of_rows(Call& call) {
  return choose(call, {ScaleChoice::kRows, -128, 127, std::ldexp(1.0, -23), DType::kI8});
}
Expected<Values> read_symmetric_choice_of_rows(Call& call) {
  if (TRY(call.dtype("dtype")) != DType::kI8)
    return Call::unsupported("dynamic quantization per row is supported only to int8");
  return choose(call, {ScaleChoice::kRowsSymmetric, -127, 127, 1e-5 / 127, DType::kI8});
}

// Numbers in rows of equal length, each of which has parameters of its own.
struct Rows {
  ValueId numbers;
  ValueId scales;
  ValueId zero_points;
};
Expected<Rows> rows_of(Call& call, ValueId input, Dim length) {
  const Shape shape = call.shape(input);
  const auto count = call.exprs().divide_exactly(call.exprs().product(shape), length);
  if (shape.empty() || !count) return bad_input("the last axis is not divisible by the group size");
  const ValueId numbers = TRY(call.reshape(input, {*count, length}));
  const ValueId scales = TRY(call.reshape(TRY(call.tensor("scales")), {*count}));
  const auto given = call.tensor_if("zero_points");
  if (!given) return Rows{numbers, scales, TRY(filled(call, 0, DType::kI64, {*count}))};
  return Rows{numbers, scales, TRY(call.cast(TRY(call.reshape(*given, {*count})), DType::kI64))};
}

Expected<Values> quantize_rows(Call& call, ValueId input, Dim length) {
  const DType dtype = TRY(call.dtype("dtype"));
  const QuantizeAttrs attrs{0, TRY(call.integer("quant_min")), TRY(call.integer("quant_max")), dtype};
  const Rows rows = TRY(rows_of(call, input, length));
  const ValueId quantized = TRY(call.emit(Op::kQuantize, attrs, {rows.numbers, rows.scales, rows.zero_points}));
  return one(call.reshape(quantized, call.shape(input)));
}
Expected<Values> dequantize_rows(Call& call, ValueId input, Dim length) {
  const DequantizeAttrs attrs{0, TRY(call.dtype("output_dtype", DType::kF32))};
  const Rows rows = TRY(rows_of(call, input, length));
  const ValueId numbers = TRY(call.emit(Op::kDequantize, attrs, {rows.numbers, rows.scales, rows.zero_points}));
  return one(call.reshape(numbers, call.shape(input)));
}

using OfRows = Expected<Values> (*)(Call& call, ValueId input, Dim length);

template <OfRows kConvert>
Expected<Values> read_rows(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  if (call.rank(input) == 0) return bad_input("a 0-d tensor has no rows");
  return kConvert(call, input, call.size(input, call.rank(input) - 1));
}

// Of a row that is shorter than a group, all.
template <OfRows kConvert>
Expected<Values> read_groups(Call& call) {
  const ValueId input = TRY(call.tensor(call.has("w_int8") ? "w_int8" : "input"));
  if (call.rank(input) != 2) return bad_input("group quantization needs a 2-d tensor");
  const Dim length = call.size(input, 1);
  const std::int64_t group = TRY(call.integer("group_size", 128));
  if (group < 1) return bad_input("the group size is 0");
  const bool is_short = length.is_fixed() && length.value() < group;
  return kConvert(call, input, is_short ? length : Dim(group));
}

}  // namespace

Family dynamic_family() {
  static const OpDef kOps[] = {
      {.op = Op::kChooseScale, .flow = QFlow::kComputes, .roles = {Role::kData}, .infer = infer_choice<DType::kF64>},
      {.op = Op::kChooseZeroPoint,
       .flow = QFlow::kComputes,
       .roles = {Role::kData},
       .infer = infer_choice<DType::kI64>},
      // What quantizing and dequantizing with such parameters becomes.
      {.op = Op::kDynamicQuantize,
       .flow = QFlow::kPinsAsItRuns,
       .roles = {Role::kData},
       .infer = infer_dynamic_quantize},
  };
  static const Spelling kCompounds[] = {
      {"quantized_decomposed.choose_qparams", read_choice_of_tensor<ScaleChoice::kTensor>},
      {"quantized_decomposed.choose_qparams_symmetric", read_choice_of_tensor<ScaleChoice::kTensorSymmetric>},
      {"quantized_decomposed.choose_qparams_per_token", read_symmetric_choice_of_rows},
      {"quantized_decomposed.choose_qparams_per_token_asymmetric", read_choice_of_rows},
      {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl", read_choice_of_rows},
      {"quantized_decomposed.quantize_per_token", read_rows<quantize_rows>},
      {"quantized_decomposed.dequantize_per_token", read_rows<dequantize_rows>},
      {"quantized_decomposed.quantize_per_channel_group", read_groups<quantize_rows>},
      {"quantized_decomposed.dequantize_per_channel_group", read_groups<dequantize_rows>},
  };
  return {"dynamic", kOps, kCompounds};
}

}  // namespace isthmus
