// Graphs of one call, as text.
#include "support/calls.h"

#include <fmt/format.h>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::test {
namespace {

std::string indented(std::string_view lines) {
  std::string result;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    result += fmt::format("  {}\n", lines.substr(0, end));
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
  }
  return result;
}

Expected<Graph> canonical_graph(std::string_view inputs, std::string_view call, std::string_view results,
                                Diagnostics& diagnostics) {
  const Graph graph =
      TRY(parse_graph(fmt::format("graph\n{}{}  return {}\n", indented(inputs), indented(call), results)));
  return canonicalize(graph, diagnostics);
}

}  // namespace

std::string canonical(std::string_view inputs, std::string_view call, std::string_view results) {
  Diagnostics diagnostics;
  const auto graph = canonical_graph(inputs, call, results, diagnostics);
  if (!graph) return "error: " + graph.error().text();
  std::string notes;
  for (const auto& note : diagnostics.entries()) notes += "note: " + note.text + "\n";
  return print(*graph, {.with_names = false, .with_origins = false}) + notes;
}

std::vector<Tensor> computed(std::string_view inputs, std::string_view call, const std::vector<Tensor>& values,
                             std::string_view results) {
  Diagnostics diagnostics;
  const auto graph = canonical_graph(inputs, call, results, diagnostics);
  CHECK(graph.has_value(), graph ? "" : graph.error().text());
  const auto outputs = interpret(*graph, values);
  CHECK(outputs.has_value(), outputs ? "" : outputs.error().text());
  std::vector<Tensor> result;
  for (const auto& output : *outputs) result.push_back(output.value_or(Tensor()));
  return result;
}

}  // namespace isthmus::test
