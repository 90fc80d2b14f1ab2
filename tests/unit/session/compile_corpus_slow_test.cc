// The operator corpus as program files: each archive compiles and computes what PyTorch recorded, in the delegate or on
// the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "support/compile.h"

namespace isthmus::compile_corpus_slow_test {
namespace {

// What becomes of one archive.
struct Outcome {
  std::string problem;  // empty where all is well
  std::size_t delegates = 0;
  std::size_t host_nodes = 0;
};

Outcome outcome_of(const std::filesystem::path& folder, const test::CorpusCase& facts) {
  const auto program = test::compile_model(folder / (facts.name + ".pt2"));
  if (!program) return {"compile: " + program.error().text()};
  Outcome result{{}, program->delegates(), program->host_nodes()};
  auto method = run::Method::load(program->file());
  if (!method) {
    result.problem = "load: " + method.error().text();
    return result;
  }
  constexpr double kOfRange = 1e-4;
  const auto allow = [](const Tensor& expected) {
    if (!is_floating(expected.dtype())) return 0.0;
    const double range = test::difference(expected, expected).range;
    return kOfRange * (range > 0 ? range : test::largest_of(expected));
  };
  result.problem = test::check_recorded(
      folder, facts, [&](std::span<const Tensor> inputs) { return method->run(inputs); }, allow);
  return result;
}

TEST(CompileCorpus, EveryArchiveComputesAsRecorded) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder / "index.json")) GTEST_SKIP() << "the operator corpus is not here";
  // What cannot be a program file, and why.
  const std::map<std::string, std::string> hopeless{
      {"dropout_train", "a random draw"},
      {"max_pool2d_indices", "its file records no output"},
      {"view_dtype", "neither the delegate nor the host has a kernel that reads bytes as another type"},
  };
  std::size_t total = 0;
  std::size_t whole = 0;
  std::size_t mixed = 0;
  std::set<std::string> failed;
  for (const std::filesystem::path& place : {folder, folder / "torch26"}) {
    for (const test::CorpusCase& facts : test::corpus_cases(place)) {
      ++total;
      const Outcome outcome = outcome_of(place, facts);
      if (!outcome.problem.empty()) {
        failed.insert(facts.name);
        EXPECT_TRUE(hopeless.contains(facts.name)) << facts.name << "  " << facts.source << "\n" << outcome.problem;
        continue;
      }
      (outcome.host_nodes == 0 && outcome.delegates <= 1 ? whole : mixed) += 1;
    }
  }
  for (const auto& [name, why] : hopeless) EXPECT_TRUE(failed.contains(name)) << name << " works now; it was " << why;
  std::cout << total << " archives: " << whole << " need nothing but one delegate, " << mixed
            << " host kernels as well, " << failed.size() << " are not programs\n";
  EXPECT_GE(whole, 600u);
}

}  // namespace
}  // namespace isthmus::compile_corpus_slow_test
