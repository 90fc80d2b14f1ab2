// What a loaded method consists of. Only for loader and executor.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "formats/executorch/pte.h"
#include "program/run/delegate.h"
#include "program/run/method.h"
#include "targets/host/kernel.h"
#include "targets/host/slot.h"

namespace isthmus::run {

struct FreeMemory {
  void operator()(std::byte* memory) const;
};
struct Memory {
  std::unique_ptr<std::byte, FreeMemory> owner;
  std::byte* start = nullptr;
};

// Zeroed, aligned to 64, readable beyond its end as delegates want it. Null where there is no memory.
Memory allocate(std::uint64_t bytes);

struct Method::State {
  pte::Program program;  // keeps the file alive
  const pte::Plan* plan = nullptr;
  LoadOptions options;
  std::vector<Memory> memory;  // that of the plan first, by memory id
  std::uint64_t memory_bytes = 0;
  std::vector<Slot> slots;
  std::vector<Slot> fresh_slots;  // as they are before a run, where instructions change what they hold; else empty
  std::vector<pte::ValueIndex> tensor_inputs;
  std::vector<TensorInfo> inputs;
  std::vector<std::unique_ptr<Delegate>> delegates;
  std::vector<const host::Kernel*> kernels;  // by operator
  Statistics statistics;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<OperatorTime>> profile;  // by chain and instruction
};

// Runs all instructions of the plan over the slots, and shows what they make.
Expected<void> execute(Method::State& state, const anatomy::Show& show);

}  // namespace isthmus::run
