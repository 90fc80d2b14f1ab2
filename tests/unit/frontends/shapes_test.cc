// The sizes that a user asks for.
#include "frontends/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"

namespace isthmus::shapes_test {
namespace {

using ::testing::HasSubstr;

Graph example() {
  auto graph = parse_graph(R"(graph
  symbol s0 in [1,8] ~3
  symbol s1 in [,] ~4
  input %x : f32[s0,4*s1]
  input %y : f32[s0,2]
  %odd = foreign("aten.odd.default", self=%x, sizes=[s0,4*s1+1]) : f32[s0,4*s1+1]
  return %odd
)");
  EXPECT_TRUE(graph) << graph.error().text();
  return std::move(*graph);
}

std::string shaped(const ShapeRequest& request, Diagnostics& diagnostics, SizesWanted wanted = SizesWanted::kBounded) {
  const auto graph = with_requested_shapes(example(), request, wanted, diagnostics);
  return graph ? print(*graph) : "error: " + graph.error().text();
}
std::string shaped(const ShapeRequest& request) {
  Diagnostics diagnostics;
  return shaped(request, diagnostics);
}

TEST(Shapes, AnUnboundedSizeIsFixedToTheExamplesWithAWarning) {
  Diagnostics diagnostics;
  const std::string text = shaped({}, diagnostics);
  EXPECT_THAT(text, HasSubstr("input %x : f32[s0,16]"));
  EXPECT_THAT(text, HasSubstr("sizes=[s0,17]"));
  ASSERT_EQ(diagnostics.entries().size(), 1u);
  EXPECT_EQ(diagnostics.entries()[0].code, "unbounded-size");
}

TEST(Shapes, StaticTargetsTakeTheSizesOfTheExample) {
  Diagnostics diagnostics;
  EXPECT_THAT(shaped({}, diagnostics, SizesWanted::kKnown), HasSubstr("input %x : f32[3,16]"));
  ASSERT_EQ(diagnostics.entries().size(), 2u);
  EXPECT_EQ(diagnostics.entries()[0].code, "fixed-size");
  EXPECT_THAT(diagnostics.entries()[0].text,
              HasSubstr("dimension s0 is fixed to the example's size 3: the target needs"));
  Diagnostics bounded;
  EXPECT_THAT(shaped({.inputs = {}, .batch = {}, .max_batch = 2}, bounded, SizesWanted::kKnown),
              HasSubstr("input %x : f32[2,16]"));
  EXPECT_THAT(bounded.entries()[0].text, HasSubstr("fixed to its largest size, 2"));
  Diagnostics asked;
  EXPECT_THAT(shaped({.inputs = {{"x", {5, 8}}}, .batch = {}, .max_batch = {}}, asked, SizesWanted::kKnown),
              HasSubstr("input %x : f32[5,8]"));
  ASSERT_EQ(asked.entries().size(), 2u);
  EXPECT_EQ(asked.entries()[0].severity, Severity::kNote);
  EXPECT_EQ(asked.entries()[0].text, "dimension s0 is fixed to 5, as requested");
}

TEST(Shapes, AShapeFixesSymbolsInsideExpressionsAndArguments) {
  const std::string text = shaped({.inputs = {{"x", {2, 20}}}, .batch = {}, .max_batch = {}});
  EXPECT_THAT(text, HasSubstr("input %x : f32[2,20]"));
  EXPECT_THAT(text, HasSubstr("input %y : f32[2,2]"));
  EXPECT_THAT(text, HasSubstr("sizes=[2,21]"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("symbol")));
}

TEST(Shapes, ABatchFixesTheFirstSizeOfEveryInput) {
  EXPECT_THAT(shaped({.inputs = {}, .batch = 5, .max_batch = {}}), HasSubstr("input %y : f32[5,2]"));
}

TEST(Shapes, AnUpperBoundStaysSymbolic) {
  EXPECT_THAT(shaped({.inputs = {}, .batch = {}, .max_batch = 4}), HasSubstr("symbol s0 in [1,4]"));
}

TEST(Shapes, SizesOutsideTheExportedRangeAreRejected) {
  EXPECT_THAT(shaped({.inputs = {}, .batch = 9, .max_batch = {}}), HasSubstr("s0 = 9 is outside"));
  EXPECT_THAT(shaped({.inputs = {}, .batch = {}, .max_batch = 16}), HasSubstr("at most 8"));
  EXPECT_THAT(shaped({.inputs = {{"x", {1, 21}}}, .batch = {}, .max_batch = {}}), HasSubstr("4*s1 cannot be 21"));
  EXPECT_THAT(shaped({.inputs = {{"y", {1, 3}}}, .batch = {}, .max_batch = {}}), HasSubstr("static and cannot be 3"));
  EXPECT_THAT(shaped({.inputs = {{"y", {1}}}, .batch = {}, .max_batch = {}}), HasSubstr("[1] was requested"));
  EXPECT_THAT(shaped({.inputs = {{"z", {1}}}, .batch = {}, .max_batch = {}}), HasSubstr("no input of this name"));
  EXPECT_THAT(shaped({.inputs = {{"x", {1, 16}}}, .batch = 2, .max_batch = {}}), HasSubstr("both 1 and 2"));
}

}  // namespace
}  // namespace isthmus::shapes_test
