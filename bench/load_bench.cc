// How long loading takes against the size of the file: the weights are mapped, so it should follow the graph alone.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "base/bytes.h"
#include "formats/torch/pt2.h"
#include "frontends/torch/load.h"

namespace isthmus {
namespace {

void load_file(benchmark::State& state, const std::string& path) {
  std::size_t nodes = 0;
  for (auto _ : state) {
    const auto bytes = map_file(path);
    const auto archive = pt2::read_archive(*bytes);
    Diagnostics diagnostics;
    const auto model = load(*archive, diagnostics);
    if (!model) {
      state.SkipWithError(model.error().message.c_str());
      return;
    }
    nodes = model->graph.nodes().size();
  }
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  state.counters["file_MiB"] = size / (1 << 20);
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["us_per_node"] = benchmark::Counter(
      static_cast<double>(nodes) * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// The bundled models, and the larger ones of the wider data where they are there.
void add_files(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pt2") files.push_back(entry.path());
    if (std::filesystem::exists(entry.path() / "model.pt2")) files.push_back(entry.path() / "model.pt2");
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    const std::string name = file.parent_path().filename().string() + "/" + file.filename().string();
    benchmark::RegisterBenchmark(name.c_str(), [path = file.string()](benchmark::State& state) {
      load_file(state, path);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  const std::filesystem::path root = ISTHMUS_SOURCE_DIR;
  isthmus::add_files(root / "tests/models");
  isthmus::add_files(root / "../shared/models");
  isthmus::add_files(root / "../shared/golden");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
