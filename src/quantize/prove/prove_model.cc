// The comparison with the model: the same nodes with conversions between them, and no bound lost on the way.
#include <fmt/format.h>

#include <algorithm>

#include "ir/literals.h"
#include "ir/quantized.h"
#include "quantize/prove/prove.h"
#include "quantize/prove/prove_parts.h"

namespace isthmus {
namespace proof {
namespace {

struct IoTypeRow {
  IoType check_io;
  DType dtype;
  bool is_quantized;
  std::string_view name;
};
constexpr IoTypeRow kIoTypes[] = {
    {.check_io = IoType::kFloat, .dtype = DType::kF32, .is_quantized = false, .name = "f32"},
    {.check_io = IoType::kInt8, .dtype = DType::kI8, .is_quantized = true, .name = "i8 values"},
    {.check_io = IoType::kUint8, .dtype = DType::kU8, .is_quantized = true, .name = "u8 values"},
};

// Nodes of the model that may have no node here: a clamp where quantized values end at its bounds, pins and conversions
// that the model had already and whose parameters became types.
constexpr Op kMayBeGone[] = {Op::kClamp, Op::kQuantize, Op::kDequantize, Op::kFakeQuantize, Op::kDynamicQuantize};

class Comparison {
 public:
  Comparison(const Quantized& quantized, const TargetDesc& target, const Graph& model, const QuantConfig& config)
      : graph_(quantized.graph), source_(quantized.source), rules_(target.integers), model_(model), config_(config) {}

  Expected<void> whole() const {
    if (source_.size() != graph_.values().size() || graph_.inputs().size() != model_.inputs().size() ||
        graph_.outputs().size() != model_.outputs().size() || graph_.states().size() != model_.states().size()) {
      return bad_input("the quantized graph is not one of this model");
    }
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      TRY(check_io("input", graph_.inputs()[i], model_.inputs()[i], config_.inputs));
    }
    for (std::size_t i = 0; i < graph_.states().size(); ++i) {
      TRY(kept("state", graph_.states()[i].value, model_.states()[i].value));
    }
    for (const Node& node : graph_.nodes()) TRY(checked(node));
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const auto* id = std::get_if<ValueId>(&graph_.outputs()[i].value);
      const auto* of_model = std::get_if<ValueId>(&model_.outputs()[i].value);
      if ((id == nullptr) != (of_model == nullptr)) return bad_input("the quantized graph is not one of this model");
      if (id == nullptr) continue;
      const Output& output = graph_.outputs()[i];
      const auto target = graph_.find(output.target);
      if (output.kind == OutputKind::kResult) {
        TRY(check_io("output", *id, *of_model, config_.outputs));
      } else if (target && graph_.state(*target) != nullptr) {
        TRY(kept("new state", *id, *of_model));
      } else {
        TRY(check_io("written input", *id, *of_model, config_.inputs));
      }
      TRY(stands_for(*id, *of_model, [&] { return "output %" + graph_[*id].name; }));
    }
    return {};
  }

 private:
  static tl::unexpected<Error> broken(std::string_view where, std::string_view demand, std::string_view found) {
    return bad_input(fmt::format("{}: {}: {}", where, demand, found));
  }

  // Only computed floats are quantized; whatever else the model takes and gives stays as it is.
  Expected<void> check_io(std::string_view side, ValueId id, ValueId of_model, IoType wanted) const {
    const TensorType& type = graph_.type(id);
    const TensorType& before = model_.type(of_model);
    const IoTypeRow& row = kIoTypes[static_cast<std::size_t>(wanted)];
    const bool is_to_be_quantized =
        before.dtype == DType::kF32 && model_.constant(of_model) == nullptr && row.is_quantized;
    if (type.dtype == (is_to_be_quantized ? row.dtype : before.dtype) && type.quant.has_value() == is_to_be_quantized)
      return {};
    return broken(fmt::format("{} %{}", side, graph_[id].name),
                  fmt::format("expected {}", is_to_be_quantized ? std::string(row.name) : type_text(model_, before)),
                  described(graph_, id));
  }

  // A state is what it was, or quantized; `verify` holds it against what is written to it.
  Expected<void> kept(std::string_view side, ValueId id, ValueId of_model) const {
    if (graph_.type(id).quant && model_.type(of_model).dtype == DType::kF32) return {};
    return check_io(side, id, of_model, IoType::kFloat);
  }

  static bool may_be_gone(const Node& node) { return std::ranges::find(kMayBeGone, node.op) != std::end(kMayBeGone); }

  Expected<void> checked(const Node& node) const {
    if (is_conversion(node) || node.outputs.size() != 1 || !source_[node.outputs[0].index]) return {};
    const ValueId to = node.outputs[0];
    const auto here = [&] { return node_text(graph_, node); };
    const Node* before = model_.producer(*source_[to.index]);
    while (before != nullptr && before->op != node.op && may_be_gone(*before)) {
      TRY(respects(to, *before, here));
      before = model_.producer(before->inputs[0]);
    }
    if (before == nullptr || before->op != node.op) {
      return broken(here(), "is not a node of the model",
                    fmt::format("it stands for %{}", model_[*source_[to.index]].name));
    }
    TRY(respects(to, *before, here));
    for (std::size_t i = 0; i < std::min(node.inputs.size(), before->inputs.size()); ++i) {
      TRY(stands_for(node.inputs[i], before->inputs[i], here));
    }
    return is_allowed(node, *before);
  }

