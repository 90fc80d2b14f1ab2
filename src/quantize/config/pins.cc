// Reads pins, brings them to what a device can hold, and follows them through the graph.
#include "quantize/config/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "interpret/quantized_types.h"
#include "ir/literals.h"
#include "ir/readers.h"
#include "ir/rewriter.h"
#include "ops/emitter.h"
#include "ops/table.h"
#include "quantize/config/grid.h"

namespace isthmus {
namespace {

const FakeQuantizeAttrs* pin_attrs(const Node& node) { return std::get_if<FakeQuantizeAttrs>(&node.attrs); }

Pin pin_of(const FakeQuantizeAttrs& attrs) {
  return {{{static_cast<float>(attrs.scale)}, static_cast<std::int32_t>(attrs.zero_point), -1}, attrs.dtype};
}

std::string place(const Graph& graph, const Node& node) {
  return fmt::format("%{}{}", graph[node.inputs[0]].name, origin_suffix(node.origin));
}

// Unsigned values are signed ones plus half of their range.
FakeQuantizeAttrs with_sign(FakeQuantizeAttrs attrs) {
  constexpr std::int64_t kHalf = 128;
  if (attrs.dtype != DType::kU8) return attrs;
  return {attrs.scale, attrs.zero_point - kHalf, attrs.min - kHalf, attrs.max - kHalf, DType::kI8};
}

// Why no device like this holds such parameters, and what would help.
struct Refusal {
  std::string_view code;
  std::string why;
  std::string_view fix;
};
std::optional<Refusal> refusal_of(const FakeQuantizeAttrs& attrs, const TargetDesc& target) {
  const auto& types = target.integers.storage;
  if (std::ranges::find(types, attrs.dtype) == types.end()) {
    return Refusal{"pin-type", fmt::format("{} has no {} values", target.name, name_of(attrs.dtype)),
                   "quantize activations to int8 in PyTorch"};
  }
  const auto scale = static_cast<float>(attrs.scale);
  if (!std::isnormal(scale) || static_cast<double>(scale) < kMinScale) {
    return Refusal{"pin-scale", fmt::format("its scale {} is too close to zero", float_text(attrs.scale)),
                   "set a larger eps in PyTorch's observer"};
  }
  const QuantizedRange limits = quantized_range(attrs.dtype);
  if (attrs.zero_point < limits.min || attrs.zero_point > limits.max) {
    return Refusal{"pin-zero-point",
                   fmt::format("its zero point {} is out of the range of {}", attrs.zero_point, name_of(attrs.dtype)),
                   "use an observer in PyTorch whose ranges contain zero"};
  }
  if (attrs.dtype == DType::kI16 && attrs.zero_point != 0) {
    return Refusal{"pin-zero-point",
                   fmt::format("{} supports int16 only with zero point 0, not {}", target.name, attrs.zero_point),
                   "quantize 16-bit activations symmetrically in PyTorch"};
  }
  return std::nullopt;
}

// Whether the type has more quantized values than are used. A single one at an end, as symmetric ranges leave it, is
// seen only by what would be clipped.
bool has_wider_range(const FakeQuantizeAttrs& attrs) {
  const QuantizedRange limits = quantized_range(attrs.dtype);
  return attrs.min > limits.min + 1 || attrs.max < limits.max - 1;
}
// The numbers of the first quantized value and of the last.
ClampAttrs bounds_of(const FakeQuantizeAttrs& attrs) {
  const auto number = [&](std::int64_t q) { return static_cast<double>(q - attrs.zero_point) * attrs.scale; };
  return ClampAttrs{number(attrs.min), number(attrs.max)};
}

bool chooses_as_it_runs(const Node& node) {
  return node.op != Op::kForeign && def(node.op).flow == QFlow::kPinsAsItRuns;
}

// What is quantized with a scale for each channel and at once dequantized, by the dequantize.
std::optional<ValueId> channels_source(const Graph& graph, const Node& node) {
  const auto* back = std::get_if<DequantizeAttrs>(&node.attrs);
  const Node* before = back == nullptr || node.inputs.size() != 3 ? nullptr : graph.producer(node.inputs[0]);
  const auto* there = before == nullptr ? nullptr : std::get_if<QuantizeAttrs>(&before->attrs);
  if (there == nullptr || there->axis < 0 || there->axis != back->axis || before->inputs.size() != 3) {
    return std::nullopt;
  }
  const bool has_same = before->inputs[1] == node.inputs[1] && before->inputs[2] == node.inputs[2];
  return has_same ? std::optional(before->inputs[0]) : std::nullopt;
}

// Values whose parameters no quantized value of the device can have, for one warning.
class Unused {
 public:
  void add(const Graph& graph, ValueId id, const Origin& origin) {
    constexpr std::size_t kMaxNames = 3;
    if (count_ == 0) first_ = graph[id].name;
    if (count_ < kMaxNames)
      names_ += fmt::format("{}%{}{}", count_ == 0 ? "" : ", ", graph[id].name, origin_suffix(origin));
    if (++count_ == kMaxNames + 1) names_ += " and others";
  }
  void say(std::string_view code, std::string_view what, std::string_view fix, Diagnostics& diagnostics) const {
    if (count_ == 0) return;
    diagnostics.warn(std::string(code), first_, fmt::format("the archive gives {} {}; {}", names_, what, fix));
  }

