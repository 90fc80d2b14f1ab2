// Correct quantized graphs, broken in every way that we can think of: the proof refuses each, and names the place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>

#include "ops/table.h"
#include "quantize/prove/prove.h"
#include "support/quantized_graphs.h"
#include "targets/registry.h"

namespace isthmus::prove_mutation_test {
namespace {

using test::QuantizedCase;

// What is different in a copy of a graph, by index of values and nodes in the graph that is copied.
struct Edit {
  std::map<std::uint32_t, TensorType> types = {};
  std::map<std::uint32_t, TensorView> data = {};
  std::map<std::pair<std::uint32_t, std::size_t>, ValueId> inputs = {};  // by node and input
  std::map<std::uint32_t, Attrs> attrs = {};
  std::optional<NodeId> dropped = {};  // its readers take what it read
  std::optional<NodeId> in_float = {};
};

Quantized edited(const Quantized& before, const Edit& edit) {
  const Graph& old = before.graph;
  Quantized after;
  std::vector<ValueId> map;
  for (std::uint32_t v = 0; v < old.values().size(); ++v) {
    const Value& value = old.values()[v];
    const auto new_type = edit.types.find(v);
    const TensorType type = new_type == edit.types.end() ? value.type : new_type->second;
    const NodeId node_id{value.index};
    if (value.kind == ValueKind::kResult && edit.dropped == node_id) {
      map.push_back(map[old[node_id].inputs[0].index]);
      continue;
    }
    after.source.push_back(before.source[v]);
    if (value.kind == ValueKind::kInput) {
      map.push_back(after.graph.add_input(value.name, type));
    } else if (value.kind == ValueKind::kConstant) {
      Constant constant = *old.constant(ValueId{v});
      const auto data = edit.data.find(v);
      if (data != edit.data.end()) constant.data = data->second;
      map.push_back(after.graph.add_constant(value.name, type, std::move(constant)));
    } else {
      const Node& node = old[node_id];
      std::vector<ValueId> inputs;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const auto input = edit.inputs.find({node_id.index, i});
        inputs.push_back(map[(input == edit.inputs.end() ? node.inputs[i] : input->second).index]);
      }
      const auto attrs = edit.attrs.find(node_id.index);
      const NodeId made = after.graph.add_node(node.op, attrs == edit.attrs.end() ? node.attrs : attrs->second,
                                               std::move(inputs), {{value.name, type}}, node.origin);
      if (edit.in_float == node_id) after.graph.keep_in_float(made);
      map.push_back(after.graph[made].outputs[0]);
    }
  }
  for (Output output : old.outputs()) {
    if (auto* id = std::get_if<ValueId>(&output.value)) *id = map[id->index];
    after.graph.add_output(std::move(output));
  }
  return after;
}

bool lists(std::string_view names, const std::string& name) {
  return (" " + std::string(names) + " ").find(" " + name + " ") != std::string::npos;
}

// One case, and every mutation of it that a family makes.
class Mutator {
 public:
  explicit Mutator(const QuantizedCase& source)
      : case_(source), model_(test::graph_of(source.model)), quantized_(test::quantized_of(source.quantized, model_)) {
    config_.inputs = config_.outputs = source.io;
  }

  const Graph& graph() const { return quantized_.graph; }
  std::size_t refused() const { return refused_; }
  std::size_t accepted() const { return accepted_; }

  Expected<void> proved(const Quantized& quantized) const {
    return prove(quantized, *find_target("xnnpack"), model_, config_);
  }
  Expected<void> proved() const { return proved(quantized_); }

  // The message begins with one of the places, or somewhere says one of the words.
  void refuse(const std::string& what, const Edit& edit, const std::vector<std::string>& places,
              const std::vector<std::string>& words = {}) {
    const auto result = proved(edited(quantized_, edit));
    ++refused_;
    if (result) {
      ADD_FAILURE() << case_.name << ": accepted " << what;
      return;
    }
    const std::string& message = result.error().message;
    for (const std::string& place : places) {
      if (message.starts_with(place + ":") || message.starts_with(place + " (")) return;
    }
    for (const std::string& word : words) {
      if (message.find(word) != std::string::npos) return;
    }
    ADD_FAILURE() << case_.name << ": " << what << " is refused at another place: " << message;
  }
  void accept(const std::string& what, const Edit& edit) {
    const auto result = proved(edited(quantized_, edit));
    ++accepted_;
    EXPECT_TRUE(result.has_value()) << case_.name << ": refused " << what << ": " << result.error().message;
  }

