// Collects and prints the summary of a TOSA file.
#include "report/tosa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/counts.h"
#include "program/run/tosa_graph.h"

namespace isthmus {
namespace {

std::vector<TosaSummary::Tensor> tosa_tensors(const tosa::Graph& graph, const std::vector<tosa::ValueIndex>& indices) {
  std::vector<TosaSummary::Tensor> result;
  for (const tosa::ValueIndex index : indices) {
    const tosa::Value& value = graph.values[index];
    result.push_back({value.name, std::string(name_of(value.type)), value.shape});
  }
  return result;
}

std::vector<std::string> texts_of(const std::vector<TosaSummary::Tensor>& tensors) {
  std::vector<std::string> texts;
  for (const TosaSummary::Tensor& tensor : tensors) {
    texts.push_back(fmt::format("{}  {}[{}]", tensor.name, tensor.dtype, fmt::join(tensor.shape, ",")));
  }
  return texts;
}

}  // namespace

TosaFigures figures_of(std::uint64_t bytes, const tosa::Graph& graph) {
  TosaFigures figures{bytes, 0, run::count_products(graph).value_or(0), 0};
  for (const tosa::Operator& op : graph.operators) {
    if (!op.inputs.empty()) ++figures.operators;
    if (op.op == tosa::Op::kTranspose) ++figures.transposes;
  }
  return figures;
}

TosaSummary summarize(const std::string& file, std::uint64_t bytes, const tosa::Graph& graph) {
  TosaSummary summary;
  summary.file = file;
  summary.bytes = bytes;
  const tosa::Version& version = graph.version;
  summary.version =
      fmt::format("{}.{}.{}{}", version.major, version.minor, version.patch, version.is_draft ? " draft" : "");
  summary.inputs = tosa_tensors(graph, graph.inputs);
  summary.outputs = tosa_tensors(graph, graph.outputs);
  std::map<std::string, std::size_t> ops;
  for (const tosa::Operator& op : graph.operators) {
    if (op.inputs.empty()) continue;
    ++ops[std::string(name_of(op.op))];
    ++summary.operators;
  }
  summary.ops = in_order(ops);
  std::set<const std::byte*> seen;
  for (const tosa::Value& value : graph.values) {
    if (value.data.size() == 0) continue;
    ++summary.constants;
    if (seen.insert(value.data.bytes().data()).second) summary.constant_bytes += value.data.size();
  }
  if (const auto products = run::count_products(graph); products) {
    summary.products = *products;
  } else {
    const Error& error = products.error();
    summary.problem = fmt::format("{} ({})", error.message, fmt::join(error.places, ", "));
  }
  return summary;
}

std::string to_text(const TosaSummary& summary, TextStyle style) {
  Rows rows(style);
  rows.add("graph", fmt::format("{}  ({}, TOSA {})", summary.file, human_bytes(summary.bytes), summary.version));
  rows.add("inputs", texts_of(summary.inputs));
  rows.add("outputs", texts_of(summary.outputs));
  rows.add("constants",
           fmt::format("{} in {}", human_bytes(summary.constant_bytes), counted(summary.constants, "constant")));
  if (summary.problem.empty()) {
    rows.add("products", fmt::format("{} in convolutions and matrices", with_separators(summary.products)));
  } else {
    rows.add("not run", summary.problem);
  }
  rows.add("operators", fmt::format("{} of {} kinds", summary.operators, summary.ops.size()));
  rows.add_bars(summary.ops);
  return rows.text();
}

}  // namespace isthmus
