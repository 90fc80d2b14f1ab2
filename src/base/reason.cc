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

}  // namespace

std::string_view code_text(ReasonCode code) { return row(code).code; }
std::string_view sentence(ReasonCode code) { return row(code).sentence; }
std::string_view hint(ReasonCode code) { return row(code).hint; }

std::string text_of(const Reason& reason) {
  std::string text(sentence(reason.code));
  if (!reason.got.empty()) text += " (" + reason.got + ")";
  return text;
}

}  // namespace isthmus
