// What is in statistics, and what a calibration did.
#pragma once

#include <string>
#include <vector>

#include "base/diag.h"
#include "stats/statistics.h"

namespace isthmus {

struct CalibrateSummary {
  std::string model;
  std::string target;
  std::string output;
  double seconds = 0;
  const Statistics* statistics = nullptr;
  std::vector<Diagnostic> diagnostics;
  bool was_done = false;  // by an earlier run: nothing was computed
};
std::string to_text(const CalibrateSummary& summary);
std::string to_json(const CalibrateSummary& summary);

// A file of statistics.
struct StatsSummary {
  std::string file;
  const Statistics* statistics = nullptr;
};
std::string to_text(const StatsSummary& summary);
std::string to_json(const StatsSummary& summary);

}  // namespace isthmus
