// What a JSON object of the command line says, one fact a line.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace isthmus {

struct Fact {
  std::string key;               // "bytes", "outputs[output_0].sqnr_db"
  std::optional<double> number;  // none: text
  std::string text;
  std::string row;  // of the list that it is in: "outputs[output_0]"; may be empty
};

// Operators on the CPU that are alike. Lines of the source are left out: they move with every edit.
struct FallbackKey {
  std::string op, code, module, file;
  auto operator<=>(const FallbackKey&) const = default;
};

struct Facts {
  std::vector<Fact> rows;  // in the order of the object; each key once
  std::map<FallbackKey, std::size_t> fallbacks;
  bool has_fallbacks = false;
};

// Of an object that has a schema_version that is known. Paths and times, which differ from run to run, are left out;
// rows of a list are called by what names them.
Expected<Facts> read_facts(std::string_view json);

}  // namespace isthmus
