// Weighs what a compile or a comparison found.
#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counts.h"
#include "report/rows.h"

namespace isthmus {
namespace {

void lower_to(Verdict& verdict, Grade grade) { verdict.grade = std::max(verdict.grade, grade); }

std::string delegates_text(std::size_t count) { return count == 1 ? "one delegate" : counted(count, "delegate"); }

// Where the operators run.
void judge_places(const CompileSummary& summary, Verdict& verdict) {
  const bool needs_fix = std::ranges::any_of(summary.host, &CompileSummary::HostNode::needs_fix);
  const std::string on_cpu = counted(summary.host.size(), "operator");
  if (summary.delegates == 0) {
    lower_to(verdict, Grade::kBad);
    verdict.headline = fmt::format("No operator runs on {}: there is no delegate", summary.label);
  } else if (summary.host.empty()) {
    verdict.headline = fmt::format("All {} operators run on {}, in {}", with_separators(summary.nodes), summary.label,
                                   delegates_text(summary.delegates));
    if (summary.nodes == 1) verdict.headline = fmt::format("The operator runs on {}, in one delegate", summary.label);
  } else if (!needs_fix) {
    verdict.headline = fmt::format("{} of {} {} on {}, in {}; nothing to fix", with_separators(summary.delegated_nodes),
                                   counted(summary.nodes, "operator"), summary.delegated_nodes == 1 ? "runs" : "run",
                                   summary.label, delegates_text(summary.delegates));
    verdict.reasons.push_back(fmt::format("{} on the CPU, without an extra delegate", on_cpu));
  } else {
    lower_to(verdict, Grade::kFair);
    verdict.headline = fmt::format("{} of {} {} back to the CPU; {} on {}", with_separators(summary.host.size()),
                                   counted(summary.nodes, "operator"), summary.host.size() == 1 ? "falls" : "fall",
                                   delegates_text(summary.delegates), summary.label);
  }
  if (summary.delegates > 1 && !needs_fix) lower_to(verdict, Grade::kFair);
}

// What rounding costs.
void judge_accuracy(const CompileSummary& summary, Verdict& verdict) {
  if (!summary.is_quantized) {
    verdict.reasons.emplace_back("the model stays in float");
  } else if (summary.file && !summary.file->sqnr.empty()) {
    const auto worst = std::ranges::min_element(summary.file->sqnr, {}, &CompileSummary::OutputError::db);
    verdict.reasons.push_back(fmt::format("outputs have SQNR {} against float{}, on {}", db_text(worst->db),
                                          summary.file->sqnr.size() > 1 ? " at least" : "", summary.file->held_out));
    if (worst->db < kFewDb) lower_to(verdict, Grade::kFair);
  } else if (summary.file) {
    verdict.reasons.push_back(fmt::format("accuracy unknown: {}", summary.file->why_no_figure));
    lower_to(verdict, Grade::kFair);
  } else if (!summary.has_parameters) {
    verdict.reasons.emplace_back("accuracy needs data: `isthmus compile --calibrate` measures it");
  }
}

}  // namespace

std::string_view name_of(Grade grade) {
  constexpr std::string_view kNames[] = {"good", "fair", "bad"};
  return kNames[static_cast<std::size_t>(grade)];
}

std::string in_colour(std::string_view text, Grade grade, TextStyle style) {
  constexpr std::string_view kColours[] = {"1;32", "1;33", "1;31"};
  if (!style.has_colour) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", kColours[static_cast<std::size_t>(grade)], text);
}

Verdict verdict_of(const CompileSummary& summary) {
  Verdict verdict;
  judge_places(summary, verdict);
  if (summary.error) {
    verdict = {Grade::kBad, fmt::format("The model does not compile for {}", summary.label), {summary.error->text()}};
  } else if (!summary.broken_gates.empty()) {
    verdict = {Grade::kBad,
               fmt::format("{}; {} not met", verdict.headline, counted(summary.broken_gates.size(), "gate")),
               summary.broken_gates};
  } else {
    judge_accuracy(summary, verdict);
  }
  if (summary.file && summary.unfinished && summary.delegates > 0 && summary.file->finished_by.empty()) {
    verdict.reasons.push_back(
        fmt::format("the delegates hold {}: {}", summary.unfinished->what, summary.unfinished->why));
    lower_to(verdict, Grade::kFair);
  }
  if (!summary.unproven.empty()) {
    verdict.reasons.push_back(
        fmt::format("{} of the target can only be checked with data", counted(summary.unproven.size(), "demand")));
  }
  if (!summary.warnings.empty()) {
    verdict.reasons.push_back(counted(summary.warnings.size(), "warning"));
  }
  return verdict;
}

Verdict verdict_of(const EvalSummary& summary) {
  const Evaluation& found = summary.evaluation;
  Verdict verdict;
  const auto percent = [&](std::uint64_t part) {
    return 100 * static_cast<double>(part) / static_cast<double>(found.rows);
  };
  double worst = kExactDb;
  for (const SignalToNoise& output : found.outputs) worst = std::min(worst, output.db());
  verdict.headline =
      fmt::format("Outputs have SQNR {} against float, on {}", db_text(worst), counted(found.samples, "sample"));
  if (worst < kFewDb) lower_to(verdict, Grade::kFair);
  if (found.rows > 0) {
    verdict.reasons.push_back(fmt::format("the same class as in float for {} of {} ({:.2f} %)", found.agreeing,
                                          found.rows, percent(found.agreeing)));
  }
  if (found.has_labels && found.rows > 0) {
    verdict.headline = fmt::format("top-1 accuracy is {:.2f} %, {:.2f} % in float", percent(found.right),
                                   percent(found.right_reference));
    verdict.reasons.push_back(
        fmt::format("outputs have SQNR {} against float, on {}", db_text(worst), counted(found.samples, "sample")));
  }
  const auto warnings = std::ranges::count(summary.said, Severity::kWarning, &Diagnostic::severity);
  if (warnings > 0) {
    verdict.reasons.push_back(counted(static_cast<std::uint64_t>(warnings), "warning"));
  }
  return verdict;
}

Verdict verdict_of(const SweepSummary& summary) {
  const auto on_front = static_cast<std::uint64_t>(std::ranges::count(summary.rows, true, &SweepRow::is_on_front));
  Verdict verdict;
  verdict.headline =
      fmt::format("{} of {} {} on the front of {} model and target", on_front, counted(summary.rows.size(), "point"),
                  on_front == 1 ? "is" : "are", on_front == 1 ? "its" : "their");
  const std::size_t failed = summary.failed();
  if (failed == 0) return verdict;
  verdict.reasons.push_back(counted(failed, "point") + " failed");
  verdict.grade = failed == summary.rows.size() ? Grade::kBad : Grade::kFair;
  return verdict;
}

}  // namespace isthmus
