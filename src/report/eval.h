// What `eval` found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "evaluate/evaluate.h"
#include "program/anatomy/anatomy.h"

namespace isthmus {

struct EvalSummary {
  std::string file;
  Evaluation evaluation;
  std::vector<Diagnostic> said;
  std::optional<anatomy::Graph> program = {};  // where it was taken apart
  std::string output = {};                     // the file of the evaluation, where one was written
  bool was_done = false;                       // by an earlier run: nothing was computed
};

std::string to_text(const EvalSummary& summary);
std::string to_json(const EvalSummary& summary);

}  // namespace isthmus
