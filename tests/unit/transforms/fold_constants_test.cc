// What computing constants may cost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus::fold_constants_test {
namespace {

// A product of two square matrices of which a file holds a 1024th, and the nodes that are left of it.
std::size_t nodes_left(std::int64_t size) {
  auto graph = parse_graph(
      fmt::format("graph\n  input %x : f32[{0},{0}]\n  const %a : f32[{0},{0}] #0000000000000000\n  const %b : "
                  "f32[{0},{0}] #0000000000000000\n"
                  "  %product = matmul(%a, %b) : f32[{0},{0}]\n  %y = add(%x, %product) : f32[{0},{0}]\n  return %y\n",
                  size));
  if (!graph) return 0;
  for (const char* name : {"a", "b"}) {
    const Blob few = Blob::owning(std::vector<std::byte>(static_cast<std::size_t>(size * size) * sizeof(float) / 1024));
    const auto matrix = make_tensor_view(DType::kF32, {size, size}, {0, 0}, 0, few);
    if (!matrix) return 0;
    graph->set_constant(*graph->find(name), *matrix);
  }
  std::vector<RewriteTime> times;
  const Rewrite fold{"fold", "", fold_constants};
  const auto result = rewrite_to_fixpoint(*std::move(graph), {&fold, 1}, {}, times);
  return result ? result->nodes().size() : 0;
}

TEST(FoldConstants, CostsNoMoreThanTheFileIsWorth) {
  EXPECT_EQ(nodes_left(64), 1u);
  EXPECT_EQ(nodes_left(8192), 2u) << "5.5e11 products for 512 KiB";
}

TEST(FoldConstants, TheBudgetFollowsTheBytesOfTheGraph) {
  FoldingBudget budget = FoldingBudget::of(Graph());
  const std::uint64_t bytes = budget.bytes;
  EXPECT_FALSE(budget.take(budget.steps + 1, 1));
  EXPECT_FALSE(budget.take(1, bytes + 1));
  EXPECT_EQ(budget.bytes, bytes) << "nothing was taken";
  EXPECT_TRUE(budget.take(budget.steps, bytes));
  EXPECT_FALSE(budget.take(1, 0));
  Graph graph;
  graph.add_constant("a",
                     *make_tensor_view(DType::kI8, {1 << 20}, {1}, 0, Blob::owning(std::vector<std::byte>(1 << 20))));
  EXPECT_GT(FoldingBudget::of(graph).bytes, bytes);
}

}  // namespace
}  // namespace isthmus::fold_constants_test
