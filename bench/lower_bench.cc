// Compile time per node for Ethos-U, of residual networks that grow: it should stay the same, however deep they are.
// The networks take turns, so that whatever else the machine does falls on all of them.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "interpret/interpreter.h"
#include "ops/emitter.h"
#include "program/emit/emit.h"
#include "session/stages.h"
#include "stats/measure.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus {
namespace {

constexpr std::size_t kBlocks[] = {2, 8, 16, 64};

ValueId made(Expected<ValueId> value) {
  CHECK(value.has_value(), value ? "" : value.error().text());
  return *value;
}

// A stem, blocks of two convolutions with a skip around them, and a classifier.
class ResidualNetwork {
 public:
  explicit ResidualNetwork(std::size_t blocks) : emitter_(graph) {
    emitter_.begin({}, "v");
    ValueId x = relu(conv(graph.add_input("x", {DType::kF32, {1, 3, 16, 16}}), 3));
    for (std::size_t i = 0; i < blocks; ++i) {
      const ValueId inner = conv(relu(conv(x, kChannels)), kChannels);
      x = relu(made(emitter_.binary(Op::kAdd, x, inner)));
    }
    const ValueId mean = made(emitter_.emit(Op::kMean, ReduceAttrs{{2, 3}, false}, {x}));
    const ValueId classes = made(emitter_.emit(Op::kLinear, NoAttrs{}, {mean, floats({10, kChannels})}));
    graph.add_output({classes, OutputKind::kResult, {}});
  }

  Graph graph;

 private:
  static constexpr std::int64_t kChannels = 8;

  ValueId floats(Ints sizes) {
    Tensor tensor(DType::kF32, std::move(sizes));
    for (float& number : tensor.mutable_data<float>()) {
      number = std::uniform_real_distribution<float>(-0.2F, 0.2F)(random_);
    }
    return emitter_.constant(tensor.view());
  }
  ValueId conv(ValueId x, std::int64_t channels) {
    const ConvAttrs attrs{{1, 1}, {1, 1, 1, 1}, {1, 1}, 1};
    return made(emitter_.emit(Op::kConv2d, attrs, {x, floats({kChannels, channels, 3, 3}), floats({kChannels})}));
  }
  ValueId relu(ValueId x) {
    ClampAttrs attrs;
    attrs.min = 0;
    return made(emitter_.emit(Op::kClamp, attrs, {x}));
  }

  Emitter emitter_;
  std::mt19937 random_{5};
};

Statistics observed(const Graph& graph) {
  Statistics result;
  Tensor input(DType::kF32, {1, 3, 16, 16});
  std::mt19937 random(7);
  for (float& number : input.mutable_data<float>()) number = std::normal_distribution<float>()(random);
  const auto outputs = interpret(graph, {{input}}, [&](ValueId id, const Tensor& tensor) {
    if (tensor.dtype() != DType::kF32) return;
    ValueStatistics& statistics = result.values[graph[id].name];
    const auto numbers = tensor.data<float>();
    const Moments moments = measure(numbers);
    statistics.moments.merge(moments);
    statistics.histogram.add(numbers, 1, moments.min, moments.max);
    ++statistics.samples;
  });
  CHECK(outputs.has_value(), outputs ? "" : outputs.error().text());
  return result;
}

// Of this thread: what others do on the machine is not counted.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// All stages but calibration and the trial run.
struct Spent {
  double seconds = 0;
  std::map<std::string, double> by_stage;
};
Spent spend(const Graph& graph, const Statistics& statistics) {
  const TargetDesc& target = *find_target("ethos-u85-256");
  Diagnostics diagnostics;
  Spent spent;
  const auto add = [&](const std::vector<StageTime>& times) {
    for (const StageTime& time : times) spent.by_stage[time.name] += time.seconds;
  };
  const double start = cpu_seconds();
  const auto prepared = prepare(graph, {&target, {}}, diagnostics);
  CHECK(prepared.has_value(), prepared ? "" : prepared.error().text());
  const auto model = quantize(*prepared, target, &statistics, {}, diagnostics);
  CHECK(model.has_value(), model ? "" : model.error().text());
  const double before_lower = cpu_seconds();
  auto lowered = lower(model->quantized.graph, model->partitioning, target);
  CHECK(lowered.has_value(), lowered ? "" : lowered.error().text());
  const auto emitted = emit(std::move(lowered->program));
  CHECK(emitted.has_value(), emitted ? "" : emitted.error().text());
  const double end = cpu_seconds();
  add(prepared->times);
  add(model->times);
  add({{"lower", end - before_lower}});
  spent.seconds = end - start;
  return spent;
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

void compile_residual_networks(benchmark::State& state) {
  struct Row {
    Graph graph;
    Statistics statistics;
    std::vector<double> seconds;
    std::map<std::string, std::vector<double>> by_stage;
  };
  std::map<std::size_t, Row> rows;
  Diagnostics diagnostics;
  for (const std::size_t blocks : kBlocks) {
    Graph graph = ResidualNetwork(blocks).graph;
    const auto prepared = prepare(graph, {find_target("ethos-u85-256"), {}}, diagnostics);
    CHECK(prepared.has_value(), prepared ? "" : prepared.error().text());
    Statistics statistics = observed(prepared->graph);
    rows[blocks] = {std::move(graph), std::move(statistics), {}, {}};
  }
  for (auto _ : state) {
    double total = 0;
    for (auto& [blocks, row] : rows) {
      const Spent spent = spend(row.graph, row.statistics);
      for (const auto& [stage, seconds] : spent.by_stage) row.by_stage[stage].push_back(seconds);
      row.seconds.push_back(spent.seconds);
      total += spent.seconds;
    }
    state.SetIterationTime(total);
  }
  const auto per_node = [](const Row& row) {
    return median(row.seconds) / static_cast<double>(row.graph.nodes().size());
  };
  const Row& first = rows.begin()->second;
  for (const auto& [blocks, row] : rows) {
    const std::string name = "blocks_" + std::to_string(blocks);
    state.counters[name + "_us_per_node"] = per_node(row) * 1e6;
    state.counters[name + "_over_first"] = per_node(row) / per_node(first);
  }
  const Row& last = rows.rbegin()->second;
  for (const auto& [stage, seconds] : last.by_stage) {
    state.counters["share_of_" + stage] = median(seconds) / median(last.seconds);
  }
}

BENCHMARK(compile_residual_networks)->Unit(benchmark::kMillisecond)->UseManualTime()->MinTime(2);

}  // namespace
}  // namespace isthmus

BENCHMARK_MAIN();
