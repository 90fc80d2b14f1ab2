// Fallbacks and warnings in SARIF 2.1.0, which code hosts show at the lines of a pull request.
#pragma once

#include <string>

#include "report/compile.h"
#include "report/source_paths.h"

namespace isthmus {

std::string to_sarif(const CompileSummary& summary, const SourcePaths& paths);

}  // namespace isthmus
