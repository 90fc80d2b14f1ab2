// Collects and prints the summary of a model file.
#include "report/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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

std::string with_separators(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
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
  for (const ValueId input : graph.inputs()) summary.inputs.push_back(tensor(graph, input));
  for (const Output& output : graph.outputs()) {
    if (output.kind != OutputKind::kResult) continue;
    if (const auto* id = std::get_if<ValueId>(&output.value)) {
      summary.outputs.push_back(tensor(graph, *id));
    } else {
      summary.outputs.push_back({"", arg_text(graph, std::get<ArgValue>(output.value)), {}});
    }
  }
  Counter counter;
  std::map<std::string_view, pt2::InputKind> kinds;
  for (const pt2::InputSpec& input : program.inputs) kinds.emplace(input.target, input.kind);
  for (const Constant& constant : graph.constants()) {
    const auto kind = kinds.find(constant.fqn);
    const bool is_parameter = kind != kinds.end() && kind->second == pt2::InputKind::kParameter;
    const bool is_buffer = kind != kinds.end() && kind->second == pt2::InputKind::kBuffer;
    counter.add(is_parameter ? summary.parameters : is_buffer ? summary.buffers : summary.constants, *constant.data);
  }
  summary.nodes = program.nodes.size();
  std::map<std::string, std::size_t> counts;
  for (const pt2::Node& node : program.nodes) ++counts[short_target(node.target)];
  summary.ops.assign(counts.begin(), counts.end());
  std::ranges::stable_sort(summary.ops, std::greater<>(), &std::pair<std::string, std::size_t>::second);
  summary.symbols = graph.exprs().symbols();
  summary.examples = static_cast<std::size_t>(
      std::ranges::count_if(model.examples, [](const auto& example) { return example.has_value(); }));
  summary.diagnostics = diagnostics.entries();
  return summary;
}

std::string to_text(const ModelSummary& summary, TextStyle style) {
  std::string out;
  const auto line = [&](std::string_view label, std::string_view text) {
    const bool is_bold = style.has_colour && !label.empty();
    out += fmt::format("{}{:<12}{}{}\n", is_bold ? "\033[1m" : "", label, is_bold ? "\033[0m" : "", text);
  };
  line("model", fmt::format("{}  ({})", summary.file, human_bytes(summary.bytes)));
  line("format", fmt::format("{}, schema {}, torch {}", summary.layout, summary.schema,
                             summary.torch_version.empty() ? "unknown" : summary.torch_version));
  const auto tensors = [&](std::string_view label, const std::vector<ModelSummary::Tensor>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ModelSummary::Tensor& row = rows[i];
      line(i == 0 ? label : "",
           row.name.empty() ? row.dtype : fmt::format("{}  {}[{}]", row.name, row.dtype, fmt::join(row.shape, ",")));
    }
  };
  tensors("inputs", summary.inputs);
  tensors("outputs", summary.outputs);
  const auto group = [&](std::string_view label, const ModelSummary::Group& counts) {
    if (counts.tensors == 0) return;
    line(label, fmt::format("{} in {} tensors, {}", with_separators(counts.elements), counts.tensors,
                            human_bytes(counts.bytes)));
  };
  group("parameters", summary.parameters);
  group("buffers", summary.buffers);
  group("constants", summary.constants);
  for (const Symbol& symbol : summary.symbols) {
    line(&symbol == &summary.symbols.front() ? "symbols" : "",
         fmt::format("{} in {}{}", symbol.name, symbol_range(symbol),
                     symbol.hint ? fmt::format(", {} at export", *symbol.hint) : ""));
  }
  line("operators", fmt::format("{} nodes, {} kinds", summary.nodes, summary.ops.size()));
  const std::size_t most = summary.ops.empty() ? 1 : summary.ops.front().second;
  for (const auto& [name, count] : summary.ops) {
    const std::size_t bar = (count * 30 + most - 1) / most;
    std::string blocks;
    for (std::size_t i = 0; i < bar; ++i) blocks += "▆";
    out += fmt::format("  {:>5}  {:<44} {}{}{}\n", count, name, style.has_colour ? "\033[36m" : "", blocks,
                       style.has_colour ? "\033[0m" : "");
  }
  return out;
}

}  // namespace isthmus
