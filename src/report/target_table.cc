// Words for the tables of targets.
#include "report/target_table.h"

#include <fmt/format.h>

namespace isthmus {

std::string targets_text() {
  std::string out;
  for (const BackendDesc* backend : backends()) out += fmt::format("{:<16} {}\n", backend->name, backend->what);
  return out;
}

std::string target_text(const BackendDesc& backend) {
  std::string out = fmt::format("{}: {}\n\nops that run there as they are\n", backend.name, backend.what);
  std::string line;
  for (const Op op : backend.ops()) {
    if (line.size() + name_of(op).size() > 100) {
      out += "  " + line + "\n";
      line.clear();
    }
    line += fmt::format("{}{}", line.empty() ? "" : ", ", name_of(op));
  }
  out += "  " + line + "\n\nwhat others become first\n";
  for (const Rewrite& row : backend.legalize) out += fmt::format("  {:<20} {}\n", row.name, row.what);
  if (backend.limits == nullptr) return out;
  out += "\nwhat its operators demand\n";
  for (const LimitText& limit : backend.limits()) {
    out += fmt::format("  {:<22} {:<13} {}\n", limit.operator_name, limit.code, limit.sentence);
  }
  return out;
}

}  // namespace isthmus
