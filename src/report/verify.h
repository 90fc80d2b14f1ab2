// Where a program departs from its model, in words and as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/diag.h"
#include "report/rows.h"
#include "session/verify_program.h"

namespace isthmus {

struct VerifySummary {
  std::string file, reference;
  VerifiedProgram verified;
  std::vector<Diagnostic> said;
};

// One line, without its end.
std::string verdict_of(const VerifySummary& summary);

// With `is_verbose` all values, else those that cost most.
std::string to_text(const VerifySummary& summary, TextStyle style, bool is_verbose);
std::string to_json(const VerifySummary& summary);

}  // namespace isthmus
