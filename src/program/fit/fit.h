// What a program asks of a device: memory, flash, kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "program/fit/delegate_memory.h"
#include "program/fit/method_memory.h"
#include "program/fit/planned_memory.h"

namespace isthmus::fit {

struct Flash {
  std::uint64_t program = 0;  // everything but what follows
  std::uint64_t constants = 0, initial_values = 0, delegates = 0, named_data = 0;
  std::uint64_t bytes = 0;  // of the file
};

struct Demand {
  std::uint64_t pointer_bytes = 8;
  MethodMemory method;
  std::vector<PlannedMemory> planned;
  std::vector<DelegateMemory> delegates;
  Flash flash;
  std::vector<std::string> kernels;  // to be linked, in order; primitives, which always are, not among them

  std::uint64_t planned_bytes() const;
  std::uint64_t delegate_bytes() const;
  std::uint64_t temp_bytes() const;  // of the temp allocator: the most that one call or lookup wants
  std::uint64_t sram_bytes() const;  // of all
};
Demand demand_of(const pte::Program& program, const pte::Plan& plan, std::uint64_t file_bytes,
                 std::uint64_t pointer_bytes, std::vector<DelegateMemory> delegates);

// What would lower the demand, a sentence each, the most helpful first.
std::vector<std::string> advice(const Demand& demand);

// The operators as ExecuTorch's selective build takes them: the file of --op_selection_yaml_path.
std::string selected_operators(const Demand& demand, const std::string& model);

}  // namespace isthmus::fit
