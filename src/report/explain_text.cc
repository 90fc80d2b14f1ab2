// Words what is known about one value.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "ir/literals.h"
#include "report/explain.h"
#include "report/rows.h"

namespace isthmus {
namespace {

std::string origin_of(const Explanation& of) { return origin_words({of.origin, of.call, of.module}); }

std::string where(const Explanation& of) {
  if (of.place == of.op) return of.precision;
  const std::string_view precision =
      of.precision == "rows" ? "float, quantized weights," : std::string_view(of.precision);
  return fmt::format("{} {} {}", precision, of.place == "host" ? "on the" : "in", of.place);
}

void add_member(const Explanation::GroupMember& member, std::size_t width, std::string& out) {
  const bool is_alone = !member.own && !member.tie;
  out += fmt::format("    {:<{}}", "%" + member.value, is_alone ? 0 : width);
  if (member.own) {
    out += fmt::format("  loses {:.1f} bits of [{:.4g}, {:.4g}]", member.bits_lost, member.own->min, member.own->max);
  }
  if (member.tie) {
    const Explanation::MemberTie& tie = *member.tie;
    out += fmt::format("  with %{}: {} {}{}", tie.of, tie.op, tie.because,
                       tie.origin.empty() ? "" : fmt::format(" ({})", tie.origin));
  }
  out += "\n";
}

void add_group(const Explanation::SharedScale& group, std::string& out) {
  out += fmt::format("  one scale for {}", counted(group.members.size(), "value"));
  if (group.has_parameters) {
    out += fmt::format(": {} zero point {}, range [{:.4g}, {:.4g}]", float_text(group.scale), group.zero_point,
                       group.range.min, group.range.max);
  } else {
    out += "; its parameters need data: --calibrate";
  }
  out += "\n";
  if (!group.pin.empty()) {
    out += fmt::format("    pinned by the archive: %{}{}\n", group.pin,
                       group.pin_origin.empty() ? "" : fmt::format(" ({})", group.pin_origin));
  }
  std::size_t width = 0;
  for (const Explanation::GroupMember& member : group.members) width = std::max(width, member.value.size() + 1);
  for (const Explanation::GroupMember& member : group.members) add_member(member, width, out);
}

// "4 SLICE, 4 TRANSPOSE, CONCAT"
std::string operators_text(const std::vector<Explanation::DeviceOperators>& operators) {
  std::vector<std::string> texts;
  for (const Explanation::DeviceOperators& row : operators) {
    texts.push_back(row.count == 1 ? row.name : fmt::format("{} {}", row.count, row.name));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string to_text(const Explanation& explanation) {
  const std::string origin = origin_of(explanation);
  std::string out = fmt::format("{} %{} : {}{}\n", explanation.op, explanation.node, explanation.type,
                                origin.empty() ? "" : fmt::format("  ({})", origin));
  const bool has_chain = !explanation.causes.empty();
  out += fmt::format("  {}{}\n", where(explanation),
                     explanation.because.empty() || has_chain ? "" : fmt::format(": {}", explanation.because));
  for (const CauseRow& cause : explanation.causes) {
    const bool is_itself = cause.node == explanation.node;
    out += fmt::format("    because {}\n", is_itself ? fmt::format("{} [{}]", cause.text, cause.code) : to_text(cause));
  }
  if (!explanation.fix.empty()) {
    out += fmt::format("    {}{}\n", explanation.needs_fix ? "to change it: " : "", explanation.fix);
  }
  for (const Explanation::Rewritten& row : explanation.rewrites) {
    out += fmt::format("  rewritten for the target by {} (%{}): {}\n", row.rewrite, row.of, row.what);
  }
  if (!explanation.becomes.empty()) out += fmt::format("  becomes {}\n", operators_text(explanation.becomes));
  if (!explanation.aliases.empty()) {
    out += fmt::format("  also known as %{}\n", fmt::join(explanation.aliases, ", %"));
  }
  if (explanation.siblings > 1) {
    out += fmt::format("  one of {} nodes made from this call of the model\n", explanation.siblings);
  }
  if (!explanation.readers.empty()) {
    out += fmt::format("  read by %{}\n", fmt::join(explanation.readers, ", %"));
  }
  if (explanation.group) add_group(*explanation.group, out);
  for (const Explanation::CutEdge& cut : explanation.cuts) {
    out += fmt::format("  requantized: %{} for {} %{}{}, {}: {}\n", cut.value, cut.op, cut.reader,
                       cut.origin.empty() ? "" : fmt::format(" ({})", cut.origin),
                       fmt::format("one pass over {}", counted(cut.bytes, "byte")), cut.because);
  }
  for (const Explanation::Converted& row : explanation.conversions) {
    out += fmt::format("  converted: {} %{}, {}\n", row.kind, row.value, row.place);
  }
  if (explanation.error) {
    const Explanation::Loss& error = *explanation.error;
    out += fmt::format("  SQNR {}; of its own rounding {}, of which sharing a scale costs {:.1f} dB\n",
                       db_text(error.db), db_text(error.rounding_db), db_of_sharing(error.rounding_db, error.alone_db));
  }
  return harmless(out);
}

std::string to_text(const std::vector<Explanation>& matches) {
  std::string out;
  for (const Explanation& match : matches) {
    const std::string origin = origin_of(match);
    out += fmt::format("{} %{} : {}  {}{}\n", match.op, match.node, match.type, where(match),
                       origin.empty() ? "" : fmt::format("  ({})", origin));
  }
  out += fmt::format("{}; give one name for details\n", counted(matches.size(), "node"));
  return harmless(out);
}

}  // namespace isthmus
