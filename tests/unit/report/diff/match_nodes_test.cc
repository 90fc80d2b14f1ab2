// Nodes find their counterparts by what stands around them.
#include "report/diff/match_nodes.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace isthmus::match_nodes_test {
namespace {

anatomy::Graph taken(const std::string& text) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << graph.error().text();
  return anatomy::take_apart(*graph);
}

// By node of `a`: its counterpart, or -1.
std::vector<int> matched(const std::string& a, const std::string& b) {
  std::vector<int> result;
  for (const auto& match : match_nodes(taken(a), taken(b))) result.push_back(match ? static_cast<int>(*match) : -1);
  return result;
}

constexpr const char* kTwoBranches =
    "graph\n  input %x : f32[1,4]\n  %a = exp(%x) : f32[1,4]\n  %b = tanh(%a) : f32[1,4]\n"
    "  %c = exp(%b) : f32[1,4]\n  %d = add(%c, %x) : f32[1,4]\n  return %d\n";

TEST(MatchNodes, NamesDoNotMatter) {
  const std::string renamed =
      "graph\n  input %in : f32[1,4]\n  %d = exp(%in) : f32[1,4]\n  %c = tanh(%d) : f32[1,4]\n"
      "  %b = exp(%c) : f32[1,4]\n  %a = add(%b, %in) : f32[1,4]\n  return %a\n";
  EXPECT_EQ(matched(kTwoBranches, renamed), (std::vector<int>{0, 1, 2, 3}));
}

TEST(MatchNodes, NewNodeLeavesTheOthersInPlace) {
  const std::string longer =
      "graph\n  input %x : f32[1,4]\n  %n = neg(%x) : f32[1,4]\n  %a = exp(%n) : f32[1,4]\n  %b = tanh(%a) : f32[1,4]\n"
      "  %c = exp(%b) : f32[1,4]\n  %d = add(%c, %x) : f32[1,4]\n  return %d\n";
  EXPECT_EQ(matched(kTwoBranches, longer), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(matched(longer, kTwoBranches), (std::vector<int>{-1, 0, 1, 2, 3}));
}

TEST(MatchNodes, ReplacedOperatorsAreMatchedByPosition) {
  const std::string changed =
      "graph\n  input %x : f32[1,4]\n  %a = exp(%x) : f32[1,4]\n  %b = sigmoid(%a) : f32[1,4]\n"
      "  %c = exp(%b) : f32[1,4]\n  %d = add(%c, %x) : f32[1,4]\n  return %d\n";
  EXPECT_EQ(matched(kTwoBranches, changed), (std::vector<int>{0, 1, 2, 3}));
}

TEST(MatchNodes, OneOfManyEqualBlocksIsMissing) {
  const auto blocks = [](int count) {
    std::string text = "graph\n  input %x : f32[1,4]\n";
    std::string last = "x";
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      text += "  %e" + n + " = exp(%" + last + ") : f32[1,4]\n  %t" + n + " = tanh(%e" + n + ") : f32[1,4]\n";
      last = "t" + n;
    }
    return text + "  return %" + last + "\n";
  };
  const std::vector<int> found = matched(blocks(20), blocks(19));
  EXPECT_EQ(std::ranges::count(found, -1), 2);
  EXPECT_EQ(std::ranges::count(matched(blocks(19), blocks(20)), -1), 0);
}

}  // namespace
}  // namespace isthmus::match_nodes_test
