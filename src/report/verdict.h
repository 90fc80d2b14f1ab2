// What was found, in one sentence and a few reasons: the same on the terminal and on the page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/compile.h"
#include "report/eval.h"
#include "report/rows.h"
#include "report/sweep.h"

namespace isthmus {

enum class Grade : std::uint8_t {
  kGood,
  kFair,  // it works, and something costs time or accuracy
  kBad,   // it does not work, or a gate is not met
};
std::string_view name_of(Grade grade);
// For a terminal: green, yellow, red.
std::string in_colour(std::string_view text, Grade grade, TextStyle style);

struct Verdict {
  Grade grade = Grade::kGood;
  std::string headline;
  std::vector<std::string> reasons;  // sentences without a full stop
};

// Below this figure a tenth of the signal's amplitude is noise.
inline constexpr double kFewDb = 20;

Verdict verdict_of(const CompileSummary& summary);
Verdict verdict_of(const EvalSummary& summary);
Verdict verdict_of(const SweepSummary& summary);

}  // namespace isthmus
