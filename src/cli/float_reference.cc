// In-memory float programs.
#include "cli/float_reference.h"

#include <memory>

#include "backends/xnnpack/desc.h"
#include "exec/interpreter.h"
#include "partition/partition.h"
#include "run/method.h"

namespace isthmus {

Expected<Runner> program_runner(const Blob& program, pthreadpool* threads) {
  run::LoadOptions options;
  options.threads = threads;
  const auto method = std::make_shared<run::Method>(TRY(run::Method::load(program, "forward", options)));
  return Runner([method](std::span<const Tensor> inputs) { return method->run(inputs); });
}

Expected<Runner> float_runner(const Prepared& prepared, const Model& model, pthreadpool* threads) {
  const Partitioning places = partition(prepared.graph, xnnpack::desc());
  const bool is_whole = places.segments.size() == 1 && places.schedule.size() == 1;
  if (is_whole) {
    if (auto compiled = compile(prepared.graph, places, xnnpack::desc(), model.examples, threads)) {
      const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(compiled->bytes));
      const Runner runner = TRY(program_runner(Blob(*bytes, bytes), threads));
      return runner;
    }
  }
  const auto graph = std::make_shared<Graph>(prepared.graph);
  return Runner([graph](std::span<const Tensor> inputs) { return interpret(*graph, inputs); });
}

}  // namespace isthmus
