// What a model was found to be, in a small file that is kept with it: a later check compares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "report/compile.h"

namespace isthmus {

struct Baseline {
  // Operators on the CPU that are alike. Lines of the source are left out: they move with every edit.
  struct Fallback {
    std::string op, code, module, file;
    std::size_t count = 0;
    auto operator<=>(const Fallback&) const = default;
  };
  std::string target;
  std::size_t delegates = 0;
  std::size_t delegated_nodes = 0;
  std::vector<Fallback> host;  // in the order of their keys
  bool has_data = false;       // scales come from numbers, which may cut groups
  std::optional<std::size_t> groups, rescales;
  std::optional<std::uint64_t> bytes, memory_bytes;  // of the program file, where there is one
};

Baseline baseline_of(const CompileSummary& summary);

// JSON, a line for each fact.
std::string to_text(const Baseline& baseline);
Expected<Baseline> read_baseline(std::string_view text);

// A line for each fact that is different and that both know. A program may become smaller.
std::vector<std::string> differences(const Baseline& before, const Baseline& now);

}  // namespace isthmus