  static std::string name(const Graph& graph, const Node& node) {
    return std::string(name_of(node.op)) + " %" + graph[node.outputs[0]].name;
  }
  // The producer and the readers of the value.
  std::vector<std::string> around(ValueId id) const {
    const std::string& own = graph()[id].name;
    std::vector<std::string> places = {"input %" + own, "const %" + own, "output %" + own};
    for (const Node& node : graph().nodes()) {
      if (node.outputs[0] == id || std::ranges::find(node.inputs, id) != node.inputs.end()) {
        places.push_back(name(graph(), node));
      }
    }
    return places;
  }

  void each_quantized_value(const std::function<void(ValueId id, const TensorType& type)>& visit) const {
    for (std::uint32_t v = 0; v < graph().values().size(); ++v) {
      if (graph().values()[v].type.quant) visit(ValueId{v}, graph().values()[v].type);
    }
  }
  void each_node(const std::function<void(NodeId id, const Node& node)>& visit) const {
    for (std::uint32_t n = 0; n < graph().nodes().size(); ++n) visit(NodeId{n}, graph().nodes()[n]);
  }
  void change(const std::string& what, ValueId id, const TensorType& type, bool is_free = false) {
    const std::string text = what + " of %" + graph()[id].name;
    if (is_free) {
      accept(text, {.types = {{id.index, type}}});
    } else {
      refuse(text, {.types = {{id.index, type}}}, around(id), {": %" + graph()[id].name + " has "});
    }
  }

  void parameters() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    each_quantized_value([&](ValueId id, const TensorType& type) {
      const std::string& own = graph()[id].name;
      for (std::size_t i = 0; i < type.quant->scales.size(); ++i) {
        const auto with_scale = [&](float scale) {
          TensorType changed = type;
          changed.quant->scales[i] = scale;
          return changed;
        };
        const float scale = type.quant->scales[i];
        const bool is_free = lists(case_.free_scales, own);
        change("an ulp more of a scale", id, with_scale(std::nextafter(scale, kInfinity)), is_free);
        change("an ulp less of a scale", id, with_scale(std::nextafter(scale, 0.0F)), is_free);
        for (const float wrong : {0.0F, -scale, kInfinity, -kInfinity, std::nanf(""), 1e-40F}) {
          change("a scale that is none", id, with_scale(wrong));
        }
      }
      for (const std::int32_t by : {-1, 1}) {
        TensorType changed = type;
        changed.quant->zero_point += by;
        const std::int32_t min = type.dtype == DType::kU8 ? 0 : -128;
        const bool is_quantized = changed.quant->zero_point >= min && changed.quant->zero_point <= min + 255;
        change("the zero point", id, changed, is_quantized && lists(case_.free_zero_points, own));
      }
      for (const std::int32_t far : {-129, 256, 100000}) {
        TensorType changed = type;
        changed.quant->zero_point = far;
        change("a zero point that is not a quantized value", id, changed);
      }
    });
  }

