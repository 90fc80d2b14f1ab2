// A cheapest cut between what must be quantized and what must be in float.
#include "quantize/plan/precision.h"

#include <algorithm>

#include "ir/readers.h"
#include "ops/table.h"
#include "quantize/config/pins.h"
#include "quantize/plan/elements.h"
#include "quantize/plan/flow.h"
#include "quantize/plan/front.h"

namespace isthmus {
namespace {

std::uint64_t bytes_of(const Graph& graph, ValueId id) {
  return elements_of(graph, id) * size_of(graph.type(id).dtype);
}

// Values cost what converting them costs, in either direction once however many readers there are.
class PrecisionNetwork {
 public:
  PrecisionNetwork(const Graph& graph, const QuantConfig& config)
      : graph_(graph), config_(config), network_(2 + graph.nodes().size()) {}

  static std::size_t place(std::size_t node) { return node + 2; }
  void pin(std::size_t node, Precision precision) {
    if (precision == Precision::kQuantized) {
      network_.add_pipe(FlowNetwork::kSource, place(node), FlowNetwork::kUnlimited);
    } else {
      network_.add_pipe(place(node), FlowNetwork::kSink, FlowNetwork::kUnlimited);
    }
  }
  void tie(std::size_t a, std::size_t b) {
    network_.add_pipe(place(a), place(b), FlowNetwork::kUnlimited, FlowNetwork::kUnlimited);
  }
  void prefer_quantized(std::size_t node) { preferred_.push_back(place(node)); }

  std::vector<bool> solve() {
    std::vector<std::vector<std::size_t>> readers(graph_.values().size());
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      for (const ValueId input : graph_.nodes()[i].inputs) readers[input.index].push_back(place(i));
    }
    const std::size_t outside = config_.outputs == IoType::kFloat ? FlowNetwork::kSink : FlowNetwork::kSource;
    for (const Output& output : graph_.outputs()) {
      const auto* id = std::get_if<ValueId>(&output.value);
      if (id != nullptr && output.kind == OutputKind::kResult) readers[id->index].push_back(outside);
    }
    // A state is kept quantized or in float, whichever converts less: by who makes its new value and by who reads it.
    std::vector<std::size_t> kept;
    for (const GraphState& state : graph_.states()) {
      kept.push_back(network_.add_place());
      if (const auto next = graph_.next_value(state)) readers[next->index].push_back(kept.back());
    }
    for (std::uint32_t i = 0; i < readers.size(); ++i) {
      const Value& value = graph_.values()[i];
      if (readers[i].empty() || value.kind == ValueKind::kConstant || value.type.dtype != DType::kF32) continue;
      std::size_t maker = config_.inputs == IoType::kFloat ? FlowNetwork::kSink : FlowNetwork::kSource;
      if (value.kind == ValueKind::kResult) maker = place(value.index);
      if (value.kind == ValueKind::kState) maker = kept[value.index];
      add_value(maker, readers[i], bytes_of(graph_, ValueId{i}));
    }
    return network_.source_side(preferred_);
  }

 private:
  void add_value(std::size_t maker, const std::vector<std::size_t>& readers, std::uint64_t cost) {
    if (readers.size() == 1) return network_.add_pipe(maker, readers[0], cost, cost);
    const std::size_t dequantized = network_.add_place();
    const std::size_t quantized = network_.add_place();
    network_.add_pipe(maker, dequantized, cost);
    network_.add_pipe(quantized, maker, cost);
    for (const std::size_t reader : readers) {
      network_.add_pipe(dequantized, reader, FlowNetwork::kUnlimited);
      network_.add_pipe(reader, quantized, FlowNetwork::kUnlimited);
    }
  }

  const Graph& graph_;
  const QuantConfig& config_;
  FlowNetwork network_;
  std::vector<std::size_t> preferred_;  // quantized where that converts no more bytes
};

// A comparison makes none, but reads them: without floats the device has it with quantized values or not at all.
bool has_reals(const Graph& graph, const Node& node, const IntegerRules& rules) {
  const auto is_real = [&](ValueId id) { return graph.type(id).dtype == DType::kF32; };
  if (node.outputs.empty()) return false;
  if (rules.has_float || is_real(node.outputs[0])) return is_real(node.outputs[0]);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (is_data_input(node.op, i) && is_real(node.inputs[i])) return true;
  }
  return false;
}

// Who cannot read 16 bits may read 8 of them.
std::optional<Reason> refusal_of(const Graph& graph, const Node& node, const IntegerRules& rules, DType storage) {
  auto reason = rules.refusal(graph, node, storage);
  const bool has_both = rules.wide_reads != nullptr && storage == DType::kI16 && !must_share(rules, node.op);
  if (!reason || !has_both || rules.refusal(graph, node, QuantizedTypes(DType::kI8, storage))) return reason;
  return std::nullopt;
}

// Why a node cannot compute on quantized values, or shall not; nothing where it may.
std::optional<PrecisionCause> float_cause(bool is_real, bool is_refused, const Node& node, const NodeSettings& settings,
                                          bool is_front) {
  if (!is_real) return PrecisionCause::kNoReals;
  if (is_refused) return PrecisionCause::kNoIntegers;
  if (node.in_float) return PrecisionCause::kStep;
  if (settings.in_float) return PrecisionCause::kWanted;
  if (is_front) return PrecisionCause::kFront;
  return std::nullopt;
}

