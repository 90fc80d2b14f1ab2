// Collects and prints the summary of a model file.
#include "report/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "frontends/torch/load.h"
#include "ir/text.h"

namespace isthmus {
namespace {

class Counter {
 public:
  void add(ModelSummary::Group& group, const TensorView& tensor) {
    ++group.tensors;
    const std::byte* const storage = tensor.storage.bytes().data();
    if (storages_.insert(storage).second) group.bytes += tensor.storage.size();
    if (tensors_.emplace(storage, tensor.offset, tensor.sizes).second) {
      group.elements += static_cast<std::uint64_t>(tensor.element_count());
    }
  }

 private:
  std::set<const std::byte*> storages_;
  std::set<std::tuple<const std::byte*, std::int64_t, std::vector<std::int64_t>>> tensors_;
};

ModelSummary::Tensor tensor(const Graph& graph, ValueId id) {
  const Value& value = graph[id];
  ModelSummary::Tensor result{value.name, std::string(name_of(value.type.dtype)), {}};
  for (const Dim dim : value.type.shape) result.shape.push_back(graph.exprs().text(dim));
  return result;
}

// What every kind of model has: inputs, outputs, symbols.
void add_interface(ModelSummary& summary, const Model& model, const Diagnostics& diagnostics) {
  const Graph& graph = model.graph;
  for (const ValueId input : graph.inputs()) summary.inputs.push_back(tensor(graph, input));
  for (const Output& output : graph.outputs()) {
    if (output.kind != OutputKind::kResult) continue;
    if (const auto* id = std::get_if<ValueId>(&output.value)) {
      summary.outputs.push_back(tensor(graph, *id));
    } else {
      summary.outputs.push_back({"", arg_text(graph, std::get<ArgValue>(output.value)), {}});
    }
  }
  summary.states = states_of(graph);
  summary.symbols = graph.exprs().symbols();
  summary.examples = static_cast<std::size_t>(
      std::ranges::count_if(model.examples, [](const auto& example) { return example.has_value(); }));
  summary.diagnostics = diagnostics.entries();
}

std::string symbol_range(const Symbol& symbol) {
  return fmt::format("{}..{}", symbol.min ? std::to_string(*symbol.min) : "?",
                     symbol.max ? std::to_string(*symbol.max) : "unbounded");
}

}  // namespace

ModelSummary summarize(const std::string& file, const pt2::Archive& archive, const Model& model,
                       const Diagnostics& diagnostics) {
  const Graph& graph = model.graph;
  const pt2::Program& program = archive.program;
  ModelSummary summary;
  summary.file = file;
  summary.bytes = archive.file_bytes;
  summary.layout = archive.layout;
  summary.torch_version = program.torch_version;
  summary.schema = fmt::format("{}.{}", program.schema_major, program.schema_minor);
  add_interface(summary, model, diagnostics);
  Counter counter;
  std::map<std::string_view, pt2::InputKind> kinds;
  for (const pt2::InputSpec& input : program.inputs) kinds.emplace(input.target, input.kind);
  for (const Constant& constant : graph.constants()) {
    const auto kind = kinds.find(constant.fqn);
    const bool is_parameter = kind != kinds.end() && kind->second == pt2::InputKind::kParameter;
    const bool is_buffer = kind != kinds.end() && kind->second == pt2::InputKind::kBuffer;
    if (!constant.data) continue;  // it is a state
    counter.add(is_parameter ? summary.parameters : is_buffer ? summary.buffers : summary.constants, *constant.data);
  }
  for (const GraphState& state : graph.states()) counter.add(summary.buffers, *state.initial.data);
  summary.nodes = program.nodes.size();
  std::map<std::string, std::size_t> counts;
  for (const pt2::Node& node : program.nodes) ++counts[short_target(node.target)];
  summary.ops = in_order(counts);
  return summary;
}

ModelSummary summarize(const std::string& file, const onnx::Model& onnx, const Model& model,
                       const Diagnostics& diagnostics) {
  ModelSummary summary;
  summary.kind = "onnx";
  summary.file = file;
  summary.bytes = onnx.file_bytes;
  summary.layout = "ONNX";
  summary.torch_version = onnx.producer + (onnx.producer_version.empty() ? "" : " " + onnx.producer_version);
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : onnx.opsets) {
    opsets.push_back(domain.empty() ? fmt::format("opset {}", version) : fmt::format("{} {}", domain, version));
  }
  summary.schema = fmt::format("IR {}, {}", onnx.ir_version, fmt::join(opsets, ", "));
  add_interface(summary, model, diagnostics);
  Counter counter;
  for (const onnx::Tensor& initializer : onnx.graph.initializers) {
    if (initializer.data) counter.add(summary.parameters, *initializer.data);
  }
  for (const Constant& constant : model.graph.constants()) {
    if (constant.fqn.empty() && constant.data) counter.add(summary.constants, *constant.data);
  }
  summary.nodes = onnx.graph.nodes.size();
  std::map<std::string, std::size_t> counts;
  for (const onnx::Node& node : onnx.graph.nodes) {
    ++counts[harmless(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type)];
  }
  summary.ops = in_order(counts);
  return summary;
}

std::string to_text(const ModelSummary& summary, TextStyle style) {
  Rows rows(style);
  rows.add("model", fmt::format("{}  ({})", summary.file, human_bytes(summary.bytes)));
  const std::string version = summary.torch_version.empty() ? "unknown" : harmless(summary.torch_version);
  rows.add("format", summary.kind == "onnx"
                         ? fmt::format("{} {}, written by {}", summary.layout, harmless(summary.schema), version)
                         : fmt::format("{}, schema {}, torch {}", summary.layout, summary.schema, version));
  const auto tensors = [](const std::vector<ModelSummary::Tensor>& group) {
    std::vector<std::string> texts;
    for (const ModelSummary::Tensor& row : group) {
      texts.push_back(row.name.empty() ? row.dtype
                                       : fmt::format("{}  {}[{}]", row.name, row.dtype, fmt::join(row.shape, ",")));
    }
    return texts;
  };
  rows.add("inputs", tensors(summary.inputs));
  rows.add("outputs", tensors(summary.outputs));
  std::vector<std::string> states;
  for (const StateRow& row : summary.states) states.push_back(to_text(row));
  if (!states.empty()) rows.add("state", states);
  const auto group = [&](std::string_view label, const ModelSummary::Group& counts) {
    if (counts.tensors == 0) return;
    rows.add(label, fmt::format("{} in {} tensors, {}", with_separators(counts.elements), counts.tensors,
                                human_bytes(counts.bytes)));
  };
  group("parameters", summary.parameters);
  group("buffers", summary.buffers);
  group("constants", summary.constants);
  std::vector<std::string> symbols;
  for (const Symbol& symbol : summary.symbols) {
    symbols.push_back(fmt::format("{} in {}{}", symbol.name, symbol_range(symbol),
                                  symbol.hint ? fmt::format(", {} at export", *symbol.hint) : ""));
  }
  rows.add("symbols", symbols);
  rows.add("operators", fmt::format("{} nodes, {} kinds", summary.nodes, summary.ops.size()));
  rows.add_bars(summary.ops);
  return rows.text();
}

}  // namespace isthmus
