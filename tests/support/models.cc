// Opening, canonicalizing, running and comparing recorded models.
#include "support/models.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/npy.h"
#include "formats/torch/pt2.h"
#include "interpret/half.h"
#include "interpret/interpreter.h"
#include "interpret/kernel.h"
#include "ops/table.h"
#include "targets/integers.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::test {

std::filesystem::path source_dir() { return ISTHMUS_SOURCE_DIR; }
std::filesystem::path shared_dir() { return source_dir() / ".." / "shared"; }

Expected<Model> open(const std::filesystem::path& path, Diagnostics& diagnostics) {
  const Blob bytes = TRY(map_file(path.string()));
  const pt2::Archive archive = TRY(pt2::read_archive(bytes));
  return load(archive, diagnostics);
}

Expected<Graph> open_canonical(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  const Model model = TRY(open(path, diagnostics));
  return canonicalize(model.graph, diagnostics);
}

std::vector<CorpusCase> corpus_cases(const std::filesystem::path& folder) {
  std::ifstream file(folder / "index.json");
  const nlohmann::json index = nlohmann::json::parse(file);
  std::vector<CorpusCase> cases;
  for (const auto& [name, facts] : index["cases"].items()) {
    cases.push_back(
        {name, facts.value("source", ""), facts.value("values_copied", false), facts.value("f32_rounding", 0.0)});
  }
  return cases;
}

std::vector<std::string> foreign_ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs)) names.push_back(foreign->target);
  }
  return names;
}

std::vector<double> doubles(const Tensor& given) {
  const Tensor tensor = widened(given);
  std::vector<double> result;
  dispatch(tensor.dtype(), [&]<class Number>(Number) {
    for (const Number number : tensor.data<Number>()) result.push_back(static_cast<double>(number));
  });
  return result;
}

Difference difference(const Tensor& found, const Tensor& expected) {
  Difference result;
  if (found.sizes() != expected.sizes()) {
    result.max = std::numeric_limits<double>::infinity();
    result.why = "shapes differ";
    return result;
  }
  const std::vector<double> a = doubles(found);
  const std::vector<double> b = doubles(expected);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i])) {
      low = std::min(low, b[i]);
      high = std::max(high, b[i]);
    }
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double gap = std::abs(a[i] - b[i]);
    result.max = std::isnan(gap) ? std::numeric_limits<double>::infinity() : std::max(result.max, gap);
  }
  result.range = high > low ? high - low : 0;
  return result;
}

std::optional<Tensor> rounding_of(const Graph& graph, const Node& node, std::span<const Tensor> inputs) {
  const bool has_weights =
      inputs.size() > 1 && def(node.op).channels != ChannelAxis::kNone && def(node.op).roles[1] == Role::kWeight;
  if (!has_weights && node.op != Op::kMatmul) return std::nullopt;
  std::vector<Tensor> magnitudes;
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::kF32) return std::nullopt;
    Tensor& magnitude = magnitudes.emplace_back(DType::kF32, input.sizes());
    std::ranges::transform(input.data<float>(), magnitude.mutable_data<float>().begin(),
                           [](float number) { return std::abs(number); });
  }
  const Tensor& first = inputs[0];
  const Tensor& second = inputs[1];
  // With the bias. A transposed convolution adds at most all of a weight's inputs.
  const std::int32_t axis = weight_axis(node.op, node.attrs, graph.type(node.inputs[1]).shape).value_or(1);
  const std::int64_t products =
      node.op == Op::kMatmul ? first.size(first.rank() - 1) : second.count() / second.size(axis);
  const double rounding = static_cast<double>(products + 1) * 0x1p-24;
  const TensorType& type = graph.type(node.outputs[0]);
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : type.shape) sizes.push_back(dim.value());
  auto result = run_kernel(node.op, {magnitudes, node.attrs, DType::kF32, sizes});
  if (!result) return std::nullopt;
  for (float& number : result->mutable_data<float>()) number *= static_cast<float>(2 * rounding / (1 - rounding));
  return *result;
}

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (const double number : doubles(tensor)) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return largest;
}

Tensor read_tensor(const std::filesystem::path& path) {
  auto bytes = map_file(path.string());
  if (!bytes) throw std::runtime_error(bytes.error().text());
  auto view = read_npy(*bytes);
  if (!view) throw std::runtime_error(path.string() + ": " + view.error().text());
  return Tensor::from(*view);
}

// The arrays prefix_0suffix, prefix_1suffix, ... by index; a missing index ends inputs and leaves a gap in outputs.
std::vector<std::optional<Tensor>> arrays(Npz& npz, const std::string& prefix, const std::string& suffix) {
  std::vector<std::optional<Tensor>> result;
  for (std::size_t i = 0; i < 32; ++i) {
    const NpzArray* array = npz.find(prefix + std::to_string(i) + suffix);
    if (array == nullptr) continue;
    auto view = npz.read(*array);
    if (!view) throw std::runtime_error(view.error().text());
    result.resize(i + 1);
    result[i] = Tensor::from(*view);
  }
  return result;
}

std::string check_corpus_case(const std::filesystem::path& folder, const CorpusCase& facts) {
  const auto graph = open_canonical(folder / (facts.name + ".pt2"));
  if (!graph) return "canonicalize: " + graph.error().text();
  const std::vector<std::string> foreign = foreign_ops(*graph);
  if (!foreign.empty()) return "foreign: " + foreign[0];
  const auto allow = [&](const Tensor& expected) {
    if (facts.is_exact || !is_floating(expected.dtype())) return 0.0;
    return std::max(2e-6 * std::max(1.0, largest_of(expected)), 4 * facts.rounding);
  };
  return check_recorded(
      folder, facts, [&](std::span<const Tensor> inputs) { return interpret(*graph, inputs); }, allow);
}

std::string check_recorded(const std::filesystem::path& folder, const CorpusCase& facts, const Compute& compute,
                           const Allow& allow) {
  auto file = map_file((folder / (facts.name + ".npz")).string());
  if (!file) return file.error().text();
  auto npz = Npz::open(*file);
  if (!npz) return npz.error().text();
  const bool has_pairs = npz->find("input_0_a") != nullptr;
  for (const std::string& suffix : has_pairs ? std::vector<std::string>{"_a", "_b"} : std::vector<std::string>{""}) {
    std::vector<Tensor> inputs;
    for (const auto& input : arrays(*npz, "input_", suffix)) inputs.push_back(*input);
    const auto outputs = compute(inputs);
    if (!outputs) return "run" + suffix + ": " + outputs.error().text();
    const auto expected = arrays(*npz, "output_", suffix);
    if (expected.empty()) return "no output is recorded";
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (!expected[i]) continue;
      if (i >= outputs->size() || !(*outputs)[i]) return "output " + std::to_string(i) + " is missing";
      const Difference gap = difference(*(*outputs)[i], *expected[i]);
      if (gap.max > allow(*expected[i])) {
        return "output " + std::to_string(i) + suffix + " differs by " + std::to_string(gap.max) + " " + gap.why;
      }
    }
  }
  return {};
}

}  // namespace isthmus::test
