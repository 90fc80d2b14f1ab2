// Gathers and words what a compile did.
#include "report/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

namespace isthmus {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1024;
  if (bytes < 10 * kKibi) return fmt::format("{} bytes", bytes);
  if (bytes < 10 * kKibi * kKibi) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKibi);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kKibi * kKibi));
}

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

CompileSummary summarize(const std::string& model, const BackendDesc& backend, const Prepared& prepared,
                         const Diagnostics& diagnostics) {
  const Graph& graph = prepared.graph;
  CompileSummary summary;
  summary.model = model;
  summary.target = backend.name;
  summary.nodes = graph.nodes().size();
  summary.delegates = prepared.partitioning.segments.size();
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto* reason = std::get_if<Reason>(&prepared.partitioning.place[i]);
    if (reason == nullptr) {
      ++summary.delegated_nodes;
      continue;
    }
    const Node& node = graph.nodes()[i];
    const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
    summary.host.push_back({node.outputs.empty() ? "" : graph[node.outputs[0]].name,
                            foreign == nullptr ? std::string(name_of(node.op)) : foreign->target,
                            std::string(code_text(reason->code)), text_of(*reason), node.origin.source,
                            node.origin.module, std::string(hint(reason->code))});
  }
  for (const Diagnostic& entry : diagnostics.entries()) {
    if (entry.severity == Severity::kWarning) summary.warnings.push_back(entry);
  }
  summary.times = prepared.times;
  return summary;
}

void add_file(CompileSummary& summary, const std::string& path, const Prepared& prepared, const Compiled& compiled) {
  CompileSummary::File file;
  file.path = path;
  file.bytes = compiled.bytes.size();
  file.memory_bytes = compiled.memory.bytes;
  file.least_memory_bytes = compiled.memory.lower_bound;
  for (const DelegateSummary& delegate : compiled.delegates) {
    file.device_nodes += delegate.device_nodes;
    for (const Conversion& conversion : delegate.conversions) {
      if (!conversion.moves_data) continue;
      file.transposes.push_back({prepared.graph[conversion.value].name,
                                 fmt::format("{}", fmt::join(conversion.from, "")),
                                 fmt::format("{}", fmt::join(conversion.to, "")), conversion.bytes});
    }
  }
  file.peak_rss_bytes = peak_rss_bytes();
  summary.times.insert(summary.times.end(), compiled.times.begin(), compiled.times.end());
  summary.file = std::move(file);
}

std::string to_text(const CompileSummary& summary, bool is_verbose) {
  std::string out = fmt::format("{} for {}: {} delegate{}, {} of {} nodes in {}\n", summary.model, summary.target,
                                summary.delegates, summary.delegates == 1 ? "" : "s", summary.delegated_nodes,
                                summary.nodes, summary.delegates == 1 ? "it" : "them");
  for (const CompileSummary::HostNode& node : summary.host) {
    out += fmt::format("  on the host: {} %{}", node.op, node.node);
    if (!node.origin.empty()) out += fmt::format(" ({}{})", node.origin, node.module.empty() ? "" : ", " + node.module);
    out += fmt::format("\n    {} [{}]\n    {}\n", node.reason, node.code, node.hint);
  }
  if (summary.file) {
    const CompileSummary::File& file = *summary.file;
    out += fmt::format("  {}: {}, {} for values ({} at least)\n", file.path, bytes_text(file.bytes),
                       bytes_text(file.memory_bytes), bytes_text(file.least_memory_bytes));
    out += fmt::format("  {} delegate nodes, {} of them transposes\n", file.device_nodes, file.transposes.size());
    for (const CompileSummary::Transpose& row : file.transposes) {
      if (is_verbose) {
        out += fmt::format("    %{}: made in order {}, read in order {}, {}\n", row.value, row.from, row.to,
                           bytes_text(row.bytes));
      }
    }
  }
  if (is_verbose) {
    for (const StageTime& time : summary.times)
      out += fmt::format("  {:>10.3f} ms  {}\n", time.seconds * 1e3, time.stage);
  }
  return out;
}

}  // namespace isthmus
