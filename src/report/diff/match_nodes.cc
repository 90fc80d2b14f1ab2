// From the surest to the least sure: wide neighbourhoods, narrow ones, neighbours of counterparts, order.
#include "report/diff/match_nodes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace isthmus {
namespace {

using NodeLabel = std::size_t;
using LabelOf = std::function<NodeLabel(std::uint32_t)>;

constexpr int kRounds = 4;                                 // how far a neighbourhood reaches
constexpr std::size_t kMaxAligned = std::size_t{1} << 24;  // products of lengths

NodeLabel joined(NodeLabel a, NodeLabel b) {
  return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
}
NodeLabel text_hash(const std::string& text) { return std::hash<std::string>()(text); }

// One of the two graphs, and what stands around each of its nodes.
struct GraphSide {
  explicit GraphSide(const anatomy::Graph& of) : graph(of), makers(of.makers()), readers(of.readers()) {
    const std::size_t count = graph.nodes.size();
    labels.emplace_back();
    for (const anatomy::Node& node : graph.nodes) {
      labels[0].push_back(joined(text_hash(node.op), text_hash(node.origin.module)));
    }
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<NodeLabel>& before = labels.back();
      std::vector<NodeLabel> next;
      for (std::uint32_t i = 0; i < count; ++i) next.push_back(widened(i, before));
      labels.push_back(std::move(next));
    }
    match.resize(count);
  }

  NodeLabel widened(std::uint32_t node, const std::vector<NodeLabel>& before) const {
    NodeLabel label = before[node];
    for (const std::uint32_t input : graph.nodes[node].inputs) {
      label = joined(label, makers[input] ? before[*makers[input]] : graph.values[input].is_constant ? 1 : 2);
    }
    NodeLabel around = 0;  // the same in any order
    for (const std::uint32_t output : graph.nodes[node].outputs) {
      for (const std::uint32_t reader : readers[output]) around += joined(3, before[reader]);
    }
    return joined(label, around);
  }
  std::optional<std::uint32_t> maker_of_input(std::uint32_t node, std::size_t input) const {
    const std::vector<std::uint32_t>& inputs = graph.nodes[node].inputs;
    return input < inputs.size() ? makers[inputs[input]] : std::nullopt;
  }
  // The only nodes that read it, in order.
  std::vector<std::uint32_t> readers_of(std::uint32_t node) const {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t output : graph.nodes[node].outputs) {
      result.insert(result.end(), readers[output].begin(), readers[output].end());
    }
    return result;
  }
  std::vector<std::uint32_t> unmatched() const {
    std::vector<std::uint32_t> result;
    for (std::uint32_t i = 0; i < match.size(); ++i) {
      if (!match[i]) result.push_back(i);
    }
    return result;
  }

  const anatomy::Graph& graph;
  std::vector<std::optional<std::uint32_t>> makers;
  std::vector<std::vector<std::uint32_t>> readers;
  std::vector<std::vector<NodeLabel>> labels;  // by round, by node
  std::vector<std::optional<std::uint32_t>> match;
};

class NodeMatcher {
 public:
  NodeMatcher(const anatomy::Graph& a, const anatomy::Graph& b) : a_(a), b_(b) {}

  std::vector<std::optional<std::uint32_t>> run() {
    for (std::size_t round = kRounds + 1; round-- > 0;) {
      pair_equals([&](std::uint32_t i) { return a_.labels[round][i]; },
                  [&](std::uint32_t i) { return b_.labels[round][i]; });
      spread(true);
    }
    pair_equals([&](std::uint32_t i) { return named(a_, i); }, [&](std::uint32_t i) { return named(b_, i); });
    spread(true);
    align();
    spread(true);
    spread(false);
    return a_.match;
  }

 private:
  void pair(std::uint32_t a, std::uint32_t b) {
    a_.match[a] = b;
    b_.match[b] = a;
  }

