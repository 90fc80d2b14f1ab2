// The way from a loaded archive to a program's bytes, stage by stage, and the latency of what comes out.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "formats/torch/pt2.h"
#include "frontends/torch/load.h"
#include "program/run/method.h"
#include "session/session.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

Expected<Model> open(const std::string& path) {
  const pt2::Archive archive = TRY(pt2::read_archive(TRY(map_file(path))));
  Diagnostics diagnostics;
  return load(archive, diagnostics);
}

Expected<Compiled> compile_model(const Model& model) {
  Diagnostics diagnostics;
  const PrepareOptions options{find_target("xnnpack"), {}};
  Prepared prepared = TRY(prepare_float(model.graph, options, diagnostics));
  Compiled compiled = TRY(compile(prepared, *options.target, model.examples, nullptr));
  compiled.times.insert(compiled.times.begin(), prepared.times.begin(), prepared.times.end());
  return compiled;
}

void compile_time(benchmark::State& state, const std::string& path) {
  const auto model = open(path);
  if (!model) return state.SkipWithError(model.error().message.c_str());
  for (auto _ : state) {
    const auto compiled = compile_model(*model);
    if (!compiled) return state.SkipWithError(compiled.error().message.c_str());
    double total = 0;
    for (const StageTime& time : compiled->times) total += time.seconds;
    for (const StageTime& time : compiled->times) state.counters[time.name + "_share"] = time.seconds / total;
  }
}

// A whole session in int8, calibrated on the archive's example: what the result costs, and what comparisons cost. The
// float reference is partitioned and built once and serves calibration, the gate and the comparison; `saved_ms` is what
// building it again for each of them would add.
void compile_session(benchmark::State& state, const std::string& path) {
  auto opened = open_model(path);
  if (!opened) return state.SkipWithError(opened.error().message.c_str());
  const auto model = std::make_shared<const OpenModel>(*std::move(opened));
  for (auto _ : state) {
    SessionOptions options;
    options.prepare.target = find_target("xnnpack");
    std::vector<Tensor> sample;
    for (const auto& example : model->model.examples) sample.push_back(Tensor::from(*example));
    options.data.given.emplace(std::size_t{8}, sample);
    auto session = Session::create(model, std::move(options));
    if (!session) return state.SkipWithError(session.error().message.c_str());
    if (const auto placed = session->place(WithData::kYes); !placed) {
      return state.SkipWithError(placed.error().message.c_str());
    }
    if (const auto done = session->compile(); !done) return state.SkipWithError(done.error().message.c_str());
    double result = 0;
    double reference = 0;
    double trials = 0;
    for (const StageTime& time : session->times()) {
      (time.of.empty() ? result : time.of == "float reference" ? reference : trials) += time.seconds;
    }
    state.counters["result_ms"] = 1e3 * result;
    state.counters["float_reference_ms"] = 1e3 * reference;
    state.counters["trials_ms"] = 1e3 * trials;
    state.counters["saved_ms"] = 1e3 * reference * (session->evaluation() ? 2 : 1);
  }
}

void latency(benchmark::State& state, const std::string& path) {
  const auto model = open(path);
  if (!model) return state.SkipWithError(model.error().message.c_str());
  const auto compiled = compile_model(*model);
  if (!compiled) return state.SkipWithError(compiled.error().message.c_str());
  auto method = run::Method::load(Blob(compiled->bytes, nullptr));
  if (!method) return state.SkipWithError(method.error().message.c_str());
  std::vector<Tensor> inputs;
  for (const auto& example : model->examples) inputs.push_back(Tensor::from(*example));
  for (auto _ : state) {
    const auto outputs = method->run(inputs);
    if (!outputs) return state.SkipWithError(outputs.error().message.c_str());
  }
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  const std::filesystem::path root = ISTHMUS_SOURCE_DIR;
  for (const char* file : {"tests/models/emg_cascade.pt2", "tests/models/deit_micro.pt2",
                           "../shared/golden/mobilenet_v2.pt2", "../shared/golden/deit_tiny.pt2"}) {
    const std::filesystem::path path = root / file;
    if (!std::filesystem::exists(path)) continue;
    const std::string name = path.stem();
    benchmark::RegisterBenchmark(("compile_float/" + name).c_str(), isthmus::compile_time, path.string())
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("compile_int8/" + name).c_str(), isthmus::compile_session, path.string())
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("latency_float_1_thread/" + name).c_str(), isthmus::latency, path.string())
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
