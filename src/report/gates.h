// Gates for continuous integration: how much may run on the CPU.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/compile.h"

namespace isthmus {

struct Gates {
  std::optional<std::size_t> max_delegates;
  std::optional<std::size_t> max_host_ops;
  bool requires_full_delegation = false;
};

// A sentence for each gate that the model does not meet: what was found, what is allowed, and the operators.
std::vector<std::string> broken_gates(const CompileSummary& summary, const Gates& gates);

}  // namespace isthmus
