// Canonicalize on a real transformer and on synthetic graphs of growing size: time per node should stay flat.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "formats/torch/pt2.h"
#include "frontends/torch/load.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus {
namespace {

void run(benchmark::State& state, const Graph& graph) {
  for (auto _ : state) {
    Diagnostics diagnostics;
    const auto result = canonicalize(graph, diagnostics);
    if (!result) {
      state.SkipWithError(result.error().message.c_str());
      return;
    }
    benchmark::DoNotOptimize(result->nodes().size());
  }
  const auto nodes = static_cast<double>(graph.nodes().size());
  state.counters["nodes"] = nodes;
  state.counters["us_per_node"] =
      benchmark::Counter(nodes * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Blocks of moveaxis, add, relu_, moveaxis back: names to resolve, memory writes, movement that cancels.
Graph synthetic(std::int64_t nodes) {
  Graph graph;
  const TensorType first{DType::kF32, {1, 8, 4, 4}};
  const TensorType last{DType::kF32, {1, 4, 4, 8}};
  ValueId value = graph.add_input("x", first);
  const auto call = [&](std::string name, std::string target, std::vector<Arg> args, std::vector<ValueId> inputs,
                        const TensorType& type) {
    const NodeId id = graph.add_node(Op::kForeign, ForeignAttrs{std::move(target), std::move(args)}, std::move(inputs),
                                     {{std::move(name), type}}, {"model.py:1", "block", "blocks"});
    return graph[id].outputs[0];
  };
  const auto tensor = [](std::string name) { return Arg{std::move(name), {TensorArg{}}}; };
  const auto number = [](std::string name, std::int64_t n) { return Arg{std::move(name), {Dim(n)}}; };
  for (std::int64_t i = 0; static_cast<std::int64_t>(graph.nodes().size()) < nodes; ++i) {
    const std::string suffix = "_" + std::to_string(i);
    const ValueId moved = call("moved" + suffix, "aten.moveaxis.int",
                               {tensor("self"), number("source", 1), number("destination", -1)}, {value}, last);
    const ValueId sum =
        call("sum" + suffix, "aten.add.Tensor", {tensor("self"), tensor("other")}, {moved, moved}, last);
    const ValueId relu = call("relu" + suffix, "aten.relu_.default", {tensor("self")}, {sum}, last);
    value = call("back" + suffix, "aten.permute.default",
                 {tensor("self"), Arg{"dims", {std::vector<ArgValue>{{Dim(0)}, {Dim(3)}, {Dim(1)}, {Dim(2)}}}}}, {relu},
                 first);
  }
  graph.add_output({value, OutputKind::kResult, {}});
  return graph;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  using namespace isthmus;
  const std::filesystem::path root = ISTHMUS_SOURCE_DIR;
  for (const auto& path : {root / "tests/models/deit_micro.pt2", root / "../shared/golden/deit_tiny.pt2"}) {
    if (!std::filesystem::exists(path)) continue;
    const auto bytes = map_file(path.string());
    const auto archive = pt2::read_archive(*bytes);
    Diagnostics diagnostics;
    auto model = load(*archive, diagnostics);
    benchmark::RegisterBenchmark(path.stem().c_str(), [graph = model->graph](benchmark::State& state) {
      run(state, graph);
    })->Unit(benchmark::kMillisecond);
  }
  for (const std::int64_t nodes : {1'000, 10'000, 100'000}) {
    benchmark::RegisterBenchmark(("synthetic/" + std::to_string(nodes)).c_str(), [nodes](benchmark::State& state) {
      run(state, synthetic(nodes));
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
