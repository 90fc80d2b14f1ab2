// Laws of canonicalize on random graphs: twice is once, and nothing changes what a graph computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/models.h"
#include "support/random_model.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::canonicalize_law_test {
namespace {

TEST(CanonicalizeLaws, TwiceIsOnceAndNothingComputedChanges) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    test::RandomModel model(seed);
    const Graph graph = model.make();
    Diagnostics diagnostics;
    const auto once = canonicalize(graph, diagnostics);
    ASSERT_TRUE(once.has_value()) << "seed " << seed << ": " << once.error().text() << "\n" << print(graph);
    const auto twice = canonicalize(*once, diagnostics);
    ASSERT_TRUE(twice.has_value()) << "seed " << seed << ": " << twice.error().text();
    ASSERT_EQ(print(*twice), print(*once)) << "seed " << seed;

    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs()) inputs.push_back(model.input(graph.type(input)));
    const auto before = interpret(graph, inputs);
    const auto after = interpret(*once, inputs);
    ASSERT_TRUE(before.has_value()) << "seed " << seed << ": " << before.error().text() << "\n" << print(graph);
    ASSERT_TRUE(after.has_value()) << "seed " << seed << ": " << after.error().text() << "\n" << print(*once);
    ASSERT_EQ(before->size(), after->size());
    for (std::size_t i = 0; i < before->size(); ++i) {
      const test::Difference gap = test::difference(*(*after)[i], *(*before)[i]);
      double largest = 1;
      for (const double number : test::doubles(*(*before)[i])) largest = std::max(largest, std::abs(number));
      ASSERT_LE(gap.max, 1e-4 * largest) << "seed " << seed << "\n" << print(graph) << print(*once);
    }
  }
}

}  // namespace
}  // namespace isthmus::canonicalize_law_test
