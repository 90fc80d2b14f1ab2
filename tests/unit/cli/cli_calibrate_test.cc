// calibrate, merge and inspect of statistics as a user meets them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command_line.h"

namespace isthmus::cli_calibrate_test {
namespace {

using Cli = test::CommandLine;
using test::Finished;
using Json = nlohmann::json;

const std::string kCommand = "calibrate tests/models/emg_cascade.pt2 --target xnnpack ";

TEST_F(Cli, CalibrateOnTheExamplesWarns) {
  const std::string out = (folder_ / "a.stats").string();
  const Finished done = isthmus(kCommand + "--json -o " + out);
  ASSERT_EQ(done.code, 0) << done.err;
  const Json json = Json::parse(done.out);
  EXPECT_EQ(json["samples"], 1);
  EXPECT_EQ(json["warnings"][0]["code"], "one-sample");
  const Finished shown = isthmus("inspect " + out + " --json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  const Json stats = Json::parse(shown.out);
  EXPECT_EQ(stats["kind"], "stats");
  EXPECT_EQ(stats["values"].size(), json["values"]);
  EXPECT_EQ(isthmus("inspect " + out).code, 0);
}

TEST_F(Cli, MergeAddsSamplesAndRefusesAnotherModel) {
  const std::string a = (folder_ / "a.stats").string();
  const std::string other = (folder_ / "other.stats").string();
  const std::string both = (folder_ / "both.stats").string();
  ASSERT_EQ(isthmus(kCommand + "-q -o " + a).code, 0);
  ASSERT_EQ(isthmus("calibrate tests/models/deit_micro.pt2 --target xnnpack -q -o " + other).code, 0);
  ASSERT_EQ(isthmus("merge " + a + " " + a + " -o " + both).code, 0);
  EXPECT_EQ(Json::parse(isthmus("inspect " + both + " --json").out)["samples"], 2);
  const Finished refused = isthmus("merge " + a + " " + other + " -o " + (folder_ / "c.stats").string());
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("different models"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "c.stats"));
}

TEST_F(Cli, ReproducibleStatisticsSaySo) {
  const std::string plain = (folder_ / "plain.stats").string();
  const std::string same = (folder_ / "same.stats").string();
  const std::string both = (folder_ / "both.stats").string();
  const std::string compile = "compile tests/models/emg_cascade.pt2 --target xnnpack -q --reproducible -o " +
                              (folder_ / "model.pte").string() + " --calibrate ";
  ASSERT_EQ(isthmus(kCommand + "-q -o " + plain).code, 0);
  ASSERT_EQ(isthmus(kCommand + "-q --reproducible -o " + same).code, 0);
  ASSERT_EQ(isthmus("merge " + plain + " " + same + " -o " + both).code, 0);
  for (const auto& [file, is_reproducible] : {std::pair(plain, false), {same, true}, {both, false}}) {
    EXPECT_EQ(Json::parse(isthmus("inspect " + file + " --json").out)["reproducible"], is_reproducible) << file;
    const Finished compiled = isthmus(compile + file);
    EXPECT_EQ(compiled.code, is_reproducible ? 0 : 1) << file;
    EXPECT_EQ(compiled.err.find("--reproducible") != std::string::npos, !is_reproducible) << compiled.err;
  }
}

TEST_F(Cli, BadDataAndBadStatisticsAreNamed) {
  const Finished missing = isthmus(kCommand + "--data nowhere.npz -o " + (folder_ / "a.stats").string());
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("nowhere.npz"), std::string::npos) << missing.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.stats"));
  const std::string broken = (folder_ / "broken.stats").string();
  std::ofstream(broken) << "xxxxISSTgarbage";
  const Finished refused = isthmus("inspect " + broken);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("damaged"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace isthmus::cli_calibrate_test
