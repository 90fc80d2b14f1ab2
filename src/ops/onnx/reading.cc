// Attributes and constant inputs of ONNX's operators.
#include "ops/onnx/reading.h"

#include <fmt/format.h>

#include <deque>
#include <unordered_map>

#include "base/onnx_dtype.h"
#include "ops/known.h"
#include "ops/known_sizes.h"
#include "ops/onnx/inputs.h"
#include "ops/table.h"

namespace isthmus::onnx_ops {
namespace {

tl::unexpected<Error> only_when_it_runs(std::string_view name) {
  return Call::unsupported(fmt::format("its {} is known only at run time", name));
}

// Of all rows, by the address of their spelling.
struct Names {
  std::deque<std::vector<Spelling>> spellings;
  std::unordered_map<const Spelling*, std::string_view> inputs;
};
Names& names() {
  static Names instance;
  return instance;
}

}  // namespace

Family family_of(std::string_view name, std::span<const Row> rows) {
  std::vector<Spelling>& spellings = names().spellings.emplace_back();
  spellings.reserve(rows.size());
  for (const Row& row : rows) {
    spellings.push_back({row.name, row.reader});
    names().inputs.emplace(&spellings.back(), row.inputs);
  }
  return {name, {}, spellings};
}

Expected<Dims> sizes(Call& call, std::string_view name, std::optional<Dims> otherwise) {
  const auto tensor = call.tensor_if(name);
  if (!tensor) return call.dims(name, std::move(otherwise));
  auto known = known_sizes(call.graph(), *tensor);
  if (known) return *std::move(known);
  return only_when_it_runs(name);
}

Expected<Ints> integers(Call& call, std::string_view name, std::optional<Ints> otherwise) {
  if (!call.has(name) && otherwise) return *std::move(otherwise);
  Ints result;
  for (const Dim dim : TRY(sizes(call, name))) {
    if (!dim.is_fixed()) return only_when_it_runs(name);
    result.push_back(dim.value());
  }
  return result;
}

Expected<std::int64_t> integer(Call& call, std::string_view name, std::optional<std::int64_t> otherwise) {
  if (!call.has(name) && otherwise) return *otherwise;
  const Ints all = TRY(integers(call, name));
  if (all.size() == 1) return all.front();
  return bad_input(fmt::format("{}: {} has {} values, expected 1", call.target(), name, all.size()));
}

Expected<std::vector<double>> numbers(Call& call, std::string_view name, std::optional<std::vector<double>> otherwise) {
  const auto tensor = call.tensor_if(name);
  if (!tensor) return call.numbers(name, std::move(otherwise));
  auto known = known_numbers(call.graph(), *tensor);
  if (known) return *std::move(known);
  return only_when_it_runs(name);
}

Expected<double> number(Call& call, std::string_view name, std::optional<double> otherwise) {
  if (!call.tensor_if(name)) return call.number(name, otherwise);
  const std::vector<double> all = TRY(numbers(call, name));
  if (all.size() == 1) return all.front();
  return bad_input(fmt::format("{}: {} has {} values, expected 1", call.target(), name, all.size()));
}

Expected<DType> dtype(const Call& call, std::string_view name, std::optional<DType> otherwise) {
  if (!call.has(name) && otherwise) return *otherwise;
  return dtype_from_onnx(TRY(call.integer(name)));
}

Expected<ValueId> tensor_of_sizes(Call& call, const Dims& sizes) {
  if (const auto fixed = fixed_sizes(sizes)) return call.integers(*fixed);
  Values parts;
  for (const Dim size : sizes) {
    if (size.is_fixed()) {
      parts.push_back(call.integers({size.value()}));
    } else {
      // The only element of a range that begins there.
      const ArangeAttrs attrs{size, call.exprs().add(size, 1), 1, DType::kI64};
      parts.push_back(TRY(call.emit(Op::kArange, attrs, {})));
    }
  }
  return call.cat(std::move(parts), 0);
}

ArgValue& TorchCall::add(std::string name) {
  attrs_.args.emplace_back();
  attrs_.args.back().name = std::move(name);
  return attrs_.args.back().value;
}
template <class Item>
TorchCall& TorchCall::add_list(std::string name, const std::vector<Item>& items) {
  auto& list = add(std::move(name)).value.emplace<std::vector<ArgValue>>(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) list[i].value = items[i];
  return *this;
}

TorchCall& TorchCall::tensor(std::string name, std::optional<ValueId> value) {
  if (!value) return *this;
  add(std::move(name)).value = TensorArg{};
  inputs_.push_back(*value);
  return *this;
}
TorchCall& TorchCall::tensors(std::string name, const Values& values) {
  add_list(std::move(name), std::vector<TensorArg>(values.size()));
  inputs_.insert(inputs_.end(), values.begin(), values.end());
  return *this;
}
TorchCall& TorchCall::integer(std::string name, Dim value) {
  add(std::move(name)).value = value;
  return *this;
}
TorchCall& TorchCall::integers(std::string name, const Dims& values) { return add_list(std::move(name), values); }
TorchCall& TorchCall::number(std::string name, double value) {
  add(std::move(name)).value = value;
  return *this;
}
TorchCall& TorchCall::numbers(std::string name, const std::vector<double>& values) {
  return add_list(std::move(name), values);
}
TorchCall& TorchCall::flag(std::string name, bool value) {
  add(std::move(name)).value = value;
  return *this;
}
TorchCall& TorchCall::text(std::string name, std::string value) {
  add(std::move(name)).value = std::move(value);
  return *this;
}
TorchCall& TorchCall::dtype(std::string name, DType value) {
  add(std::move(name)).value = value;
  return *this;
}

TorchCall& TorchCall::attributes() {
  for (const Arg& arg : call_.attrs().args) {
    const auto* list = std::get_if<std::vector<ArgValue>>(&arg.value.value);
    const bool has_tensors =
        std::holds_alternative<TensorArg>(arg.value.value) ||
        (list != nullptr && !list->empty() && std::holds_alternative<TensorArg>(list->front().value));
    if (!has_tensors) attrs_.args.push_back(arg);
  }
  return *this;
}

bool TorchCall::is_known() const { return find_spelling(attrs_.target).spelling != nullptr; }

Expected<Values> TorchCall::read() {
  Call inner(call_, attrs_, std::move(inputs_), std::vector<TensorType>(results_));
  return find_spelling(attrs_.target).spelling->reader(inner);
}

Expected<ValueId> TorchCall::read_one() { return TRY(read()).front(); }

Expected<ValueId> with_rank(Call& call, ValueId value, std::int64_t leading, std::int64_t trailing) {
  Shape shape(static_cast<std::size_t>(leading), Dim(1));
  const Shape own = call.shape(value);
  shape.insert(shape.end(), own.begin(), own.end());
  shape.insert(shape.end(), static_cast<std::size_t>(trailing), Dim(1));
  return call.reshape(value, std::move(shape));
}

Expected<ValueId> scalar_like(Call& call, double value, ValueId like) {
  return call.scalar(value, call.type(like).dtype);
}

}  // namespace isthmus::onnx_ops

namespace isthmus {

std::string_view onnx_inputs(std::string_view target) {
  const Spelling* spelling = find_spelling(target).spelling;
  const auto found = onnx_ops::names().inputs.find(spelling);
  return found == onnx_ops::names().inputs.end() ? std::string_view() : found->second;
}

}  // namespace isthmus