// What the archive says of a node; nothing where it says nothing: there are no pins, or the node takes whatever
// precision is around it.
std::optional<PrecisionCause> archive_cause(const Graph& graph, const Node& node, const PinnedFlow& pinned) {
  if (!(pinned.has_pins || pinned.has_rows) || node.op == Op::kForeign || node.outputs.empty()) return std::nullopt;
  if (graph.type(node.outputs[0]).dtype != DType::kF32) return std::nullopt;
  switch (def(node.op).flow) {
    case QFlow::kPins:
    case QFlow::kPinsAsItRuns:
      return PrecisionCause::kArchive;
    case QFlow::kMovesData:
    case QFlow::kJoinsInputs:
    case QFlow::kNarrowsRange:
      return std::nullopt;
    case QFlow::kComputes:
    case QFlow::kFixedRange:
      break;
  }
  bool is_quantized = pinned.is_taken[node.outputs[0].index];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!is_data_input(node.op, i) || graph.constant(input) != nullptr) continue;
    is_quantized = is_quantized && pinned.is_given[input.index];
  }
  return is_quantized ? PrecisionCause::kArchive : PrecisionCause::kLeftInFloat;
}

}  // namespace

std::vector<bool> fused_clamps(const Graph& graph, const TargetDesc& target) {
  const std::vector<std::size_t> readers = reader_counts(graph);
  std::vector<bool> result(graph.nodes().size(), false);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!std::holds_alternative<ClampAttrs>(node.attrs) || readers[node.inputs[0].index] != 1) continue;
    const Node* maker = graph.producer(node.inputs[0]);
    result[i] = maker != nullptr && target.integers.takes_bounds(*maker);
  }
  return result;
}

Precisions choose_precisions(const Graph& graph, const TargetDesc& target, const std::vector<NodeSettings>& settings,
                             const QuantConfig& config, std::span<const std::optional<Precision>> wanted) {
  const std::size_t count = graph.nodes().size();
  Precisions result{std::vector<Precision>(count, Precision::kFloat),
                    std::vector<PrecisionCause>(count, PrecisionCause::kFewestBytes),
                    std::vector<std::optional<Reason>>(count), std::vector<bool>(count, false)};
  PrecisionNetwork network(graph, config);
  const IntegerRules& rules = target.integers;
  const std::vector<bool> is_fused = fused_clamps(graph, target);
  const PinnedFlow pinned = pinned_flow(graph);
  const bool has_front =
      target.integers.has_float && config.inputs == IoType::kFloat && !pinned.has_pins && !pinned.has_rows;
  const std::vector<bool> is_front = front_layers(graph, has_front ? config.front : 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = graph.nodes()[i];
    const bool is_real = has_reals(graph, node, rules);
    const auto archive = archive_cause(graph, node, pinned);
    if (archive && def(node.op).flow == QFlow::kPins) {
      network.pin(i, Precision::kQuantized);
      result.of_node[i] = Precision::kQuantized;
      result.causes[i] = *archive;
      continue;
    }
    if (archive && def(node.op).flow == QFlow::kPinsAsItRuns) {
      network.pin(i, Precision::kFloat);
      result.causes[i] = *archive;
      continue;
    }
    if (is_real) result.reasons[i] = refusal_of(graph, node, rules, settings[i].storage);
    const auto refused = float_cause(is_real, result.reasons[i].has_value(), node, settings[i], is_front[i]);
    if (refused) result.causes[i] = *refused;
    if (!rules.has_float) {
      if (refused) continue;
      result.of_node[i] = Precision::kQuantized;
      result.causes[i] = PrecisionCause::kOnlyIntegers;
      continue;
    }
    const bool has_rows_form = !refused && has_weights(node.op) && settings[i].per_channel &&
                               rules.quantizes_rows != nullptr && rules.quantizes_rows(graph, node);
    if (refused) {
      network.pin(i, Precision::kFloat);
    } else if (!wanted.empty() && wanted[i]) {
      network.pin(i, Precision::kFloat);
      result.can_have_rows[i] = wanted[i] == Precision::kRows;
      result.causes[i] = PrecisionCause::kGains;
    } else if (has_rows_form && pinned.is_in_rows[node.inputs[0].index]) {
      result.can_have_rows[i] = true;
      network.pin(i, Precision::kFloat);
      result.causes[i] = PrecisionCause::kArchive;
    } else if (archive) {
      // Where there is a choice, it has been made.
      network.pin(i, archive == PrecisionCause::kArchive ? Precision::kQuantized : Precision::kFloat);
      result.causes[i] = *archive;
    } else if (has_weights(node.op)) {
      result.can_have_rows[i] = has_rows_form;
      if (result.can_have_rows[i]) continue;
      network.pin(i, Precision::kQuantized);
      result.causes[i] = PrecisionCause::kLayer;
    } else if (is_fused[i] && !graph.producer(node.inputs[0])->in_float &&
               !settings[graph[node.inputs[0]].index].in_float) {
      network.tie(i, graph[node.inputs[0]].index);
      result.causes[i] = PrecisionCause::kFused;
    } else if (def(node.op).flow == QFlow::kMovesData) {
      network.prefer_quantized(i);
    }
  }
  if (!rules.has_float) return result;
  const std::vector<bool> is_quantized = network.solve();
  for (std::size_t i = 0; i < count; ++i) {
    if (is_quantized[PrecisionNetwork::place(i)]) {
      result.of_node[i] = Precision::kQuantized;
    } else if (result.can_have_rows[i]) {
      result.of_node[i] = Precision::kRows;
    }
  }
  return result;
}

}  // namespace isthmus
