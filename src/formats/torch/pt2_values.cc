// Reads symbolic scalars, element types and descriptions of tensors from an exported program's JSON.
#include "formats/torch/pt2_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace isthmus::pt2 {
namespace {

// The numbers of the export schema, which are not those of c10::ScalarType.
constexpr std::pair<std::int64_t, DType> kScalarTypes[] = {
    {1, DType::kU8},          {2, DType::kI8},          {3, DType::kI16},        {4, DType::kI32},
    {5, DType::kI64},         {6, DType::kF16},         {7, DType::kF32},        {8, DType::kF64},
    {9, DType::kC32},         {10, DType::kC64},        {11, DType::kC128},      {12, DType::kBool},
    {13, DType::kBF16},       {28, DType::kU16},        {29, DType::kF8E4M3FN},  {30, DType::kF8E5M2},
    {31, DType::kF8E4M3FNUZ}, {32, DType::kF8E5M2FNUZ}, {33, DType::kF8E8M0FNU}, {34, DType::kU32},
    {35, DType::kU64},
};

// {"expr_str": "...", "hint": {"as_int": 3}}; hints of floats and bools are of no use.
Expected<SymExpr> read_expression(json::Value value) {
  SymExpr expression{TRY(read_text(TRY(value.get("expr_str")))), std::nullopt};
  const auto hint = TRY(value.find("hint"));
  if (!hint) return expression;
  const json::Value number = TRY(hint->only_member());
  if (number.key() == "as_int") expression.hint = TRY(number.as_integer());
  return expression;
}

}  // namespace

Expected<std::string> read_text(json::Value value) { return std::string(TRY(value.as_text())); }

Expected<DType> read_dtype(json::Value value) {
  const std::int64_t number = TRY(value.as_integer());
  const auto* const row = std::ranges::find(kScalarTypes, number, &std::pair<std::int64_t, DType>::first);
  if (row == std::end(kScalarTypes)) return value.expected("the number of a known element type");
  return row->second;
}

Expected<Layout> read_layout(json::Value value) {
  const std::int64_t number = TRY(value.as_integer());
  if (number < 0 || number > static_cast<std::int64_t>(Layout::kStrided))
    return value.expected("the number of a layout");
  return static_cast<Layout>(number);
}

Expected<Device> read_device(json::Value value) {
  Device device;
  device.type = TRY(read_text(TRY(value.get("type"))));
  if (const auto index = TRY(value.find("index"))) device.index = TRY(index->as_integer());
  return device;
}

Expected<SymInt> read_sym_int(json::Value value) {
  const json::Value form = TRY(value.only_member());
  if (form.key() == "as_int") return SymInt(std::in_place_type<std::int64_t>, TRY(form.as_integer()));
  if (form.key() == "as_name") return SymInt(SymName{TRY(read_text(form))});
  if (form.key() == "as_expr") return SymInt(TRY(read_expression(form)));
  return form.error("expected as_int, as_name or as_expr");
}

Expected<SymExpr> read_sym_text(json::Value value) {
  const json::Value form = TRY(value.only_member());
  if (form.key() == "as_expr") return read_expression(form);
  if (form.key() == "as_bool") return SymExpr{TRY(form.as_bool()) ? "True" : "False", std::nullopt};
  if (form.key() == "as_float" && form.kind() == json::Kind::kString)
    return SymExpr{TRY(read_text(form)), std::nullopt};
  if (form.key() == "as_float") return SymExpr{fmt::format("{}", TRY(form.as_number())), std::nullopt};
  return form.error("expected as_expr, as_float or as_bool");
}

Expected<TensorMeta> read_tensor_meta(json::Value value) {
  TensorMeta meta;
  meta.dtype = TRY(read_dtype(TRY(value.get("dtype"))));
  meta.sizes = TRY(json::read_each(TRY(value.get("sizes")), read_sym_int));
  meta.strides = TRY(json::read_each(TRY(value.get("strides")), read_sym_int));
  meta.storage_offset = TRY(read_sym_int(TRY(value.get("storage_offset"))));
  if (const auto grad = TRY(value.find("requires_grad"))) meta.requires_grad = TRY(grad->as_bool());
  if (const auto device = TRY(value.find("device"))) meta.device = TRY(read_device(*device));
  if (const auto layout = TRY(value.find("layout"))) meta.layout = TRY(read_layout(*layout));
  return meta;
}

}  // namespace isthmus::pt2
