// The cases and chains of the operator corpus in codes: one delegate, nothing on the host, and the answer is right.
#include <gtest/gtest.h>

#include <iostream>

#include "support/compile_quantized.h"
#include "support/models.h"

namespace isthmus {
namespace {

// One sample says little of ranges; still no output may be further from PyTorch's than this.
constexpr double kLeastDb = 25;

std::vector<Tensor> recorded(Npz& npz, const std::string& prefix) {
  std::vector<Tensor> result;
  for (const auto& tensor : test::arrays(npz, prefix, "")) result.push_back(*tensor);
  return result;
}

TEST(QuantizeCasesSlow, CorpusInOneDelegate) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the corpus is not here";
  std::size_t count = 0;
  for (const test::CorpusCase& facts : test::corpus_cases(folder)) {
    if (!facts.name.starts_with("case_") && !facts.name.starts_with("chain_")) continue;
    auto bytes = map_file((folder / (facts.name + ".npz")).string());
    ASSERT_TRUE(bytes);
    auto npz = Npz::open(*bytes);
    ASSERT_TRUE(npz) << npz.error().text();
    const std::vector<Tensor> inputs = recorded(*npz, "input_");
    const auto program = test::quantize_model(folder / (facts.name + ".pt2"), {inputs});
    ASSERT_TRUE(program) << facts.name << ": " << program.error().text();
    EXPECT_EQ(program->delegates(), 1U) << facts.name;
    EXPECT_EQ(program->host_calls(), 0U) << facts.name;
    const auto found = test::run_program(*program, inputs);
    ASSERT_TRUE(found) << facts.name << ": " << found.error().text();
    const double db = test::sqnr(*found, test::arrays(*npz, "output_", ""));
    std::cout << facts.name << ": " << db << " dB, " << program->model.plan.cuts.size() << " cuts\n";
    EXPECT_GE(db, kLeastDb) << facts.name;
    ++count;
  }
  EXPECT_GE(count, 60U);
}

}  // namespace
}  // namespace isthmus
