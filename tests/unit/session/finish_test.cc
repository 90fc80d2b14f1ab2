// Finishing steps: the pipeline and the reports take any of them as they take Ethos-U's.
#include "targets/finish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "program/run/method.h"
#include "report/compile.h"
#include "support/compile.h"
#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::finish_test {
namespace {

using testing::HasSubstr;

class Finishing : public testing::Test {
 protected:
  void SetUp() override {
    auto made = test::compile_model(test::source_dir() / "tests/models/emg_cascade.pt2");
    ASSERT_TRUE(made) << made.error().text();
    prepared_ = std::move(made->prepared);
  }
  const TargetDesc& target_ = *find_target("xnnpack");
  Prepared prepared_;
};

TEST_F(Finishing, TakesThePlaceOfEachDelegateAndIsReported) {
  std::size_t calls = 0;
  const Finisher finisher{
      "polish", [&](const pte::Delegate& delegate) -> Expected<FinishedDelegate> {
        ++calls;
        return FinishedDelegate{{"PolishedBackend", delegate.blob, {}}, {{"gates", 7}}, "needs 7 gates"};
      }};
  auto compiled = compile(prepared_, target_, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text();
  const auto is_finished = finish(*compiled, finisher);
  ASSERT_TRUE(is_finished) << is_finished.error().text();
  EXPECT_EQ(calls, prepared_.partitioning.segments.size());
  const auto file = pte::read_program(Blob(compiled->bytes, nullptr));
  ASSERT_TRUE(file) << file.error().text();
  for (const pte::Delegate& delegate : file->plans[0].delegates) EXPECT_EQ(delegate.id, "PolishedBackend");
  EXPECT_TRUE(run::Method::load(Blob(compiled->runnable(), nullptr))) << "this machine runs what it was before";
  const auto is_polish = [](const StageTime& time) { return time.name == "polish"; };
  EXPECT_EQ(std::ranges::count_if(compiled->times, is_polish), 1);

  CompileSummary summary = summarize("model", target_, prepared_, nullptr, {});
  add_file(summary, "model.pte", prepared_.graph, *compiled);
  const auto json = nlohmann::json::parse(to_json(summary));
  EXPECT_EQ(json["backend"], "PolishedBackend");
  EXPECT_EQ(json["polish"][0]["gates"], 7);
  EXPECT_THAT(to_text(summary, false), HasSubstr("  polish needs 7 gates\n"));
}

TEST_F(Finishing, ErrorsNameTheDelegate) {
  const Finisher finisher{
      "polish", [](const pte::Delegate&) -> Expected<FinishedDelegate> { return bad_input("out of polish"); }};
  auto compiled = compile(prepared_, target_, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text();
  const auto is_finished = finish(*compiled, finisher);
  ASSERT_FALSE(is_finished);
  EXPECT_THAT(is_finished.error().text(), testing::AllOf(HasSubstr("out of polish"), HasSubstr("delegate 0")));
}

// They share one command line.
TEST(FinishingSteps, HaveOptionsOfDifferentNames) {
  std::set<std::string_view> names;
  for (const FinishingStep* step : all_finishing_steps()) {
    for (const FinishOption& option : step->options) {
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      EXPECT_TRUE(option.name.starts_with("--")) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
    }
  }
  EXPECT_FALSE(names.empty());
}

}  // namespace
}  // namespace isthmus::finish_test
