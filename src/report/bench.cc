// The text of a measurement.
#include "report/bench.h"

#include <fmt/format.h>

namespace isthmus {
namespace {

// Three digits that count, whether it is microseconds or minutes.
std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

}  // namespace

std::string to_text(const BenchSummary& summary, TextStyle style) {
  const run::Measurement& measured = summary.measured;
  Rows rows(style);
  rows.add(summary.is_program ? "program" : "graph",
           fmt::format("{}, {}", summary.file, counted(summary.threads, "thread")));
  rows.add("load", milliseconds(summary.load_seconds));
  rows.add("first run", milliseconds(measured.first_seconds));
  rows.add("latency", fmt::format("min {}, p50 {}, p90 {} over {}", milliseconds(measured.min_seconds),
                                  milliseconds(measured.p50_seconds), milliseconds(measured.p90_seconds),
                                  counted(measured.runs, "run")));
  if (!summary.is_program) return rows.text();
  rows.add("delegates", fmt::format("{}, {} a run", counted(measured.each.delegate_calls, "delegate call"),
                                    milliseconds(measured.each.delegate_seconds)));
  rows.add("host", fmt::format("{}, {} a run", counted_host_calls(measured.each.host_calls, measured.each.border_calls),
                               milliseconds(measured.each.host_seconds)));
  return rows.text();
}

}  // namespace isthmus
