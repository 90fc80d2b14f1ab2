// Writes the nodes that PyTorch would write.
#include "support/converted.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "interpret/interpreter.h"
#include "ir/readers.h"
#include "ops/table.h"
#include "quantize/plan/parameters.h"
#include "quantize/plan/plan.h"

namespace isthmus::test {
namespace {

Arg argument(std::string name, decltype(ArgValue::value) value) { return {std::move(name), {std::move(value)}}; }

class Converter {
 public:
  Converter(const Graph& source, const Given& given) : source_(source), given_(given), map_(source.values().size()) {}

  Graph whole() {
    out_.exprs() = source_.exprs();
    for (const ValueId id : source_.inputs()) map_[id.index] = out_.add_input(source_[id].name, source_.type(id));
    for (std::uint32_t i = 0; i < map_.size(); ++i) {
      const Constant* constant = source_.constant(ValueId{i});
      if (constant != nullptr)
        map_[i] = out_.add_constant(source_.values()[i].name, source_.values()[i].type, *constant);
    }
    for (const ValueId id : source_.inputs()) round(id, {});
    for (const Node& node : source_.nodes()) {
      std::vector<ValueId> inputs;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(input(node, i));
      const Value& value = source_[node.outputs[0]];
      const NodeId made = out_.add_node(node.op, node.attrs, std::move(inputs),
                                        {{out_.unused_name(value.name), value.type}}, node.origin);
      map_[node.outputs[0].index] = out_[made].outputs[0];
      round(node.outputs[0], node.origin);
    }
    for (Output output : source_.outputs()) {
      if (auto* id = std::get_if<ValueId>(&output.value)) *id = map_[id->index];
      out_.add_output(std::move(output));
    }
    return std::move(out_);
  }

 private:
  ValueId foreign(std::string target, std::vector<Arg> args, std::vector<ValueId> inputs, TensorType type,
                  const Origin& origin) {
    const std::string name =
        out_.unused_name(target.substr(target.find('.') + 1, target.rfind('.') - target.find('.') - 1));
    const NodeId node = out_.add_node(Op::kForeign, ForeignAttrs{std::move(target), std::move(args)}, std::move(inputs),
                                      {{name, std::move(type)}}, origin);
    return out_[node].outputs[0];
  }

  void round(ValueId id, const Origin& origin) {
    const auto pin = source_.type(id).dtype == DType::kF32 ? given_(source_, id) : std::nullopt;
    if (!pin) return;
    const Shape& shape = source_.type(id).shape;
    const std::int64_t bits = 8 * static_cast<std::int64_t>(size_of(pin->storage));
    const bool has_sign = pin->storage != DType::kU8;
    const std::int64_t min = has_sign ? -(std::int64_t{1} << (bits - 1)) : 0;
    const auto parameters = [&](std::string_view) {
      return std::vector<Arg>{argument("input", TensorArg{}),
                              argument("scale", static_cast<double>(pin->quant.scale())),
                              argument("zero_point", Dim(pin->quant.zero_point)),
                              argument("quant_min", Dim(min)),
                              argument("quant_max", Dim(min + (std::int64_t{1} << bits) - 1)),
                              argument("dtype", pin->storage)};
    };
    const ValueId quantized = foreign("quantized_decomposed.quantize_per_tensor.default", parameters("q"),
                                      {map_[id.index]}, {pin->storage, shape}, origin);
    map_[id.index] = foreign("quantized_decomposed.dequantize_per_tensor.default", parameters("dq"), {quantized},
                             {DType::kF32, shape}, origin);
  }

