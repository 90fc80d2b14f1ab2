// Program files: loading, and running with one thread and with all. Ratios come from runs that take turns, so that
// whatever else the machine does falls on both sides.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "engines/xnnpack/thread_pool.h"
#include "program/run/measure.h"
#include "program/run/method.h"

namespace isthmus {
namespace {

// A method with its threads and inputs.
struct Ready {
  xnnpack::ThreadPool pool;
  run::Method method;
  std::vector<Tensor> inputs;
};

Expected<Ready> load(const std::string& path, std::size_t threads) {
  xnnpack::ThreadPool pool(threads);
  auto method = TRY(run::Method::load(TRY(map_file(path)), "forward", {.threads = pool.get()}));
  auto inputs = TRY(run::plain_inputs(method, std::uint64_t{1} << 32));
  return Ready{std::move(pool), std::move(method), std::move(inputs)};
}

// Seconds of one run.
double run_once(Ready& ready) {
  const auto start = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(ready.method.run(ready.inputs));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

void load_file(benchmark::State& state, const std::string& path) {
  for (auto _ : state) benchmark::DoNotOptimize(load(path, 1));
  state.counters["file_MiB"] = static_cast<double>(std::filesystem::file_size(path)) / (1 << 20);
}

void run_file(benchmark::State& state, const std::string& path) {
  const std::size_t threads = std::max(2u, std::thread::hardware_concurrency());
  std::vector<double> first;
  std::vector<double> alone;
  std::vector<double> together;
  auto one = load(path, 1);
  auto all = load(path, threads);
  run_once(*one);
  run_once(*all);
  for (auto _ : state) {
    auto fresh = load(path, 1);
    first.push_back(run_once(*fresh));
    alone.push_back(run_once(*one));
    together.push_back(run_once(*all));
    state.SetIterationTime(alone.back());
  }
  state.counters["first_over_later"] = median(first) / median(alone);
  state.counters["one_over_all_threads"] = median(alone) / median(together);
  state.counters["threads"] = static_cast<double>(threads);
  const run::Statistics& statistics = one->method.statistics();
  const double seconds = statistics.delegate_seconds + statistics.host_seconds;
  state.counters["host_share"] = seconds == 0 ? 0 : statistics.host_seconds / seconds;
}

// The files that this machine can run.
void add_files(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pte" && load(entry.path().string(), 1)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    const std::string name = file.stem().string();
    benchmark::RegisterBenchmark(("load/" + name).c_str(), [path = file.string()](benchmark::State& state) {
      load_file(state, path);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("run/" + name).c_str(),
                                 [path = file.string()](benchmark::State& state) { run_file(state, path); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime();
  }
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  const std::filesystem::path root = ISTHMUS_SOURCE_DIR;
  isthmus::add_files(root / "tests/models/pte");
  isthmus::add_files(root / "../shared/golden");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
