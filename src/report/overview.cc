// Counts and words the overview of a model.
#include "report/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "report/explain.h"
#include "report/rows.h"
#include "report/verdict.h"

namespace isthmus {
namespace {

// Where the precision alone would not be understood.
struct PrecisionName {
  std::string_view precision, words;
};
constexpr PrecisionName kPrecisions[] = {
    {"host", "on the host"},
    {"rows", "in float with quantized weights"},
};

// Sentences without what was found, so that nodes can be counted by them.
std::string because_of(const Outcome& outcome, const HostCauses& host, NodeId of_model) {
  const std::optional<NodeId> runs = outcome.in_graph[of_model.index];
  if (runs && outcome.host_reason(*runs) != nullptr) {
    const CauseRow root = host.rows(*runs).back();
    return fmt::format("{} [{}]", root.op, root.code);
  }
  if (outcome.plan == nullptr) return "the model stays in float";
  const PrecisionCause cause = outcome.plan->causes[of_model.index];
  const std::optional<Reason>& reason = outcome.plan->reasons[of_model.index];
  if (!reason || cause != PrecisionCause::kNoIntegers) return std::string(words_of(cause).sentence);
  return fmt::format("{} cannot be quantized: {}", op_text(outcome.model[of_model]),
                     sentence(reason->code, outcome.target.label));
}

std::vector<Overview::NodesOf> count_precisions(const Outcome& outcome, const HostCauses& host) {
  std::map<std::string, std::map<std::string, Overview::Because>> counts;
  const Graph& model = outcome.model;
  for (std::uint32_t i = 0; i < model.nodes().size(); ++i) {
    const Node& node = model.nodes()[i];
    if (node.outputs.empty()) continue;
    const bool is_on_host = place_text(outcome, node.outputs[0]) == "host";
    const std::string text = because_of(outcome, host, NodeId{i});
    Overview::Because& row = counts[is_on_host ? "host" : precision_text(outcome, node.outputs[0])][text];
    if (row.nodes++ == 0) row = {text, 1, model[node.outputs[0]].name};
  }
  std::vector<Overview::NodesOf> result;
  for (const auto& [precision, rows] : counts) {
    Overview::NodesOf all{precision, 0, {}};
    for (const auto& [text, row] : rows) {
      all.nodes += row.nodes;
      all.because.push_back(row);
    }
    std::ranges::stable_sort(all.because, std::greater<>(), &Overview::Because::nodes);
    result.push_back(std::move(all));
  }
  std::ranges::stable_sort(result, std::greater<>(), &Overview::NodesOf::nodes);
  return result;
}

std::vector<Overview::SharedScale> list_groups(const Outcome& outcome) {
  std::vector<Overview::SharedScale> result;
  for (const Group& group : outcome.plan->groups) {
    Overview::SharedScale row{outcome.model[group.members[0].value].name,
                              group.members.size(),
                              std::string(name_of(group.storage)),
                              group.quant.scale(),
                              group.quant.zero_point,
                              group.range,
                              {},
                              0};
    for (const Member& member : group.members) {
      if (member.bits_lost <= row.worst_bits) continue;
      row.worst = outcome.model[member.value].name;
      row.worst_bits = member.bits_lost;
    }
    result.push_back(std::move(row));
  }
  std::ranges::stable_sort(result, std::greater<>(), &Overview::SharedScale::members);
  return result;
}

void add_host(const Overview& overview, std::string& out) {
  for (const Overview::Root& root : overview.roots) {
    out += fmt::format("  on the host because of {}\n", to_text(root.cause));
    if (root.nodes > 1) out += fmt::format("    {} there because of it\n", counted(root.nodes, "node"));
    out += fmt::format("    {}\n", root.fix);
  }
  for (const CompileSummary::HostNode& node : overview.summary.host) {
    if (node.causes.size() < 2) continue;
    out += fmt::format("  on the host: {} %{}\n", node.op, node.node);
    for (const CauseRow& cause : node.causes) out += fmt::format("    because {}\n", to_text(cause));
  }
}

void add_groups(const Overview& overview, std::size_t max, std::string& out) {
  if (overview.groups.empty()) return;
  const std::size_t shown = std::min(max, overview.groups.size());
  out += fmt::format("  {} a scale each:\n", overview.groups.size() == 1
                                                 ? "1 group shares"
                                                 : fmt::format("{} groups share", overview.groups.size()));
  for (const Overview::SharedScale& group : std::span(overview.groups).first(shown)) {
    out += fmt::format("    {:>4} {} with %{}", group.members, group.members == 1 ? "member " : "members", group.first);
    if (overview.has_ranges) out += fmt::format(", range [{:.4g}, {:.4g}]", group.range.min, group.range.max);
    if (!group.worst.empty()) out += fmt::format(", %{} loses {:.1f} bits", group.worst, group.worst_bits);
    out += "\n";
  }
  if (shown < overview.groups.size()) out += fmt::format("    and {} smaller ones\n", overview.groups.size() - shown);
  for (const CompileSummary::Rescale& row : overview.summary.rescales) {
    out += fmt::format("  requantize %{} for %{}: {}\n", row.value, row.reader, row.because);
  }
}

}  // namespace

Overview overview_of(CompileSummary summary, const Outcome& outcome, const HostCauses& host) {
  Overview overview;
  overview.summary = std::move(summary);
  for (const NodeId root : host.roots()) {
    overview.roots.push_back(
        {host.rows(root).back(), host.nodes_of(root), host.delegates_with({&root, 1}), host.fix(root)});
  }
  for (const Rewrite& rewrite : outcome.target.legalize) {
    const auto row = std::ranges::find(outcome.rewrites, rewrite.name, &RewriteTime::name);
    if (row == outcome.rewrites.end() || row->steps.empty()) continue;
    overview.rewrites.push_back(
        {std::string(rewrite.name), std::string(rewrite.what), row->steps.size(), row->steps.front().of});
  }
  overview.precisions = count_precisions(outcome, host);
  for (const std::optional<NodeId>& counterpart : outcome.in_model) overview.conversions += counterpart ? 0 : 1;
  if (outcome.plan != nullptr) {
    overview.has_ranges = outcome.plan->has_ranges;
    overview.groups = list_groups(outcome);
  }
  return overview;
}

std::string to_text(const Overview& overview, bool is_verbose) {
  constexpr std::size_t kMaxGroups = 10;
  const CompileSummary& summary = overview.summary;
  std::string out = fmt::format("{} for {}: {}\n", summary.model, summary.target, verdict_of(summary).headline);
  add_host(overview, out);
  if (!overview.rewrites.empty()) out += "  rewritten for the target:\n";
  for (const Overview::Rewritten& row : overview.rewrites) {
    out += fmt::format("    {:>4} {}: {} (%{}{})\n", row.nodes, row.rewrite, row.what, row.example,
                       row.nodes > 1 ? ", ..." : "");
  }
  for (const Overview::NodesOf& row : overview.precisions) {
    const auto words = std::ranges::find(kPrecisions, row.precision, &PrecisionName::precision);
    out += fmt::format("  {} {}:\n", counted(row.nodes, "node"),
                       words == std::end(kPrecisions) ? "in " + row.precision : std::string(words->words));
    for (const Overview::Because& because : row.because) {
      out += fmt::format("    {:>4} {} (%{}{})\n", because.nodes, because.text, because.example,
                         because.nodes > 1 ? ", ..." : "");
    }
  }
  if (overview.conversions > 0) {
    out += fmt::format("  {} between them: quantize, dequantize, requantize\n",
                       counted(overview.conversions, "conversion"));
  }
  if (summary.is_quantized) add_groups(overview, is_verbose ? overview.groups.size() : kMaxGroups, out);
  for (const CompileSummary::IoConversion& row : summary.io_conversions) {
    out += fmt::format("  {} %{} on the host{}\n", row.kind, row.value,
                       row.cause.empty() ? ", at a model input or output" : fmt::format(", because %{} is", row.cause));
  }
  return harmless(out + "  `isthmus explain MODEL --target T NODE` shows details of a node\n");
}

}  // namespace isthmus
