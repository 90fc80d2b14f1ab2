// Counts operators on the CPU and delegates.
#include "report/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace isthmus {
namespace {

// "embedding (model.py:473), sort and 3 more".
std::string names_of(std::span<const CompileSummary::HostNode> nodes) {
  constexpr std::size_t kMaxNamed = 5;
  const std::size_t named = std::min(kMaxNamed, nodes.size());
  std::string text;
  for (const CompileSummary::HostNode& node : nodes.first(named)) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", node.op);
    if (!node.origin.empty()) text += fmt::format(" ({})", node.origin);
  }
  if (nodes.size() > named) text += fmt::format(" and {} more", nodes.size() - named);
  return text;
}

}  // namespace

std::vector<std::string> broken_gates(const CompileSummary& summary, const Gates& gates) {
  std::vector<std::string> broken;
  std::optional<std::size_t> max_host_ops = gates.max_host_ops;
  if (gates.requires_full_delegation) max_host_ops = 0;
  if (max_host_ops && summary.host.size() > *max_host_ops) {
    broken.push_back(fmt::format("{} operator{} run{} on the CPU, {} allowed: {}", summary.host.size(),
                                 summary.host.size() == 1 ? "" : "s", summary.host.size() == 1 ? "s" : "",
                                 *max_host_ops, names_of(summary.host)));
  }
  if (gates.requires_full_delegation && summary.delegates == 0) {
    broken.push_back(fmt::format("no operator runs on {}", summary.target));
  }
  if (gates.max_delegates && summary.delegates > *gates.max_delegates) {
    broken.push_back(fmt::format("{} delegates, {} allowed{}", summary.delegates, *gates.max_delegates,
                                 summary.host.empty() ? "" : ": between them " + names_of(summary.host)));
  }
  return broken;
}

}  // namespace isthmus
