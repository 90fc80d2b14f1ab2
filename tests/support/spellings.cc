// Puts one call into a graph, canonicalizes and runs it.
#include "support/spellings.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/models.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::test {
namespace {

// Commas outside of brackets become ends of lines.
std::string lines_of(std::string_view list, std::string_view before) {
  std::string result = "  " + std::string(before);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      result += "\n  " + std::string(before);
    } else if (c != ' ' || !result.ends_with(' ')) {
      result += c;
    }
  }
  return result + "\n";
}

std::string graph_of(std::string_view inputs, std::string_view types, std::string_view call) {
  const std::string head = inputs.starts_with('%') ? lines_of(inputs, "input ") : fmt::format("  {}\n", inputs);
  const std::string each = lines_of(types, "");
  const auto count = static_cast<std::size_t>(std::ranges::count(each, '\n'));
  std::string results;
  for (std::size_t i = 0; i < count; ++i) results += fmt::format("{}%y{}", i == 0 ? "" : ", ", i);
  return fmt::format("graph\n{}  {} = foreign({}) : {}\n  return {}\n", head, results, call, types, results);
}

Expected<Graph> canonical_spelling(std::string_view inputs, std::string_view types, std::string_view call,
                                   Diagnostics& diagnostics) {
  const Graph graph = TRY(parse_graph(graph_of(inputs, types, call)));
  return canonicalize(graph, diagnostics);
}

}  // namespace

std::string form_of(std::string_view inputs, std::string_view types, std::string_view call) {
  Diagnostics diagnostics;
  const auto graph = canonical_spelling(inputs, types, call, diagnostics);
  if (!graph) return "error: " + graph.error().text();
  std::string result;
  for (const auto& entry : diagnostics.entries()) result += "note: " + entry.text + "\n";
  const std::string text = print(*graph, {.with_names = false, .with_origins = false});
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    const bool is_given = line.starts_with("graph") || line.starts_with("  input") || line.starts_with("  symbol");
    if (!is_given) result += line.substr(2) + "\n";
    start = end + 1;
  }
  return result;
}

testing::AssertionResult same_form(std::string_view inputs, std::string_view types,
                                   const std::vector<std::string>& calls) {
  const std::string first = form_of(inputs, types, calls.at(0));
  if (first.starts_with("error") || first.starts_with("note")) return testing::AssertionFailure() << first;
  for (const std::string& call : calls) {
    const std::string other = form_of(inputs, types, call);
    if (other != first) {
      return testing::AssertionFailure() << call << " becomes\n" << other << "and " << calls[0] << "\n" << first;
    }
  }
  return testing::AssertionSuccess();
}

std::vector<double> run(std::string_view inputs, std::string_view types, std::string_view call,
                        const std::vector<std::vector<double>>& elements) {
  Diagnostics diagnostics;
  const auto graph = canonical_spelling(inputs, types, call, diagnostics);
  if (!graph) {
    ADD_FAILURE() << call << ": " << graph.error().text();
    return {};
  }
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < graph->inputs().size(); ++i) {
    const TensorType& type = graph->type(graph->inputs()[i]);
    std::vector<std::int64_t> sizes;
    for (const Dim dim : type.shape) sizes.push_back(dim.value());
    Tensor value(type.dtype, std::move(sizes));
    dispatch(type.dtype, [&]<class Number>(Number) {
      const auto to = value.mutable_data<Number>();
      for (std::size_t k = 0; k < to.size(); ++k) to[k] = static_cast<Number>(elements.at(i).at(k));
    });
    values.push_back(std::move(value));
  }
  const auto outputs = interpret(*graph, values);
  if (!outputs) {
    ADD_FAILURE() << call << ": " << outputs.error().text();
    return {};
  }
  std::vector<double> result;
  for (const auto& output : *outputs) {
    if (output) std::ranges::copy(doubles(*output), std::back_inserter(result));
  }
  return result;
}

bool is_refused(std::string_view inputs, std::string_view types, std::string_view call) {
  const std::string form = form_of(inputs, types, call);
  return form.starts_with("error") || form.starts_with("note");
}

}  // namespace isthmus::test
