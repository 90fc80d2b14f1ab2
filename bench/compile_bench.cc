// The way from a loaded archive to a program's bytes, stage by stage, and the latency of what comes out.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "formats/torch/pt2.h"
#include "frontends/torch/load.h"
#include "session/stages.h"
#include "program/run/method.h"
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
  Prepared prepared = TRY(prepare(model.graph, options, diagnostics));
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
    for (const StageTime& time : compiled->times) state.counters[time.stage + "_share"] = time.seconds / total;
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
    benchmark::RegisterBenchmark(("latency_float_1_thread/" + name).c_str(), isthmus::latency, path.string())
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
