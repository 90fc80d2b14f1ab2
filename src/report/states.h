// What a model or a program keeps from one run to the next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/executorch/pte.h"
#include "ir/graph.h"

namespace isthmus {

struct StateRow {
  std::string name;  // in the user's module
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

// In the order of the graph or the plan.
std::vector<StateRow> states_of(const Graph& graph);
std::vector<StateRow> states_of(const pte::Plan& plan);

// "cache.k  f32[1,4,16,8]  2.0 KiB"
std::string to_text(const StateRow& row);
std::uint64_t bytes_of(const std::vector<StateRow>& rows);

}  // namespace isthmus
