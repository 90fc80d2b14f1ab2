// How such graphs grow, and how they are told in other words.
#include "support/random_quant_model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/check.h"
#include "interpret/interpreter.h"
#include "ops/table.h"
#include "stats/measure.h"

namespace isthmus::test {
namespace {

ValueId emitted(Expected<ValueId> value) {
  if (!value) throw std::runtime_error(value.error().text());
  return *value;
}

std::vector<std::int64_t> sizes_of(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (const Dim dim : shape) sizes.push_back(dim.value());
  return sizes;
}

// A copy of the graph in which each node is made by `add`, in this order.
template <class Add>
Graph rebuilt(const Graph& graph, const std::vector<std::size_t>& order, const Add& add) {
  Graph result;
  std::vector<ValueId> now(graph.values().size());
  for (const ValueId input : graph.inputs()) now[input.index] = result.add_input(graph[input].name, graph.type(input));
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    const ValueId id{i};
    if (const Constant* constant = graph.constant(id)) {
      now[i] = result.add_constant(graph[id].name, graph.type(id), *constant);
    }
  }
  for (const std::size_t n : order) {
    const Node& node = graph.nodes()[n];
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(now[input.index]);
    std::vector<Result> results;
    for (const ValueId output : node.outputs) results.push_back({graph[output].name, graph.type(output)});
    const NodeId made = add(result, node, std::move(inputs), std::move(results));
    if (node.in_float) result.keep_in_float(made);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) now[node.outputs[i].index] = result[made].outputs[i];
  }
  for (const Output& output : graph.outputs()) {
    result.add_output({now[std::get<ValueId>(output.value).index], output.kind, output.target});
  }
  return result;
}

std::vector<std::size_t> same_order(const Graph& graph) {
  std::vector<std::size_t> order(graph.nodes().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

NodeId add_as_is(Graph& graph, const Node& node, std::vector<ValueId> inputs, std::vector<Result> results) {
  return graph.add_node(node.op, node.attrs, std::move(inputs), std::move(results), node.origin);
}

void add_numbers(ValueStatistics& statistics, std::span<const float> numbers) {
  const TensorMoments moments = measure(numbers);
  statistics.add_sample(moments);
  statistics.histogram.add(numbers, 1, moments.min, moments.max);
}

}  // namespace

Graph RandomQuantModel::make() {
  emitter_.begin({}, "v");
  for (const char* name : {"x", "y", "z"}) {
    values_.push_back(graph_.add_input(name, {DType::kF32, {1, 4, 4, 4}}));
  }
  const std::size_t nodes = std::min(12 + pick(30), max_nodes_);
  for (std::size_t i = 0; i < nodes; ++i) values_.push_back(grow(values_[pick(values_.size())]));
  // Every value is read, and some of what others read is returned, too.
  std::vector<bool> is_read(graph_.values().size(), false);
  for (const Node& node : graph_.nodes()) {
    for (const ValueId input : node.inputs) is_read[input.index] = true;
  }
  for (const ValueId value : values_) {
    const bool is_result = graph_[value].kind == ValueKind::kResult;
    if (is_result && (!is_read[value.index] || pick(12) == 0)) graph_.add_output({value, OutputKind::kResult, {}});
  }
  return std::move(graph_);
}

std::vector<Tensor> RandomQuantModel::inputs(const Graph& graph) {
  std::vector<Tensor> result;
  for (const ValueId input : graph.inputs()) {
    Tensor tensor(DType::kF32, sizes_of(graph.type(input).shape));
    std::normal_distribution<float> normal(0.2F, 1);
    for (float& number : tensor.mutable_data<float>()) number = normal(random_);
    result.push_back(std::move(tensor));
  }
  return result;
}

Statistics RandomQuantModel::made_up(const Graph& graph) {
  Statistics result;
  for (const Value& value : graph.values()) {
    if (value.kind == ValueKind::kConstant || value.type.dtype != DType::kF32) continue;
    std::vector<float> numbers(200);
    const double width = std::exp2(some(-10, 10));
    const double middle = width * some(-0.3, 0.3);
    for (float& number : numbers) number = static_cast<float>(middle + width * some(-0.5, 0.5));
    add_numbers(result.values[value.name], numbers);
  }
  return result;
}

Graph RandomQuantModel::with_other_order(const Graph& graph) {
  std::vector<std::size_t> missing;
  std::vector<std::vector<std::size_t>> readers(graph.nodes().size());
  std::vector<std::size_t> ready;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    std::size_t count = 0;
    for (const ValueId input : graph.nodes()[n].inputs) {
      if (graph[input].kind != ValueKind::kResult) continue;
      readers[graph[input].index].push_back(n);
      ++count;
    }
    missing.push_back(count);
    if (count == 0) ready.push_back(n);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    std::swap(ready[pick(ready.size())], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const std::size_t reader : readers[order.back()]) {
      if (--missing[reader] == 0) ready.push_back(reader);
    }
  }
  return rebuilt(graph, order, add_as_is);
}

