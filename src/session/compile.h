// A partitioned graph becomes the bytes of a program file.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/block.h"
#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "ir/graph.h"
#include "program/emit/memory_plan.h"
#include "program/lower/lower.h"
#include "program/run/method.h"
#include "session/prepare.h"
#include "session/stage.h"
#include "targets/finish.h"
#include "targets/partitioning.h"
#include "targets/target.h"

struct pthreadpool;

namespace isthmus {

struct Compiled {
  Compiled() = default;
  Compiled(Compiled&&) = default;  // no copies: the method reads the bytes
  Compiled& operator=(Compiled&&) = default;
  ~Compiled() = default;

  LargeBytes bytes;  // of the program file
  // Of the same program before its delegates were finished, which this machine can run; empty where `bytes` are those.
  LargeBytes unfinished_bytes;
  std::string finished_by;                 // the name of the step; empty where there was none
  std::vector<FinishedDelegate> finished;  // what it made of each delegate
  std::vector<DelegateSummary> delegates;
  std::vector<MadeBy> made_by;  // by instruction of `program`
  MemoryPlan memory;
  std::shared_ptr<run::Method> method;  // the runnable bytes, loaded
  pte::Program program;                 // what the runnable bytes hold, without places in memory
  std::vector<StageTime> times;

  const LargeBytes& runnable() const { return unfinished_bytes.empty() ? bytes : unfinished_bytes; }
};

// Every delegate has been built by the local runtime, and the whole file was read back and run on `examples` (on
// zeros where there are none): what any of them refuses is an error, and there are no bytes. For `input_orders` see
// lower.h; `attached` are data that the program holds and nothing in it reads.
Expected<Compiled> compile(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target,
                           const std::vector<std::optional<TensorView>>& examples, pthreadpool* threads,
                           const std::vector<Order>& input_orders = {},
                           const std::vector<pte::NamedData>& attached = {});
// The same of a model that stays in float, after `keep_in_float`.
inline Expected<Compiled> compile(const Prepared& prepared, const TargetDesc& target,
                                  const std::vector<std::optional<TensorView>>& examples, pthreadpool* threads) {
  return compile(prepared.graph, prepared.partitioning, target, examples, threads);
}

// The delegates as the device's own compiler makes them, in a file of their own.
Expected<void> finish(Compiled& compiled, const Finisher& finisher);

}  // namespace isthmus
