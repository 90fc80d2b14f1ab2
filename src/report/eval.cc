// Words of `eval`.
#include "report/eval.h"

#include <fmt/format.h>

#include "report/part.h"
#include "report/rows.h"

namespace isthmus {

std::string to_text(const EvalSummary& summary) {
  const Evaluation& found = summary.evaluation;
  const auto share = [&](std::uint64_t part) {
    return found.rows == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(found.rows);
  };
  std::string out = summary.was_done ? fmt::format("{} is up to date, nothing to run\n", summary.output) : "";
  out += fmt::format("{}: {} samples\n", summary.file, found.samples);
  if (found.part) out += to_text(*found.part);
  if (found.has_labels) {
    out += fmt::format("  top-1 accuracy: {} of {} ({:.2f} %), in float {} ({:.2f} %)\n", found.right, found.rows,
                       share(found.right), found.right_reference, share(found.right_reference));
  }
  if (found.rows > 0) {
    out +=
        fmt::format("  agreement with float: {} of {} ({:.2f} %)\n", found.agreeing, found.rows, share(found.agreeing));
  }
  for (std::size_t i = 0; i < found.outputs.size(); ++i) {
    out += fmt::format("  output_{}: SQNR {}, cosine {:.6f}\n", i, db_text(found.outputs[i].db(), 2),
                       found.outputs[i].cosine());
  }
  return out;
}

}  // namespace isthmus
