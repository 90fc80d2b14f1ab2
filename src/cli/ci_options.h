// What check and compile do for continuous integration besides their gates: baselines, SARIF.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/expected.h"
#include "report/compile.h"
#include "session/session.h"

namespace isthmus {

struct CiOptions {
  std::string baseline;
  std::string new_baseline;
  std::string sarif;

  // Every file that is written.
  std::vector<std::string> outputs() const { return {new_baseline, sarif}; }
};

void add_ci_options(CLI::App& command, CiOptions& options);

// The differences to the baseline join the broken gates.
Expected<void> compare_with_baseline(const CiOptions& options, CompileSummary& summary);
Expected<void> write_ci_files(const CiOptions& options, const Session& session, const CompileSummary& summary);

}  // namespace isthmus
