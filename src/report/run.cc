// The text of a run's summary.
#include "report/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/rows.h"

namespace isthmus {

std::string to_text(const RunSummary& summary) {
  std::string out;
  for (const RunSummary::Written& output : summary.outputs) {
    out += fmt::format("{}  {}[{}]  {}\n", output.name, output.dtype, fmt::join(output.shape, ","), output.file);
  }
  return out + fmt::format("{}, {}\n", counted(summary.delegate_calls, "delegate call"),
                           counted_host_calls(summary.host_calls, summary.border_calls));
}

}  // namespace isthmus
