// The way from an archive to a program.
#include "support/compile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "targets/registry.h"

namespace isthmus::test {

Expected<Program> compile_model(const std::filesystem::path& path, const ShapeRequest& shapes) {
  Diagnostics diagnostics;
  const Model model = TRY(open(path, diagnostics));
  const PrepareOptions options{find_target("xnnpack"), shapes};
  Program program{TRY(prepare_float(model.graph, options, diagnostics)), {}};
  program.compiled = TRY(compile(program.prepared, *options.target, model.examples, nullptr));
  return program;
}

Unmeasured quantize_without_data(const Graph& graph, const TargetDesc& target) {
  Diagnostics diagnostics;
  auto prepared = prepare(graph, {&target, {}}, diagnostics);
  CHECK(prepared.has_value(), prepared ? "" : prepared.error().text());
  auto quantized = quantize(*prepared, target, nullptr, {}, diagnostics);
  CHECK(quantized.has_value(), quantized ? "" : quantized.error().text());
  return {*std::move(prepared), *std::move(quantized), std::move(diagnostics)};
}

std::vector<Tensor> read_tensors(const std::filesystem::path& folder, const std::string& stem) {
  std::vector<Tensor> result;
  while (std::filesystem::exists(folder / (stem + std::to_string(result.size()) + ".npy"))) {
    result.push_back(read_tensor(folder / (stem + std::to_string(result.size()) + ".npy")));
  }
  return result;
}

double relative_error(const std::vector<std::optional<Tensor>>& found, const std::vector<Tensor>& expected) {
  if (found.size() != expected.size() || expected.empty()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Difference gap = difference(*found[i], expected[i]);
    // A single number has no range but its size.
    const std::vector<double> numbers = doubles(expected[i]);
    const double range = gap.range > 0 || numbers.empty() ? gap.range : std::abs(numbers[0]);
    worst = std::max(worst, gap.max / std::max(range, 1e-30));
  }
  return worst;
}

}  // namespace isthmus::test
