// The JSON tree: values, and errors that name their place.
#include "formats/json.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <limits>

namespace isthmus::json::json_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string problem(std::string_view text) {
  const auto document = Document::parse(text);
  return document ? "" : document.error().text();
}

TEST(Json, ReadsEveryKindOfValue) {
  const auto document = Document::parse(R"( {"a": [1, -2.5, true, false, null, "t\u00e9xt\n"], "b": {}, "": []} )");
  ASSERT_TRUE(document) << document.error().text();
  const auto items = document->root().get("a")->elements();
  ASSERT_TRUE(items);
  std::vector<Value> values(items->begin(), items->end());
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(*values[0].as_integer(), 1);
  EXPECT_EQ(*values[0].as_number(), 1.0);
  EXPECT_EQ(*values[1].as_number(), -2.5);
  EXPECT_EQ(*values[2].as_bool(), true);
  EXPECT_EQ(*values[3].as_bool(), false);
  EXPECT_EQ(values[4].kind(), Kind::kNull);
  EXPECT_EQ(*values[5].as_text(), "t\xC3\xA9xt\n");
  EXPECT_TRUE(document->root().get("b")->members()->empty());
  EXPECT_TRUE(document->root().get("")->elements()->empty());
}

TEST(Json, KeepsIntegersOf64Bits) {
  const auto document = Document::parse("[9223372036854775807, -9223372036854775808, 9223372036854775808, 1e3]");
  ASSERT_TRUE(document);
  const auto items = document->root().elements();
  std::vector<Value> values(items->begin(), items->end());
  EXPECT_EQ(*values[0].as_integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*values[1].as_integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_THAT(values[2].as_integer().error().text(), StartsWith("[2]: expected a 64-bit integer, got 9.2233"));
  EXPECT_EQ(*values[2].as_number(), 9223372036854775808.0);
  EXPECT_FALSE(values[3].as_integer());
}

TEST(Json, AbsentAndNullAreAlike) {
  const auto document = Document::parse(R"({"a": null, "b": 1})");
  ASSERT_TRUE(document);
  EXPECT_FALSE(document->root().find("a")->has_value());
  EXPECT_FALSE(document->root().find("c")->has_value());
  EXPECT_TRUE(document->root().find("b")->has_value());
  EXPECT_EQ(document->root().get("a").error().text(), "top level: key \"a\" is missing");
}

TEST(Json, ErrorsNameTheirPlace) {
  const auto document =
      Document::parse(R"({"graph": {"nodes": [1, {"arg": {"x": "y", "l.weight": {"z": []}}}], "n": 0}})");
  ASSERT_TRUE(document);
  const Value graph = *document->root().get("graph");
  EXPECT_EQ(graph.as_bool().error().text(), "graph: expected true or false, got an object");
  EXPECT_EQ(graph.get("n")->elements().error().text(), "graph.n: expected an array, got 0");
  const Value node = *std::next(graph.get("nodes")->elements()->begin());
  EXPECT_EQ(node.error("oh").value().text(), "graph.nodes[1]: oh");
  const Value arg = *node.get("arg");
  EXPECT_EQ(arg.get("x")->as_integer().error().text(), "graph.nodes[1].arg.x: expected a 64-bit integer, got \"y\"");
  EXPECT_EQ(arg.get("l.weight")->get("z")->as_text().error().text(),
            "graph.nodes[1].arg[\"l.weight\"].z: expected a string, got an array");
  EXPECT_EQ(arg.only_member().error().text(),
            "graph.nodes[1].arg: expected an object with exactly one key, got an object");
  EXPECT_EQ(document->root().as_text().error().text(), "top level: expected a string, got an object");
}

TEST(Json, RejectsInvalidJson) {
  for (const std::string_view text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "[1] 2", "\"\xFF\"", "\"\\ud800\"",
                                      "[1e999]", "nan", "{\"a\": 1,}", "[\"a\nb\"]", "// comment\n1"}) {
    EXPECT_THAT(problem(text), StartsWith("not valid JSON at byte ")) << text;
  }
  EXPECT_EQ(problem("1"), "");
}

// As Python writes them.
TEST(Json, NonFiniteNumbersAreStrings) {
  const auto document = Document::parse(R"([-Infinity, {"NaN": NaN}, "\\", Infinity, "\" -Infinity"])");
  ASSERT_TRUE(document) << document.error().text();
  const auto items = document->root().elements();
  std::vector<Value> values(items->begin(), items->end());
  ASSERT_EQ(values.size(), 5u);
  EXPECT_EQ(*values[0].as_text(), "-Infinity");
  EXPECT_EQ(*values[1].get("NaN")->as_text(), "NaN");
  EXPECT_EQ(*values[2].as_text(), "\\");
  EXPECT_EQ(*values[3].as_text(), "Infinity");
  EXPECT_EQ(*values[4].as_text(), "\" -Infinity");
}

TEST(Json, RefusesDuplicateKeys) {
  EXPECT_EQ(problem(R"({"a": 1, "b": {"a": 2}})"), "");
  EXPECT_EQ(problem(R"({"a": 1, "b": 3, "a": 2})"), "key \"a\" occurs twice in one object");
}

TEST(Json, BoundsNesting) {
  EXPECT_EQ(problem(std::string(256, '[') + std::string(256, ']')), "");
  EXPECT_EQ(problem(std::string(257, '[') + std::string(257, ']')), "values are nested deeper than 256");
  EXPECT_EQ(problem(std::string(8'000'000, '[')), "values are nested deeper than 256");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(problem(objects), "values are nested deeper than 256");
}

TEST(Json, BoundsTheNumberOfValues) {
  std::string zeros = "[0";
  for (int i = 0; i < (1 << 22); ++i) zeros += ",0";
  EXPECT_EQ(problem(zeros + "]"), "more than 4194304 values");
  EXPECT_EQ(problem(std::string((64 << 20) + 1, ' ')), "a JSON text of 67108865 bytes; at most 67108864 are read");
}

TEST(Json, LongTokensDoNotFloodTheMessage) {
  EXPECT_LT(problem("\"" + std::string(1'000'000, 'x')).size(), 300u);
  EXPECT_LT(problem("[" + std::string(1'000'000, '1') + "x").size(), 300u);
  std::string escaped;
  for (int i = 0; i < 1000; ++i) escaped += "\\u001b";
  EXPECT_EQ(problem("[\xC3\x28").find('\xC3'), std::string::npos);
  const auto word = Document::parse("{\"" + std::string(100000, 'x') + "\": 1}");
  EXPECT_LT((*word->root().members()->begin()).as_text().error().text().size(), 300u);
  const auto document = Document::parse("{\"" + escaped + "\": 1}");
  ASSERT_TRUE(document);
  const std::string message = (*document->root().members()->begin()).as_text().error().text();
  EXPECT_LT(message.size(), 2000u);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(Json, ReadEachStopsAtTheFirstFailure) {
  const auto document = Document::parse("[1, 2, \"x\", 4]");
  ASSERT_TRUE(document);
  const auto integers = read_each(document->root(), [](Value value) { return value.as_integer(); });
  ASSERT_FALSE(integers);
  EXPECT_THAT(integers.error().text(), HasSubstr("[2]"));
}

}  // namespace
}  // namespace isthmus::json::json_test
