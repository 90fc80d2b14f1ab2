// An archive that PyTorch has quantized, as a user meets it: no data, one delegate, and what was repaired is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::cli_converted_test {
namespace {

using Cli = test::CommandLine;
using test::Finished;
using ::testing::HasSubstr;
using Json = nlohmann::json;

const std::string kArchive = "tests/models/converted_cats.pt2";

bool warns(const Json& json, const std::string& code) {
  return std::ranges::any_of(json["warnings"], [&](const Json& row) { return row["code"] == code; });
}

TEST_F(Cli, CheckOfAConvertedArchiveNamesTheJoinThatIsBroken) {
  for (const char* target : {"xnnpack", "tosa-int", "ethos-u55-128", "ethos-u85-256"}) {
    const Finished done = isthmus("check " + kArchive + " --target " + target + " --max-delegates 1 --json");
    ASSERT_EQ(done.code, 0) << done.err;
    const Json json = Json::parse(done.out);
    EXPECT_EQ(json["delegates"], 1) << target;
    EXPECT_EQ(json["host"], Json::array()) << target;
    EXPECT_EQ(json["rescales"].size(), 2U) << target;
    EXPECT_TRUE(warns(json, "pins-disagree")) << target;
    EXPECT_FALSE(warns(json, "not-pinned")) << target;
  }
}

TEST_F(Cli, CompileOfAConvertedArchiveNeedsNoData) {
  for (const char* target : {"xnnpack", "ethos-u85-256"}) {
    const std::string out = (folder_ / "model.pte").string();
    const Finished done = isthmus("compile " + kArchive + " --target " + target + " --json -o " + out);
    ASSERT_EQ(done.code, 0) << done.err;
    const Json json = Json::parse(done.out);
    EXPECT_FALSE(warns(json, "one-sample")) << target;
    EXPECT_EQ(json["samples"], 0) << target;
    EXPECT_GT(json["sqnr_db"][0]["db"], 40) << target;
  }
}

TEST_F(Cli, CompileOfAConvertedArchiveInFloatRoundsAsItDoes) {
  const std::string out = (folder_ / "model.pte").string();
  const Finished done = isthmus("compile " + kArchive + " --target xnnpack --float --json -o " + out);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(Json::parse(done.out)["delegates"], 1);
  EXPECT_EQ(Json::parse(done.out)["host"], Json::array());
}

TEST_F(Cli, ExplainOfAConvertedArchiveShowsItsParameters) {
  const Finished done = isthmus("explain " + kArchive + " --target xnnpack cat_1");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("0.18342453 zero point -4"));
  EXPECT_THAT(done.out, HasSubstr("pinned by the archive: %"));
  EXPECT_THAT(done.out, HasSubstr("rescaled: %"));
}

}  // namespace
}  // namespace isthmus::cli_converted_test
