// Builds graphs of quantized values and their twins in floats.
#include "support/int8_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "base/check.h"
#include "interpret/interpreter.h"
#include "ops/table.h"
#include "targets/partition.h"
#include "targets/registry.h"

namespace isthmus::test {
namespace {

constexpr double kQuantMin = -128;
constexpr double kQuantMax = 127;

Constant constant_of(const Tensor& tensor) { return {"", tensor.view(), {}}; }

// How many elements share a scale before the next one has its turn.
std::int64_t run_length(const Tensor& tensor, std::int32_t axis) {
  std::int64_t run = 1;
  for (std::int64_t i = axis + 1; i < tensor.rank(); ++i) run *= tensor.size(i);
  return run;
}

}  // namespace

std::string Int8Graph::name() { return "v" + std::to_string(count_++); }

Shape Int8Graph::shape(const std::vector<std::int64_t>& sizes, bool has_batch) {
  Shape result(sizes.begin(), sizes.end());
  if (has_batch) {
    graph_.exprs().declare({"s0", 1, 8, 2});
    result[0] = graph_.exprs().symbol("s0");
  }
  return result;
}

ValueId Int8Graph::input(std::vector<std::int64_t> sizes, Quant quant, bool has_batch) {
  return graph_.add_input(name(), {DType::kI8, shape(sizes, has_batch), std::move(quant)});
}
ValueId Int8Graph::float_input(std::vector<std::int64_t> sizes, bool has_batch) {
  return graph_.add_input(name(), {DType::kF32, shape(sizes, has_batch)});
}

ValueId Int8Graph::constant(std::vector<std::int64_t> sizes, Quant quant) {
  Tensor tensor(DType::kI8, sizes);
  std::uniform_int_distribution<int> quantized(-127, 127);
  for (std::int8_t& q : tensor.mutable_data<std::int8_t>()) q = static_cast<std::int8_t>(quantized(random_));
  return graph_.add_constant(name(), {DType::kI8, {sizes.begin(), sizes.end()}, std::move(quant)}, constant_of(tensor));
}
ValueId Int8Graph::floats(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::kF32, sizes);
  std::uniform_real_distribution<float> numbers(-1, 1);
  for (float& number : tensor.mutable_data<float>()) number = numbers(random_);
  return graph_.add_constant(name(), {DType::kF32, {sizes.begin(), sizes.end()}}, constant_of(tensor));
}

ValueId Int8Graph::weight(std::vector<std::int64_t> sizes, Scales scales, std::int32_t axis) {
  if (scales == Scales::kOne) return constant(std::move(sizes), quant(0.01F, 0));
  Quant each{{}, 0, axis};
  std::uniform_real_distribution<float> factors(0.002F, 0.02F);
  for (std::int64_t i = 0; i < sizes[static_cast<std::size_t>(axis)]; ++i) each.scales.push_back(factors(random_));
  return constant(std::move(sizes), std::move(each));
}

ValueId Int8Graph::bias(ValueId input, ValueId weight, std::int64_t channels) {
  const Quant& of_weight = quant_of(weight);
  Quant result{{}, 0, of_weight.axis < 0 ? -1 : 0};
  const std::int64_t count = of_weight.axis < 0 ? 1 : channels;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto scale = of_weight.scales[static_cast<std::size_t>(i) % of_weight.scales.size()];
    result.scales.push_back(quant_of(input).scale() * scale);
  }
  Tensor tensor(DType::kI32, {channels});
  std::uniform_int_distribution<std::int32_t> quantized(-2000, 2000);
  for (std::int32_t& q : tensor.mutable_data<std::int32_t>()) q = quantized(random_);
  return graph_.add_constant(name(), {DType::kI32, {channels}, std::move(result)}, constant_of(tensor));
}

// Result shapes are those of floats.
ValueId Int8Graph::add(Op op, Attrs attrs, std::vector<ValueId> inputs, DType dtype, std::optional<Quant> quant) {
  std::vector<TensorType> types;
  for (const ValueId id : inputs) types.push_back({DType::kF32, graph_.type(id).shape});
  if (op == Op::kDequantize || op == Op::kRescale) types[0].dtype = DType::kI8;
  const auto type = def(op).infer({graph_.exprs(), types, attrs});
  CHECK(type.has_value(), type ? "" : type.error().text());
  const NodeId made =
      graph_.add_node(op, std::move(attrs), std::move(inputs), {{name(), {dtype, type->shape, std::move(quant)}}}, {});
  return graph_[made].outputs[0];
}
ValueId Int8Graph::node(Op op, Attrs attrs, std::vector<ValueId> inputs, Quant quant) {
  return add(op, std::move(attrs), std::move(inputs), DType::kI8, std::move(quant));
}
ValueId Int8Graph::float_node(Op op, Attrs attrs, std::vector<ValueId> inputs) {
  return add(op, std::move(attrs), std::move(inputs), DType::kF32, {});
}

Graph Int8Graph::finish(const std::vector<ValueId>& results) && {
  for (const ValueId id : results) graph_.add_output({id, OutputKind::kResult, {}});
  return std::move(graph_);
}