  void types() {
    each_quantized_value([&](ValueId id, const TensorType& type) {
      for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kI32, DType::kI64, DType::kF32}) {
        TensorType changed = type;
        changed.dtype = dtype;
        changed.quant->zero_point = 0;  // a quantized value of every type
        // No storage of the device, and where it is that of inputs and outputs it is not what the user wants.
        if (dtype != type.dtype) change("the type", id, changed);
      }
      TensorType bare = type;
      bare.quant.reset();
      change("no parameters", id, bare);
      bare.dtype = DType::kF32;
      change("floats instead of quantized values", id, bare);
    });
    for (std::uint32_t v = 0; v < graph().values().size(); ++v) {
      TensorType changed = graph().values()[v].type;
      if (changed.quant) continue;
      changed.dtype = DType::kI8;
      changed.quant = Quant{{0.05F}, 3, -1};
      change("quantized values instead of what they are", ValueId{v}, changed);
    }
  }

  void axes() {
    each_quantized_value([&](ValueId id, const TensorType& type) {
      for (std::size_t axis = 0; axis <= type.rank(); ++axis) {
        if (type.quant->axis == static_cast<std::int32_t>(axis)) continue;
        TensorType changed = type;
        changed.quant->axis = static_cast<std::int32_t>(axis);
        changed.quant->zero_point = 0;
        const auto size = axis < type.rank() ? static_cast<std::size_t>(type.shape[axis].value()) : 2;
        changed.quant->scales.assign(size, type.quant->scale());
        change("the axis", id, changed);
      }
      TensorType more = type;
      more.quant->scales.push_back(more.quant->scale());
      change("one scale too many", id, more);
      TensorType fewer = type;
      fewer.quant->scales.pop_back();
      change("one scale too few", id, fewer);
    });
  }

  void structure() {
    each_node([&](NodeId id, const Node& node) {
      const std::string own = graph()[node.outputs[0]].name;
      const TensorType& to = graph().type(node.outputs[0]);
      // What reads the result names itself, or the value that it reads now.
      std::vector<std::string> readers = around(node.outputs[0]);
      const std::string& read = graph()[node.inputs[0]].name;
      readers.push_back("output %" + read);
      // A clamp at an end of the quantized values has no node to drop, and the shapes of others would not fit.
      const bool is_droppable = graph().type(node.inputs[0]).shape == to.shape;
      if (is_droppable) refuse("without %" + own, {.dropped = id}, readers, {"%" + own, "%" + read + " "});
      if (to.quant && node.op != Op::kQuantize && node.op != Op::kRescale) {
        refuse("!float at %" + own, {.in_float = id}, {name(graph(), node)});
      }
      rewire(id, node);
    });
  }

  // Every input of every node reads every other value that would fit.
  void rewire(NodeId id, const Node& node) {
    const auto made_of = [&](ValueId value) {
      const Node* producer = graph().producer(value);
      while (producer != nullptr &&
             (producer->op == Op::kQuantize || producer->op == Op::kDequantize || producer->op == Op::kRescale)) {
        value = producer->inputs[0];
        producer = graph().producer(value);
      }
      return value;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      for (std::uint32_t v = 0; v < node.outputs[0].index; ++v) {
        const ValueId other{v};
        if (graph().constant(other) != nullptr || graph().type(other) != graph().type(node.inputs[i])) continue;
        if (made_of(other) == made_of(node.inputs[i])) continue;
        refuse("%" + graph()[other].name + " read by " + name(graph(), node), {.inputs = {{{id.index, i}, other}}},
               {name(graph(), node)},
               {"%" + graph()[made_of(other)].name + " stands for", "%" + graph()[made_of(other)].name + " has"});
      }
    }
  }

  void attributes() {
    each_node([&](NodeId id, const Node& node) {
      std::vector<Attrs> wrong;
      if (const auto* clamp = std::get_if<ClampAttrs>(&node.attrs)) {
        for (const double by : {0.001, 1.0, std::numeric_limits<double>::infinity()}) {
          wrong.emplace_back(ClampAttrs{clamp->min - by, clamp->max});
          wrong.emplace_back(ClampAttrs{clamp->min, clamp->max + by});
        }
      }
      if (const auto* pad = std::get_if<PadAttrs>(&node.attrs)) {
        for (const double value : {-100.0, 100.0, -std::numeric_limits<double>::infinity(), std::nan("")}) {
          wrong.emplace_back(PadAttrs{pad->mode, pad->before, pad->after, value});
        }
      }
      if (const auto* quantize = std::get_if<QuantizeAttrs>(&node.attrs)) {
        wrong.emplace_back(QuantizeAttrs{-1, -127, 127, quantize->dtype});
        wrong.emplace_back(QuantizeAttrs{-1, -128, 126, quantize->dtype});
        wrong.emplace_back(QuantizeAttrs{0, -128, 127, quantize->dtype});
        wrong.emplace_back(QuantizeAttrs{-1, 0, 255, DType::kU8});
      }
      if (const auto* leaky = std::get_if<SlopeAttrs>(&node.attrs)) {
        for (const double slope : {0.0, leaky->slope * 0x1p-8, leaky->slope * 0x1p12, -0x1p-10}) {
          wrong.emplace_back(SlopeAttrs{slope});
        }
      }
      for (const Attrs& attrs : wrong) {
        refuse("other attributes", {.attrs = {{id.index, attrs}}}, {name(graph(), node)});
      }
    });
  }

  // The result's scale so that one input's, or the product of all, lies just outside.
  void ratios() {
    each_node([&](NodeId, const Node& node) {
      for (const RatioLimit& limit : find_target("xnnpack")->integers.ratios) {
        if (limit.op != node.op) continue;
        const auto scale = [&](std::size_t i) { return std::ranges::max(graph().type(node.inputs[i]).quant->scales); };
        const auto* slope = std::get_if<SlopeAttrs>(&node.attrs);
        const double compared = limit.of == RatioOf::kEachInput     ? scale(0)
                                : limit.of == RatioOf::kSlopedInput ? scale(0) * std::abs(slope->slope)
                                                                    : static_cast<double>(scale(0) * scale(1));
        for (const double ratio : {limit.max * 1.000001, limit.max * 16, limit.min * 0.999999, limit.min / 16}) {
          if (ratio == 0) continue;
          TensorType changed = graph().type(node.outputs[0]);
          changed.quant->scales[0] = static_cast<float>(compared / ratio);
          change("an illegal ratio", node.outputs[0], changed);
        }
      }
    });
  }

  void data() {
    each_node([&](NodeId, const Node& node) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const Constant* constant = graph().constant(node.inputs[i]);
        if (constant == nullptr || def(node.op).roles[i] != Role::kWeight) continue;
        const std::span<const std::byte> bytes = constant->data->storage.bytes();
        for (std::size_t k = 0; k < bytes.size(); ++k) {
          std::vector<std::byte> changed(bytes.begin(), bytes.end());
          changed[k] = std::byte{0x80};
          TensorView view = *constant->data;
          view.storage = Blob::owning(std::move(changed));
          refuse("a weight of -128", {.data = {{node.inputs[i].index, view}}}, {name(graph(), node)});
        }
      }
    });
  }

  // A bias so large, or a result so fine, that a sum leaves what the device has for it.
  void sums() {
    each_node([&](NodeId, const Node& node) {
      const SumLimit* limit = sum_limit_of(find_target("xnnpack")->integers, node.op);
      if (limit == nullptr || node.inputs.size() < 3) return;
      const ValueId bias = node.inputs[2];
      const std::vector<float>& scales = graph().type(bias).quant->scales;
      const float to = graph().type(node.outputs[0]).quant->scale();
      const TensorView& old = *graph().constant(bias)->data;
      const std::span<const std::byte> bytes = old.storage.bytes();
      for (std::size_t c = 0; c < bytes.size() / sizeof(std::int32_t); ++c) {
        const auto ratio = static_cast<double>(scales[std::min(c, scales.size() - 1)] / to);
        const double max = std::min(limit->max_sum + 1, limit->max_scaled / ratio * 1.0001);
        for (const double wrong : {-max, max}) {
          if (wrong >= 0x1p31) continue;  // no quantized value, unless products add to it
          const auto q = static_cast<std::int32_t>(wrong);
          std::vector<std::byte> changed(bytes.begin(), bytes.end());
          std::memcpy(changed.data() + c * sizeof(q), &q, sizeof(q));
          TensorView view = old;
          view.storage = Blob::owning(std::move(changed));
          refuse("a bias of " + std::to_string(q), {.data = {{bias.index, view}}}, {name(graph(), node)});
        }
      }
    });
  }

  void io() {
    for (const IoType wrong : {IoType::kFloat, IoType::kInt8, IoType::kUint8}) {
      if (wrong == case_.io) continue;
      for (IoType QuantConfig::*const side : {&QuantConfig::inputs, &QuantConfig::outputs}) {
        config_.*side = wrong;
        const std::string place = side == &QuantConfig::inputs ? "input %" : "output %";
        const auto result = proved();
        config_.*side = case_.io;
        ++refused_;
        ASSERT_FALSE(result.has_value()) << case_.name << ": accepted another I/O type";
        EXPECT_TRUE(result.error().message.starts_with(place)) << result.error().message;
      }
    }
  }

  void everything() {
    parameters();
    types();
    axes();
    structure();
    attributes();
    ratios();
    data();
    sums();
    io();
  }

 private:
  const QuantizedCase& case_;
  Graph model_;
  Quantized quantized_;
  QuantConfig config_;
  std::size_t refused_ = 0;
  std::size_t accepted_ = 0;
};

TEST(ProveMutation, EveryMutationIsRefused) {
  std::size_t refused = 0;
  std::size_t accepted = 0;
  for (const QuantizedCase& source : test::quantized_cases()) {
    Mutator mutator(source);
    const auto correct = mutator.proved();
    ASSERT_TRUE(correct.has_value()) << source.name << ": " << correct.error().message;
    mutator.everything();
    refused += mutator.refused();
    accepted += mutator.accepted();
  }
  std::cout << refused << " mutations that must be refused, " << accepted << " changes that no demand forbids\n";
  RecordProperty("refused", static_cast<int>(refused));
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace isthmus::prove_mutation_test
