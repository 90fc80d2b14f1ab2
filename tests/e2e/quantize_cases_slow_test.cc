// The cases and chains of the operator corpus quantized: one delegate, nothing on the host, and the answer is right.
#include <gtest/gtest.h>

#include <iostream>

#include "support/compile_quantized.h"
#include "support/models.h"

namespace isthmus::quantize_cases_slow_test {
namespace {

// One sample says little of ranges; still no output may be further from PyTorch's than this.
constexpr double kMinDb = 25;

TEST(QuantizeCasesSlow, CorpusInOneDelegate) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the corpus is not here";
  std::size_t count = 0;
  for (const test::CorpusCase& facts : test::corpus_cases(folder)) {
    if (!facts.name.starts_with("case_") && !facts.name.starts_with("chain_")) continue;
    const auto runs = test::recorded_runs(folder / (facts.name + ".npz"));
    ASSERT_TRUE(runs) << facts.name << ": " << runs.error().text();
    std::vector<std::vector<Tensor>> samples;
    for (const test::RecordedRun& run : *runs) samples.push_back(run.inputs);
    const auto program = test::quantize_model(folder / (facts.name + ".pt2"), samples);
    ASSERT_TRUE(program) << facts.name << ": " << program.error().text();
    EXPECT_EQ(program->delegates(), 1U) << facts.name;
    EXPECT_EQ(program->host_calls(), 0U) << facts.name;
    for (const Cut& cut : program->model.plan.cuts) {
      const Graph& graph = program->model.model;
      std::cout << "  cut before %" << graph[graph[cut.tie.node].outputs[0]].name << ": " << cut.because << "\n";
    }
    for (const test::RecordedRun& run : *runs) {
      const auto found = test::run_program(*program, run.inputs);
      ASSERT_TRUE(found) << facts.name << ": " << found.error().text();
      const double db = test::sqnr(*found, run.outputs);
      std::cout << facts.name << ": " << db << " dB, " << program->model.plan.cuts.size() << " cuts\n";
      EXPECT_GE(db, kMinDb) << facts.name;
    }
    ++count;
  }
  EXPECT_GE(count, 60U);
}

}  // namespace
}  // namespace isthmus::quantize_cases_slow_test
