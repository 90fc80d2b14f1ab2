// Whole models as float programs against the outputs that PyTorch recorded, for every batch that they were exported
// for.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "support/compile.h"

namespace isthmus::compile_models_slow_test {
namespace {

// The samples of a batch, repeated or cut to another size.
Tensor with_batch(const Tensor& tensor, std::int64_t batch) {
  std::vector<std::int64_t> sizes = tensor.sizes();
  const std::size_t sample = tensor.bytes().size() / static_cast<std::size_t>(sizes[0]);
  const auto old = static_cast<std::size_t>(sizes[0]);
  sizes[0] = batch;
  Tensor result(tensor.dtype(), sizes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
    std::ranges::copy(tensor.bytes().subspan(i % old * sample, sample),
                      result.mutable_bytes().begin() + static_cast<std::ptrdiff_t>(i * sample));
  }
  return result;
}

void expect_one_delegate(const test::Program& program, const std::filesystem::path& path) {
  EXPECT_EQ(program.delegates(), 1u) << path;
  EXPECT_EQ(program.host_nodes(), 0u) << path;
}

std::vector<std::filesystem::path> model_folders() {
  const std::filesystem::path models = test::shared_dir() / "models";
  std::vector<std::filesystem::path> folders;
  for (const auto& parent : {models, models / "torch26"}) {
    if (!std::filesystem::exists(parent)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      if (std::filesystem::exists(entry.path() / "model.pt2")) folders.push_back(entry.path());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

TEST(CompileModels, StaticModelsComputeAsRecorded) {
  const auto folders = model_folders();
  if (folders.empty()) GTEST_SKIP() << "the models are not here";
  for (const std::filesystem::path& folder : folders) {
    const auto program = test::compile_model(folder / "model.pt2");
    ASSERT_TRUE(program) << folder << ": " << program.error().text();
    expect_one_delegate(*program, folder);
    auto method = run::Method::load(program->file());
    ASSERT_TRUE(method) << method.error().text();
    const auto outputs = method->run(test::read_tensors(folder, "input_"));
    ASSERT_TRUE(outputs) << folder << ": " << outputs.error().text();
    const double error = test::relative_error(*outputs, test::read_tensors(folder, "output_"));
    std::cout << folder.filename().string() << ": " << error << " of the range, "
              << program->compiled.delegates[0].device_nodes << " delegate nodes\n";
    EXPECT_LE(error, 1e-4) << folder;
  }
}

TEST(CompileModels, DynamicModelsComputeEveryBatch) {
  const auto folders = model_folders();
  if (folders.empty()) GTEST_SKIP() << "the models are not here";
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path archive = folder / "model_dynamic.pt2";
    if (!std::filesystem::exists(archive)) continue;
    const auto program = test::compile_model(archive);
    ASSERT_TRUE(program) << archive << ": " << program.error().text();
    expect_one_delegate(*program, archive);
    auto method = run::Method::load(program->file());
    ASSERT_TRUE(method) << method.error().text();
    const auto inputs = test::read_tensors(folder, "dynamic_input_");
    const auto expected = test::read_tensors(folder, "dynamic_output_");
    for (const std::int64_t batch : {3, 1, 64, 2, 3}) {
      std::vector<Tensor> these, wanted;
      for (const Tensor& input : inputs) these.push_back(with_batch(input, batch));
      for (const Tensor& output : expected) wanted.push_back(with_batch(output, batch));
      const auto outputs = method->run(these);
      ASSERT_TRUE(outputs) << archive << " at " << batch << ": " << outputs.error().text();
      EXPECT_LE(test::relative_error(*outputs, wanted), 1e-4) << archive << " at " << batch;
    }
  }
}

TEST(CompileModels, GoldenModelsComputeAsRecorded) {
  const std::filesystem::path golden = test::shared_dir() / "golden";
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "the recorded files are not here";
  for (const std::string name : {"mobilenet_v2", "deit_tiny"}) {
    const auto program = test::compile_model(golden / (name + ".pt2"));
    ASSERT_TRUE(program) << name << ": " << program.error().text();
    expect_one_delegate(*program, name);
    auto method = run::Method::load(program->file());
    ASSERT_TRUE(method) << method.error().text();
    const std::vector<Tensor> inputs{test::read_tensor(golden / "image.npy")};
    const auto outputs = method->run(inputs);
    ASSERT_TRUE(outputs) << outputs.error().text();
    const std::vector<Tensor> expected{test::read_tensor(golden / (name + ".float.npy"))};
    EXPECT_LE(test::relative_error(*outputs, expected), 1e-4) << name;
  }
}

}  // namespace
}  // namespace isthmus::compile_models_slow_test
