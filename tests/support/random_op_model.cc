// Arguments are drawn until the op takes them.
#include "support/random_op_model.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ops/known.h"
#include "ops/table.h"

namespace isthmus::test {
namespace {

constexpr std::size_t kTriesForOneNode = 200;
constexpr std::int64_t kMaxElements = 4000;
constexpr std::int64_t kWholeNumbers = 2;  // they stay below

bool is_left_out(const OpDef& row) {
  return row.op == Op::kQuantize || row.op == Op::kDequantize || row.op == Op::kRescale || row.op == Op::kChooseScale ||
         row.op == Op::kChooseZeroPoint || row.flow == QFlow::kPins || row.flow == QFlow::kPinsAsItRuns;
}

}  // namespace

Graph RandomOpModel::make() {
  emitter_.begin({}, "v");
  const auto size = [&](std::size_t min, std::size_t count) { return static_cast<std::int64_t>(min + below(count)); };
  const std::int64_t batch = size(1, 2);
  values_.push_back(graph_.add_input("image", {DType::kF32, {batch, 2 * size(1, 4), size(3, 6), size(3, 6)}}));
  values_.push_back(graph_.add_input("row", {DType::kF32, {batch, size(1, 8)}}));
  values_.push_back(graph_.add_input("numbers", {DType::kI64, {size(1, 4)}}));
  const std::size_t nodes = std::min(1 + below(7), max_nodes_);
  for (std::size_t i = 0; i < nodes; ++i) {
    if (const auto grown = grow()) values_.push_back(*grown);
  }
  std::vector<bool> is_read(graph_.values().size(), false);
  for (const Node& node : graph_.nodes()) {
    for (const ValueId input : node.inputs) is_read[input.index] = true;
  }
  for (std::uint32_t i = 0; i < is_read.size(); ++i) {
    if (graph_[ValueId{i}].kind == ValueKind::kResult && !is_read[i]) {
      graph_.add_output({ValueId{i}, OutputKind::kResult, {}});
    }
  }
  return std::move(graph_);
}

std::vector<Tensor> RandomOpModel::inputs(const Graph& graph) {
  std::vector<Tensor> result;
  std::normal_distribution<float> normal(0.2F, 1);
  for (const ValueId input : graph.inputs()) {
    Tensor& tensor = result.emplace_back(graph.type(input).dtype, *fixed_sizes(graph.type(input).shape));
    if (tensor.dtype() == DType::kF32) {
      for (float& number : tensor.mutable_data<float>()) number = normal(random_);
    } else {
      for (std::int64_t& number : tensor.mutable_data<std::int64_t>()) {
        number = static_cast<std::int64_t>(below(kWholeNumbers));
      }
    }
  }
  return result;
}

std::optional<ValueId> RandomOpModel::grow() {
  std::vector<const OpDef*> rows;
  for (const Family& family : families()) {
    for (const OpDef& row : family.ops) {
      if (!is_left_out(row)) rows.push_back(&row);
    }
  }
  const OpDef* row = one_of(rows);
  for (std::size_t i = 0; i < kTriesForOneNode; ++i) {
    // Chains more often than bushes.
    if (const auto grown = try_to_grow(*row, below(3) == 0 ? one_of(values_) : values_.back())) return grown;
  }
  return std::nullopt;
}

std::optional<ValueId> RandomOpModel::try_to_grow(const OpDef& row, ValueId data) {
  std::size_t count = row.required;
  if (row.is_variadic) count += below(3);
  if (row.roles.size() > row.required) count += below(row.roles.size() - row.required + 1);
  std::vector<Argument> arguments;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < count; ++i) {
    const Role role = role_of(row.op, i);
    arguments.push_back(i == 0 && role == Role::kData ? Argument{data} : argument(role, data));
    types.push_back(type(arguments.back()));
  }
  Attrs attrs = attrs_of(row.op, *fixed_sizes(graph_.type(data).shape));
  const auto result = row.infer({graph_.exprs(), types, attrs});
  if (!result) return std::nullopt;
  const auto sizes = fixed_sizes(result->shape);
  if (!sizes || std::accumulate(sizes->begin(), sizes->end(), std::int64_t{1}, std::multiplies()) > kMaxElements) {
    return std::nullopt;
  }
  std::vector<ValueId> inputs;
  for (const Argument& argument : arguments) {
    inputs.push_back(argument.value ? *argument.value : emitter_.constant(argument.constant.view()));
  }
  const auto made = emitter_.emit(row.op, std::move(attrs), std::move(inputs));
  return made ? std::optional(*made) : std::nullopt;
}

RandomOpModel::Argument RandomOpModel::argument(Role role, ValueId data) {
  const Ints sizes = *fixed_sizes(graph_.type(data).shape);
  switch (role) {
    case Role::kData:
      return coin() ? Argument{value_of(graph_.type(data).dtype)} : floats(related(sizes));
    case Role::kIndex:
      return coin() ? Argument{values_[2]} : whole_numbers<std::int64_t>(DType::kI64, related(sizes));
    case Role::kCondition: {
      const auto value = value_of(DType::kBool);
      return value ? Argument{value} : whole_numbers<std::uint8_t>(DType::kBool, related(sizes));
    }
    default:
      return floats(related(sizes));
  }
}

TensorType RandomOpModel::type(const Argument& argument) const {
  if (argument.value) return graph_.type(*argument.value);
  const Ints& sizes = argument.constant.sizes();
  return {argument.constant.dtype(), Shape(sizes.begin(), sizes.end())};
}

