// What a TOSA graph costs on an NPU, by rules that are fitted to Vela's own estimates: cycles and memory without Vela.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/tosa/tosa.h"
#include "targets/ethos_u/cost_table.h"

namespace isthmus::ethos_u {

struct GraphCost {
  double cycles = 0;
  double sram_bytes = 0;                  // the most that tensors take at one time
  std::vector<double> by_operator;        // cycles; those that become part of another have none
  std::vector<double> bytes_by_operator;  // that tensors take while it runs
};
GraphCost estimate(const tosa::Graph& graph, const Machine& machine);

}  // namespace isthmus::ethos_u
