// Orders in memory: which reshapes keep them, and how few transposes a segment needs.
#include "targets/layout.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "targets/legalize.h"
#include "targets/partition.h"
#include "targets/registry.h"
#include "targets/reshape_order.h"
#include "targets/target.h"
#include "targets/xnnpack/forms/forms.h"

namespace isthmus::layout_test {
namespace {

using Axes = std::vector<std::uint8_t>;

TEST(ReshapeOrder, ChannelsLastSurvivesFlatteningTheImage) {
  Exprs exprs;
  const ReshapeOrder map(exprs, {1, 16, 4, 4}, {1, 16, 16});
  EXPECT_EQ(map.to_output({0, 2, 3, 1}), (Axes{0, 2, 1}));
  EXPECT_EQ(map.to_input({0, 2, 1}), (Axes{0, 2, 3, 1}));
}

TEST(ReshapeOrder, FlatteningChannelsAndImageNeedsRowMajor) {
  Exprs exprs;
  const ReshapeOrder map(exprs, {2, 16, 4, 4}, {2, 256});
  EXPECT_EQ(map.to_output({0, 2, 3, 1}), std::nullopt);
  EXPECT_EQ(map.to_output({0, 1, 2, 3}), (Axes{0, 1}));
}

TEST(ReshapeOrder, AxesOfSizeOneDoNotMatter) {
  Exprs exprs;
  const ReshapeOrder map(exprs, {2, 16, 1, 1}, {2, 16});
  EXPECT_EQ(map.to_output({0, 2, 3, 1}), (Axes{0, 1}));
}

TEST(ReshapeOrder, SymbolicSizesAreMatchedAsExpressions) {
  Exprs exprs;
  exprs.declare({"s0", 1, 8, 2});
  const Dim s0 = exprs.symbol("s0");
  const ReshapeOrder map(exprs, {s0, 6, 4}, {exprs.multiply(s0, 6), 4});
  EXPECT_EQ(map.to_output({0, 1, 2}), (Axes{0, 1}));
  EXPECT_EQ(map.to_output({2, 0, 1}), (Axes{1, 0}));
  EXPECT_EQ(map.to_output({1, 0, 2}), std::nullopt);
}

// The layout of a graph that the XNNPACK delegate runs as a whole.
Layout layout_of(std::string_view text, const std::vector<Order>& input_orders = {}) {
  const TargetDesc& target = *find_target("xnnpack");
  auto parsed = parse_graph(text);
  EXPECT_TRUE(parsed) << parsed.error().text();
  const auto graph = legalize(std::move(*parsed), target);
  EXPECT_TRUE(graph) << graph.error().text();
  Partitioning places = partition(*graph, target);
  EXPECT_EQ(places.segments.size(), 1u);
  places.segments[0].input_orders = input_orders;
  std::vector<OrderDemand> demands;
  for (const NodeId id : places.segments[0].nodes) {
    demands.push_back(xnnpack::find_form((*graph)[id].op)->order(*graph, (*graph)[id]));
  }
  return choose_layout(*graph, places.segments[0], demands);
}

TEST(Layout, ConvolutionsInARowNeedNoTranspose) {
  const Layout layout = layout_of(R"(graph
  input %x : f32[1,4,8,8]
  const %w : f32[4,4,1,1] #1f0c9a2e55d0b7a1
  %a = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,8,8]
  %b = sigmoid(%a) : f32[1,4,8,8]
  %c = add(%a, %b) : f32[1,4,8,8]
  %d = cat(%c, %a) axis=1 : f32[1,8,8,8]
  %e = slice(%d) axis=1 end=4 : f32[1,4,8,8]
  %f = conv2d(%e, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,8,8]
  return %f
)");
  EXPECT_EQ(layout.transposes(), 2u) << "the input and the output alone";
}

TEST(Layout, ChannelsLastInputIsNotTransposed) {
  constexpr std::string_view kText = R"(graph
  input %x : f32[1,4,8,8]
  const %w : f32[4,4,1,1] #1f0c9a2e55d0b7a1
  %a = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,8,8]
  %b = mean(%a) axes=[2,3] keepdim=true : f32[1,4,1,1]
  return %b
)";
  EXPECT_EQ(layout_of(kText).transposes(), 1u);
  EXPECT_EQ(layout_of(kText, {kChannelsLast}).transposes(), 0u);
}

TEST(Layout, PatchesOfATransformerAreNotTransposed) {
  const Layout layout = layout_of(R"(graph
  input %x : f32[1,3,8,8]
  const %w : f32[16,3,4,4] #1f0c9a2e55d0b7a1
  const %v : f32[5,16] #2f0c9a2e55d0b7a1
  %a = conv2d(%x, %w) stride=[4,4] padding=[0,0,0,0] dilation=[1,1] : f32[1,16,2,2]
  %b = reshape(%a) shape=[1,16,4] : f32[1,16,4]
  %c = permute(%b) axes=[0,2,1] : f32[1,4,16]
  %d = linear(%c, %v) : f32[1,4,5]
  return %d
)");
  EXPECT_EQ(layout.transposes(), 1u) << "the input alone";
}

TEST(Layout, PermutesCancelThroughElementwiseOps) {
  const Layout layout = layout_of(R"(graph
  input %x : f32[2,3,4]
  %a = permute(%x) axes=[2,0,1] : f32[4,2,3]
  %b = tanh(%a) : f32[4,2,3]
  %c = permute(%b) axes=[1,2,0] : f32[2,3,4]
  return %c
)");
  EXPECT_EQ(layout.transposes(), 0u);
}

TEST(Layout, SoftmaxOverTheChannelsOfAnImageStaysInPlace) {
  const Layout layout = layout_of(R"(graph
  input %x : f32[1,4,8,8]
  const %w : f32[4,4,1,1] #1f0c9a2e55d0b7a1
  %a = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,8,8]
  %b = softmax(%a) axis=1 : f32[1,4,8,8]
  %c = conv2d(%b, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,8,8]
  return %c
)");
  EXPECT_EQ(layout.transposes(), 2u) << "the input and the output alone";
}

TEST(Layout, OneTransposeServesQueriesKeysAndValues) {
  const Layout layout = layout_of(R"(graph
  input %x : f32[1,10,24]
  %a = reshape(%x) shape=[1,10,3,2,4] : f32[1,10,3,2,4]
  %b = permute(%a) axes=[2,0,3,1,4] : f32[3,1,2,10,4]
  %q1 = slice(%b) end=1 : f32[1,1,2,10,4]
  %q = reshape(%q1) shape=[1,2,10,4] : f32[1,2,10,4]
  %k1 = slice(%b) start=1 end=2 : f32[1,1,2,10,4]
  %k = reshape(%k1) shape=[1,2,10,4] : f32[1,2,10,4]
  %v1 = slice(%b) start=2 end=3 : f32[1,1,2,10,4]
  %v = reshape(%v1) shape=[1,2,10,4] : f32[1,2,10,4]
  %y = attention(%q, %k, %v) : f32[1,2,10,4]
  return %y
)");
  EXPECT_EQ(layout.transposes(), 1u);
}

}  // namespace
}  // namespace isthmus::layout_test