std::optional<ValueId> RandomOpModel::value_of(DType dtype) {
  std::vector<ValueId> found;
  for (const ValueId value : values_) {
    if (graph_.type(value).dtype == dtype) found.push_back(value);
  }
  return found.empty() ? std::nullopt : std::optional(one_of(found));
}

RandomOpModel::Argument RandomOpModel::floats(Ints sizes) {
  Tensor tensor(DType::kF32, std::move(sizes));
  const double least = coin() ? 0.1 : -1.5;
  for (float& number : tensor.mutable_data<float>()) number = static_cast<float>(some(least, 1.5));
  return {std::nullopt, std::move(tensor)};
}

template <class Number>
RandomOpModel::Argument RandomOpModel::whole_numbers(DType dtype, Ints sizes) {
  Tensor tensor(dtype, std::move(sizes));
  for (Number& number : tensor.mutable_data<Number>()) number = static_cast<Number>(below(kWholeNumbers));
  return {std::nullopt, std::move(tensor)};
}

Ints RandomOpModel::related(const Ints& sizes) {
  Ints result = sizes;
  switch (below(6)) {
    case 0:
      break;
    case 1:  // one that spreads to it
      for (std::int64_t& size : result) size = coin() ? 1 : size;
      break;
    case 2:  // along one axis
      result = {sizes.empty() ? 1 : one_of(sizes)};
      break;
    case 3:
      result.clear();
      break;
    case 4:  // the weight of a layer: as many inputs, windows of up to 3
      if (result.size() >= 2) {
        result[0] = static_cast<std::int64_t>(1 + below(6));
        if (coin()) result[1] = 1;
        for (std::size_t i = 2; i < result.size(); ++i) result[i] = static_cast<std::int64_t>(1 + below(3));
        if (result.size() == 3 && coin()) result = {result[0], sizes.back()};
      }
      break;
    default:  // a matrix for the last axis
      result = {sizes.empty() ? 1 : sizes.back(), static_cast<std::int64_t>(1 + below(5))};
      if (coin()) std::ranges::reverse(result);
  }
  return result;
}

void RandomOpModel::fill(const char* name, const Ints& sizes, std::int64_t& member) {
  if (std::string_view(name) == "axis" || std::string_view(name) == "axes") {
    member = static_cast<std::int64_t>(below(sizes.size() + 1));
  } else if (coin()) {
    member = static_cast<std::int64_t>(below(4));
  }
}

void RandomOpModel::fill(const char* name, const Ints& sizes, Ints& member) {
  const std::string_view called = name;
  const std::size_t spatial = sizes.size() > 2 ? sizes.size() - 2 : 1;
  const auto numbers = [&](std::size_t count, std::size_t min, std::size_t range) {
    member.resize(count);
    for (std::int64_t& number : member) number = static_cast<std::int64_t>(min + below(range));
  };
  if (called == "axes") {
    member.resize(sizes.size());
    std::iota(member.begin(), member.end(), 0);
    if (coin()) {
      std::ranges::shuffle(member, random_);
    } else {
      std::erase_if(member, [&](std::int64_t) { return coin(); });
    }
  } else if (called == "before" || called == "after") {
    numbers(sizes.size(), 0, 2);
  } else if (called == "padding") {
    numbers(2 * spatial, 0, 2);
  } else {
    numbers(spatial, 1, 3);
  }
}

void RandomOpModel::fill(const char*, const Ints& sizes, Dim& member) {
  member = static_cast<std::int64_t>(below(sizes.empty() ? 1 : static_cast<std::size_t>(one_of(sizes)) + 1));
}

void RandomOpModel::fill(const char* name, const Ints& sizes, Dims& member) {
  if (std::string_view(name) == "size") {
    member.clear();
    for (std::size_t i = 2; i < std::max<std::size_t>(sizes.size(), 3); ++i)
      member.emplace_back(static_cast<std::int64_t>(1 + below(6)));
    return;
  }
  Ints shape = sizes;
  std::ranges::shuffle(shape, random_);
  if (shape.size() > 1 && coin()) {  // two axes in one
    shape[0] *= shape.back();
    shape.pop_back();
  }
  if (coin()) shape = sizes;
  for (std::int64_t& size : shape) size = size == 1 && coin() ? 3 : size;
  if (below(4) == 0) shape.insert(shape.begin(), coin() ? 1 : 2);
  member.assign(shape.begin(), shape.end());
}

void RandomOpModel::fill(const char*, const Ints&, bool& member) { member = coin(); }

void RandomOpModel::fill(const char*, const Ints&, double& member) {
  if (coin()) member = some(-1, 2);
}

void RandomOpModel::fill(const char*, const Ints&, DType& member) {
  member = one_of(std::vector{DType::kF32, DType::kF32, DType::kI64, DType::kI32, DType::kBool, DType::kF64});
}

template <class Enumeration>
void RandomOpModel::fill(const char*, const Ints&, Enumeration& member) {
  if constexpr (std::is_enum_v<Enumeration>) member = static_cast<Enumeration>(below(words(member).size()));
}

Attrs RandomOpModel::attrs_of(Op op, const Ints& sizes) {
  Attrs result = default_attrs(op);
  std::visit(
      [&]<class A>(A& attrs) {
        if constexpr (!std::is_same_v<A, ForeignAttrs>) {
          std::apply([&](const auto&... field) { (fill(field.name, sizes, attrs.*field.member), ...); }, A::fields());
        }
      },
      static_cast<AnyAttrs&>(result));
  return result;
}

}  // namespace isthmus::test
