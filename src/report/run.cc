// The text of a run's summary.
#include "report/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counts.h"
#include "report/rows.h"

namespace isthmus {

std::string to_text(const RunSummary& summary) {
  std::string out;
  for (const RunSummary::Written& output : summary.outputs) {
    const std::string call = summary.calls > 1 ? fmt::format("call {}: ", output.call) : "";
    out +=
        fmt::format("{}{}  {}[{}]  {}\n", call, output.name, output.dtype, fmt::join(output.shape, ","), output.file);
  }
  for (const StateRow& row : summary.states) out += fmt::format("state {}\n", to_text(row));
  return out + fmt::format("{}, {}\n", counted(summary.delegate_calls, "delegate call"),
                           counted_host_calls(summary.host_calls, summary.io_calls));
}

}  // namespace isthmus
