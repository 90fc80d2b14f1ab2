// Compares facts, fallbacks, nodes and ranges.
#include "report/diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "report/diff/match_nodes.h"
#include "stats/range.h"

namespace isthmus {
namespace {

bool is_same_fact(const Fact& a, const Fact& b) {
  return a.number && b.number ? *a.number == *b.number : a.text == b.text;
}

using FactsByKey = std::unordered_map<std::string_view, const Fact*>;

FactsByKey by_key(const Facts& facts) {
  FactsByKey result;
  for (const Fact& fact : facts.rows) result.emplace(fact.key, &fact);
  return result;
}

constexpr std::string_view kPresent = "present";

// What only one of two files of a kind has. Of a row that the other has not it is said once.
void add_only(Difference& out, const Facts& mine, const Facts& others, bool is_a) {
  std::set<std::string_view> rows;
  for (const Fact& fact : others.rows) rows.insert(fact.row);
  const FactsByKey known = by_key(others);
  std::set<std::string_view> said;
  for (const Fact& fact : mine.rows) {
    if (known.contains(fact.key)) continue;
    const bool is_row = !fact.row.empty() && !rows.contains(fact.row);
    if (is_row && !said.insert(fact.row).second) continue;
    const Fact shown = is_row ? Fact{fact.row, {}, std::string(kPresent), ""} : fact;
    out.figures.push_back(
        {shown.key, is_a ? std::optional(shown) : std::nullopt, is_a ? std::nullopt : std::optional(shown)});
  }
}

void compare_facts(Difference& out, const DiffSide& a, const DiffSide& b) {
  const bool is_same_kind = a.kind == b.kind;
  const FactsByKey others = by_key(b.facts);
  for (const Fact& fact : a.facts.rows) {
    const auto found = others.find(fact.key);
    if (found == others.end()) continue;
    if (!is_same_kind) out.compared.push_back(fact.key);
    if (!is_same_fact(fact, *found->second)) out.figures.push_back({fact.key, fact, *found->second});
  }
  if (!is_same_kind) return;
  add_only(out, a.facts, b.facts, true);
  add_only(out, b.facts, a.facts, false);
}

void compare_fallbacks(Difference& out, const Facts& a, const Facts& b) {
  if (!a.has_fallbacks || !b.has_fallbacks) return;
  std::map<FallbackKey, std::pair<std::size_t, std::size_t>> counts;
  for (const auto& [key, count] : a.fallbacks) counts[key].first = count;
  for (const auto& [key, count] : b.fallbacks) counts[key].second = count;
  for (const auto& [key, count] : counts) {
    if (count.first != count.second) out.fallbacks.push_back({key, count.first, count.second});
  }
}

Difference::NodeRow node_row(const anatomy::Graph& graph, const anatomy::Node& node, bool is_model) {
  return {.name = node.outputs.empty() ? "" : graph.values[node.outputs[0]].name,
          .op = node.op,
          .place = is_model ? "" : place_of(node),
          .fields = node.fields,
          .origin = node.origin};
}

std::string type_text(const anatomy::Value& value) {
  return fmt::format("{}[{}]", value.dtype, fmt::join(value.sizes, ","));
}
std::string scales_text(const Quant& quant) {
  if (quant.scales.size() == 1) return fmt::format("{:.6g}", quant.scales[0]);
  const auto [min, max] = std::ranges::minmax_element(quant.scales);
  return fmt::format("{} of {:.6g} to {:.6g}", quant.scales.size(), *min, *max);
}

// What differs between two nodes that are counterparts.
class NodeComparison {
 public:
  NodeComparison(const anatomy::Graph& a, const anatomy::Node& left, const anatomy::Graph& b,
                 const anatomy::Node& right)
      : a_(a), b_(b), left_(left), right_(right) {}

  std::vector<Difference::Change> run() {
    note("operator", left_.op, right_.op);
    note("fields", left_.fields, right_.fields);
    note("place", left_.delegate ? "delegate" : "host", right_.delegate ? "delegate" : "host");
    for (std::size_t i = 0; i < std::min(left_.outputs.size(), right_.outputs.size()); ++i) {
      const anatomy::Value& x = a_.values[left_.outputs[i]];
      const anatomy::Value& y = b_.values[right_.outputs[i]];
      const std::string suffix = left_.outputs.size() == 1 ? "" : fmt::format(" of output {}", i);
      note("type" + suffix, type_text(x), type_text(y));
      compare_parameters(suffix, x, y);
    }
    if (left_.inputs.size() != right_.inputs.size()) {
      note("inputs", std::to_string(left_.inputs.size()), std::to_string(right_.inputs.size()));
      return std::move(changes_);
    }
    for (std::size_t i = 0; i < left_.inputs.size(); ++i) {
      const anatomy::Value& x = a_.values[left_.inputs[i]];
      const anatomy::Value& y = b_.values[right_.inputs[i]];
      if (!x.is_constant || !y.is_constant) continue;
      const std::string suffix = fmt::format(" of constant input {}", i);
      note("type" + suffix, type_text(x), type_text(y));
      compare_parameters(suffix, x, y);
      if (x.data && y.data && type_text(x) == type_text(y)) compare_bytes(suffix, *x.data, *y.data);
    }
    return std::move(changes_);
  }

