// Gathers the page's data.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/counts.h"
#include "report/explain.h"
#include "report/page/page.h"
#include "report/page/parts.h"

namespace isthmus {
namespace {

Json verdict_json(const Verdict& verdict) {
  return {{"grade", name_of(verdict.grade)}, {"headline", verdict.headline}, {"reasons", verdict.reasons}};
}

// What is to be seen at one glance.
class Figures {
 public:
  void add(std::string_view label, std::string value, std::string note = {}, Grade grade = Grade::kGood) {
    rows_.push_back(
        {{"label", label}, {"value", std::move(value)}, {"note", std::move(note)}, {"grade", name_of(grade)}});
  }
  Json json() { return std::move(rows_); }

 private:
  Json rows_ = Json::array();
};

Json figures_of(const CompileSummary& summary) {
  Figures figures;
  const bool needs_fix = std::ranges::any_of(summary.host, &CompileSummary::HostNode::needs_fix);
  figures.add("Target", std::string(summary.label), summary.target);
  figures.add(
      "Delegates", with_separators(summary.delegates),
      fmt::format("{} of {} operators", with_separators(summary.delegated_nodes), with_separators(summary.nodes)),
      summary.delegates == 0   ? Grade::kBad
      : summary.delegates == 1 ? Grade::kGood
                               : Grade::kFair);
  figures.add("On the CPU", with_separators(summary.host.size()),
              summary.host.empty() ? "no CPU fallback"
              : needs_fix          ? "see what would help"
                                   : "nothing to fix",
              needs_fix ? Grade::kFair : Grade::kGood);
  if (summary.file) {
    const CompileSummary::File& file = *summary.file;
    figures.add("Program", human_bytes(file.bytes), std::filesystem::path(file.path).filename().string());
    figures.add("Memory", human_bytes(file.memory_bytes), "for values between delegates");
    if (!file.sqnr.empty()) {
      const double worst = std::ranges::min(file.sqnr, {}, &CompileSummary::OutputError::db).db;
      figures.add("Accuracy", worst >= kExactDb ? "exact" : fmt::format("{:.1f} dB", worst),
                  fmt::format("SQNR{} on {}", file.sqnr.size() > 1 ? " of the worst output" : "", file.held_out),
                  worst < kFewDb ? Grade::kFair : Grade::kGood);
    } else if (summary.is_quantized) {
      figures.add("Accuracy", "unknown", file.why_no_figure, Grade::kFair);
    }
    if (file.cost) {
      figures.add("Cycles", with_separators(static_cast<std::uint64_t>(file.cost->cycles)),
                  fmt::format("{} of SRAM, by {}", human_bytes(static_cast<std::uint64_t>(file.cost->sram_bytes)),
                              file.cost->source));
    }
  }
  if (summary.is_quantized) {
    figures.add("Shared scales", counted(summary.groups, "group"), counted(summary.rescales.size(), "requantize node"));
  }
  return figures.json();
}

Json figures_of(const EvalSummary& summary) {
  Figures figures;
  const Evaluation& found = summary.evaluation;
  const auto percent = [&](std::uint64_t part) {
    return fmt::format("{:.2f} %", 100 * static_cast<double>(part) / static_cast<double>(found.rows));
  };
  if (found.has_labels && found.rows > 0) {
    figures.add("Top-1 accuracy", percent(found.right), fmt::format("{} in float", percent(found.right_reference)));
  }
  if (found.rows > 0) {
    figures.add("Agreement with float", percent(found.agreeing), fmt::format("{} of {}", found.agreeing, found.rows));
  }
  for (std::size_t i = 0; i < found.outputs.size(); ++i) {
    const double db = found.outputs[i].db();
    figures.add(fmt::format("output_{}", i), db >= kExactDb ? "exact" : fmt::format("{:.1f} dB", db),
                fmt::format("SQNR, cosine {:.6f}", found.outputs[i].cosine()),
                db < kFewDb ? Grade::kFair : Grade::kGood);
  }
  figures.add("Samples", with_separators(found.samples));
  return figures.json();
}

Json figures_of(const SweepSummary& summary) {
  Figures figures;
  const auto on_front = std::ranges::count(summary.rows, true, &SweepRow::is_on_front);
  const std::size_t failed = summary.failed();
  figures.add("Points", with_separators(summary.rows.size()), "models x targets x configurations");
  figures.add("On a front", with_separators(static_cast<std::uint64_t>(on_front)), "no other is better in all");
  figures.add("Failed", with_separators(failed), failed == 0 ? "none" : "see their rows",
              failed == 0 ? Grade::kGood : Grade::kFair);
  return figures.json();
}

// The node that runs for the first value that a word means; empty where none does.
std::string node_called(const Outcome& outcome, const std::string& word) {
  for (const ValueId value : find_values(outcome, word)) {
    if (outcome.model.producer(value) == nullptr) continue;
    if (const auto runs = node_that_runs(outcome, NodeId{outcome.model[value].index})) {
      return node_name(outcome.graph, outcome.graph[*runs]);
    }
  }
  return "";
}

Json times_json(const std::vector<StageTime>& times) {
  Json rows = Json::array();
  for (const StageTime& time : times) {
    rows.push_back({{"stage", time.name}, {"of", time.of}, {"seconds", time.seconds}});
  }
  return rows;
}

}  // namespace

Json page_data(const CompileSummary& summary, const Session& session, const std::vector<ValueError>& errors,
               const std::string& word) {
  const Outcome outcome = outcome_of(session.target(), session.prepared(), session.quantized());
  const HostCauses host(outcome);
  page::Known known{outcome, host, session.has_statistics() ? &session.statistics() : nullptr};
  for (const ValueError& error : errors) known.errors[error.value] = &error;
  for (const CompileSummary::LayerError& row : summary.errors) {
    if (row.gain) known.gains[row.gain->node] = &*row.gain;
  }
  if (summary.file && summary.file->costs) {
    for (const CostTable::Row& row : summary.file->costs->rows) known.costs[row.node] = &row;
  }
  Json data{{"kind", summary.file ? "compile" : "check"},
            {"title", std::filesystem::path(summary.model).filename().string()},
            {"verdict", verdict_json(verdict_of(summary))},
            {"figures", figures_of(summary)},
            {"summary", Json::parse(to_json(summary))},
            {"graph", page::graph_part(known)},
            {"groups", page::groups_part(known)},
            {"memory", page::memory_part(outcome)},
            {"times", times_json(summary.times)}};
  if (const std::string node = node_called(outcome, word); !node.empty()) data["node"] = node;
  return data;
}

Json page_data(const EvalSummary& summary) {
  Json data{{"kind", "eval"},
            {"title", std::filesystem::path(summary.file).filename().string()},
            {"verdict", verdict_json(verdict_of(summary))},
            {"figures", figures_of(summary)},
            {"summary", Json::parse(to_json(summary))}};
  if (summary.program) data["graph"] = page::program_part(*summary.program);
  return data;
}

Json page_data(const SweepSummary& summary) {
  return {{"kind", "sweep"},
          {"title", std::filesystem::path(summary.plan).filename().string()},
          {"verdict", verdict_json(verdict_of(summary))},
          {"figures", figures_of(summary)},
          {"summary", Json::parse(to_json(summary))}};
}

}  // namespace isthmus