  // As many on both sides: one after the other.
  void pair_equals(const LabelOf& key_of_a, const LabelOf& key_of_b) {
    std::map<NodeLabel, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> groups;
    for (const std::uint32_t i : a_.unmatched()) groups[key_of_a(i)].first.push_back(i);
    for (const std::uint32_t i : b_.unmatched()) groups[key_of_b(i)].second.push_back(i);
    for (const auto& [key, both] : groups) {
      if (both.first.size() != both.second.size()) continue;
      for (std::size_t i = 0; i < both.first.size(); ++i) pair(both.first[i], both.second[i]);
    }
  }
  static NodeLabel named(const GraphSide& side, std::uint32_t node) {
    const std::vector<std::uint32_t>& outputs = side.graph.nodes[node].outputs;
    const NodeLabel op = text_hash(side.graph.nodes[node].op);
    return outputs.empty() ? op : joined(op, text_hash(side.graph.values[outputs[0]].name));
  }

  bool has_same_sizes(std::uint32_t a, std::uint32_t b) const {
    const std::vector<std::uint32_t>& left = a_.graph.nodes[a].outputs;
    const std::vector<std::uint32_t>& right = b_.graph.nodes[b].outputs;
    if (left.empty() || right.empty()) return left.empty() && right.empty();
    return a_.graph.values[left[0]].sizes == b_.graph.values[right[0]].sizes;
  }
  bool is_alike(std::uint32_t a, std::uint32_t b) const {
    return a_.graph.nodes[a].op == b_.graph.nodes[b].op && has_same_sizes(a, b);
  }
  bool fits(std::uint32_t a, std::uint32_t b, bool same_op) const {
    if (a_.match[a] || b_.match[b]) return false;
    return a_.graph.nodes[a].op == b_.graph.nodes[b].op || (!same_op && has_same_sizes(a, b));
  }

  // Neighbours of counterparts in the same place.
  void spread(bool same_op) {
    std::vector<std::uint32_t> todo;
    for (std::uint32_t i = 0; i < a_.match.size(); ++i) {
      if (a_.match[i]) todo.push_back(i);
    }
    while (!todo.empty()) {
      const std::uint32_t a = todo.back();
      const std::uint32_t b = *a_.match[a];
      todo.pop_back();
      const auto meet = [&](std::uint32_t left, std::uint32_t right) {
        if (!fits(left, right, same_op)) return;
        pair(left, right);
        todo.push_back(left);
      };
      for (std::size_t i = 0; i < a_.graph.nodes[a].inputs.size(); ++i) {
        const auto left = a_.maker_of_input(a, i);
        const auto right = b_.maker_of_input(b, i);
        if (left && right) meet(*left, *right);
      }
      const std::vector<std::uint32_t> left = a_.readers_of(a);
      const std::vector<std::uint32_t> right = b_.readers_of(b);
      if (left.size() != right.size()) continue;
      for (std::size_t i = 0; i < left.size(); ++i) meet(left[i], right[i]);
    }
  }

  // What is left, in order: the longest sequence of operators and sizes that both have.
  void align() {
    const std::vector<std::uint32_t> left = a_.unmatched();
    const std::vector<std::uint32_t> right = b_.unmatched();
    if (left.empty() || right.empty() || left.size() > kMaxAligned / right.size()) return;
    const std::size_t width = right.size() + 1;
    std::vector<std::uint32_t> longest((left.size() + 1) * width, 0);  // of the rests from here on
    const auto alike = [&](std::size_t i, std::size_t j) { return is_alike(left[i], right[j]); };
    for (std::size_t i = left.size(); i-- > 0;) {
      for (std::size_t j = right.size(); j-- > 0;) {
        longest[i * width + j] = alike(i, j) ? longest[(i + 1) * width + j + 1] + 1
                                             : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
      if (alike(i, j)) {
        pair(left[i++], right[j++]);
      } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
        ++i;
      } else {
        ++j;
      }
    }
  }

  GraphSide a_, b_;
};

}  // namespace

std::vector<std::optional<std::uint32_t>> match_nodes(const anatomy::Graph& a, const anatomy::Graph& b) {
  return NodeMatcher(a, b).run();
}

}  // namespace isthmus
