// `check` and `compile` agree, on more random graphs and on every archive of the wider data.
#include <gtest/gtest.h>

#include <iostream>

#include "support/agreement.h"
#include "support/models.h"
#include "support/random_device_model.h"

namespace isthmus::agreement_law_slow_test {
namespace {

constexpr std::string_view kTargets[] = {"xnnpack", "ethos-u85-256", "ethos-u55-128", "tosa-int"};

TEST(AgreementLawSlow, RandomGraphs) {
  for (unsigned seed = 1000; seed < 1400 && !HasFailure(); ++seed) {
    test::RandomDeviceModel random(seed);
    const Graph graph = random.make();
    const std::vector<Tensor> sample = random.inputs(graph);
    const std::string_view target = kTargets[seed % std::size(kTargets)];
    EXPECT_EQ(test::broken_agreement(graph, sample, target), "") << "seed " << seed << " on " << target;
  }
}

// The archive's own example is the sample.
void expect_agreement(const std::filesystem::path& file, std::size_t& count) {
  Diagnostics diagnostics;
  const auto model = test::open(file, diagnostics);
  ASSERT_TRUE(model.has_value()) << file << ": " << model.error().text();
  std::vector<Tensor> sample;
  for (const auto& example : model->examples) {
    if (!example) return;
    sample.push_back(Tensor::from(*example));
  }
  if (sample.size() != model->graph.inputs().size()) return;
  ++count;
  for (const std::string_view target : kTargets) {
    EXPECT_EQ(test::broken_agreement(model->graph, sample, target), "") << file.stem() << " on " << target;
  }
}

TEST(AgreementLawSlow, OperatorCorpus) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the operator corpus is not here";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pt2") expect_agreement(entry.path(), count);
  }
  std::cout << "check and compile agree on " << count << " archives\n";
  EXPECT_GT(count, 600u);
}

TEST(AgreementLawSlow, Zoo) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "zoo";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the zoo is not here";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) expect_agreement(entry.path() / "model.pt2", count);
  }
  EXPECT_GE(count, 20u);
}

}  // namespace
}  // namespace isthmus::agreement_law_slow_test
