// The text of a measurement.
#include "report/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/counts.h"

namespace isthmus {
namespace {

// Three digits that count, whether it is microseconds or minutes.
std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

// The rows of one kind together: the same operator with the same kernels, or the same function of the host.
struct Kind {
  double seconds = 0;
  std::size_t operators = 0;
};

void add_profile(Rows& rows, const run::Measurement& measured) {
  const auto add = [&](std::string_view label, double seconds, std::string_view name) {
    rows.add(label, fmt::format("{:>9.4f} ms {:>5.1f} %  {}", seconds * 1e3, 100 * share_of(seconds, measured), name));
  };
  std::map<std::string, Kind> kinds;
  double known = 0;
  for (const run::OperatorTime& row : measured.profile) {
    Kind& kind = kinds[row.name];
    kind.seconds += row.seconds;
    ++kind.operators;
    known += row.seconds;
  }
  std::vector<std::pair<std::string, Kind>> sorted(kinds.begin(), kinds.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second.seconds; });
  std::string_view label = "by kind";
  for (const auto& [name, kind] : sorted) {
    add(std::exchange(label, ""), kind.seconds, fmt::format("{} x {}", kind.operators, name));
  }
  add("", std::max(measured.each.delegate_seconds + measured.each.host_seconds - known, 0.0), "rest");

  std::vector<std::size_t> order(measured.profile.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return measured.profile[i].seconds; });
  label = "by operator";
  for (const std::size_t i : order) {
    const run::OperatorTime& row = measured.profile[i];
    const std::string place = row.delegate ? fmt::format("delegate {}", *row.delegate) : "host";
    add(std::exchange(label, ""), row.seconds, fmt::format("{}: {} ({})", i, row.name, place));
  }
}

}  // namespace

double share_of(double seconds, const run::Measurement& measured) {
  const double all = measured.each.delegate_seconds + measured.each.host_seconds;
  return all > 0 ? seconds / all : 0;
}

std::string to_text(const BenchSummary& summary, TextStyle style) {
  const run::Measurement& measured = summary.measured;
  Rows rows(style);
  rows.add(summary.is_program ? "program" : "graph",
           fmt::format("{}, {}", summary.file, counted(summary.threads, "thread")));
  rows.add("load", milliseconds(summary.load_seconds));
  rows.add("first run", milliseconds(measured.first_seconds));
  rows.add("latency", fmt::format("min {}, mean {}, p50 {}, p90 {}, p99 {} over {}", milliseconds(measured.min_seconds),
                                  milliseconds(measured.mean_seconds), milliseconds(measured.p50_seconds),
                                  milliseconds(measured.p90_seconds), milliseconds(measured.p99_seconds),
                                  counted(measured.runs, "run")));
  if (!summary.is_program) return rows.text();
  rows.add("delegates", fmt::format("{}, {} a run", counted(measured.each.delegate_calls, "delegate call"),
                                    milliseconds(measured.each.delegate_seconds)));
  rows.add("host", fmt::format("{}, {} a run", counted_host_calls(measured.each.host_calls, measured.each.io_calls),
                               milliseconds(measured.each.host_seconds)));
  if (!measured.profile.empty()) add_profile(rows, measured);
  return rows.text();
}

}  // namespace isthmus
