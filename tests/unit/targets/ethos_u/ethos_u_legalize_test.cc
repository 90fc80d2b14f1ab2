// What composites become for the devices behind TOSA: all of it has a form there, and computes the same.
#include <gtest/gtest.h>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/ethos_u_cases.h"
#include "targets/legalize.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus::ethos_u_legalize_test {
namespace {

using test::agree;
using test::Build;
using test::Case;
using test::input_of;

// Everything has a form on each kind of device, and the graph computes what it did.
void expect_formed(const Case& row) {
  Build build(row.sizes, false);
  const ValueId made = row.make(build);
  const Graph graph = std::move(build).finish(made);
  const std::vector<Tensor> inputs{input_of(row.sizes, row, row.sizes[0])};
  const auto expected = interpret(graph, inputs);
  ASSERT_TRUE(expected) << expected.error().text();
  for (const char* target_name : {"tosa-int", "ethos-u55-128", "ethos-u85-256"}) {
    const TargetDesc& target = *find_target(target_name);
    const auto legal = legalize(graph, target);
    ASSERT_TRUE(legal) << legal.error().text();
    const std::string text = print(*legal);
    for (const Node& node : legal->nodes()) {
      const auto reason = target.integers.refusal(*legal, node, DType::kI8);
      EXPECT_FALSE(reason) << target.name << ", " << name_of(node.op) << ": " << text_of(*reason) << "\n" << text;
    }
    const auto formed = interpret(*legal, inputs);
    ASSERT_TRUE(formed) << formed.error().text() << "\n" << text;
    EXPECT_TRUE(agree(*formed, *expected->front(), row.numbers)) << target.name << "\n" << text;
  }
}

class EthosULegalize : public testing::TestWithParam<Case> {};
TEST_P(EthosULegalize, HasAFormAndComputesTheSame) { expect_formed(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, EthosULegalize, testing::ValuesIn(test::ethos_u_cases()), test::name_of_case);

// Indices of 64 bits are narrowed before the device sees them, where it can look up rows.
TEST(EthosULegalizeIndex, IsNarrowed) {
  const auto graph = parse_graph(R"(graph
  input %ids : i64[3]
  input %rows : f32[5,4]
  %y = index_select(%rows, %ids) axis=0 : f32[3,4]
  return %y
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const TargetDesc& u85 = *find_target("ethos-u85-256");
  const auto legal = legalize(*graph, u85);
  ASSERT_TRUE(legal) << legal.error().text();
  ASSERT_EQ(legal->nodes().size(), 2U);
  EXPECT_FALSE(u85.integers.refusal(*legal, legal->nodes()[1], DType::kI8));
  const TargetDesc& u55 = *find_target("ethos-u55-128");
  EXPECT_EQ(u55.integers.refusal(*graph, graph->nodes()[0], DType::kI8)->code, ReasonCode::kLacksOperator);
}

}  // namespace
}  // namespace isthmus::ethos_u_legalize_test
