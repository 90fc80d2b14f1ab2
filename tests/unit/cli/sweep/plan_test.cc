// Plans of sweeps: what they mean, and what is said of mistakes.
#include "cli/sweep/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace isthmus::sweep_plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kModel = "[[model]]\nfile = \"a/m.pt2\"\ntest = \"t.npz\"\n";
const std::string kTargets = "targets = [\"xnnpack\", \"tosa-int\"]\n";
const std::string kInt8 = "[[configuration]]\nname = \"int8\"\n";

std::vector<std::string> names_of(const SweepPlan& plan) {
  std::vector<std::string> names;
  for (const SweepPoint& point : plan.points) names.push_back(point.name);
  return names;
}

TEST(SweepPlan, PointsAreModelsTimesTargetsTimesConfigurationsInTheOrderOfTheFile) {
  const auto plan =
      read_plan(kTargets + kModel + "[[model]]\nfile = \"n.onnx\"\nname = \"b\"\ntest = \"u\"\n" + kInt8 +
                    "[[configuration]]\nname = \"float\"\noptions = \"--float\"\ntargets = [\"xnnpack\"]\n",
                "runs/plan.toml");
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(names_of(*plan), ElementsAre("m.xnnpack.int8", "m.xnnpack.float", "m.tosa-int.int8", "b.xnnpack.int8",
                                           "b.xnnpack.float", "b.tosa-int.int8"));
  EXPECT_EQ(plan->folder, "runs/plan.sweep");
  EXPECT_EQ(plan->points[1].configuration.options, "--float");
  EXPECT_EQ(plan->points[0].model.file, "a/m.pt2");
}

TEST(SweepPlan, TheFolderCanBeNamedAndTargetsHaveAliases) {
  const auto plan = read_plan("folder = \"out\"\ntargets = [\"cpu\"]\n" + kModel + kInt8, "plan.toml");
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->folder, "out");
  EXPECT_THAT(names_of(*plan), ElementsAre("m.xnnpack.int8"));
}

TEST(SweepPlan, MistakesAreNamedWithTheirLine) {
  struct Row {
    std::string text, said;
  };
  const Row rows[] = {
      {"targets = [\"xnnpak\"]\n" + kModel + kInt8, "plan.toml:1: no target"},
      {"targets = [\"xnnpak\"]\n" + kModel + kInt8, "did you mean xnnpack?"},
      {"targets = []\n" + kModel + kInt8, "plan.toml:1: expected a list of targets"},
      {"targets = [\"xnnpack\", \"cpu\"]\n" + kModel + kInt8, "xnnpack occurs twice"},
      {kTargets + kModel + "fille = \"x\"\n" + kInt8, "plan.toml:5: unknown key \"fille\""},
      {kTargets + kModel + "fille = \"x\"\n" + kInt8, "did you mean file?"},
      {kTargets + "[[model]]\nfile = \"m.pt2\"\n" + kInt8, "plan.toml:2: [[model]] needs `test`"},
      {kTargets + kModel + "[[configuration]]\nname = 3\n", "plan.toml:6: expected a text in quotes"},
      {kTargets + kModel + "[configuration]\nname = \"x\"\n", "expected a table, as [[configuration]]"},
      {kTargets + kModel, "missing [[configuration]]"},
      {kModel + kInt8, "missing `targets`"},
      {kTargets + kInt8, "missing [[model]]"},
      {kTargets + kModel + kInt8 + kInt8, "two points are named m.xnnpack.int8"},
      {kTargets + kModel + "[[configuration]]\nname = \"../x\"\n", "the name \"../x\" of a configuration names files"},
      {kTargets + kModel + "[[configuration]]\nname = \"x\"\ntargets = [\"ethos-u55-128\"]\n", "there are no points"},
      {"targets = [", "plan.toml:1: "},
      {"model = 1\n" + kTargets, "plan.toml:1: expected a table, as [[model]]"},
      {std::string("a = \"\xff\""), "not UTF-8"},
  };
  for (const Row& row : rows) {
    const auto plan = read_plan(row.text, "plan.toml");
    ASSERT_FALSE(plan) << row.text;
    EXPECT_THAT(plan.error().text(), HasSubstr(row.said)) << row.text;
  }
}

}  // namespace
}  // namespace isthmus::sweep_plan_test
