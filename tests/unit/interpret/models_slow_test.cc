// Whole models against the outputs that PyTorch recorded, static and with symbolic sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "interpret/interpreter.h"
#include "support/models.h"

namespace isthmus::models_slow_test {
namespace {

// Largest difference over the output's range; negative where it could not be computed, which is reported.
double relative_error(const std::filesystem::path& archive, const std::filesystem::path& folder,
                      const std::string& prefix) {
  const auto graph = test::open_canonical(archive);
  if (!graph) {
    ADD_FAILURE() << archive << ": " << graph.error().text();
    return -1;
  }
  EXPECT_EQ(test::foreign_ops(*graph), std::vector<std::string>()) << archive;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph->inputs().size(); ++i) {
    inputs.push_back(test::read_tensor(folder / (prefix + "input_" + std::to_string(i) + ".npy")));
  }
  const auto outputs = interpret(*graph, inputs);
  if (!outputs) {
    ADD_FAILURE() << archive << ": " << outputs.error().text();
    return -1;
  }
  double worst = 0;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const Tensor expected = test::read_tensor(folder / (prefix + "output_" + std::to_string(i) + ".npy"));
    const test::Difference gap = test::difference(*(*outputs)[i], expected);
    worst = std::max(worst, gap.max / std::max(gap.range, 1e-30));
  }
  return worst;
}

TEST(Models, ComputeAsRecorded) {
  const std::filesystem::path models = test::shared_dir() / "models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "the models are not here";
  std::vector<std::filesystem::path> folders;
  for (const auto& parent : {models, models / "torch26"}) {
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      if (std::filesystem::exists(entry.path() / "model.pt2")) folders.push_back(entry.path());
    }
  }
  std::ranges::sort(folders);
  ASSERT_FALSE(folders.empty());
  for (const std::filesystem::path& folder : folders) {
    const double bar = folder.filename() == "mobilenet_v2" ? 1e-3 : 1e-4;
    for (const auto& [file, prefix] :
         {std::pair{"model.pt2", ""}, {"model_dynamic.pt2", "dynamic_"}, {"model_unbounded.pt2", "dynamic_"}}) {
      if (!std::filesystem::exists(folder / file)) continue;
      const double error = relative_error(folder / file, folder, prefix);
      std::cout << folder.parent_path().filename().string() << "/" << folder.filename().string() << "/" << file
                << ": largest difference " << error << " of the range\n";
      EXPECT_GE(error, 0);
      EXPECT_LE(error, bar) << folder << " " << file;
    }
  }
}

TEST(Models, GoldenArchivesComputeAsRecorded) {
  const std::filesystem::path golden = test::shared_dir() / "golden";
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "the golden files are not here";
  for (const std::string& name : {std::string("mobilenet_v2"), std::string("deit_tiny")}) {
    const auto graph = test::open_canonical(golden / (name + ".pt2"));
    ASSERT_TRUE(graph.has_value()) << graph.error().text();
    EXPECT_EQ(test::foreign_ops(*graph), std::vector<std::string>());
    const std::vector<Tensor> inputs{test::read_tensor(golden / "image.npy")};
    const auto outputs = interpret(*graph, inputs);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().text();
    const test::Difference gap = test::difference(*(*outputs)[0], test::read_tensor(golden / (name + ".float.npy")));
    std::cout << "golden " << name << ": largest difference " << gap.max / gap.range << " of the range\n";
    EXPECT_LE(gap.max, 1e-3 * gap.range) << name;
  }
}

}  // namespace
}  // namespace isthmus::models_slow_test
