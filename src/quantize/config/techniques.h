// What makes a quantized model better than plain rounding does: one row for each technique.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "quantize/config/config.h"

namespace isthmus {

struct Technique {
  std::string_view name;  // in messages
  std::string_view key;   // of quant.toml
  std::string_view off;   // the line there that switches it off
  bool (*is_on)(const QuantConfig& config);
  void (*switch_off)(QuantConfig& config);
  double min_gain_db = 0;  // for what makes the program slower: what it must gain
  // It rounds less and changes nothing else: alone it hurts by chance only.
  bool adds_precision = false;
};

std::span<const Technique> techniques();

// By row of the table: whether it is on.
std::vector<bool> techniques_on(const QuantConfig& config);

// The smallest and the largest number seen, nothing else.
QuantConfig plain_rounding(QuantConfig config);

// Whether the user asked for it by name, in a file or on the command line.
bool is_asked_for(const Technique& technique, const QuantConfig& config);

}  // namespace isthmus
