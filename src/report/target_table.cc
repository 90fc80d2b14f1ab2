// Words for the tables of targets.
#include "report/target_table.h"

#include <fmt/format.h>

#include "targets/registry.h"

namespace isthmus {

std::string targets_text() {
  std::string out;
  for (const TargetDesc* target : all_targets()) out += fmt::format("{:<16} {}\n", target->name, target->what);
  return out;
}

std::string target_text(const TargetDesc& target) {
  std::string out = fmt::format("{}: {}\n\nops that run there as they are\n", target.name, target.what);
  std::string line;
  for (const Op op : target.ops()) {
    if (line.size() + name_of(op).size() > 100) {
      out += "  " + line + "\n";
      line.clear();
    }
    line += fmt::format("{}{}", line.empty() ? "" : ", ", name_of(op));
  }
  out += "  " + line + "\n\nwhat others become first\n";
  for (const Rewrite& row : target.legalize) out += fmt::format("  {:<20} {}\n", row.name, row.what);
  if (target.limits == nullptr) return out;
  out += "\nwhat its operators demand\n";
  for (const LimitText& limit : target.limits()) {
    out += fmt::format("  {:<22} {:<13} {}\n", limit.operator_name, limit.code, limit.sentence);
  }
  return out;
}

}  // namespace isthmus
