// Why nodes compute in float although the target has integers.
#include <fmt/format.h>

#include <algorithm>

#include "report/causes.h"

namespace isthmus {
namespace {

constexpr PrecisionWords kWords[] = {
    {.cause = PrecisionCause::kNoReals,
     .code = "no-reals",
     .sentence = "the model itself computes it in integers or bools"},
    {.cause = PrecisionCause::kNoIntegers,
     .code = "no-integers",
     .sentence = "the target has no quantized form of it",
     .hint = "replace the operator"},
    {.cause = PrecisionCause::kStep,
     .code = "step",
     .sentence = "part of a computation that loses too much accuracy in integers"},
    {.cause = PrecisionCause::kWanted,
     .code = "config",
     .sentence = "the configuration keeps it in float",
     .hint = "change the rule in quant.toml, or lower --promote"},
    {.cause = PrecisionCause::kFront,
     .code = "front",
     .sentence = "one of the first layers: float costs little here, and rounding errors would reach all later layers",
     .hint = "`front = 0` in quant.toml quantizes it"},
    {.cause = PrecisionCause::kGains,
     .code = "gains",
     .sentence = "float here improves the accuracy of the outputs enough to pay for its cost",
     .hint = "`widen = 0` in quant.toml quantizes it"},
    {.cause = PrecisionCause::kLayer,
     .code = "layer",
     .sentence = "layers with weights are quantized where the target supports it"},
    {.cause = PrecisionCause::kFused, .code = "fused", .sentence = "fused into the node before it"},
    {.cause = PrecisionCause::kOnlyIntegers,
     .code = "only-integers",
     .sentence = "the target computes only in integers"},
    {.cause = PrecisionCause::kWide,
     .code = "wide",
     .sentence = "16 bits cost little here: only 32-bit accumulators and the first layers read it, or a concatenation "
                 "needs them",
     .hint = "`wide = false` in quant.toml makes it 8 bits"},
    {.cause = PrecisionCause::kArchive, .code = "archive", .sentence = "the archive quantizes it"},
    {.cause = PrecisionCause::kLeftInFloat,
     .code = "left-in-float",
     .sentence = "the archive quantizes other nodes, but not this one",
     .hint = "quantize it in PyTorch, or export the float model and let Isthmus quantize it"},
    {.cause = PrecisionCause::kFewestBytes,
     .code = "fewest-bytes",
     .sentence = "this needs the fewest conversions around it"},
};

// By value of the model: the nodes that read it.
std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values().size());
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    for (const ValueId input : graph.nodes()[i].inputs) readers[input.index].push_back(NodeId{i});
  }
  return readers;
}

// Whether its precision was chosen for its own sake.
bool is_decided(PrecisionCause cause) {
  return cause != PrecisionCause::kFewestBytes && cause != PrecisionCause::kFused;
}

}  // namespace

const PrecisionWords& words_of(PrecisionCause cause) {
  return *std::ranges::find(kWords, cause, &PrecisionWords::cause);
}

CauseRow precision_row(const Outcome& outcome, NodeId of_model) {
  const Node& node = outcome.model[of_model];
  const PrecisionCause cause = outcome.plan->causes[of_model.index];
  const std::optional<Reason>& reason = outcome.plan->reasons[of_model.index];
  CauseRow row{
      node_name(outcome.model, node), op_text(node), origin_words(node.origin), node.origin.module, {}, {}, {}};
  if (reason && cause == PrecisionCause::kNoIntegers) {
    row.code = code_text(reason->code);
    // In float it runs on the device all the same, where that has floats: there is nothing to mend.
    if (!outcome.target.integers.has_float) row.hint = hint(reason->code, outcome.target.name);
    row.text =
        fmt::format("cannot be quantized for {}: {}", outcome.target.name, text_of(*reason, outcome.target.label));
  } else {
    row.code = words_of(cause).code;
    row.text = words_of(cause).sentence;
    row.hint = words_of(cause).hint;
  }
  return row;
}

std::vector<CauseRow> float_causes(const Outcome& outcome, NodeId of_model) {
  const QuantPlan* plan = outcome.plan;
  if (plan == nullptr || plan->precision[of_model.index] == Precision::kQuantized) return {};
  const Graph& model = outcome.model;
  std::vector<CauseRow> result{precision_row(outcome, of_model)};
  if (is_decided(plan->causes[of_model.index])) return result;
  // The nearest one for which there was no choice, along nodes that are all in float; makers before readers.
  const auto readers = readers_of(model);
  std::vector<bool> is_seen(model.nodes().size(), false);
  std::vector<NodeId> queue{of_model};
  is_seen[of_model.index] = true;
  const auto visit = [&](NodeId id) {
    if (is_seen[id.index] || plan->precision[id.index] == Precision::kQuantized) return;
    is_seen[id.index] = true;
    queue.push_back(id);
  };
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const Node& node = model[queue[head]];
    if (is_decided(plan->causes[queue[head].index]) && plan->precision[queue[head].index] == Precision::kFloat) {
      const std::string name = node_name(model, node);
      result[0].text = fmt::format("{}; {} %{} nearby is in float", result[0].text, op_text(node), name);
      result.push_back(precision_row(outcome, queue[head]));
      return result;
    }
    for (const ValueId input : node.inputs) {
      if (model.producer(input) != nullptr) visit(NodeId{model[input].index});
    }
    for (const ValueId output : node.outputs) {
      for (const NodeId reader : readers[output.index]) visit(reader);
    }
  }
  result[0].text += "; the inputs and outputs of the model are float";
  return result;
}

}  // namespace isthmus