Graph RandomQuantModel::with_inputs_reversed(const Graph& graph) {
  return rebuilt(graph, same_order(graph),
                 [](Graph& made, const Node& node, std::vector<ValueId> inputs, std::vector<Result> results) {
                   if (node.op == Op::kCat || node.op == Op::kAdd || node.op == Op::kMul) std::ranges::reverse(inputs);
                   return made.add_node(node.op, node.attrs, std::move(inputs), std::move(results), node.origin);
                 });
}

double RandomQuantModel::gain() { return widths_ == Widths::kTame ? some(0.7, 1.4) : std::exp2(some(-8, 8)); }

ValueId RandomQuantModel::constant(std::vector<std::int64_t> sizes, double size) {
  Tensor tensor(DType::kF32, std::move(sizes));
  for (float& number : tensor.mutable_data<float>()) number = static_cast<float>(some(-size, size));
  return emitter_.constant(tensor.view());
}

// Sums of n products of numbers of size 1 have the size of one factor where the other is sqrt(3 / n).
ValueId RandomQuantModel::layer(ValueId value) {
  const Shape shape = emitter_.shape(value);
  const std::int64_t channels = shape[1].value();
  const double factor = gain();
  const auto weights = [&](std::vector<std::int64_t> sizes) {
    double inputs = 1;
    for (std::size_t i = 1; i < sizes.size(); ++i) inputs *= static_cast<double>(sizes[i]);
    return constant(std::move(sizes), factor * std::sqrt(3 / inputs));
  };
  switch (pick(4)) {
    case 0:
      return emitted(
          emitter_.emit(Op::kLinear, NoAttrs{}, {value, weights({4, shape[3].value()}), constant({4}, factor)}));
    case 1: {
      ConvAttrs attrs{{1, 1}, {1, 1, 1, 1}, {1, 1}, channels};
      return emitted(emitter_.emit(Op::kConv2d, attrs, {value, weights({channels, 1, 3, 3})}));
    }
    default: {
      ConvAttrs attrs{{1, 1}, {1, 1, 1, 1}, {1, 1}, 1};
      return emitted(emitter_.emit(Op::kConv2d, attrs, {value, weights({4, channels, 3, 3}), constant({4}, factor)}));
    }
  }
}

ValueId RandomQuantModel::clamp(ValueId value) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  switch (pick(4)) {
    case 0:
      return emitted(emitter_.emit(Op::kClamp, ClampAttrs{0, some(1, 6)}, {value}));
    case 1:
      return emitted(emitter_.emit(Op::kClamp, ClampAttrs{some(-2, 0.5), some(0.6, 6)}, {value}));
    default:
      return emitted(emitter_.emit(Op::kClamp, ClampAttrs{0, kNone}, {value}));
  }
}

