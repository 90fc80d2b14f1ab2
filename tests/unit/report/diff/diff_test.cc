// Facts of reports, and what moved between two of them.
#include "report/diff/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::diff_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DiffSide report(const std::string& json) {
  DiffSide side;
  side.path = "r.json";
  side.kind = "a JSON report";
  auto facts = read_facts(json);
  EXPECT_TRUE(facts.has_value()) << facts.error().text();
  side.facts = std::move(*facts);
  return side;
}

std::vector<std::string> keys_of(const Difference& difference) {
  std::vector<std::string> keys;
  for (const Difference::Figure& row : difference.figures) keys.push_back(row.key);
  return keys;
}

TEST(Diff, NamesRowsByWhatCallsThem) {
  const auto found = difference(
      report(R"({"schema_version":1,"outputs":[{"name":"a","db":30.5},{"name":"b","db":20}],"seconds":{"load":1}})"),
      report(R"({"schema_version":1,"outputs":[{"name":"b","db":21},{"name":"a","db":30.5}],"seconds":{"load":2}})"));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(keys_of(*found), ElementsAre("outputs[b].db"));
  EXPECT_THAT(to_text(*found, {}, false), HasSubstr("outputs[b].db: 20 -> 21  (+1, +5.0 %)"));
}

TEST(Diff, RowOfOneFileAloneIsSaidOnce) {
  const auto found =
      difference(report(R"({"schema_version":1,"w":[{"name":"a","x":1,"y":2,"z":"t"},{"name":"b","x":1}]})"),
                 report(R"({"schema_version":1,"w":[{"name":"b","x":1}]})"));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(keys_of(*found), ElementsAre("w", "w[a]"));
}

TEST(Diff, FallbacksDoNotCareForLinesAndOrder) {
  const std::string a =
      R"({"schema_version":1,"host":[{"op":"sort","code":"no-form","module":"m","origin":"f.py:3"},
          {"op":"cat","code":"no-form","module":"","origin":"f.py:9"}]})";
  const std::string b =
      R"({"schema_version":1,"host":[{"op":"cat","code":"no-form","module":"","file":"f.py","count":1},
          {"op":"sort","code":"no-form","module":"m","origin":"f.py:5"}]})";
  EXPECT_TRUE(difference(report(a), report(b))->is_none());
  const std::string c = R"({"schema_version":1,"host":[]})";
  const auto found = difference(report(a), report(c));
  ASSERT_EQ(found->fallbacks.size(), 2u);
  EXPECT_EQ(found->fallbacks[0].a, 1u);
  EXPECT_EQ(found->fallbacks[0].b, 0u);
}

TEST(Diff, RejectsOtherFiles) {
  for (const std::string text : {"{}", "[]", "{\"schema_version\": 2}", "{\"schema_version\": \"1\"}",
                                 "{\"a\":", "{\"schema_version\":1,\"host\":[{\"code\":1}]}"}) {
    EXPECT_FALSE(read_facts(text).has_value()) << text;
  }
  const std::string deep = "{\"schema_version\":1,\"a\":" + std::string(10000, '[') + std::string(10000, ']') + "}";
  EXPECT_FALSE(read_facts(deep).has_value());
}

TEST(Diff, FilesOfUnlikeKindsMustShareSomething) {
  DiffSide a = report(R"({"schema_version":1,"samples":3})");
  DiffSide b = report(R"({"schema_version":1,"bytes":3})");
  b.kind = "a program file (.pte)";
  const auto none = difference(a, b);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("these cannot be compared"));
  a = report(R"({"schema_version":1,"bytes":4,"other":1})");
  const auto found = difference(a, b);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->compared, ElementsAre("bytes"));
  EXPECT_THAT(keys_of(*found), ElementsAre("bytes"));
}

TEST(Diff, RangesThatMovedMostComeFirst) {
  const auto side = [](float a, float b) {
    DiffSide result;
    result.kind = "statistics";
    result.statistics.emplace();
    for (const auto& [name, max] : {std::pair<std::string, float>("a", a), {"b", b}, {"c", 1.0f}}) {
      ValueStatistics& value = result.statistics->values[name];
      value.moments.min = 0;
      value.moments.max = max;
      value.moments.count = 2;
      value.samples = 1;
      value.sum_of_max = ExactSum(static_cast<double>(max));
      const float numbers[] = {0, max};
      value.histogram.add(numbers, 1, 0, max);
    }
    return result;
  };
  const auto found = difference(side(1, 1), side(1.5f, 8));
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->ranges.size(), 2u);
  EXPECT_EQ(found->ranges[0].value, "b");
  EXPECT_GT(found->ranges[0].ratio, 4);
  EXPECT_TRUE(difference(side(1, 1), side(1, 1))->is_none());
}

}  // namespace
}  // namespace isthmus::diff_test
