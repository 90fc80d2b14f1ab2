// What `eval` found.
#pragma once

#include <string>
#include <vector>

#include "base/diag.h"
#include "evaluate/evaluate.h"

namespace isthmus {

struct EvalSummary {
  std::string file;
  Evaluation evaluation;
  std::vector<Diagnostic> said;
};

std::string to_text(const EvalSummary& summary);
std::string to_json(const EvalSummary& summary);

}  // namespace isthmus
