// Planning, applying and proving synthetic graphs of growing size: time per node should stay flat.
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <map>
#include <random>
#include <string>

#include "interpret/tensor.h"
#include "ops/emitter.h"
#include "quantize/apply/apply.h"
#include "quantize/plan/plan.h"
#include "quantize/prove/prove.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus {
namespace {

enum class Pattern : std::uint8_t {
  kJoins,     // one chain of joins through all of the graph: without cuts, one group
  kSkips,     // the same, and sums with what was five blocks before
  kMixed,     // the same, and float nodes with movers between them and the layers
  kBranches,  // short chains side by side, and the sum of all: each has its part in the output
  kFar,       // layers and float nodes far apart, sums with anything before them: much that may be either
};

// Blocks on f32[1,8,4,4].
class Chain {
 public:
  explicit Chain(Pattern pattern) : pattern_(pattern), emitter_(graph_) {}

  Graph make(std::size_t nodes) {
    emitter_.begin({"model.py:1", "block", "blocks"}, "v");
    Tensor weights(DType::kF32, {8, 8, 1, 1});
    for (std::size_t i = 0; i < 64; ++i) weights.mutable_data<float>()[i] = static_cast<float>(i % 13) / 13 - 0.4F;
    weights_ = emitter_.constant(weights.view());
    std::vector<ValueId> blocks(5, graph_.add_input("x", {DType::kF32, {1, 8, 4, 4}}));
    std::mt19937 random(3);
    if (pattern_ == Pattern::kBranches) return make_branches(nodes, blocks[0]);
    while (graph_.nodes().size() < nodes) {
      if (pattern_ == Pattern::kFar) {
        blocks.push_back(far_block(blocks.back(), blocks[random() % blocks.size()], random() % 64));
      } else {
        blocks.push_back(block(blocks.back(), blocks[blocks.size() - 5]));
      }
    }
    graph_.add_output({blocks.back(), OutputKind::kResult, {}});
    return std::move(graph_);
  }

 private:
  Graph make_branches(std::size_t nodes, ValueId input) {
    constexpr std::size_t kBlocks = 8;
    std::vector<ValueId> sums;
    while (graph_.nodes().size() < nodes) {
      ValueId value = input;
      for (std::size_t i = 0; i < kBlocks; ++i) value = block(value, value);
      sums.push_back(value);
    }
    while (sums.size() > 1) {
      std::vector<ValueId> fewer;
      for (std::size_t i = 0; i < sums.size(); i += 2) {
        fewer.push_back(i + 1 < sums.size() ? emit(Op::kAdd, NoAttrs{}, {sums[i], sums[i + 1]}) : sums[i]);
      }
      sums = std::move(fewer);
    }
    graph_.add_output({sums[0], OutputKind::kResult, {}});
    return std::move(graph_);
  }

  ValueId emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
    return *emitter_.emit(op, std::move(attrs), std::move(inputs));
  }

  ValueId block(ValueId value, ValueId skip) {
    ValueId conv = emit(Op::kConv2d, ConvAttrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, 1}, {value, weights_});
    conv = emit(Op::kClamp, ClampAttrs{0, std::numeric_limits<double>::infinity()}, {conv});
    const ValueId joined = emit(Op::kCat, AxisAttrs{1}, {value, conv});
    ValueId result = emit(Op::kSlice, SliceAttrs{1, Dim(4), Dim(12), 1}, {joined});
    result = emit(Op::kPermute, AxesAttrs{{0, 1, 3, 2}}, {result});
    if (pattern_ == Pattern::kMixed) {
      result = emit(Op::kSoftmax, AxisAttrs{3}, {result});
      result = emit(Op::kPermute, AxesAttrs{{0, 1, 3, 2}}, {result});
    }
    if (pattern_ != Pattern::kJoins) result = emit(Op::kAdd, NoAttrs{}, {result, skip});
    return result;
  }

  ValueId far_block(ValueId value, ValueId skip, std::size_t kind) {
    if (kind == 0) value = emit(Op::kConv2d, ConvAttrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, 1}, {value, weights_});
    if (kind == 1) value = emit(Op::kSoftmax, AxisAttrs{3}, {value});
    if (kind % 2 == 0) value = emit(Op::kPermute, AxesAttrs{{0, 1, 3, 2}}, {value});
    // Values of several sizes: every eighth in the middle of the others'.
    if (kind % 4 == 3) {
      const ValueId part =
          emit(Op::kSlice, SliceAttrs{1, Dim(0), Dim(1 + static_cast<std::int64_t>(kind / 8)), 1}, {value});
      value = emit(Op::kAdd, NoAttrs{}, {value, emit(Op::kSlice, SliceAttrs{1, Dim(0), Dim(1), 1}, {part})});
    }
    return emit(Op::kAdd, NoAttrs{}, {value, skip});
  }

  Pattern pattern_;
  Graph graph_;
  Emitter emitter_;
  ValueId weights_{};
};