  // Weights are quantized in the archive.
  ValueId input(const Node& node, std::size_t i) {
    const ValueId id = node.inputs[i];
    const Constant* constant = source_.constant(id);
    const auto& roles = def(node.op).roles;
    const bool is_weight = roles[std::min(i, roles.size() - 1)] == Role::kWeight && constant != nullptr &&
                           given_(source_, node.outputs[0]).has_value();
    const auto axis = is_weight ? weight_axis(node.op, node.attrs, source_.type(id).shape) : std::nullopt;
    if (!axis) return map_[id.index];
    const Tensor numbers = Tensor::from(*constant->data);
    const std::int64_t channels = numbers.size(*axis);
    std::int64_t inner = 1;
    for (std::int64_t k = *axis + 1; k < numbers.rank(); ++k) inner *= numbers.size(k);
    const auto channel = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<std::int64_t>(at) / inner % channels);
    };
    Tensor scales(DType::kF32, {channels});
    // No value reaches 127: a second choice of scales would give others.
    for (std::size_t k = 0; k < numbers.data<float>().size(); ++k) {
      float& scale = scales.mutable_data<float>()[channel(k)];
      scale = std::max(scale, std::abs(numbers.data<float>()[k]) / 120);
    }
    for (float& scale : scales.mutable_data<float>()) scale = std::max(scale, 0x1p-20F);
    Tensor quantized(DType::kI8, numbers.sizes());
    for (std::size_t k = 0; k < numbers.data<float>().size(); ++k) {
      quantized.mutable_data<std::int8_t>()[k] =
          static_cast<std::int8_t>(std::nearbyint(numbers.data<float>()[k] / scales.data<float>()[channel(k)]));
    }
    const std::string& name = source_[id].name;
    const ValueId stored = out_.add_constant(out_.unused_name(name + ".quantized"), quantized.view());
    const ValueId by_channel = out_.add_constant(out_.unused_name(name + ".scales"), scales.view());
    const ValueId zeros = out_.add_constant(out_.unused_name(name + ".zeros"), Tensor(DType::kI64, {channels}).view());
    return foreign("quantized_decomposed.dequantize_per_channel.default",
                   {argument("input", TensorArg{}), argument("scales", TensorArg{}),
                    argument("zero_points", TensorArg{}), argument("axis", Dim(*axis)),
                    argument("quant_min", Dim(-127)), argument("quant_max", Dim(127)), argument("dtype", DType::kI8)},
                   {stored, by_channel, zeros}, source_.type(id), node.origin);
  }

  const Graph& source_;
  const Given& given_;
  Graph out_;
  std::vector<ValueId> map_;
};

}  // namespace

Graph converted(const Graph& canonical, const Given& given) { return Converter(canonical, given).whole(); }

Given each_for_itself(const Graph& canonical, const std::vector<Tensor>& inputs) {
  const auto ranges = std::make_shared<std::map<std::string, Range>>();
  const auto seen = [&](ValueId id, const Tensor& tensor) {
    if (tensor.dtype() != DType::kF32 || canonical.constant(id) != nullptr) return;
    Range range;
    for (const float number : tensor.data<float>()) {
      range = {std::min(range.min, static_cast<double>(number)), std::max(range.max, static_cast<double>(number))};
    }
    (*ranges)[canonical[id].name] = range;
  };
  const auto run = interpret(canonical, inputs, seen);
  CHECK(run.has_value(), run ? "" : run.error().text());
  const std::vector<std::size_t> readers = reader_counts(canonical);
  for (const Node& node : canonical.nodes()) {
    const Node* maker = node.inputs.empty() ? nullptr : canonical.producer(node.inputs[0]);
    const bool is_between = std::holds_alternative<ClampAttrs>(node.attrs) && maker != nullptr &&
                            maker->inputs.size() > 1 && readers[node.inputs[0].index] == 1;
    if (is_between) ranges->erase(canonical[node.inputs[0]].name);
  }
  for (std::size_t i = 0; i < canonical.inputs().size(); ++i) seen(canonical.inputs()[i], inputs[i]);
  return [ranges](const Graph& graph, ValueId id) -> std::optional<Pin> {
    const auto found = ranges->find(graph[id].name);
    if (found == ranges->end()) return std::nullopt;
    return Pin{parameters_of(found->second, DType::kI8), DType::kI8};
  };
}

}  // namespace isthmus::test
