// Which node causes each CPU fallback, and what would change without it.
#include "report/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/counts.h"
#include "report/rows.h"
#include "targets/partition.h"

namespace isthmus {
namespace {

// Reasons that are about the type of a value, so that its producer may be the cause. By their codes: not every target
// has all of them.
constexpr std::string_view kTypeReasons[] = {"dtype", "float-value", "quantized-type"};

// A lookup by indices of any type stays on the host.
bool is_about_types(const Reason& reason) {
  return reason.code != ReasonCode::kIndexType &&
         std::ranges::find(kTypeReasons, code_text(reason.code)) != std::end(kTypeReasons);
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

HostCauses::HostCauses(const Outcome& outcome) : outcome_(outcome), causes_(outcome.graph.nodes().size()) {
  for (std::uint32_t i = 0; i < causes_.size(); ++i) {
    const NodeId id{i};
    if (!is_on_host(id)) continue;
    const bool is_dequantize = std::holds_alternative<DequantizeAttrs>(outcome.graph[id].attrs);
    if (computes(id) || !is_dequantize) add_producers(id);
  }
  for (std::uint32_t i = 0; i < causes_.size(); ++i) add_readers(NodeId{i});
  find_device_around();
  is_split_ = outcome.places.segments.size() > 1 && delegates_with(roots()) < outcome.places.segments.size();
}

void HostCauses::find_device_around() {
  const Graph& graph = outcome_.graph;
  const std::size_t count = graph.nodes().size();
  is_behind_device_.assign(count, false);
  is_before_device_.assign(count, false);
  const auto for_each_maker = [&](std::size_t i, const auto& act) {
    for (const ValueId input : graph.nodes()[i].inputs) {
      if (graph.producer(input) != nullptr) act(graph[input].index);
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    for_each_maker(i, [&](std::size_t maker) {
      if (is_behind_device_[maker] || !is_on_host(NodeId{static_cast<std::uint32_t>(maker)})) {
        is_behind_device_[i] = true;
      }
    });
  }
  for (std::size_t i = count; i-- > 0;) {
    const bool is_seen = is_before_device_[i] || !is_on_host(NodeId{static_cast<std::uint32_t>(i)});
    for_each_maker(i, [&](std::size_t maker) {
      if (is_seen) is_before_device_[maker] = true;
    });
  }
}

// A conversion is never a cause: another node causes it.
void HostCauses::add_producers(NodeId id) {
  const Graph& graph = outcome_.graph;
  if (computes(id) && (!is_about_types(*outcome_.host_reason(id)) || kept_in_float(id))) return;
  for (const ValueId input : graph[id].inputs) {
    if (graph.producer(input) == nullptr || fits(outcome_.target, graph.type(input))) continue;
    const NodeId maker{graph[input].index};
    if (is_on_host(maker) && computes(maker)) causes_[id.index].push_back(maker);
  }
}

// A conversion to float on the host is there for those who read the floats.
void HostCauses::add_readers(NodeId id) {
  const Graph& graph = outcome_.graph;
  if (!is_on_host(id) || !computes(id)) return;
  for (const ValueId input : graph[id].inputs) {
    if (graph.producer(input) == nullptr) continue;
    const NodeId maker{graph[input].index};
    const bool is_dequantize = std::holds_alternative<DequantizeAttrs>(graph[maker].attrs);
    if (is_on_host(maker) && is_dequantize && !computes(maker)) causes_[maker.index].push_back(id);
  }
}

std::optional<NodeId> HostCauses::kept_in_float(NodeId id) const {
  const std::optional<NodeId> model = outcome_.in_model[id.index];
  // A device with floats refuses nothing because it is in float.
  if (outcome_.target.integers.has_float || outcome_.plan == nullptr || !model) return {};
  if (outcome_.plan->precision[model->index] != Precision::kFloat) return {};
  if (outcome_.plan->causes[model->index] == PrecisionCause::kNoReals) return {};
  const Reason* reason = outcome_.host_reason(id);
  const bool is_other_float = reason != nullptr && reason->code == ReasonCode::kOtherFloat;
  return reason != nullptr && is_about_types(*reason) && !is_other_float ? model : std::nullopt;
}

std::vector<NodeId> HostCauses::chain(NodeId id) const {
  std::vector<NodeId> result{id};
  while (!causes_[result.back().index].empty()) result.push_back(causes_[result.back().index][0]);
  return result;
}

std::vector<NodeId> HostCauses::roots() const {
  std::set<NodeId> roots;
  for (std::uint32_t i = 0; i < causes_.size(); ++i) {
    if (is_on_host(NodeId{i}) && computes(NodeId{i})) roots.insert(chain(NodeId{i}).back());
  }
  return {roots.begin(), roots.end()};
}

std::vector<bool> HostCauses::freed_by(std::span<const NodeId> roots) const {
  std::vector<bool> freed(causes_.size(), false);
  for (const NodeId root : roots) freed[root.index] = true;
  const auto is_freed = [&](NodeId id) { return freed[id.index]; };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      if (freed[i] || causes_[i].empty() || !std::ranges::all_of(causes_[i], is_freed)) continue;
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
  result.back().hint = advice(nodes.back());
  return result;
}

CauseRow HostCauses::root_row(NodeId root) const {
  if (const auto model = kept_in_float(root)) {
    CauseRow row = precision_row(outcome_, *model);
    const std::optional<Reason>& reason = outcome_.plan->reasons[model->index];
    if (reason && outcome_.plan->causes[model->index] == PrecisionCause::kNoIntegers) {
      row.text = text_of(*reason, outcome_.target.label);
    }
    return row;
  }
  const Reason& reason = *outcome_.host_reason(root);
  return row_of(outcome_.graph, outcome_.graph[root], code_text(reason.code), text_of(reason, outcome_.target.label));
}

std::string HostCauses::remedy(NodeId root) const {
  if (const auto model = kept_in_float(root)) {
    const std::optional<Reason>& reason = outcome_.plan->reasons[model->index];
    if (reason && outcome_.plan->causes[model->index] == PrecisionCause::kNoIntegers) {
      return hint(reason->code, outcome_.target.name);
    }
    const std::string_view words = words_of(outcome_.plan->causes[model->index]).hint;
    if (!words.empty()) return std::string(words);
  }
  // What the device needs itself cannot be left to the application.
  const ReasonCode code = outcome_.host_reason(root)->code;
  const bool is_needed = code == ReasonCode::kResultType && is_before_device_[root.index];
  return hint(is_needed ? ReasonCode::kNoForm : code, outcome_.target.name);
}

bool HostCauses::needs_fix(NodeId root) const {
  const ReasonCode code = outcome_.host_reason(root)->code;
  if (code == ReasonCode::kForeignOp || code == ReasonCode::kComplex) return true;
  if (outcome_.places.segments.empty()) return true;
  return is_before_device_[root.index] && is_behind_device_[root.index] && is_split_;
}

std::string HostCauses::advice(NodeId root) const {
  if (needs_fix(root)) return remedy(root);
  const std::size_t delegates = outcome_.places.segments.size();
  const bool is_before = is_before_device_[root.index];
  const bool is_behind = is_behind_device_[root.index];
  const std::string_view where = is_before && !is_behind ? "before" : is_behind && !is_before ? "after" : "beside";
  return fmt::format("it runs on the CPU {} the {}: {}, nothing to fix", where, outcome_.target.unit,
                     delegates == 1 ? "still one delegate" : "it splits no delegate");
}

std::string HostCauses::fix(NodeId root) const {
  const std::size_t now = outcome_.places.segments.size();
  const std::size_t then = delegates_with({&root, 1});
  std::string what;
  if (then != now) {
    what = fmt::format("with {} %{} on the device there would be {} instead of {}", op_text(outcome_.graph[root]),
                       node_name(outcome_.graph, outcome_.graph[root]), counted(then, "delegate"), now);
  } else {
    what = fmt::format("with only {} %{} on the device there would still be {}", op_text(outcome_.graph[root]),
                       node_name(outcome_.graph, outcome_.graph[root]), counted(then, "delegate"));
    const std::vector<NodeId> all = roots();
    const std::size_t best = delegates_with(all);
    if (best != now) what += fmt::format(", without all {} causes {}", all.size(), best);
  }
  return needs_fix(root) ? fmt::format("{}; {}", remedy(root), what)
                         : fmt::format("{}; to change it anyway: {}", advice(root), remedy(root));
}

}  // namespace isthmus
