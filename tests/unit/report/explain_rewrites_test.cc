// What explain says of nodes that were rewritten so that they keep the limits of a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/explain.h"
#include "report/overview.h"
#include "support/compile.h"
#include "support/ethos_u_cases.h"
#include "targets/registry.h"

namespace isthmus::explain_rewrites_test {
namespace {

using test::Build;
using test::Case;
using testing::Contains;
using testing::HasSubstr;

struct Explained {
  std::set<std::string> rewrites, in_overview;
  std::string text;
  std::vector<Explanation> nodes;
};

Explained explained(const Graph& graph, const std::string& target_name) {
  const TargetDesc& target = *find_target(target_name);
  const test::Unmeasured model = test::quantize_without_data(graph, target);
  const Outcome outcome = outcome_of(target, model.prepared, &model.quantized);
  const HostCauses host(outcome);
  Explained result;
  for (const Node& node : outcome.model.nodes()) {
    result.nodes.push_back(explain(outcome, host, node.outputs[0], {}));
    for (const Explanation::Rewritten& row : result.nodes.back().rewrites) result.rewrites.insert(row.rewrite);
    result.text += to_text(result.nodes.back());
  }
  const Overview overview =
      overview_of(summarize("model", target, model.prepared, &model.quantized, model.diagnostics), outcome, host);
  for (const Overview::Rewritten& row : overview.rewrites) result.in_overview.insert(row.rewrite);
  return result;
}

TEST(ExplainRewrites, NamesWhatKeepsALimit) {
  const std::vector<Case> cases = test::ethos_u_cases();
  const std::pair<const char*, const char*> kRows[] = {
      {"conv_far", "convolutions"},
      {"conv_high", "convolutions"},
      {"conv_groups", "convolutions"},
      {"max_far", "pools"},
      {"max_high", "pools"},
      {"avg_far", "pools"},
      {"avg_plain", "pools"},
      {"matmul_rank4", "batches"},
      {"sum_beside_many", "sums-in-parts"},
      {"transposed_far", "transposed"},
      {"cat_of_many", "split-cat"},
      {"softmax_inner", "softmax"},
      {"group_norm", "norms"},
  };
  for (const auto& [name, rewrite] : kRows) {
    SCOPED_TRACE(name);
    const auto row =
        std::ranges::find(cases, std::string_view(name), [](const Case& one) { return std::string_view(one.name); });
    ASSERT_NE(row, cases.end());
    Build build(row->sizes, false);
    const ValueId made = row->make(build);
    const Explained found = explained(std::move(build).finish(made), "ethos-u55-128");
    EXPECT_THAT(found.rewrites, Contains(rewrite));
    EXPECT_THAT(found.in_overview, Contains(rewrite));
    EXPECT_THAT(found.text, HasSubstr(std::string("rewritten for the target by ") + rewrite));
  }
}

// What the device cannot count at once is turned in parts.
TEST(ExplainRewrites, SaysWhichOperatorsANodeBecomes) {
  Build build({1, 3, 400, 400}, false);
  const ValueId turned = build.of_x(Op::kPermute, AxesAttrs{{0, 2, 1, 3}});
  const Graph graph = std::move(build).finish(turned);
  const auto operators = [&](const std::string& target) {
    std::map<std::string, std::size_t> counts;
    const Explained found = explained(graph, target);
    for (const Explanation& node : found.nodes) {
      for (const Explanation::DeviceOperators& row : node.becomes) counts[row.name] += row.count;
    }
    return counts;
  };
  EXPECT_EQ(operators("ethos-u85-256"), (std::map<std::string, std::size_t>{{"TRANSPOSE", 1}}));
  const auto parts = operators("ethos-u55-128");
  EXPECT_GT(parts.at("TRANSPOSE"), 1U);
  EXPECT_EQ(parts.at("SLICE"), parts.at("TRANSPOSE"));
  EXPECT_EQ(parts.at("CONCAT"), 1U);
  EXPECT_THAT(explained(graph, "ethos-u55-128").text, HasSubstr(" TRANSPOSE, CONCAT\n"));
}

TEST(ExplainRewrites, SaysNothingWhereNothingWasRewritten) {
  Build build({1, 3, 8, 8}, false);
  const ValueId pooled = build.of_x(Op::kMaxPool2d, MaxPoolAttrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, false});
  const Explained found = explained(std::move(build).finish(pooled), "ethos-u55-128");
  EXPECT_TRUE(found.rewrites.empty());
  EXPECT_TRUE(found.in_overview.empty());
}

}  // namespace
}  // namespace isthmus::explain_rewrites_test