 private:
  std::size_t count_ = 0;
  std::string first_, names_;
};

template <class Use>
void each_data_input(const Node& node, const Use& use) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (is_data_input(node.op, i)) use(node.inputs[i]);
  }
}

}  // namespace

bool passes_values_through(Op op) {
  if (op == Op::kForeign) return false;
  const QFlow flow = def(op).flow;
  return flow == QFlow::kMovesData || flow == QFlow::kJoinsInputs || flow == QFlow::kNarrowsRange;
}

bool is_quantized_by_archive(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return pin_attrs(node) != nullptr || chooses_as_it_runs(node) || channels_source(graph, node);
  });
}

Pins pins_of(const Graph& graph) {
  Pins pins;
  for (const Node& node : graph.nodes()) {
    if (const FakeQuantizeAttrs* attrs = pin_attrs(node)) pins[node.outputs[0]] = pin_of(*attrs);
  }
  return pins;
}

Range range_of(const Pin& pin) {
  const QuantizedRange limits = quantized_range(pin.storage);
  const auto scale = static_cast<double>(pin.quant.scale());
  return {scale * static_cast<double>(limits.min - pin.quant.zero_point),
          scale * static_cast<double>(limits.max - pin.quant.zero_point)};
}

Expected<Graph> settle_pins(const Graph& graph, const TargetDesc& target, Diagnostics& diagnostics) {
  if (!is_quantized_by_archive(graph)) return graph;
  Rewriter rewriter(graph);
  Emitter emitter(rewriter.graph());
  Unused as_it_runs, by_channel;
  for (const Node& node : graph.nodes()) {
    if (chooses_as_it_runs(node) && target.integers.quantizes_rows == nullptr) {
      as_it_runs.add(graph, node.inputs[0], node.origin);
      rewriter.replace(node.outputs[0], rewriter.map(node.inputs[0]));
      continue;
    }
    if (const auto source = channels_source(graph, node)) {
      by_channel.add(graph, *source, node.origin);
      rewriter.replace(node.outputs[0], rewriter.map(*source));
      continue;
    }
    const FakeQuantizeAttrs* given = pin_attrs(node);
    if (given == nullptr) {
      rewriter.copy(node);
      continue;
    }
    const std::string& name = graph[node.outputs[0]].name;
    ValueId input = rewriter.map(node.inputs[0]);
    FakeQuantizeAttrs attrs = with_sign(*given);
    if (const auto refused = refusal_of(attrs, target)) {
      diagnostics.warn(std::string(refused->code), name,
                       fmt::format("the archive's parameters of {} are not supported by {}: {}; they are ignored; {}",
                                   place(graph, node), target.name, refused->why, refused->fix));
      rewriter.replace(node.outputs[0], input);
      continue;
    }
    emitter.begin(node.origin, name, node.in_float);
    if (has_wider_range(attrs)) input = TRY(emitter.emit(Op::kClamp, bounds_of(attrs), {input}));
    const QuantizedRange limits = quantized_range(attrs.dtype);
    attrs.min = limits.min;
    attrs.max = limits.max;
    const ValueId pinned = TRY(emitter.emit(node.op, attrs, {input}));
    if (!rewriter.graph().find(name)) rewriter.graph().rename(pinned, name);
    rewriter.replace(node.outputs[0], pinned);
  }
  as_it_runs.say("dynamic-scales", fmt::format("dynamic quantization, which {} does not support", target.name),
                 "calibration gives ranges instead (--calibrate)", diagnostics);
  by_channel.say("channel-scales", "a scale per channel, which no target supports for activations",
                 "they are ignored; quantize activations per tensor in PyTorch", diagnostics);
  return without_dead_code(std::move(rewriter).finish());
}

