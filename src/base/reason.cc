// The table of reasons.
#include "base/reason.h"

#include <array>

namespace isthmus {
namespace {

struct Row {
  std::string_view code, sentence, hint;
};
constexpr Row kRows[] = {
#define REASON(enumerator, code, sentence, hint) {code, sentence, hint},
#include "base/reasons.def"
#undef REASON
};
const Row& row(ReasonCode code) { return kRows[static_cast<std::size_t>(code)]; }

constexpr std::string_view kGot = "{1}";

std::string filled(std::string text, std::string_view mark, std::string_view word) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + word.size())) {
    text.replace(at, mark.size(), word);
  }
  return text;
}
std::string with_target(std::string_view text, std::string_view target) {
  return filled(std::string(text), "{0}", target);
}

}  // namespace

std::string_view code_text(ReasonCode code) { return row(code).code; }
std::string sentence(ReasonCode code, std::string_view target) {
  return filled(with_target(row(code).sentence, target), kGot, "it needs an operator");
}
std::string hint(ReasonCode code, std::string_view target) { return with_target(row(code).hint, target); }

std::string text_of(const Reason& reason, std::string_view target) {
  const std::string text = with_target(row(reason.code).sentence, target);
  if (text.find(kGot) != std::string::npos) return filled(text, kGot, reason.got);
  return reason.got.empty() ? text : text + " (" + reason.got + ")";
}

}  // namespace isthmus