ValueId RandomQuantModel::mover(ValueId value) {
  const Shape shape = emitter_.shape(value);
  const std::int64_t axis = static_cast<std::int64_t>(1 + pick(3));
  const std::int64_t size = shape[static_cast<std::size_t>(axis)].value();
  switch (pick(5)) {
    case 0: {
      Ints axes{0, 1, 2, 3};
      std::shuffle(axes.begin() + 1, axes.end(), random_);
      return emitted(emitter_.permute(value, axes));
    }
    case 1:
      return emitted(emitter_.reshape(value, {shape[0], shape[3], shape[1], shape[2]}));
    case 2:
      if (size > 1) return emitted(emitter_.slice(value, axis, 1, size));
      return emitted(emitter_.permute(value, {0, 3, 1, 2}));
    case 3: {
      Ints before(4, 0);
      before[static_cast<std::size_t>(axis)] = 1;
      const double number = pick(2) == 0 ? 0.0 : some(-1, 1);
      return emitted(emitter_.emit(Op::kPad, PadAttrs{PadMode::kConstant, before, Ints(4, 0), number}, {value}));
    }
    default:
      if (shape[2].value() < 2 || shape[3].value() < 2) return emitted(emitter_.permute(value, {0, 2, 1, 3}));
      return emitted(emitter_.emit(Op::kMaxPool2d, MaxPoolAttrs{{2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}, false}, {value}));
  }
}

ValueId RandomQuantModel::partner(ValueId value) {
  std::vector<ValueId> others;
  for (const ValueId other : values_) {
    if (other != value && emitter_.shape(other) == emitter_.shape(value)) others.push_back(other);
  }
  return others.empty() ? value : others[pick(others.size())];
}

ValueId RandomQuantModel::join(ValueId value) {
  // Tensors must not grow for ever.
  const std::int64_t axis = emitter_.size(value, 1).value() < 16 ? 1 : 0;
  if (axis == 0) return emitted(emitter_.slice(value, 1, 0, 4));
  std::vector<ValueId> parts{value, partner(value)};
  if (pick(3) == 0) parts.push_back(partner(value));
  if (pick(4) == 0) parts.push_back(constant(sizes_of(emitter_.shape(value)), gain()));
  std::ranges::shuffle(parts, random_);
  return emitted(emitter_.cat(parts, axis));
}

ValueId RandomQuantModel::grow(ValueId value) {
  if (graph_[value].kind == ValueKind::kInput && pick(4) != 0) return layer(value);
  switch (pick(15)) {
    case 0:
    case 1:
    case 2:
      return layer(value);
    case 3:
      return clamp(layer(value));
    case 4:
      return clamp(value);
    case 5:
    case 6:
    case 7:
      return mover(value);
    case 8:
    case 9:
    case 10:
      return join(value);
    case 11:
      return emitted(emitter_.binary(Op::kAdd, value, partner(value)));
    case 12: {
      const ValueId other = partner(value);
      const Node* maker = graph_.producer(other);
      // Two of one fixed range would be told apart by nothing but their names.
      if (maker != nullptr && def(maker->op).range) return layer(value);
      return emitted(emitter_.binary(Op::kMul, emitted(emitter_.unary(Op::kSigmoid, value)), other));
    }
    case 13: {
      const auto sizes = sizes_of(emitter_.shape(value));
      return emitted(emitter_.binary(pick(2) == 0 ? Op::kAdd : Op::kMul, value, constant({1, sizes[1], 1, 1}, gain())));
    }
    default:
      return pick(3) == 0 ? emitted(emitter_.emit(Op::kSoftmax, AxisAttrs{3}, {value})) : clamp(layer(value));
  }
}

std::string other_name(const std::string& name) {
  std::uint64_t hash = 1469598103934665603U;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  return "n" + std::to_string(hash);
}

Graph renamed(const Graph& graph) {
  Graph result = graph;
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    result.rename(ValueId{i}, other_name(graph.values()[i].name));
  }
  return result;
}

Statistics renamed(const Statistics& statistics) {
  Statistics result;
  for (const auto& [name, value] : statistics.values) result.values[other_name(name)] = value;
  return result;
}

Statistics observed(const Graph& graph, const std::vector<std::vector<Tensor>>& samples) {
  Statistics result;
  const auto see = [&](ValueId id, const Tensor& tensor) {
    if (tensor.dtype() == DType::kF32) add_numbers(result.values[graph[id].name], tensor.data<float>());
  };
  for (const std::vector<Tensor>& sample : samples) {
    const auto outputs = interpret(graph, sample, see);
    CHECK(outputs.has_value(), outputs.error().text());
  }
  return result;
}

}  // namespace isthmus::test
