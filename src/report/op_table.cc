// The text of the op table, made from the table itself.
#include "report/op_table.h"

#include <fmt/format.h>

#include "ops/table.h"

namespace isthmus {
namespace {

std::string names(std::span<const Spelling> spellings) {
  std::string text;
  for (const Spelling& spelling : spellings) text += (text.empty() ? "" : " ") + std::string(spelling.name);
  return text;
}

}  // namespace

std::string op_table_text() {
  std::string out;
  std::size_t ops = 0;
  std::size_t spellings = 0;
  for (const Family& family : families()) {
    out += fmt::format("{}\n", family.name);
    for (const OpDef& row : family.ops) {
      out += fmt::format("  {:<28} {:<14} {}\n", name_of(row.op), name_of(row.flow), names(row.spellings));
      ++ops;
      spellings += row.spellings.size();
    }
    for (const Spelling& compound : family.compounds)
      out += fmt::format("  {:<28} several ops    {}\n", "", compound.name);
    spellings += family.compounds.size();
  }
  return out + fmt::format(
                   "{} ops, {} names; each name includes its overloads, its in-place form (name_) and its copying form "
                   "(name_copy)\n",
                   ops, spellings);
}

}  // namespace isthmus
