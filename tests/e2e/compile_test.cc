// From a bundled model to a program file and back: what PyTorch computed comes out again.
#include "support/compile.h"

#include <gtest/gtest.h>

namespace isthmus::compile_test {
namespace {

class Bundled : public ::testing::TestWithParam<const char*> {
 public:
  static std::filesystem::path models() { return test::source_dir() / "tests" / "models"; }
  static std::filesystem::path archive() { return models() / (std::string(GetParam()) + ".pt2"); }
};

TEST_P(Bundled, OneDelegateComputesAsRecorded) {
  const auto program = test::compile_model(archive());
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(program->delegates(), 1u);
  EXPECT_EQ(program->host_nodes(), 0u);
  EXPECT_GE(program->compiled.memory.bytes, program->compiled.memory.lower_bound);
  auto method = run::Method::load(program->file());
  ASSERT_TRUE(method) << method.error().text();
  const auto outputs = method->run(test::read_tensors(models(), std::string(GetParam()) + "_input_"));
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_LE(test::relative_error(*outputs, test::read_tensors(models(), std::string(GetParam()) + "_output_")), 1e-4);
}

TEST_P(Bundled, TheSameModelGivesTheSameBytes) {
  const auto first = test::compile_model(archive());
  const auto second = test::compile_model(archive());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->compiled.bytes, second->compiled.bytes);
}

INSTANTIATE_TEST_SUITE_P(Models, Bundled, ::testing::Values("emg_cascade", "deit_micro"));

}  // namespace
}  // namespace isthmus::compile_test
