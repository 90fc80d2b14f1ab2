// Which node causes each CPU fallback, and what would change without it.
#include "report/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/rows.h"
#include "targets/partition.h"

namespace isthmus {
namespace {

// Reasons that are about the type of a value, so that its producer may be the cause. By their codes: not every target
// has all of them.
constexpr std::string_view kTypeReasons[] = {"dtype", "float-value", "quantized-type"};

bool is_about_types(const Reason& reason) {
  return std::ranges::find(kTypeReasons, code_text(reason.code)) != std::end(kTypeReasons);
}

// Whether the device computes with numbers of this type.
bool fits(const TargetDesc& target, const TensorType& type) {
  return type.quant || (target.integers.has_float && type.dtype == DType::kF32);
}

CauseRow row_of(const Graph& graph, const Node& node, std::string_view code, std::string text) {
  return {node_name(graph, node),
          op_text(node),
          origin_words(node.origin),
          node.origin.module,
          std::string(code),
          std::move(text),
          {}};
}

}  // namespace

std::string to_text(const CauseRow& row) {
  return fmt::format("{} %{}{}: {} [{}]", row.op, row.node, row.origin.empty() ? "" : fmt::format(" ({})", row.origin),
                     row.text, row.code);
}

HostCauses::HostCauses(const Outcome& outcome) : outcome_(outcome), blamed_(outcome.graph.nodes().size()) {
  for (std::uint32_t i = 0; i < blamed_.size(); ++i) {
    const NodeId id{i};
    if (!is_on_host(id)) continue;
    const bool is_dequantize = std::holds_alternative<DequantizeAttrs>(outcome.graph[id].attrs);
    if (computes(id) || !is_dequantize) blame_makers(id);
  }
  for (std::uint32_t i = 0; i < blamed_.size(); ++i) blame_readers(NodeId{i});
}

// A conversion is never a cause: another node causes it.
void HostCauses::blame_makers(NodeId id) {
  const Graph& graph = outcome_.graph;
  if (computes(id) && (!is_about_types(*outcome_.host_reason(id)) || kept_in_float(id))) return;
  for (const ValueId input : graph[id].inputs) {
    if (graph.producer(input) == nullptr || fits(outcome_.target, graph.type(input))) continue;
    const NodeId maker{graph[input].index};
    if (is_on_host(maker) && computes(maker)) blamed_[id.index].push_back(maker);
  }
}

// A conversion to float on the host is there for those who read the floats.
void HostCauses::blame_readers(NodeId id) {
  const Graph& graph = outcome_.graph;
  if (!is_on_host(id) || !computes(id)) return;
  for (const ValueId input : graph[id].inputs) {
    if (graph.producer(input) == nullptr) continue;
    const NodeId maker{graph[input].index};
    const bool is_dequantize = std::holds_alternative<DequantizeAttrs>(graph[maker].attrs);
    if (is_on_host(maker) && is_dequantize && !computes(maker)) blamed_[maker.index].push_back(id);
  }
}

std::optional<NodeId> HostCauses::kept_in_float(NodeId id) const {
  const std::optional<NodeId> model = outcome_.in_model[id.index];
  if (outcome_.plan == nullptr || !model || outcome_.plan->precision[model->index] != Precision::kFloat) return {};
  if (outcome_.plan->causes[model->index] == PrecisionCause::kNoReals) return {};
  const Reason* reason = outcome_.host_reason(id);
  return reason != nullptr && is_about_types(*reason) ? model : std::nullopt;
}

std::vector<NodeId> HostCauses::chain(NodeId id) const {
  std::vector<NodeId> result{id};
  while (!blamed_[result.back().index].empty()) result.push_back(blamed_[result.back().index][0]);
  return result;
}

std::vector<NodeId> HostCauses::roots() const {
  std::set<NodeId> roots;
  for (std::uint32_t i = 0; i < blamed_.size(); ++i) {
    if (is_on_host(NodeId{i}) && computes(NodeId{i})) roots.insert(chain(NodeId{i}).back());
  }
  return {roots.begin(), roots.end()};
}

std::vector<bool> HostCauses::freed_by(std::span<const NodeId> roots) const {
  std::vector<bool> freed(blamed_.size(), false);
  for (const NodeId root : roots) freed[root.index] = true;
  const auto is_freed = [&](NodeId id) { return freed[id.index]; };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t i = 0; i < blamed_.size(); ++i) {
      if (freed[i] || blamed_[i].empty() || !std::ranges::all_of(blamed_[i], is_freed)) continue;
      freed[i] = has_changed = true;
    }
  }
  return freed;
}

std::size_t HostCauses::nodes_of(NodeId root) const {
  const std::vector<bool> freed = freed_by({&root, 1});
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < freed.size(); ++i) count += freed[i] && computes(NodeId{i}) ? 1 : 0;
  return count;
}

std::size_t HostCauses::delegates_with(std::span<const NodeId> roots) const {
  const std::vector<bool> freed = freed_by(roots);
  std::vector<std::optional<Reason>> reasons(freed.size());
  for (std::uint32_t i = 0; i < freed.size(); ++i) {
    const Reason* reason = outcome_.host_reason(NodeId{i});
    if (reason != nullptr && !freed[i]) reasons[i] = *reason;
  }
  return partition(outcome_.graph, reasons).segments.size();
}

std::vector<CauseRow> HostCauses::rows(NodeId id) const {
  const Graph& graph = outcome_.graph;
  const std::vector<NodeId> nodes = chain(id);
  std::vector<CauseRow> result;
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    const Node& node = graph[nodes[i]];
    const Node& next = graph[nodes[i + 1]];
    std::string text;
    for (const ValueId input : node.inputs) {
      if (graph.producer(input) != &next) continue;
      text = fmt::format("on the host because it reads %{}, which is {}", graph[input].name,
                         type_text(graph, graph.type(input)));
    }
    if (text.empty()) text = fmt::format("on the host because %{} reads it there", node_name(graph, next));
    result.push_back(row_of(graph, node, code_text(outcome_.host_reason(nodes[i])->code), std::move(text)));
  }
  result.push_back(root_row(nodes.back()));
  return result;
}

CauseRow HostCauses::root_row(NodeId root) const {
  if (const auto model = kept_in_float(root)) return precision_row(outcome_, *model);
  const Reason& reason = *outcome_.host_reason(root);
  CauseRow row = row_of(outcome_.graph, outcome_.graph[root], code_text(reason.code), text_of(reason));
  row.hint = hint(reason.code);
  return row;
}

std::string HostCauses::fix(NodeId root) const {
  const std::size_t now = outcome_.places.segments.size();
  const std::size_t then = delegates_with({&root, 1});
  std::string what;
  if (then != now) {
    what = fmt::format("with {} %{} on the device there would be {} instead of {}", op_text(outcome_.graph[root]),
                       node_name(outcome_.graph, outcome_.graph[root]), counted(then, "delegate"), now);
  } else {
    what = fmt::format("with {} %{} alone on the device there would still be {}", op_text(outcome_.graph[root]),
                       node_name(outcome_.graph, outcome_.graph[root]), counted(then, "delegate"));
    const std::vector<NodeId> all = roots();
    const std::size_t best = delegates_with(all);
    if (best != now) what += fmt::format(", with all {} causes out of the way {}", all.size(), best);
  }
  const std::string todo = root_row(root).hint;
  return todo.empty() ? what : fmt::format("{}; {}", todo, what);
}

}  // namespace isthmus
