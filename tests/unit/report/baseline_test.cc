// Baselines keep what they say, and differences are named.
#include "report/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::baseline_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Baseline some() {
  Baseline baseline;
  baseline.target = "xnnpack";
  baseline.delegates = 2;
  baseline.delegated_nodes = 40;
  baseline.host = {{"cat", "foreign-op", "fusion", "networks.py", 1}, {"sort", "no-form", "", "", 3}};
  baseline.has_data = true;
  baseline.groups = 12;
  baseline.rescales = 1;
  baseline.bytes = 5000;
  baseline.memory_bytes = 1024;
  return baseline;
}

TEST(Baseline, IsReadAsItWasWritten) {
  const auto read = read_baseline(to_text(some()));
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->host, some().host);
  EXPECT_EQ(to_text(*read), to_text(some()));
  EXPECT_THAT(differences(some(), *read), IsEmpty());
}

TEST(Baseline, NamesEveryDifference) {
  Baseline now = some();
  now.delegates = 3;
  now.host = {{"cat", "foreign-op", "fusion", "networks.py", 2}, {"roll", "no-form", "head", "head.py", 1}};
  now.groups = 13;
  now.bytes = 6000;
  EXPECT_THAT(
      differences(some(), now),
      ElementsAre("delegates: 2 -> 3", "on the CPU: cat (networks.py, fusion) [foreign-op]: 1 -> 2",
                  "new on the CPU: roll (head.py, head) [no-form]", "no longer on the CPU: sort [no-form]: 3 times",
                  "groups that share a scale: 12 -> 13", "program file: 5,000 -> 6,000 bytes (+1,000)"));
}

TEST(Baseline, SmallerProgramsAndMissingFactsAreNotDifferences) {
  Baseline now = some();
  now.bytes = 4000;
  now.memory_bytes.reset();
  EXPECT_THAT(differences(some(), now), IsEmpty());
  now.has_data = false;  // a check without data cuts no group
  now.groups = 10;
  EXPECT_THAT(differences(some(), now), IsEmpty());
}

TEST(Baseline, OfAnotherTargetSaysNothingElse) {
  Baseline now = some();
  now.target = "ethos-u55-128";
  now.delegates = 9;
  EXPECT_THAT(differences(some(), now), ElementsAre("target: xnnpack -> ethos-u55-128"));
}

TEST(Baseline, BadTextNamesItsPlace) {
  for (const auto& [text, place] : {std::pair("[]", "expected an object"),
                                    {"{", "line 1"},
                                    {R"({"schema_version": 1, "target": 4})", "target: expected a string"}}) {
    const auto read = read_baseline(text);
    ASSERT_FALSE(read.has_value());
    EXPECT_THAT(read.error().text(), HasSubstr(place)) << text;
  }
}

// A name from a hostile file reaches no terminal as it is.
TEST(Baseline, DifferencesAreHarmless) {
  Baseline before = some();
  before.host[0].op = "\x1b[31mcat";
  for (const std::string& line : differences(before, some())) EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace isthmus::baseline_test
