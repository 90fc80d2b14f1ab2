// Exported ONNX models beside what another runtime answered, and beside the archives of PyTorch that they come from.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "interpret/interpreter.h"
#include "session/session.h"
#include "support/models.h"
#include "targets/registry.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::test::onnx_corpus_slow_test {
namespace {

namespace fs = std::filesystem;

fs::path corpus() { return shared_dir() / "models" / "onnx"; }

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<Tensor> recorded(const fs::path& folder, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (;;) {
    const fs::path file = folder / (prefix + std::to_string(tensors.size()) + ".npy");
    if (!fs::exists(file)) return tensors;
    tensors.push_back(read_tensor(file));
  }
}

Expected<std::vector<Tensor>> interpreted(const fs::path& file, const std::vector<Tensor>& inputs) {
  const OpenModel opened = TRY(open_model(file.string()));
  Diagnostics diagnostics;
  const Graph graph = TRY(canonicalize(opened.model.graph, diagnostics));
  std::vector<Tensor> results;
  for (const auto& result : TRY(interpret(graph, inputs))) results.push_back(*result);
  return results;
}

TEST(OnnxCorpus, FloatOutputsAgreeWithTheRecordedOnes) {
  if (!fs::exists(corpus())) GTEST_SKIP() << "no " << corpus();
  constexpr double kShareOfRange = 1e-4;
  // Converted archives round to steps, which different sums of floats may miss by one.
  const std::map<std::string, double> steps{{"pq_xnn_seed_concat", 5e-3}, {"pq_x86_seed_concat", 5e-3}};
  std::size_t count = 0;
  for (const fs::path& file : files_below(corpus())) {
    const std::string folder = file.parent_path().filename();
    if (file.string().find("/quantized/") != std::string::npos) continue;
    const bool is_dynamic = file.filename().string().find("dynamic") != std::string::npos &&
                            fs::exists(file.parent_path() / "dynamic_input_0.npy");
    const fs::path data = folder == "invalid" ? corpus() / "fmnist_convnext" : file.parent_path();
    const std::string prefix = is_dynamic ? "dynamic_" : "";
    const std::vector<Tensor> expected = recorded(data, prefix + "output_");
    const auto found = interpreted(file, recorded(data, prefix + "input_"));
    ASSERT_TRUE(found) << file << ": " << found.error().text();
    ASSERT_EQ(found->size(), expected.size()) << file;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Difference apart = difference((*found)[i], expected[i]);
      const double range = std::max(apart.range, largest_of(expected[i]));
      EXPECT_LE(apart.max, (steps.contains(folder) ? steps.at(folder) : kShareOfRange) * range) << file << apart.why;
    }
    ++count;
  }
  EXPECT_EQ(count, 70);
}

TEST(OnnxCorpus, QuantizedOutputsEqualTheRecordedUnoptimizedOnes) {
  if (!fs::exists(corpus())) GTEST_SKIP() << "no " << corpus();
  std::size_t count = 0;
  for (const fs::path& file : files_below(corpus() / "quantized")) {
    const auto found = interpreted(file, recorded(file.parent_path(), "input_"));
    ASSERT_TRUE(found) << file << ": " << found.error().text();
    const Tensor expected = read_tensor(file.parent_path() / (file.stem().string() + "_noopt_output_0.npy"));
    EXPECT_EQ(difference((*found)[0], expected).max, 0) << file;
    ++count;
  }
  EXPECT_EQ(count, 20);
}

struct Compilation {
  std::size_t delegates = 0;
  std::size_t on_host = 0;
  std::size_t groups = 0;
  std::vector<std::vector<std::byte>> weights;  // int8 constants, in order of their bytes
  std::vector<std::vector<double>> outputs;     // of each sample
};

// Without an example: an ONNX file has none, and an example would take part in the choice of techniques.
Expected<Compilation> compiled(const fs::path& file, const fs::path& samples, const std::vector<Tensor>& sample) {
  OpenModel opened = TRY(open_model(file.string()));
  std::ranges::fill(opened.model.examples, std::nullopt);
  SessionOptions options;
  options.prepare.target = find_target("xnnpack");
  options.data.path = samples.string();
  Session session = TRY(Session::create(std::make_shared<const OpenModel>(std::move(opened)), std::move(options)));
  TRY(session.place(WithData::kYes));
  TRY(session.compile());
  Compilation result;
  result.delegates = session.places().segments.size();
  for (const auto& place : session.places().place) result.on_host += std::holds_alternative<Reason>(place) ? 1 : 0;
  result.groups = session.quantized()->plan.groups.size();
  const Graph& graph = session.graph();
  for (const Constant& constant : graph.constants()) {
    if (!constant.data || constant.data->dtype != DType::kI8) continue;
    const Blob bytes = contiguous_bytes(*constant.data);
    result.weights.emplace_back(bytes.bytes().begin(), bytes.bytes().end());
  }
  std::ranges::sort(result.weights);
  run::Method method = TRY(run::Method::load(Blob(session.compiled().runnable(), nullptr)));
  for (const auto& output : TRY(method.run(sample))) result.outputs.push_back(doubles(*output));
  return result;
}

// Whichever exporter, and whichever opset: the same delegates, groups and int8 weights, and outputs to the last bit.
// Where an exporter has folded batch norms into weights, in floats of its own, some weights round to another step.
TEST(OnnxCorpus, AModelCompilesAsItsArchiveDoes) {
  if (!fs::exists(corpus())) GTEST_SKIP() << "no " << corpus();
  for (const char* name : {"emg_cascade", "convnext_ensemble", "deit_micro", "fmnist_cnn", "fmnist_vit",
                           "fmnist_convnext", "resnet_small"}) {
    const fs::path archive = shared_dir() / "models" / name;
    const std::vector<Tensor> sample = recorded(corpus() / name, "input_");
    const auto of_archive = compiled(archive / "model.pt2", archive / "calib.npz", sample);
    ASSERT_TRUE(of_archive) << name << ": " << of_archive.error().text();
    for (const char* file : {"model.onnx", "model_op13.onnx", "model_op18.onnx", "model_op20.onnx"}) {
      const fs::path path = corpus() / name / file;
      if (!fs::exists(path)) continue;
      const auto found = compiled(path, archive / "calib.npz", sample);
      ASSERT_TRUE(found) << path << ": " << found.error().text();
      EXPECT_EQ(found->delegates, of_archive->delegates) << path;
      EXPECT_EQ(found->on_host, of_archive->on_host) << path;
      EXPECT_EQ(found->groups, of_archive->groups) << path;
      const bool is_folded = std::string_view(name) == "resnet_small";
      EXPECT_EQ(found->weights == of_archive->weights, !is_folded) << path;
      ASSERT_EQ(found->outputs.size(), of_archive->outputs.size()) << path;
      for (std::size_t i = 0; i < found->outputs.size(); ++i) {
        double apart = 0;
        double largest = 0;
        for (std::size_t k = 0; k < found->outputs[i].size(); ++k) {
          apart = std::max(apart, std::abs(found->outputs[i][k] - of_archive->outputs[i][k]));
          largest = std::max(largest, std::abs(of_archive->outputs[i][k]));
        }
        EXPECT_LE(apart, is_folded ? largest / 127 : 0) << path << ", output " << i;
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::test::onnx_corpus_slow_test
