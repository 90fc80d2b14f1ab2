// The TOSA interpreter: fast kernels against the plain ones on the same graph, and samples on all threads. Ratios come
// from runs that take turns, so that whatever else the machine does falls on both sides.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/check.h"
#include "engines/xnnpack/thread_pool.h"
#include "targets/tosa/interpreter.h"
#include "targets/tosa/rules.h"

namespace isthmus {
namespace {

using tosa::Op;
using tosa::Type;
using tosa::ValueIndex;
using Shape = std::vector<std::int32_t>;

// A small image classifier: convolutions with a rescale behind each, some of them depthwise.
class Network {
 public:
  explicit Network(bool is_wide)
      : activation_(is_wide ? Type::kI16 : Type::kI8), sum_(is_wide ? Type::kI48 : Type::kI32) {
    shape_ = {1, 32, 32, 8};
    last_ = value(activation_, shape_);
    graph.inputs.push_back(last_);
    conv(16, 3, 1);
    for (int block = 0; block < 3; ++block) {
      depthwise(block == 0 ? 2 : 1);
      conv(32, 1, 1);
    }
    conv(48, 3, 2);
    conv(64, 1, 1);
    graph.outputs.push_back(last_);
  }

  tosa::Graph graph;

 private:
  ValueIndex value(Type type, Shape shape, Blob data = {}) {
    graph.values.push_back({"v" + std::to_string(graph.values.size()), type, std::move(shape), std::move(data)});
    return static_cast<ValueIndex>(graph.values.size() - 1);
  }
  ValueIndex constant(Type type, Shape shape, std::uint8_t first) {
    std::vector<std::byte> bytes(*tosa::byte_count(type, shape));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(first == 0 ? 0 : (i * 37 + first) % 251);
    const ValueIndex index = value(type, std::move(shape), Blob::owning(std::move(bytes)));
    graph.operators.push_back({Op::kConst, tosa::Nothing{}, {}, {index}});
    return index;
  }
  void add(Op op, tosa::Fields fields, std::vector<ValueIndex> inputs, Type type) {
    last_ = value(type, shape_);
    graph.operators.push_back({op, std::move(fields), std::move(inputs), {last_}});
  }
  void conv(std::int32_t out, std::int32_t kernel, std::int32_t stride) {
    convolve(Op::kConv2d, {out, kernel, kernel, shape_[3]}, out, kernel, stride);
  }
  void depthwise(std::int32_t stride) { convolve(Op::kDepthwiseConv2d, {3, 3, shape_[3], 1}, shape_[3], 3, stride); }
  void convolve(Op op, Shape weights, std::int32_t out, std::int32_t kernel, std::int32_t stride) {
    // Less padding behind where the stride is 2, so that it comes out even.
    const std::int32_t before = kernel / 2;
    const std::int32_t after = stride == 2 ? before - 1 : before;
    std::vector<ValueIndex> inputs{last_, constant(Type::kI8, std::move(weights), 3), constant(sum_, {out}, 0),
                                   constant(activation_, {1}, 0), constant(Type::kI8, {1}, 0)};
    shape_ = {1, shape_[1] / stride, shape_[2] / stride, out};
    add(op, tosa::Conv{{before, after, before, after}, {stride, stride}, {1, 1}, false, sum_}, std::move(inputs), sum_);
    const bool is_wide = activation_ == Type::kI16;
    const ValueIndex multiplier = value(is_wide ? Type::kI16 : Type::kI32, {out}, numbers(is_wide ? 2 : 4, out, 0x40));
    const ValueIndex shift = value(Type::kI8, {out}, numbers(1, out, is_wide ? 24 : 40));
    graph.operators.push_back({Op::kConst, tosa::Nothing{}, {}, {multiplier}});
    graph.operators.push_back({Op::kConst, tosa::Nothing{}, {}, {shift}});
    add(Op::kRescale, tosa::Rescale{!is_wide, tosa::Rounding::kSingle, true},
        {last_, multiplier, shift, constant(sum_, {1}, 0), constant(activation_, {1}, 0)}, activation_);
  }
  // The highest byte of each number is this one.
  static Blob numbers(std::size_t width, std::int32_t count, std::uint8_t top) {
    std::vector<std::byte> bytes(width * static_cast<std::size_t>(count));
    for (std::size_t i = width - 1; i < bytes.size(); i += width) bytes[i] = static_cast<std::byte>(top);
    return Blob::owning(std::move(bytes));
  }

  Type activation_;
  Type sum_;
  Shape shape_;
  ValueIndex last_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

tosa::Interpreter load(const tosa::Graph& graph, const tosa::LoadOptions& options) {
  auto interpreter = tosa::Interpreter::load(graph, options);
  CHECK(interpreter.has_value(), interpreter ? "" : interpreter.error().text());
  return *std::move(interpreter);
}
std::vector<Tensor> inputs_of(const tosa::Interpreter& interpreter) {
  std::vector<Tensor> inputs;
  for (const tosa::Port& port : interpreter.inputs()) {
    inputs.emplace_back(port.dtype, port.sizes);
    std::uint32_t next = 1;
    for (std::byte& byte : inputs.back().mutable_bytes())
      byte = static_cast<std::byte>((next = next * 1664525 + 1) >> 24);
  }
  return inputs;
}

void classify(benchmark::State& state, bool is_wide) {
  constexpr std::size_t kSamples = 16;
  const Network network(is_wide);
  const xnnpack::ThreadPool pool(std::max(2u, std::thread::hardware_concurrency()));
  const tosa::Interpreter fast = load(network.graph, {});
  const tosa::Interpreter plain = load(network.graph, {.kernels = tosa::Kernels::kPlain});
  const tosa::Interpreter together = load(network.graph, {.threads = pool.get()});
  const std::vector<std::vector<Tensor>> samples(kSamples, inputs_of(fast));
  std::vector<double> fast_times, plain_times, many_times;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(fast.run(samples[0]));
    fast_times.push_back(seconds_since(start));
    start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(plain.run(samples[0]));
    plain_times.push_back(seconds_since(start));
    start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(together.run_each(samples));
    many_times.push_back(seconds_since(start) / kSamples);
    state.SetIterationTime(fast_times.back());
  }
  const auto products = static_cast<double>(tosa::count_products(network.graph));
  state.counters["products"] = products;
  state.counters["plain_over_fast"] = median(plain_times) / median(fast_times);
  state.counters["one_over_all_threads"] = median(fast_times) / median(many_times);
  state.counters["giga_products_per_s"] = products / median(fast_times) / 1e9;
  state.counters["s_for_2000_samples"] = 2000 * median(many_times);
}

BENCHMARK_CAPTURE(classify, int8, false)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(classify, int16, true)->Unit(benchmark::kMillisecond)->UseManualTime();

}  // namespace
}  // namespace isthmus

BENCHMARK_MAIN();
