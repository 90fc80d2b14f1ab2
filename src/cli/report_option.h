// --report: what was found as one HTML page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/expected.h"
#include "report/compile.h"
#include "report/eval.h"
#include "report/sweep.h"
#include "session/session.h"

namespace isthmus {

CLI::Option* add_report_option(
    CLI::App& command, std::string& path,
    const std::string& help = "write one HTML page: the graph, where each node runs and why, scales, memory");

// Nothing where the path is empty. `errors` are those that the summary has, or empty: what is at hand is measured then.
Expected<void> write_report(const std::string& path, const CompileSummary& summary, const Session& session,
                            std::vector<ValueError> errors = {});
Expected<void> write_report(const std::string& path, const EvalSummary& summary);
Expected<void> write_report(const std::string& path, const SweepSummary& summary);

}  // namespace isthmus