// Ranges of very different widths; with histograms, each value's own range is searched, too.
Statistics statistics_of(const Graph& graph, bool with_histograms) {
  Statistics result;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-3, 3);
  std::normal_distribution<float> normal;
  for (const Value& value : graph.values()) {
    if (value.kind == ValueKind::kConstant) continue;
    ValueStatistics& statistics = result.values[value.name];
    const auto width = static_cast<float>(std::exp2(exponent(random)));
    statistics.moments.count = 128;
    statistics.moments.min = -4 * width;
    statistics.moments.max = 4 * width;
    statistics.moments.sum_of_squares = 128.0 * static_cast<double>(width) * static_cast<double>(width);
    if (!with_histograms) continue;
    std::vector<float> numbers(4096);
    for (float& number : numbers) number = std::clamp(normal(random), -4.0F, 4.0F) * width;
    statistics.histogram.add(numbers, 1, statistics.moments.min, statistics.moments.max);
  }
  return result;
}

void run(benchmark::State& state, Pattern pattern, std::size_t nodes, bool with_histograms,
         const char* name = "xnnpack") {
  const Graph graph = Chain(pattern).make(nodes);
  const Statistics statistics = statistics_of(graph, with_histograms);
  const TargetDesc& target = *find_target(name);
  const QuantConfig config;
  std::size_t cuts = 0;
  double planning = 0;
  for (auto _ : state) {
    Diagnostics diagnostics;
    const std::clock_t start = std::clock();
    const auto planned = plan(graph, target, &statistics, config, diagnostics);
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    planning += 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const auto applied = apply(graph, *planned, target, &statistics, config);
    if (!applied) return state.SkipWithError(applied.error().message.c_str());
    const auto proven = prove(*applied, target, graph, config);
    if (!proven) return state.SkipWithError(proven.error().message.c_str());
    cuts = planned->cuts.size();
  }
  const auto count = static_cast<double>(graph.nodes().size());
  state.counters["plan_ms"] = benchmark::Counter(planning, benchmark::Counter::kAvgIterations);
  state.counters["cuts"] = static_cast<double>(cuts);
  state.counters["us_per_node"] =
      benchmark::Counter(count * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  using namespace isthmus;
  const std::map<std::string, Pattern> patterns{
      {"joins", Pattern::kJoins}, {"skips", Pattern::kSkips}, {"mixed", Pattern::kMixed}, {"far", Pattern::kFar}};
  for (const auto& [name, pattern] : patterns) {
    for (const std::size_t nodes : {10'000u, 30'000u, 100'000u}) {
      benchmark::RegisterBenchmark((name + "/" + std::to_string(nodes)).c_str(), [pattern = pattern,
                                                                                  nodes](benchmark::State& state) {
        run(state, pattern, nodes, false);
      })->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark("skips_with_histograms/5000", [](benchmark::State& state) {
    run(state, Pattern::kSkips, 5'000, true);
  })->Unit(benchmark::kMillisecond);
  for (const std::size_t nodes : {10'000u, 30'000u, 100'000u}) {
    benchmark::RegisterBenchmark(("ethos_u/" + std::to_string(nodes)).c_str(), [nodes](benchmark::State& state) {
      run(state, Pattern::kBranches, nodes, false, "ethos-u85-256");
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
