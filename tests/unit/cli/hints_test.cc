// Every node on the host has a reason that is true of it, and a hint that says what to do or that nothing needs doing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::hints_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Hints : public test::CommandLine, public ::testing::WithParamInterface<std::string> {
 protected:
  nlohmann::json check(const std::string& file) const {
    return nlohmann::json::parse(isthmus("check " + file + " --target " + GetParam() + " --json").out);
  }
};

TEST_P(Hints, AreNeverEmptyAndFitTheElementType) {
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/models")) {
    if (entry.path().extension() != ".pt2") continue;
    const nlohmann::json found = check(entry.path().string());
    for (const nlohmann::json& row : found.value("host", nlohmann::json::array())) {
      const std::string where = entry.path().string() + ": " + row.dump();
      const std::string hint = row["hint"];
      ++rows;
      EXPECT_FALSE(hint.empty()) << where;
      EXPECT_FALSE(row["reason"].get<std::string>().empty()) << where;
      // What computes integers cannot cast to float before; and what nothing splits needs nothing.
      const bool makes_integers = row["op"] == "argmax" || row["op"] == "argsort" || row["op"] == "arange";
      if (makes_integers) {
        EXPECT_THAT(hint, Not(HasSubstr("float32 where"))) << where;
      }
      if (hint.find("nothing to fix") != std::string::npos) {
        EXPECT_GE(found["delegates"], 1) << where;
      } else {
        EXPECT_TRUE(found["delegates"] != 1 || row["code"] == "foreign-op") << where;
      }
    }
  }
  EXPECT_GT(rows, 3U);
}

INSTANTIATE_TEST_SUITE_P(Targets, Hints, ::testing::Values("xnnpack", "tosa-int", "ethos-u55-128", "ethos-u85-256"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace isthmus::hints_test