Expected<Graph> with_conversions(const Graph& graph) {
  Rewriter rewriter(graph);
  Emitter emitter(rewriter.graph());
  std::map<ValueId, std::vector<std::pair<FakeQuantizeAttrs, ValueId>>> made;  // several readers share a conversion
  for (const Node& node : graph.nodes()) {
    const auto source = chooses_as_it_runs(node) ? std::optional(node.inputs[0]) : channels_source(graph, node);
    if (source) {
      rewriter.replace(node.outputs[0], rewriter.map(*source));
      continue;
    }
    const FakeQuantizeAttrs* given = pin_attrs(node);
    if (given == nullptr) {
      rewriter.copy(node);
      continue;
    }
    ValueId input = rewriter.map(node.inputs[0]);
    auto& known = made[input];
    const auto twin = std::ranges::find(known, *given, &std::pair<FakeQuantizeAttrs, ValueId>::first);
    if (twin != known.end()) {
      rewriter.replace(node.outputs[0], twin->second);
      continue;
    }
    const FakeQuantizeAttrs attrs = with_sign(*given);
    const QuantizedRange limits = quantized_range(attrs.dtype);
    const std::string& name = graph[node.outputs[0]].name;
    emitter.begin(node.origin, name, node.in_float);
    if (attrs.min > limits.min || attrs.max < limits.max) {
      input = TRY(emitter.emit(Op::kClamp, bounds_of(attrs), {input}));
    }
    Graph& out = rewriter.graph();
    const Shape shape = graph.type(node.outputs[0]).shape;
    const NodeId there =
        out.add_node(Op::kQuantize, QuantizeAttrs{-1, limits.min, limits.max, attrs.dtype}, {input},
                     {{out.unused_name(name + ".quantized"), {attrs.dtype, shape, pin_of(attrs).quant}}}, node.origin);
    const NodeId back = out.add_node(Op::kDequantize, DequantizeAttrs{}, {out[there].outputs[0]},
                                     {{out.unused_name(name), {DType::kF32, shape}}}, node.origin);
    known.emplace_back(*given, out[back].outputs[0]);
    rewriter.replace(node.outputs[0], out[back].outputs[0]);
  }
  return without_dead_code(std::move(rewriter).finish());
}

Graph with_pins(const Graph& graph, const Pins& changed) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    const auto found = node.outputs.empty() ? changed.end() : changed.find(node.outputs[0]);
    if (found == changed.end()) {
      rewriter.copy(node);
      continue;
    }
    Node other = node;
    auto& attrs = std::get<FakeQuantizeAttrs>(other.attrs);
    attrs.scale = static_cast<double>(found->second.quant.scale());
    attrs.zero_point = found->second.quant.zero_point;
    rewriter.copy(other);
  }
  return std::move(rewriter).finish();
}

std::vector<bool> values_before_pins(const Graph& graph, const Pins& pins, const std::vector<bool>& shares) {
  std::vector<bool> result(graph.values().size(), false);
  if (pins.empty()) return result;
  const std::vector<std::size_t> readers = reader_counts(graph);
  std::vector<std::size_t> left = readers;  // those that do not round it
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (node.outputs.size() != 1) continue;
    const ValueId made = node.outputs[0];
    const bool is_pin = pins.contains(made);
    result[made.index] = !is_pin && readers[made.index] > 0 && left[made.index] == 0;
    if (!shares[n] || (!is_pin && !result[made.index])) continue;
    each_data_input(node, [&](ValueId id) { --left[id.index]; });
  }
  const auto is_rounded = [&](ValueId id) { return readers[id.index] > 0 && left[id.index] == 0; };
  for (const ValueId id : graph.inputs()) result[id.index] = is_rounded(id);
  for (const GraphState& state : graph.states()) result[state.value.index] = is_rounded(state.value);
  return result;
}

PinnedFlow pinned_flow(const Graph& graph) {
  const std::size_t count = graph.values().size();
  PinnedFlow flow{.is_given = std::vector<bool>(count, false),
                  .is_taken = std::vector<bool>(count, false),
                  .storage = std::vector<std::optional<DType>>(count),
                  .is_in_rows = std::vector<bool>(count, false)};
  for (const Node& node : graph.nodes()) {
    if (chooses_as_it_runs(node)) {
      flow.has_rows = true;
      flow.is_in_rows[node.outputs[0].index] = true;
      continue;
    }
    if (const FakeQuantizeAttrs* attrs = pin_attrs(node)) {
      flow.has_pins = true;
      flow.is_given[node.outputs[0].index] = true;
      flow.storage[node.outputs[0].index] = attrs->dtype;
      continue;
    }
    if (!passes_values_through(node.op)) continue;
    if (def(node.op).flow == QFlow::kMovesData) {
      flow.is_in_rows[node.outputs[0].index] = flow.is_in_rows[node.inputs[0].index];
    }
    bool is_given = true;
    each_data_input(node, [&](ValueId id) {
      is_given = is_given && (flow.is_given[id.index] || graph.constant(id) != nullptr);
      auto& storage = flow.storage[node.outputs[0].index];
      if (!storage) storage = flow.storage[id.index];
    });
    flow.is_given[node.outputs[0].index] = is_given && flow.storage[node.outputs[0].index].has_value();
  }
  if (!flow.has_pins) return flow;
  std::vector<bool> shares;
  for (const Node& node : graph.nodes()) shares.push_back(pin_attrs(node) != nullptr || passes_values_through(node.op));
  const Pins pins = pins_of(graph);
  flow.is_taken = values_before_pins(graph, pins, shares);
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (!shares[n] || (!pins.contains(node.outputs[0]) && !flow.is_taken[node.outputs[0].index])) continue;
    each_data_input(node, [&](ValueId id) {
      if (!flow.is_given[id.index]) flow.storage[id.index] = flow.storage[node.outputs[0].index];
    });
  }
  return flow;
}

}  // namespace isthmus
