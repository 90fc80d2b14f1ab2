// Statistics in words.
#include "report/stats.h"

#include <fmt/format.h>

#include <cmath>

#include "report/part.h"
#include "stats/range.h"

namespace isthmus {

std::string to_text(const CalibrateSummary& summary) {
  const Statistics& statistics = *summary.statistics;
  const std::string part = statistics.part ? to_text(*statistics.part) : "";
  if (summary.was_done) return fmt::format("{} is done, nothing was run\n{}", summary.output, part);
  return fmt::format("{} for {}: {} values over {} samples in {:.2f} s ({:.1f} samples a second)\n{}  {}\n",
                     summary.model, summary.target, statistics.values.size(), statistics.samples, summary.seconds,
                     static_cast<double>(statistics.samples) / std::max(summary.seconds, 1e-9), part, summary.output);
}

std::string to_text(const StatsSummary& summary) {
  const Statistics& statistics = *summary.statistics;
  std::string out =
      fmt::format("statistics  {}\nkey         {:016x}\nsamples     {}\nvalues      {}\nmade        {}\n\n",
                  summary.file, statistics.key, statistics.samples, statistics.values.size(),
                  statistics.is_reproducible ? "reproducibly: the same on every CPU" : "by XNNPACK");
  if (statistics.part) out += to_text(*statistics.part) + "\n";
  out += fmt::format("{:<40} {:>11} {:>11} {:>11} {:>11}   {}\n", "value", "min", "max", "mean", "deviation",
                     "best range for 8 bits");
  for (const auto& [name, value] : statistics.values) {
    const Range range = range_of(value);
    out += fmt::format("{:<40} {:>11.4g} {:>11.4g} {:>11.4g} {:>11.4g}   [{:.4g}, {:.4g}]\n", "%" + name,
                       value.moments.min, value.moments.max, value.moments.mean(), std::sqrt(value.moments.variance()),
                       range.min, range.max);
  }
  return out;
}

}  // namespace isthmus
