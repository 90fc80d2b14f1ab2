// What a program asks of a device, in words and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/fit/fit.h"
#include "report/rows.h"

namespace isthmus {

struct FitSummary {
  std::string file, method;
  fit::Demand demand;
  std::optional<std::uint64_t> sram, flash;  // that the device has
};

// A sentence for each memory that is too small: by how much. Empty where it fits.
std::vector<std::string> too_large(const FitSummary& summary);

std::string to_text(const FitSummary& summary, TextStyle style);
std::string to_json(const FitSummary& summary);

}  // namespace isthmus