Tensor dequantized(const Tensor& quantized, const Quant& quant) {
  Tensor result(DType::kF32, quantized.sizes());
  const auto numbers = result.mutable_data<float>();
  const std::vector<double> from = doubles(quantized);
  const std::int64_t run = quant.axis < 0 ? quantized.count() : run_length(quantized, quant.axis);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t channel = i / static_cast<std::size_t>(run) % quant.scales.size();
    numbers[i] = static_cast<float>((from[i] - quant.zero_point) * static_cast<double>(quant.scales[channel]));
  }
  return result;
}

Graph in_floats(const Graph& graph) {
  Graph twin;
  twin.exprs() = graph.exprs();
  std::map<ValueId, ValueId> ids;
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    const TensorType type{DType::kF32, value.type.shape};
    if (value.kind == ValueKind::kInput) ids[ValueId{i}] = twin.add_input(value.name, type);
    if (value.kind != ValueKind::kConstant) continue;
    const Tensor data = Tensor::from(*graph.constants()[value.index].data);
    ids[ValueId{i}] = twin.add_constant(value.name, type,
                                        constant_of(value.type.quant ? dequantized(data, *value.type.quant) : data));
  }
  for (const Node& node : graph.nodes()) {
    const Value& result = graph[node.outputs[0]];
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(ids.at(id));
    const TensorType type{DType::kF32, result.type.shape};
    const bool converts = node.op == Op::kQuantize || node.op == Op::kRescale || node.op == Op::kDequantize;
    if (!converts) {
      const NodeId made = twin.add_node(node.op, node.attrs, std::move(inputs), {{result.name, type}}, {});
      inputs = {twin[made].outputs[0]};
    }
    if (const auto& params = result.type.quant) {
      const auto number_of = [&](double q) { return static_cast<double>(params->scale()) * (q - params->zero_point); };
      const NodeId made = twin.add_node(Op::kClamp, ClampAttrs{number_of(kQuantMin), number_of(kQuantMax)}, inputs,
                                        {{result.name + ".quantized", type}}, {});
      inputs = {twin[made].outputs[0]};
    }
    ids[node.outputs[0]] = inputs[0];
  }
  for (const Output& output : graph.outputs()) {
    twin.add_output({ids.at(std::get<ValueId>(output.value)), OutputKind::kResult, {}});
  }
  return twin;
}

std::vector<Tensor> random_inputs(const Graph& graph, std::int64_t batch) {
  std::mt19937 random(static_cast<unsigned>(batch));
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    const TensorType& type = graph.type(id);
    std::vector<std::int64_t> sizes;
    for (const Dim dim : type.shape) sizes.push_back(dim.is_fixed() ? dim.value() : batch);
    Tensor& tensor = inputs.emplace_back(type.dtype, sizes);
    if (type.dtype == DType::kI8) {
      std::uniform_int_distribution<int> quantized(-128, 127);
      for (std::int8_t& q : tensor.mutable_data<std::int8_t>()) q = static_cast<std::int8_t>(quantized(random));
    } else {
      std::uniform_real_distribution<float> numbers(-2, 2);
      for (float& number : tensor.mutable_data<float>()) number = numbers(random);
    }
  }
  return inputs;
}

double steps_apart(const Graph& graph, const std::vector<Tensor>& inputs,
                   const std::vector<std::optional<Tensor>>& found, double step) {
  std::vector<Tensor> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& params = graph.type(graph.inputs()[i]).quant;
    numbers.push_back(params ? dequantized(inputs[i], *params) : inputs[i]);
  }
  const auto expected = interpret(in_floats(graph), numbers);
  if (!expected) throw std::runtime_error(expected.error().text());
  double max = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]->sizes() != (*expected)[i]->sizes()) return std::numeric_limits<double>::infinity();
    const auto& params = graph.type(std::get<ValueId>(graph.outputs()[i].value)).quant;
    const std::vector<double> left = doubles(*found[i]);
    const std::vector<double> right = doubles(*(*expected)[i]);
    for (std::size_t k = 0; k < left.size(); ++k) {
      const double q = params ? right[k] / static_cast<double>(params->scale()) + params->zero_point : right[k] / step;
      const double other = params ? left[k] : left[k] / step;
      const double limited = params ? std::clamp(q, kQuantMin, kQuantMax) : q;
      max = std::max(max, std::abs(limited - other));
    }
  }
  return max;
}

Expected<Program> compile_graph(Graph graph) {
  const TargetDesc& target = *find_target("xnnpack");
  Program program;
  program.prepared.partitioning = partition(graph, target);
  program.prepared.graph = std::move(graph);
  program.compiled = TRY(compile(program.prepared, target, {}, nullptr));
  return program;
}

xnn::Graph delegate_of(const Program& program) {
  const auto file = pte::read_program(program.file());
  if (!file) throw std::runtime_error(file.error().text());
  const auto graph = xnn::read_blob(file->plans.at(0).delegates.at(0).blob);
  if (!graph) throw std::runtime_error(graph.error().text());
  return *graph;
}

}  // namespace isthmus::test