 private:
  void note(std::string what, const std::string& left, const std::string& right) {
    if (left != right) changes_.push_back({std::move(what), left, right});
  }
  void compare_parameters(const std::string& suffix, const anatomy::Value& x, const anatomy::Value& y) {
    if (!x.quant || !y.quant) {
      if (x.quant.has_value() != y.quant.has_value()) {
        note("scale" + suffix, x.quant ? scales_text(*x.quant) : "none", y.quant ? scales_text(*y.quant) : "none");
      }
      return;
    }
    if (x.quant->scales != y.quant->scales) {
      changes_.push_back({"scale" + suffix, scales_text(*x.quant), scales_text(*y.quant)});
    }
    note("zero point" + suffix, std::to_string(x.quant->zero_point), std::to_string(y.quant->zero_point));
  }
  void compare_bytes(const std::string& suffix, const Blob& x, const Blob& y) {
    if (x.size() != y.size()) {
      note("bytes" + suffix, std::to_string(x.size()), std::to_string(y.size()));
      return;
    }
    std::size_t different = 0;
    for (std::size_t i = 0; i < x.size(); ++i) different += x.bytes()[i] == y.bytes()[i] ? 0 : 1;
    if (different != 0) {
      changes_.push_back({"bytes" + suffix, "", fmt::format("{} of {} differ", different, x.size())});
    }
  }

  const anatomy::Graph& a_;
  const anatomy::Graph& b_;
  const anatomy::Node& left_;
  const anatomy::Node& right_;
  std::vector<Difference::Change> changes_;
};

Difference::Nodes compare_nodes(const DiffSide& a, const DiffSide& b) {
  Difference::Nodes out;
  const auto match = match_nodes(*a.graph, *b.graph);
  std::vector<bool> is_met(b.graph->nodes.size(), false);
  for (std::uint32_t i = 0; i < match.size(); ++i) {
    const anatomy::Node& left = a.graph->nodes[i];
    if (!match[i]) {
      out.only_a.push_back(node_row(*a.graph, left, a.is_model));
      continue;
    }
    const anatomy::Node& right = b.graph->nodes[*match[i]];
    is_met[*match[i]] = true;
    auto changes = NodeComparison(*a.graph, left, *b.graph, right).run();
    if (changes.empty()) {
      ++out.same;
    } else {
      out.changed.push_back(
          {node_row(*a.graph, left, a.is_model), node_row(*b.graph, right, b.is_model), std::move(changes)});
    }
  }
  for (std::uint32_t i = 0; i < is_met.size(); ++i) {
    if (!is_met[i]) out.only_b.push_back(node_row(*b.graph, b.graph->nodes[i], b.is_model));
  }
  return out;
}

bool has_operators_in_common(const anatomy::Graph& a, const anatomy::Graph& b) {
  return std::ranges::any_of(
      a.nodes, [&](const anatomy::Node& node) { return std::ranges::count(b.nodes, node.op, &anatomy::Node::op); });
}

void compare_graphs(Difference& out, const DiffSide& a, const DiffSide& b) {
  if (!a.graph || !b.graph) return;
  if (a.is_model != b.is_model) {
    out.not_compared.push_back(
        "nodes: one file is a model and the other a program; `isthmus eval` compares their outputs");
    return;
  }
  const bool has_nodes = !a.graph->nodes.empty() && !b.graph->nodes.empty();
  if (has_nodes && !has_operators_in_common(*a.graph, *b.graph)) {
    out.not_compared.push_back("nodes: the files have no operator in common");
    return;
  }
  out.nodes = compare_nodes(a, b);
}

void compare_ranges(Difference& out, const DiffSide& a, const DiffSide& b) {
  if (!a.statistics || !b.statistics) return;
  for (const auto& [name, value] : a.statistics->values) {
    const auto other = b.statistics->values.find(name);
    if (other == b.statistics->values.end()) continue;
    const Range x = range_of(value);
    const Range y = range_of(other->second);
    if (x == y) continue;
    const double ratio = x.width() > 0 ? y.width() / x.width() : y.width() > 0 ? HUGE_VAL : 1;
    out.ranges.push_back({name, {x.min + 0.0, x.max}, {y.min + 0.0, y.max}, ratio});  // no -0
  }
  std::ranges::stable_sort(out.ranges, [](const Difference::Range& x, const Difference::Range& y) {
    return std::max(x.ratio, 1 / x.ratio) > std::max(y.ratio, 1 / y.ratio);
  });
}

}  // namespace

bool Difference::is_none() const {
  const bool has_nodes = nodes && (!nodes->changed.empty() || !nodes->only_a.empty() || !nodes->only_b.empty());
  return figures.empty() && fallbacks.empty() && !has_nodes && ranges.empty();
}

Expected<Difference> difference(const DiffSide& a, const DiffSide& b) {
  Difference out{.a = a.path,
                 .b = b.path,
                 .kind_a = a.kind,
                 .kind_b = b.kind,
                 .compared = {},
                 .figures = {},
                 .fallbacks = {},
                 .nodes = {},
                 .ranges = {},
                 .not_compared = {}};
  compare_facts(out, a, b);
  const bool has_fallbacks = a.facts.has_fallbacks && b.facts.has_fallbacks;
  const bool has_graphs = a.graph && b.graph && a.is_model == b.is_model;
  if (a.kind != b.kind && out.compared.empty() && !has_fallbacks && !has_graphs) {
    return bad_input(fmt::format("{} is {} and {} is {}: these cannot be compared", a.path, a.kind, b.path, b.kind));
  }
  compare_fallbacks(out, a.facts, b.facts);
  compare_graphs(out, a, b);
  compare_ranges(out, a, b);
  return out;
}

}  // namespace isthmus
