// Files of evaluations: they give back what was written, and damaged ones are refused or harmless.
#include "evaluate/evaluation_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace isthmus::evaluation_file_test {
namespace {

EvaluationFile example() {
  EvaluationFile file{"m.pte", {}};
  Evaluation& found = file.evaluation;
  found.samples = 3;
  found.rows = 6;
  found.agreeing = 5;
  found.has_labels = true;
  found.right_reference = 4;
  found.right = 3;
  const std::vector<float> wanted{1.5F, -2e30F, 3e-40F};
  const std::vector<float> got{1.25F, -2.1e30F, 0};
  found.outputs.resize(2);
  found.outputs[0].add(wanted, got);
  found.outputs[1].add(got, wanted);
  found.part = Manifest{.samples = 9,
                        .step = 3,
                        .facts = {{"program", "abc"}},
                        .parts = {{{1, 3}, {7, 8}}},
                        .command = {"isthmus", "eval"}};
  return file;
}

TEST(EvaluationFile, GivesBackWhatWasWritten) {
  const EvaluationFile file = example();
  const auto read = read_evaluation(Blob::owning(write_evaluation(file)));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->program, file.program);
  EXPECT_EQ(read->evaluation, file.evaluation);
}

TEST(EvaluationFile, DamagedFilesAreRefusedOrHarmless) {
  const std::vector<std::byte> bytes = write_evaluation(example());
  EXPECT_FALSE(read_evaluation(Blob::owning({bytes.begin(), bytes.begin() + 20})));
  EXPECT_FALSE(read_evaluation(Blob::owning({})));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> broken = bytes;
    broken[i] ^= std::byte{0xFF};
    const auto read = read_evaluation(Blob::owning(std::move(broken)));
    if (read && !read->evaluation.outputs.empty()) (void)read->evaluation.outputs[0].db();
  }
}

TEST(EvaluationFile, NonFiniteOutputsHaveNoSqnr) {
  SignalToNoise error;
  const std::vector<float> fine{1, 2};
  const std::vector<float> odd{1, std::numeric_limits<float>::infinity()};
  error.add(fine, fine);
  EXPECT_EQ(error.db(), std::numeric_limits<double>::infinity());
  error.add(fine, odd);
  EXPECT_TRUE(std::isnan(error.db()));
  SignalToNoise other;
  other.add(fine, fine);
  other.merge(error);
  EXPECT_TRUE(std::isnan(other.db()));
  EXPECT_EQ(other.count(), 6u);
}

}  // namespace
}  // namespace isthmus::evaluation_file_test
