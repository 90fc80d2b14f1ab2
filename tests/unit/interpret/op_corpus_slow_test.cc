// The operator corpus: one archive per PyTorch call, computed as PyTorch computed it.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "support/models.h"

namespace isthmus::op_corpus_slow_test {
namespace {

TEST(OpCorpus, EveryArchiveComputesAsRecorded) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder / "index.json")) GTEST_SKIP() << "the operator corpus is not here";
  // What cannot be the same, and why.
  const std::set<std::string> hopeless{
      "dropout_train",       // a random draw: refused
      "max_pool2d_indices",  // its file records no output
  };
  for (const std::filesystem::path& place : {folder, folder / "torch26"}) {
    std::size_t passed = 0;
    std::size_t total = 0;
    for (const test::CorpusCase& facts : test::corpus_cases(place)) {
      if (hopeless.contains(facts.name)) continue;
      ++total;
      const std::string problem = test::check_corpus_case(place, facts);
      EXPECT_EQ(problem, "") << facts.name << "  " << facts.source;
      passed += problem.empty() ? 1 : 0;
    }
    std::cout << passed << " of " << total << " archives compute as recorded\n";
  }
}

}  // namespace
}  // namespace isthmus::op_corpus_slow_test
