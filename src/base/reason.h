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
std::string_view sentence(ReasonCode code);
std::string_view hint(ReasonCode code);

struct Reason {
  ReasonCode code = ReasonCode::kNoForm;
  std::string got;  // what was found instead; may be empty
};

// "sentence (got)"
std::string text_of(const Reason& reason);

}  // namespace isthmus
