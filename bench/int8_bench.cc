// Files of ExecuTorch against ours of the same weights, in one run on the same library: latency without the time of
// host kernels and with it, nodes, bytes; what compiling costs against 32 inferences in float; peak memory of
// compiling.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "calibrate/samples.h"
#include "engines/xnnpack/thread_pool.h"
#include "formats/torch/pt2.h"
#include "frontends/torch/load.h"
#include "program/run/measure.h"
#include "program/run/method.h"
#include "session/stages.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Files {
  std::string model, data, golden;
};

struct Made {
  std::vector<std::byte> ours;
  std::vector<std::byte> in_float;
  std::size_t nodes = 0;
  double compile_seconds = 0;
  double peak_mib = 0;
};

// The main job from the archive to the bytes of the file.
Expected<Made> make(const Files& files, std::size_t thread_count) {
  Made made;
  const xnnpack::ThreadPool threads(thread_count);
  const auto start = Clock::now();
  const pt2::Archive archive = TRY(pt2::read_archive(TRY(map_file(files.model))));
  Diagnostics diagnostics;
  const Model model = TRY(load(archive, diagnostics));
  const PrepareOptions options{find_target("xnnpack"), {}};
  const Prepared prepared = TRY(prepare_float(model.graph, options, diagnostics));
  const auto samples = TRY(open_samples(files.data, prepared.graph, {}, diagnostics));
  const Statistics statistics = TRY(calibrate(prepared, *samples, threads, {}, diagnostics));
  const QuantizedModel quantized = TRY(quantize(prepared, *options.target, &statistics, {}, diagnostics));
  Compiled compiled =
      TRY(compile(quantized.quantized.graph, quantized.partitioning, *options.target, model.examples, threads.get()));
  made.compile_seconds = seconds_since(start);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  made.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  for (const DelegateSummary& delegate : compiled.delegates) made.nodes += delegate.device_nodes;
  made.ours = std::move(compiled.bytes);
  made.in_float = TRY(compile(prepared, *options.target, model.examples, threads.get())).bytes;
  return made;
}

struct Ready {
  run::Method method;
  std::vector<Tensor> inputs;

  static Expected<Ready> load(const Blob& file, pthreadpool* threads) {
    run::Method method = TRY(run::Method::load(file, "forward", {.threads = threads}));
    auto inputs = TRY(run::plain_inputs(method, std::uint64_t{1} << 32));
    return Ready{std::move(method), std::move(inputs)};
  }
  // All of it, and without host kernels.
  std::pair<double, double> once() {
    const double host = method.statistics().host_seconds;
    const auto start = Clock::now();
    benchmark::DoNotOptimize(method.run(inputs));
    const double all = seconds_since(start);
    return {all, all - (method.statistics().host_seconds - host)};
  }
};

struct Series {
  std::vector<double> all, delegates;
  void add(std::pair<double, double> times) {
    all.push_back(times.first);
    delegates.push_back(times.second);
  }
  static double median(std::vector<double> numbers) {
    std::ranges::sort(numbers);
    return numbers[numbers.size() / 2];
  }
};

Expected<void> compare(benchmark::State& state, const Files& files, std::size_t thread_count) {
  const Made made = TRY(make(files, thread_count));
  const xnnpack::ThreadPool threads(thread_count);
  const Blob golden_file = TRY(map_file(files.golden));
  Ready golden = TRY(Ready::load(golden_file, threads.get()));
  Ready ours = TRY(Ready::load(Blob(made.ours, nullptr), threads.get()));
  Ready in_float = TRY(Ready::load(Blob(made.in_float, nullptr), threads.get()));
  Series golden_times, our_times, float_times;
  for (Ready* one : {&golden, &ours, &in_float}) one->once();
  for (auto _ : state) {
    golden_times.add(golden.once());
    our_times.add(ours.once());
    float_times.add(in_float.once());
    state.SetIterationTime(our_times.all.back());
  }
  const double mine = Series::median(our_times.all);
  state.counters["golden_delegates_over_ours"] = Series::median(golden_times.delegates) / mine;
  state.counters["golden_over_ours"] = Series::median(golden_times.all) / mine;
  state.counters["float_over_ours"] = Series::median(float_times.all) / mine;
  state.counters["bytes_over_golden"] = static_cast<double>(made.ours.size()) / static_cast<double>(golden_file.size());
  state.counters["nodes"] = static_cast<double>(made.nodes);
  constexpr double kInferences = 32;
  state.counters["compile_over_32_float"] = made.compile_seconds / (kInferences * Series::median(float_times.all));
  state.counters["compile_peak_MiB"] = made.peak_mib;
  return {};
}

void run_case(benchmark::State& state, const Files& files, std::size_t threads) {
  const auto done = compare(state, files, threads);
  if (!done) state.SkipWithError(done.error().text().c_str());
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  const std::filesystem::path golden = std::filesystem::path(ISTHMUS_SOURCE_DIR) / "../shared/golden";
  for (const std::string name : {"mobilenet_v2", "deit_tiny"}) {
    const isthmus::Files files{golden / (name + ".pt2"), golden / "calib_32.npz", golden / (name + "_xnnpack_q8.pte")};
    if (!std::filesystem::exists(files.model)) continue;
    for (const std::size_t threads : {1u, 2u}) {
      benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads)).c_str(), isthmus::run_case, files,
                                   threads)
          ->Unit(benchmark::kMillisecond)
          ->UseManualTime()
          ->Iterations(60);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
