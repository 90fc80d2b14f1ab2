// Building and looking up.
#include "ir/graph.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <limits>
#include <utility>

namespace isthmus {

std::uint64_t Constant::content_hash() const {
  if (hash) return *hash;
  CHECK(data.has_value(), "a constant without data and without a hash");
  const Blob bytes = contiguous_bytes(*data);
  // The type and shape are part of it: the same bytes as another type are another constant.
  std::string header(name_of(data->dtype));
  for (const std::int64_t size : data->sizes) header += fmt::format(",{}", size);
  return XXH3_64bits_withSeed(bytes.bytes().data(), bytes.size(), XXH3_64bits(header.data(), header.size()));
}

void Graph::reserve_like(const Graph& other) {
  values_.reserve(other.values_.size());
  nodes_.reserve(other.nodes_.size());
  constants_.reserve(other.constants_.size());
  by_name_.reserve(other.values_.size());
}

ValueId Graph::add_value(std::string name, TensorType type, ValueKind kind, std::size_t index) {
  CHECK(is_value_name(name), "'" + name + "' is not a name of a value");
  CHECK(values_.size() < std::numeric_limits<std::uint32_t>::max(), "too many values");
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  CHECK(!find(name), "two values are named " + name);
  by_name_.add(name, id);
  values_.push_back({std::move(name), std::move(type), kind, static_cast<std::uint32_t>(index)});
  return id;
}

ValueId Graph::add_input(std::string name, TensorType type) {
  inputs_.push_back(add_value(std::move(name), std::move(type), ValueKind::kInput, inputs_.size()));
  return inputs_.back();
}

ValueId Graph::add_state(std::string name, TensorType type, Constant initial) {
  const ValueId id = add_value(std::move(name), std::move(type), ValueKind::kState, states_.size());
  states_.push_back({id, std::move(initial)});
  return id;
}

void Graph::make_state(ValueId constant) {
  Value& value = values_[constant.index];
  CHECK(value.kind == ValueKind::kConstant, "%" + value.name + " is not a constant");
  states_.push_back({constant, std::exchange(constants_[value.index], {})});
  value.kind = ValueKind::kState;
  value.index = static_cast<std::uint32_t>(states_.size() - 1);
}

void Graph::forget_mutation(ValueId unchanged) {
  Value& value = values_[unchanged.index];
  std::erase_if(outputs_, [&](const Output& output) {
    return output.kind == OutputKind::kMutation && output.target == value.name;
  });
  if (value.kind != ValueKind::kState) return;
  const std::uint32_t gone = value.index;
  constants_.push_back(std::move(states_[gone].initial));
  value.kind = ValueKind::kConstant;
  value.index = static_cast<std::uint32_t>(constants_.size() - 1);
  states_.erase(states_.begin() + gone);
  for (std::uint32_t i = gone; i < states_.size(); ++i) values_[states_[i].value.index].index = i;
}

ValueId Graph::add_constant(std::string name, TensorType type, Constant constant) {
  constants_.push_back(std::move(constant));
  return add_value(std::move(name), std::move(type), ValueKind::kConstant, constants_.size() - 1);
}

ValueId Graph::add_constant(std::string name, TensorView data, std::string fqn) {
  TensorType type{data.dtype, Shape(data.sizes.begin(), data.sizes.end())};
  return add_constant(std::move(name), std::move(type), Constant{std::move(fqn), std::move(data), std::nullopt});
}

NodeId Graph::add_node(Op op, Attrs attrs, std::vector<ValueId> inputs, std::vector<Result> results, Origin origin) {
  for (const ValueId input : inputs) CHECK(input.index < values_.size(), "an input that does not exist");
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  std::vector<ValueId> outputs;
  outputs.reserve(results.size());
  for (Result& result : results) {
    outputs.push_back(add_value(std::move(result.name), std::move(result.type), ValueKind::kResult, id.index));
  }
  nodes_.push_back({op, std::move(attrs), std::move(inputs), std::move(outputs), std::move(origin), false});
  return id;
}

void Graph::add_output(Output output) { outputs_.push_back(std::move(output)); }

void Graph::rename(ValueId id, std::string name) {
  Value& value = values_[id.index];
  if (value.name == name) return;
  CHECK(is_value_name(name) && !find(name), "'" + name + "' cannot be the name of another value");
  by_name_.remove(value.name, id);
  by_name_.add(name, id);
  value.name = std::move(name);
}

std::string Graph::unused_name(std::string_view stem) const {
  if (!find(stem)) return std::string(stem);
  const auto name = [&](std::size_t number) { return fmt::format("{}.{}", stem, number); };
  // Numbers are mostly taken without gaps: the first free one is found in as many steps as it has digits.
  std::size_t taken = 1;
  std::size_t free = 2;
  while (find(name(free))) {
    taken = free;
    free *= 2;
  }
  while (free - taken > 1) {
    const std::size_t middle = taken + (free - taken) / 2;
    (find(name(middle)) ? taken : free) = middle;
  }
  return name(free);
}

std::optional<ValueId> Graph::find(std::string_view name) const {
  return by_name_.find(name, [&](ValueId id) -> std::string_view { return values_[id.index].name; });
}

const Node* Graph::producer(ValueId id) const {
  const Value& value = values_[id.index];
  return value.kind == ValueKind::kResult ? &nodes_[value.index] : nullptr;
}

const Constant* Graph::constant(ValueId id) const {
  const Value& value = values_[id.index];
  return value.kind == ValueKind::kConstant ? &constants_[value.index] : nullptr;
}

const GraphState* Graph::state(ValueId id) const {
  const Value& value = values_[id.index];
  return value.kind == ValueKind::kState ? &states_[value.index] : nullptr;
}

std::optional<ValueId> Graph::next_value(const GraphState& state) const {
  for (const Output& output : outputs_) {
    const auto* id = std::get_if<ValueId>(&output.value);
    const bool is_its = output.kind == OutputKind::kMutation && output.target == values_[state.value.index].name;
    if (is_its && id != nullptr) return *id;
  }
  return std::nullopt;
}

bool is_value_name(std::string_view name) {
  if (name.empty() || name.size() > 1024) return false;
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
    if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '.') return false;
  }
  return true;
}

std::string shape_text(const Graph& graph, const Shape& shape) {
  std::string text = "[";
  for (const Dim dim : shape) {
    if (text.size() > 1) text += ',';
    text += graph.exprs().text(dim);
  }
  return text + "]";
}

std::string type_text(const Graph& graph, const TensorType& type) {
  return std::string(name_of(type.dtype)) + shape_text(graph, type.shape);
}

std::string typed_name(const Graph& graph, ValueId id) {
  return fmt::format("%{} is {}", graph[id].name, type_text(graph, graph.type(id)));
}

}  // namespace isthmus
