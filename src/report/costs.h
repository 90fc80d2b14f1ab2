// What each node costs the device, by the target's own estimate.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/outcome.h"

namespace isthmus {

struct CostTable {
  struct Row {
    std::string node, op, origin, module;
    double cycles = 0;
    double sram_bytes = 0;  // of all that is in memory while it runs
  };
  double cycles = 0;      // of a run
  double sram_bytes = 0;  // the most at one time
  std::vector<Row> rows;  // in the order in which they run
};

// Of a quantized model. Nothing where the target has no estimate.
std::optional<CostTable> cost_table(const Outcome& outcome);

// The nodes that cost most first, the rest of them in one line; all of them where `is_verbose`.
std::string rows_text(const CostTable& table, bool is_verbose);
std::string to_text(const CostTable& table, const std::string& model, std::string_view target, bool is_verbose);
nlohmann::ordered_json rows_json(const CostTable& table);
std::string to_json(const CostTable& table, const std::string& model, std::string_view target);

}  // namespace isthmus
