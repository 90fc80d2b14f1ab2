// Promotion of types, inference and readers that the element-wise families share.
#include "ops/elementwise.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "ops/demands.h"

namespace isthmus {
namespace {

// Tensors with axes, 0-d tensors, numbers.
using Groups = std::array<std::optional<DType>, 3>;

void join(std::optional<DType>& group, DType dtype) { group = group ? promoted(*group, false, dtype, false) : dtype; }

int category(DType dtype) {
  if (is_complex(dtype)) return 3;
  if (is_floating(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

Expected<void> add_argument(const Call& call, std::string_view name, Groups& groups) {
  if (const auto tensor = call.tensor_if(name)) {
    const TensorType& type = call.type(*tensor);
    join(groups[type.shape.empty() ? 1 : 0], type.dtype);
    return {};
  }
  const ArgValue* value = call.find(name);
  if (value == nullptr) return {};
  if (std::holds_alternative<bool>(value->value)) {
    join(groups[2], DType::kBool);
  } else if (std::holds_alternative<Dim>(value->value)) {
    join(groups[2], DType::kI64);
  } else if (std::holds_alternative<double>(value->value)) {
    join(groups[2], DType::kF32);
  } else if (std::holds_alternative<std::complex<double>>(value->value)) {
    return Call::unsupported("complex arithmetic is not supported");
  } else {
    return bad_input(fmt::format("{}: argument {} is neither a tensor nor a number", call.target(), name));
  }
  return {};
}

// Whether a number is exact in half precision; the smallest ones are never said to be.
bool is_exact(double number, DType dtype) {
  const auto value = static_cast<float>(number);
  if (value == 0 || !std::isfinite(value)) return true;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (dtype == DType::kBF16) return (bits & 0xffffu) == 0;
  return (bits & 0x1fffu) == 0 && std::abs(value) <= 65504 && std::abs(value) >= 0x1p-14F;
}

}  // namespace

Expected<void> demand(Numbers numbers, const TensorType& type) {
  TRY(demand_numbers(type));
  const auto wrong = [&](std::string_view expected) {
    return bad_input(fmt::format("the input is {}, expected {}", name_of(type.dtype), expected));
  };
  switch (numbers) {
    case Numbers::kAll:
      return {};
    case Numbers::kNoBool:
      if (type.dtype == DType::kBool) return wrong("numbers");
      return {};
    case Numbers::kFloats:
      if (!is_floating(type.dtype)) return wrong("floats");
      return {};
    case Numbers::kIntegers:
      if (!is_integer(type.dtype)) return wrong("integers");
      return {};
    case Numbers::kBools:
      if (type.dtype != DType::kBool) return wrong("bool");
      return {};
  }
  return {};
}

Expected<TensorType> infer_broadcast(Numbers numbers, const InferContext& context) {
  const TensorType& a = context.inputs[0];
  const TensorType& b = context.inputs[1];
  TRY(demand(numbers, a));
  TRY(demand_same_dtype(a, b));
  return TensorType{a.dtype, TRY(broadcast(context.exprs, a.shape, b.shape))};
}

Expected<DType> common_dtype(const Call& call, std::initializer_list<std::string_view> names) {
  Groups groups;
  for (const std::string_view name : names) TRY(add_argument(call, name, groups));
  std::optional<DType> result;
  for (const std::optional<DType>& group : groups) {
    if (!group) continue;
    if (!result) {
      result = group;
    } else if (category(*group) > category(*result)) {
      result = promoted(*result, false, *group, false);
    }
  }
  if (!result) return bad_input(fmt::format("{}: the argument is neither a tensor nor a number", call.target()));
  TRY(demand(Numbers::kAll, {*result, {}}));
  return *result;
}

DType scalar_dtype(const Call& call, DType dtype, std::initializer_list<std::string_view> names) {
  if (dtype != DType::kF16 && dtype != DType::kBF16) return dtype;
  for (const std::string_view name : names) {
    const auto number = call.number(name, 0);
    if (call.is_scalar(name) && number && !is_exact(*number, dtype)) return DType::kF32;
  }
  return dtype;
}

Expected<ValueId> filled(Emitter& emitter, double value, DType dtype, Shape shape) {
  TRY(demand(Numbers::kAll, {dtype, {}}));
  return emitter.expand(emitter.scalar(value, dtype), std::move(shape));
}

Expected<ValueId> float_self(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  TRY(demand(Numbers::kAll, call.type(self)));
  return call.cast(self, as_float(call.type(self).dtype));
}

Expected<std::vector<ValueId>> read_promoted(Call& call, Op op) {
  const DType dtype = TRY(common_dtype(call, {"self", "other"}));
  const ValueId a = TRY(call.operand("self", dtype));
  return one(call.binary(op, a, TRY(call.operand("other", dtype))));
}

Expected<std::vector<ValueId>> read_promoted_float(Call& call, Op op) {
  const DType dtype = as_float(TRY(common_dtype(call, {"self", "other"})));
  const ValueId a = TRY(call.operand("self", dtype));
  return one(call.binary(op, a, TRY(call.operand("other", dtype))));
}

}  // namespace isthmus
