// Why a node stays on the host: data in a plan, never an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isthmus {

enum class ReasonCode : std::uint8_t {
#define REASON(enumerator, ...) enumerator,
#include "base/reasons.def"
#undef REASON
};

std::string_view code_text(ReasonCode code);

struct Reason {
  ReasonCode code = ReasonCode::kNoForm;
  std::string got;  // what was found instead; may be empty
};

// The code's sentence without what was found, of a target as people call it.
std::string sentence(ReasonCode code, std::string_view target);
// "sentence (got)"
std::string text_of(const Reason& reason, std::string_view target = "the target");
// What the user can do about it, of a target as the command line calls it. Never empty.
std::string hint(ReasonCode code, std::string_view target);

}  // namespace isthmus
