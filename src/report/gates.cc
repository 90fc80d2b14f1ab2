// Counts operators on the CPU and delegates.
#include "report/gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "base/counts.h"
#include "report/rows.h"

namespace isthmus {
namespace {

// "embedding (model.py:473), sort and 3 more": each call of the model once, whatever it became.
std::string names_of(std::span<const CompileSummary::HostNode> nodes) {
  constexpr std::size_t kMaxNamed = 5;
  std::vector<std::string> names;
  for (const CompileSummary::HostNode& node : nodes) {
    // What is a part of a call has a name of its own behind the call's.
    const bool is_part = node.node.find('.') != std::string::npos;
    const std::string name = node.call.empty() ? node.op
                             : is_part         ? fmt::format("{} of {}", node.op, node.call)
                                               : node.call;
    std::string text = node.origin.empty() ? name : fmt::format("{} ({})", name, node.origin);
    if (std::ranges::find(names, text) == names.end()) names.push_back(std::move(text));
  }
  const std::size_t named = std::min(kMaxNamed, names.size());
  const std::string more = names.size() > named ? fmt::format(" and {} more", names.size() - named) : "";
  return fmt::format("{}{}", fmt::join(std::span(names).first(named), ", "), more);
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
  const bool wants_delegates = gates.requires_full_delegation || gates.max_delegates.value_or(0) > 0;
  if (wants_delegates && summary.delegates == 0) {
    broken.push_back(fmt::format("no operator runs on {}", summary.target));
  }
  if (gates.max_delegates && summary.delegates > *gates.max_delegates) {
    broken.push_back(fmt::format("{}, {} allowed{}", counted(summary.delegates, "delegate"), *gates.max_delegates,
                                 summary.host.empty() ? "" : ": between them " + names_of(summary.host)));
  }
  return broken;
}

}  // namespace isthmus
