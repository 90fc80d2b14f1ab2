// Adds up segments, and words the table.
#include "report/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "report/json_parts.h"
#include "report/rows.h"

namespace isthmus {
namespace {

constexpr std::size_t kMaxRows = 20;

std::string cycles_text(double cycles) { return with_separators(static_cast<std::uint64_t>(std::round(cycles))); }
std::string bytes_text(double bytes) { return human_bytes(static_cast<std::uint64_t>(std::round(bytes))); }

std::string row_text(const CostTable& table, double cycles, const std::string& sram, const std::string& what) {
  return fmt::format("  {:>12}  {:>5.1f} %  {:>10}  {}\n", cycles_text(cycles), 100 * cycles / table.cycles, sram,
                     harmless(what));
}

}  // namespace

std::optional<CostTable> cost_table(const Outcome& outcome) {
  if (outcome.target.estimate_nodes == nullptr || outcome.plan == nullptr) return std::nullopt;
  CostTable table;
  for (const Segment& segment : outcome.places.segments) {
    const auto cost = outcome.target.estimate_nodes(outcome.target.name, outcome.graph, segment);
    if (!cost) return std::nullopt;
    table.cycles += cost->all.cycles;
    table.sram_bytes = std::max(table.sram_bytes, cost->all.sram_bytes);
    for (const NodeShare& share : cost->nodes) {
      const Node& node = outcome.graph[share.node];
      table.rows.push_back({node_name(outcome.graph, node), op_text(node), node.origin.source, node.origin.module,
                            share.cycles, share.sram_bytes});
    }
  }
  return table;
}

std::string rows_text(const CostTable& table, bool is_verbose) {
  std::vector<const CostTable::Row*> rows;
  for (const CostTable::Row& row : table.rows) rows.push_back(&row);
  std::ranges::stable_sort(rows, std::greater<>(), [](const CostTable::Row* row) { return row->cycles; });
  const std::size_t shown = is_verbose ? rows.size() : std::min(rows.size(), kMaxRows);
  std::string out = fmt::format("  {:>12}  {:>7}  {:>10}  node\n", "cycles", "share", "SRAM");
  for (std::size_t i = 0; i < shown; ++i) {
    const CostTable::Row& row = *rows[i];
    const std::string origin = origin_words({row.origin, {}, row.module});
    out += row_text(table, row.cycles, bytes_text(row.sram_bytes),
                    fmt::format("{} %{}{}", row.op, row.node, origin.empty() ? "" : fmt::format(" ({})", origin)));
  }
  double rest = 0;
  for (std::size_t i = shown; i < rows.size(); ++i) rest += rows[i]->cycles;
  if (shown < rows.size())
    out += row_text(table, rest, "", fmt::format("{} more; -v shows all", counted(rows.size() - shown, "node")));
  return out;
}

std::string to_text(const CostTable& table, const std::string& model, std::string_view target, bool is_verbose) {
  return fmt::format("{} for {}: about {} cycles, {} of SRAM (estimated without vela)\n", harmless(model), target,
                     cycles_text(table.cycles), bytes_text(table.sram_bytes)) +
         rows_text(table, is_verbose);
}

nlohmann::ordered_json rows_json(const CostTable& table) {
  Json rows = Json::array();
  for (const CostTable::Row& row : table.rows) {
    rows.push_back({{"node", row.node},
                    {"op", row.op},
                    {"source", row.origin},
                    {"module", row.module},
                    {"cycles", std::round(row.cycles)},
                    {"sram_bytes", std::round(row.sram_bytes)}});
  }
  return rows;
}

std::string to_json(const CostTable& table, const std::string& model, std::string_view target) {
  return dump({{"model", model},
               {"target", target},
               {"cost",
                {{"cycles", std::round(table.cycles)},
                 {"sram_bytes", std::round(table.sram_bytes)},
                 {"source", "estimate"},
                 {"nodes", rows_json(table)}}}});
}

}  // namespace isthmus
