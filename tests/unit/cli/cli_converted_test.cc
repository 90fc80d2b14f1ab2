// An archive that PyTorch has quantized, as a user meets it: no data, one delegate, and what was repaired is said.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::cli_converted_test {
namespace {

using Cli = test::CommandLine;
using test::Finished;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::string kArchive = "tests/models/converted_cats.pt2";

bool warns(const Json& json, const std::string& code) {
  return std::ranges::any_of(json["warnings"], [&](const Json& row) { return row["code"] == code; });
}

TEST_F(Cli, CheckNamesTheUnsharedConcatOfAConvertedArchive) {
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
    EXPECT_GT(json["sqnr_db"][0]["db"], 45) << target;
  }
}

TEST_F(Cli, FloatCompileOfAConvertedArchiveKeepsItsRounding) {
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
  EXPECT_THAT(done.out, HasSubstr("requantized: %"));
}

// What PyTorch itself has quantized in part, or with scales that no target has: with data or without, each target says
// what it needs, and compiles.
struct Ptq {
  const char* name;
  const char* on_xnnpack;  // the codes of warnings without data
  const char* on_ethos_u;
};
constexpr Ptq kPtq[] = {
    {"partly_quantized", "", "not-pinned one-sample"},
    {"conv_quantized", "", "not-pinned one-sample"},
    {"dynamic_linear", "", "dynamic-scales one-sample"},
    {"dynamic_rows", "", "dynamic-scales one-sample"},
    {"grouped_weights", "", "dynamic-scales one-sample"},
    {"channel_scales", "channel-scales one-sample", "channel-scales one-sample"},
};

// Without the one that says that Vela is not at hand.
std::string codes_of(const Json& json) {
  std::set<std::string> codes;
  for (const Json& row : json["warnings"]) codes.insert(row["code"]);
  codes.erase("not-finished");
  return fmt::format("{}", fmt::join(codes, " "));
}

TEST_F(Cli, ArchivesThatPyTorchHasQuantizedCompileWithoutData) {
  for (const Ptq& row : kPtq) {
    const std::string archive = fmt::format("tests/models/ptq/{}.pt2", row.name);
    for (const std::string target : {"xnnpack", "tosa-int", "ethos-u55-128", "ethos-u85-256"}) {
      const std::string out = (folder_ / "model.pte").string();
      for (const std::string& command : {"check " + archive, "compile " + archive + " --errors -o " + out}) {
        const Finished done = isthmus(command + " --json --target " + target);
        ASSERT_EQ(done.code, 0) << command << " " << target << done.err;
        const Json json = Json::parse(done.out);
        EXPECT_EQ(json["delegates"], 1) << command << " " << target;
        EXPECT_EQ(json["host"], Json::array()) << command << " " << target;
        if (command.starts_with("check")) continue;
        EXPECT_EQ(codes_of(json), target == "xnnpack" ? row.on_xnnpack : row.on_ethos_u) << command << " " << target;
      }
    }
  }
}

// Two numbers without a difference have no finite distance in dB: text and JSON say 200.
TEST_F(Cli, ErrorsOfAConvertedArchiveAreNumbers) {
  const std::string out = (folder_ / "model.pte").string();
  for (const char* target : {"xnnpack", "ethos-u85-256"}) {
    const Finished done = isthmus("compile " + kArchive + " --errors -v --target " + target + " -o " + out);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr(" 200.0 "));
    EXPECT_THAT(done.out, Not(HasSubstr("nan")));
    EXPECT_THAT(done.out, Not(HasSubstr("inf")));
  }
}

// What only a softmax reads is masked on purpose.
TEST_F(Cli, MasksOfInfinitiesAreNotReported) {
  const std::string out = (folder_ / "model.pte").string();
  const Finished done = isthmus("compile tests/models/torch26/causal_mask.pt2 --target xnnpack --json -o " + out);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(codes_of(Json::parse(done.out)), "one-sample");
}

}  // namespace
}  // namespace isthmus::cli_converted_test