  Expected<void> is_allowed(const Node& node, const Node& before) const {
    if (!is_quantized(graph_, node.outputs[0])) return {};
    if (before.in_float) return broken(node_text(graph_, node), "stays in float", described(graph_, node.outputs[0]));
    // Quantized values of a table are picked on the host as its numbers would be.
    if (rules_.refusal == nullptr || (picks_elements(node.op) && graph_.constant(node.inputs[0]) != nullptr)) return {};
    const DType result = graph_.type(node.outputs[0]).dtype;
    QuantizedTypes types(result);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const DType data = graph_.type(node.inputs[i]).dtype;
      if (is_data_input(node.op, i) && (i == 0 || size_of(data) > size_of(types.data))) types.data = data;
    }
    const auto reason = rules_.refusal(model_, before, types);
    if (!reason) return {};
    return broken(node_text(graph_, node), text_of(*reason), described(graph_, node.outputs[0]));
  }

  // Behind all conversions.
  ValueId unconverted(ValueId id) const {
    for (const Node* node = graph_.producer(id); node != nullptr && is_conversion(*node); node = graph_.producer(id)) {
      id = node->inputs[0];
    }
    return id;
  }

  // The value of the model that the node of this one, or the input, makes: before nodes that are gone.
  ValueId made_value(ValueId id) const {
    const Node* maker = graph_.producer(id);
    ValueId at = *source_[id.index];
    for (const Node* gone = model_.producer(at); gone != nullptr && may_be_gone(*gone); gone = model_.producer(at)) {
      if (maker != nullptr && maker->op == gone->op) break;
      at = gone->inputs[0];
    }
    return at;
  }
  // Whether it is one of the values from `last` back to `first`, which nodes that are gone made of each other: here
  // they are one.
  bool lies_between(ValueId id, ValueId first, ValueId last) const {
    while (last != first && last != id) last = model_.producer(last)->inputs[0];
    return last == id;
  }

  // Constants are new, and so is what has no source: nothing can be said of them.
  template <class Place>
  Expected<void> stands_for(ValueId id, ValueId of_model, Place where) const {
    const ValueId first = unconverted(id);
    if (graph_.constant(first) != nullptr || !source_[first.index]) return {};
    const ValueId source = *source_[first.index];
    const ValueId made = made_value(first);
    ValueId at = of_model;
    while (!lies_between(at, made, source)) {
      const Node* gone = model_.producer(at);
      if (gone == nullptr || !may_be_gone(*gone)) {
        const std::string converted = id == first ? "" : fmt::format("%{} of ", graph_[id].name);
        return broken(where(), "reads another value than in the model",
                      fmt::format("{}%{} stands for %{}, expected %{}", converted, graph_[first].name,
                                  model_[source].name, model_[of_model].name));
      }
      TRY(respects(id, *gone, where));
      at = gone->inputs[0];
    }
    return {};
  }

  // No number of the value lies outside the clamp's bounds, save for rounding; what the model pins has just these
  // parameters.
  template <class Place>
  Expected<void> respects(ValueId id, const Node& node, Place where) const {
    if (const auto* pin = std::get_if<FakeQuantizeAttrs>(&node.attrs)) {
      if (is_rounded(id, *pin)) return {};
      return broken(where(),
                    fmt::format("{} of the model asks for {} scale {} zp {}", node_text(model_, node),
                                name_of(pin->dtype), float_text(static_cast<float>(pin->scale)), pin->zero_point),
                    described(graph_, unconverted(id)));
    }
    const auto* bounds = std::get_if<ClampAttrs>(&node.attrs);
    if (bounds == nullptr || has_bounds(id, *bounds)) return {};
    return broken(
        where(),
        fmt::format("{} of the model bounds it to [{}, {}]", node_text(model_, node), bounds->min, bounds->max),
        described(graph_, unconverted(id)));
  }
  // Itself, or before it was converted.
  bool is_rounded(ValueId id, const FakeQuantizeAttrs& pin) const {
    while (true) {
      const TensorType& type = graph_.type(id);
      const bool has_parameters = type.quant && type.quant->axis < 0 && type.dtype == pin.dtype &&
                                  type.quant->scale() == static_cast<float>(pin.scale) &&
                                  type.quant->zero_point == pin.zero_point;
      if (has_parameters) return true;
      const Node* producer = graph_.producer(id);
      if (producer == nullptr || !is_conversion(*producer)) return false;
      id = producer->inputs[0];
    }
  }

  // By the ends of its quantized values, by a clamp, or before it was converted.
  bool has_bounds(ValueId id, const ClampAttrs& bounds) const {
    while (true) {
      const TensorType& type = graph_.type(id);
      if (const QuantizedType* limits = quantized_type(type.dtype); limits != nullptr && type.quant) {
        const bool ends = nearest_quantized(bounds.min, *type.quant) <= static_cast<double>(limits->min) &&
                          nearest_quantized(bounds.max, *type.quant) >= static_cast<double>(limits->max);
        if (ends) return true;
      }
      const Node* producer = graph_.producer(id);
      if (producer == nullptr) return false;
      if (const auto* clamp = std::get_if<ClampAttrs>(&producer->attrs)) {
        return clamp->min >= bounds.min && clamp->max <= bounds.max;
      }
      if (!is_conversion(*producer)) return false;
      id = producer->inputs[0];
    }
  }

  const Graph& graph_;
  const std::vector<std::optional<ValueId>>& source_;
  const IntegerRules& rules_;
  const Graph& model_;
  const QuantConfig& config_;
};

}  // namespace
}  // namespace proof

Expected<void> prove(const Quantized& quantized, const TargetDesc& target, const Graph& model,
                     const QuantConfig& config) {
  TRY(prove(quantized.graph, target, quantized.has_ranges));
  return proof::Comparison(quantized, target, model, config).whole();
}

}  // namespace isthmus
