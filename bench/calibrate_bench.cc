// Calibration against plain inference of the same float graph in one XNNPACK runtime, in one run: what statistics cost.
#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "calibrate/samples.h"
#include "engines/xnnpack/thread_pool.h"
#include "formats/torch/pt2.h"
#include "frontends/torch/load.h"
#include "program/run/method.h"
#include "session/stages.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Case {
  std::string model;
  std::string data;
};

Expected<void> compare(benchmark::State& state, const Case& files, std::size_t thread_count) {
  const pt2::Archive archive = TRY(pt2::read_archive(TRY(map_file(files.model))));
  Diagnostics diagnostics;
  const Model model = TRY(load(archive, diagnostics));
  const PrepareOptions options{find_target("xnnpack"), {}};
  const Prepared prepared = TRY(prepare_float(model.graph, options, diagnostics));
  const Compiled compiled = TRY(compile(prepared, *options.target, model.examples, nullptr));
  const xnnpack::ThreadPool threads(thread_count);
  double plain = 0;
  double calibration = 0;
  std::size_t samples = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    run::LoadOptions load_options;
    load_options.threads = threads.get();
    run::Method method = TRY(run::Method::load(Blob(compiled.bytes, nullptr), "forward", load_options));
    const auto inference = TRY(open_samples(files.data, prepared.graph, {}, diagnostics));
    while (auto sample = TRY(inference->next())) TRY(method.run(*sample));
    plain += seconds_since(start);
    const auto middle = std::chrono::steady_clock::now();
    const auto source = TRY(open_samples(files.data, prepared.graph, {}, diagnostics));
    const Statistics statistics = TRY(calibrate(prepared, *source, threads, {}, diagnostics));
    calibration += seconds_since(middle);
    samples = statistics.samples;
  }
  state.counters["calibrate_over_inference"] = calibration / plain;
  state.counters["inference_ms_a_sample"] =
      plain * 1e3 / static_cast<double>(state.iterations()) / static_cast<double>(samples);
  return {};
}

void run_case(benchmark::State& state, const Case& files, std::size_t threads) {
  const auto done = compare(state, files, threads);
  if (!done) state.SkipWithError(done.error().message.c_str());
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  const std::filesystem::path root = ISTHMUS_SOURCE_DIR;
  const std::filesystem::path golden = root / "../shared/golden";
  for (const char* name : {"mobilenet_v2", "deit_tiny"}) {
    const isthmus::Case files{golden / (std::string(name) + ".pt2"), golden / "calib_32.npz"};
    if (!std::filesystem::exists(files.model)) continue;
    for (const std::size_t threads : {1u, 2u}) {
      benchmark::RegisterBenchmark((std::string(name) + "/threads:" + std::to_string(threads)).c_str(),
                                   isthmus::run_case, files, threads)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime()
          ->Iterations(3);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
