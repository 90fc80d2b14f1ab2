// Looks up and converts the arguments of a call.
#include "ops/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"

namespace isthmus {
namespace {

std::size_t tensors_in(const ArgValue& value) {
  if (std::holds_alternative<TensorArg>(value.value)) return 1;
  std::size_t count = 0;
  if (const auto* list = std::get_if<std::vector<ArgValue>>(&value.value)) {
    for (const ArgValue& item : *list) count += tensors_in(item);
  }
  return count;
}

bool is_same_name(std::string_view wanted, std::string_view given) {
  return wanted == given || (wanted == "self" && given == "input") || (wanted == "input" && given == "self");
}

std::optional<Dim> dim_of(const ArgValue& value) {
  if (const auto* dim = std::get_if<Dim>(&value.value)) return *dim;
  if (const auto* boolean = std::get_if<bool>(&value.value)) return Dim(*boolean ? 1 : 0);
  return std::nullopt;
}

std::optional<double> number_of(const ArgValue& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  const auto dim = dim_of(value);
  if (dim && dim->is_fixed()) return static_cast<double>(dim->value());
  return std::nullopt;
}

}  // namespace

Call::Call(Graph& graph, const ForeignAttrs& attrs, std::vector<ValueId> inputs, std::vector<TensorType> results)
    : Emitter(graph), attrs_(attrs), inputs_(std::move(inputs)), results_(std::move(results)) {
  note_slots();
}

Call::Call(const Call& like, const ForeignAttrs& attrs, std::vector<ValueId> inputs, std::vector<TensorType> results)
    : Emitter(like), attrs_(attrs), inputs_(std::move(inputs)), results_(std::move(results)) {
  note_slots();
}

void Call::note_slots() {
  std::size_t next = 0;
  for (const Arg& arg : attrs_.args) {
    slots_.push_back({&arg, next});
    next += tensors_in(arg.value);
  }
}

const Call::Slot* Call::slot(std::string_view name) const {
  for (const Slot& candidate : slots_) {
    if (!is_same_name(name, candidate.arg->name)) continue;
    return std::holds_alternative<NoneArg>(candidate.arg->value.value) ? nullptr : &candidate;
  }
  return nullptr;
}

const ArgValue* Call::find(std::string_view name) const {
  const Slot* found = slot(name);
  return found == nullptr ? nullptr : &found->arg->value;
}

tl::unexpected<Error> Call::wrong(std::string_view name, std::string_view expected) const {
  const ArgValue* found = find(name);
  return bad_input(fmt::format("{}: argument {} is {}, expected {}", target(), name,
                               found == nullptr ? "absent" : arg_text(const_cast<Call*>(this)->graph(), *found),
                               expected));
}

bool Call::has(std::string_view name) const { return slot(name) != nullptr; }

std::optional<ValueId> Call::tensor_if(std::string_view name) const {
  const Slot* found = slot(name);
  if (found == nullptr || !std::holds_alternative<TensorArg>(found->arg->value.value)) return std::nullopt;
  return inputs_[found->first_input];
}

Expected<ValueId> Call::tensor(std::string_view name) const {
  const auto found = tensor_if(name);
  if (!found) return wrong(name, "a tensor");
  return *found;
}

Expected<std::vector<std::optional<ValueId>>> Call::optional_tensors(std::string_view name) const {
  const Slot* found = slot(name);
  if (found == nullptr) return wrong(name, "a list of tensors");
  const auto* list = std::get_if<std::vector<ArgValue>>(&found->arg->value.value);
  if (list == nullptr) return wrong(name, "a list of tensors");
  std::vector<std::optional<ValueId>> result;
  std::size_t next = found->first_input;
  for (const ArgValue& item : *list) {
    if (std::holds_alternative<TensorArg>(item.value)) {
      result.emplace_back(inputs_[next++]);
    } else if (std::holds_alternative<NoneArg>(item.value)) {
      result.emplace_back();
    } else {
      return wrong(name, "a list of tensors");
    }
  }
  return result;
}

Expected<std::vector<ValueId>> Call::tensors(std::string_view name) const {
  std::vector<ValueId> result;
  for (const auto& item : TRY(optional_tensors(name))) {
    if (!item) return wrong(name, "a list of tensors without None");
    result.push_back(*item);
  }
  return result;
}

Expected<Dim> Call::dim(std::string_view name, std::optional<Dim> otherwise) const {
  const ArgValue* found = find(name);
  if (found == nullptr && otherwise) return *otherwise;
  const auto result = found == nullptr ? std::nullopt : dim_of(*found);
  if (!result) return wrong(name, "an integer");
  return *result;
}

Expected<std::int64_t> Call::integer(std::string_view name, std::optional<std::int64_t> otherwise) const {
  const Dim result = TRY(dim(name, otherwise ? std::optional(Dim(*otherwise)) : std::nullopt));
  if (!result.is_fixed()) return wrong(name, "an integer that is known at compile time");
  return result.value();
}

Expected<std::vector<Dim>> Call::dims(std::string_view name, std::optional<std::vector<Dim>> otherwise) const {
  const ArgValue* found = find(name);
  if (found == nullptr && otherwise) return *otherwise;
  if (found == nullptr) return wrong(name, "a list of integers");
  if (const auto single = dim_of(*found)) return std::vector<Dim>{*single};
  const auto* list = std::get_if<std::vector<ArgValue>>(&found->value);
  if (list == nullptr) return wrong(name, "a list of integers");
  std::vector<Dim> result;
  for (const ArgValue& item : *list) {
    const auto element = dim_of(item);
    if (!element) return wrong(name, "a list of integers");
    result.push_back(*element);
  }
  return result;
}

Expected<std::vector<std::int64_t>> Call::integers(std::string_view name,
                                                   std::optional<std::vector<std::int64_t>> otherwise) const {
  if (!has(name) && otherwise) return *otherwise;
  std::vector<std::int64_t> result;
  for (const Dim dim : TRY(dims(name))) {
    if (!dim.is_fixed()) return wrong(name, "integers that are known at compile time");
    result.push_back(dim.value());
  }
  return result;
}

Expected<double> Call::number(std::string_view name, std::optional<double> otherwise) const {
  const ArgValue* found = find(name);
  if (found == nullptr && otherwise) return *otherwise;
  const auto result = found == nullptr ? std::nullopt : number_of(*found);
  if (!result) return wrong(name, "a number");
  return *result;
}

Expected<std::vector<double>> Call::numbers(std::string_view name, std::optional<std::vector<double>> otherwise) const {
  const ArgValue* found = find(name);
  if (found == nullptr && otherwise) return *otherwise;
  const auto* list = found == nullptr ? nullptr : std::get_if<std::vector<ArgValue>>(&found->value);
  if (list == nullptr) return wrong(name, "a list of numbers");
  std::vector<double> result;
  for (const ArgValue& item : *list) {
    const auto element = number_of(item);
    if (!element) return wrong(name, "a list of numbers");
    result.push_back(*element);
  }
  return result;
}

Expected<bool> Call::flag(std::string_view name, std::optional<bool> otherwise) const {
  const ArgValue* found = find(name);
  if (found == nullptr && otherwise) return *otherwise;
  const auto result = found == nullptr ? std::nullopt : dim_of(*found);
  if (!result || !result->is_fixed()) return wrong(name, "true or false");
  return result->value() != 0;
}

Expected<std::string> Call::text(std::string_view name, std::optional<std::string> otherwise) const {
  const ArgValue* found = find(name);
  if (found == nullptr && otherwise) return *otherwise;
  const auto* result = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  if (result == nullptr) return wrong(name, "a string");
  return *result;
}

Expected<DType> Call::dtype(std::string_view name, std::optional<DType> otherwise) const {
  const ArgValue* found = find(name);
  if (found == nullptr && otherwise) return *otherwise;
  const auto* result = found == nullptr ? nullptr : std::get_if<DType>(&found->value);
  if (result == nullptr) return wrong(name, "an element type");
  return *result;
}

Expected<std::int64_t> Call::axis(std::string_view name, std::int64_t rank,
                                  std::optional<std::int64_t> otherwise) const {
  return normal_axis(TRY(integer(name, otherwise)), rank);
}

bool Call::is_scalar(std::string_view name) const {
  const ArgValue* found = find(name);
  return found != nullptr && (number_of(*found).has_value() || dim_of(*found).has_value());
}

bool Call::is_float_scalar(std::string_view name) const {
  const ArgValue* found = find(name);
  return found != nullptr && std::holds_alternative<double>(found->value);
}

Expected<ValueId> Call::operand(std::string_view name, DType wanted) {
  if (const auto value = tensor_if(name)) return cast(*value, wanted);
  const ArgValue* found = find(name);
  if (found == nullptr) return wrong(name, "a tensor or a number");
  if (const auto* number = std::get_if<double>(&found->value)) return scalar(*number, wanted);
  const auto integer = dim_of(*found);
  if (!integer) return wrong(name, "a tensor or a number");
  if (integer->is_fixed()) return scalar(integer->value(), wanted);
  // A symbolic size used as a number: the only element of a range that begins there.
  const Dim end = exprs().add(*integer, 1);
  const ValueId range = TRY(emit(Op::kArange, ArangeAttrs{*integer, end, 1, DType::kI64}, {}));
  return cast(TRY(reshape(range, {})), wanted);
}

DType promoted(DType a, bool a_is_weak, DType b, bool b_is_weak) {
  const auto category = [](DType dtype) {
    return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : dtype == DType::kBool ? 0 : 1;
  };
  if (a == b) return a;
  if (category(a) != category(b)) {
    const bool a_wins = category(a) > category(b);
    const DType winner = a_wins ? a : b;
    // A weak operand lifts the category but brings no width of its own.
    if (a_wins ? a_is_weak && !b_is_weak : b_is_weak && !a_is_weak) {
      if (winner == DType::kF64) return DType::kF32;
    }
    return winner;
  }
  if (a_is_weak != b_is_weak) return a_is_weak ? b : a;
  if (is_floating(a)) {
    if (size_of(a) == size_of(b)) return DType::kF32;  // f16 with bf16
    return size_of(a) > size_of(b) ? a : b;
  }
  const bool a_is_signed = info(a).kind == DTypeClass::kSigned;
  const bool b_is_signed = info(b).kind == DTypeClass::kSigned;
  if (a_is_signed == b_is_signed) return size_of(a) > size_of(b) ? a : b;
  const DType signed_one = a_is_signed ? a : b;
  const DType unsigned_one = a_is_signed ? b : a;
  if (size_of(signed_one) > size_of(unsigned_one)) return signed_one;
  switch (size_of(unsigned_one)) {
    case 1:
      return DType::kI16;
    case 2:
      return DType::kI32;
    default:
      return DType::kI64;
  }
}

}  // namespace isthmus
