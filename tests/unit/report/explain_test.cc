// explain: who shares a scale with whom and by which tie, and which node causes each CPU fallback.
#include "report/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "report/overview.h"
#include "support/command_line.h"
#include "support/compile.h"
#include "support/models.h"
#include "support/quantized_graphs.h"
#include "support/renamed_archive.h"
#include "targets/xnnpack/desc.h"

namespace isthmus::explain_test {
namespace {

using Cli = test::CommandLine;
using Json = nlohmann::json;
using test::Finished;
using testing::HasSubstr;

const std::string kModel = "tests/models/emg_cascade.pt2";
const std::string kTarget = " --target xnnpack ";

// A device that has no floats, and conversions on the host.
TargetDesc integers_only() {
  TargetDesc desc = xnnpack::desc();
  desc.name = "integers";
  desc.integers.has_float = false;
  desc.integers.quantizes_rows = nullptr;
  desc.legalize = {};
  desc.refusal = [](const Graph& graph, const Node& node) -> std::optional<Reason> {
    if (is_conversion(graph, node)) return Reason{ReasonCode::kNoForm, "a conversion"};
    for (const ValueId id : {node.inputs[0], node.outputs[0]}) {
      if (!graph.type(id).quant) return Reason{ReasonCode::kDType, "%" + graph[id].name};
    }
    return xnnpack::desc().refusal(graph, node);
  };
  return desc;
}

test::Unmeasured quantized(std::string_view text, const TargetDesc& target) {
  return test::quantize_without_data(test::graph_of(text), target);
}

constexpr std::string_view kSoftmaxBetweenLayers = R"(graph
  input %x : f32[1,4]
  const %w : f32[4,4] #0000000000000001
  %a = linear(%x, %w) : f32[1,4]  # net.py:3 linear in first
  %b = softmax(%a) axis=1 : f32[1,4]  # net.py:4 softmax
  %c = linear(%b, %w) : f32[1,4]  # net.py:5 linear in last
  %best = argmax(%b) axes=[1] : i64[1]  # net.py:6 argmax
  return %c, %best
)";

TEST(Explain, OnTheHostBecauseItHasNoIntegers) {
  const TargetDesc target = integers_only();
  const test::Unmeasured model = quantized(kSoftmaxBetweenLayers, target);
  const Outcome outcome = outcome_of(target, model.prepared, &model.quantized);
  const HostCauses host(outcome);
  ASSERT_EQ(outcome.places.segments.size(), 2U);
  const Explanation best = explain(outcome, host, *outcome.model.find("best"), {});
  EXPECT_EQ(best.place, "host");
  EXPECT_EQ(best.precision, "i64");
  ASSERT_EQ(best.causes.size(), 1U)
      << "not because of the softmax before it: of quantized values it would read floats as well";
  EXPECT_THAT(to_text(best.causes[0]),
              HasSubstr("argmax %best (net.py:6 argmax): XNNPACK computes only in float32 and int8, "));
  const Explanation soft = explain(outcome, host, *outcome.model.find("b"), {});
  ASSERT_EQ(soft.causes.size(), 1U);
  EXPECT_THAT(to_text(soft.causes[0]),
              HasSubstr("softmax %b (net.py:4 softmax): Isthmus cannot lower this operator to XNNPACK "));
  EXPECT_EQ(soft.causes[0].code, "no-form");
  EXPECT_THAT(soft.fix, HasSubstr("with softmax %b on the device there would be 1 delegate instead of 2"));
}

TEST(Explain, TheOverviewCountsByRoots) {
  const TargetDesc target = integers_only();
  const test::Unmeasured model = quantized(kSoftmaxBetweenLayers, target);
  const Outcome outcome = outcome_of(target, model.prepared, &model.quantized);
  const HostCauses host(outcome);
  const CompileSummary summary = summarize("net", target, model.prepared, &model.quantized, {});
  const Overview overview = overview_of(summary, outcome, host);
  ASSERT_EQ(overview.roots.size(), 2U);
  EXPECT_EQ(overview.roots[0].cause.node, "b");
  EXPECT_EQ(overview.roots[0].nodes, 1U);
  EXPECT_EQ(overview.roots[0].delegates, 1U);
  EXPECT_EQ(overview.roots[1].cause.node, "best");
  EXPECT_EQ(overview.roots[1].delegates, 2U) << "none less without it";
  // Conversions around the softmax are there because of it; those of what the model takes and returns are not.
  std::set<std::string> causes;
  for (const CompileSummary::IoConversion& conversion : summary.io_conversions) causes.insert(conversion.cause);
  EXPECT_EQ(causes, (std::set<std::string>{"", "b"}));
  const std::string text = to_text(summary, false);
  EXPECT_THAT(text, HasSubstr("on the host: softmax %b (net.py:4)\n    Isthmus cannot lower this operator to XNNPACK"));
  EXPECT_THAT(text, HasSubstr("on the host: argmax %best (net.py:6)\n    XNNPACK computes only in float32"));
}

TEST(Explain, TwoCausesSideBySide) {
  constexpr std::string_view kText = R"(graph
  input %x : f32[1,4]
  %a = sigmoid(%x) : f32[1,4]
  %s = sort(%a) axis=1 : f32[1,4]
  %t = sort(%a) axis=1 descending=true : f32[1,4]
  %d = add(%s, %t) : f32[1,4]
  return %d
)";
  const test::Unmeasured model = quantized(kText, xnnpack::desc());
  const Outcome outcome = outcome_of(xnnpack::desc(), model.prepared, &model.quantized);
  const HostCauses host(outcome);
  const Explanation one = explain(outcome, host, *outcome.model.find("t"), {});
  EXPECT_THAT(one.fix,
              HasSubstr("with only sort %t on the device there would still be 2 delegates, without all 2 causes 1"));
}

TEST(Explain, InFloatBecauseOfANeighbour) {
  constexpr std::string_view kText = R"(graph
  input %x : f32[1,4]
  %a = softmax(%x) axis=1 : f32[1,4]
  %b = tanh(%a) : f32[1,4]
  return %b
)";
  const test::Unmeasured model = quantized(kText, xnnpack::desc());
  const Outcome outcome = outcome_of(xnnpack::desc(), model.prepared, &model.quantized);
  const HostCauses host(outcome);
  const Explanation tanh = explain(outcome, host, *outcome.model.find("b"), {});
  EXPECT_EQ(tanh.place, "xnnpack:0");
  EXPECT_EQ(tanh.precision, "float");
  ASSERT_EQ(tanh.causes.size(), 2U);
  EXPECT_EQ(tanh.causes[0].code, "fewest-bytes");
  EXPECT_EQ(tanh.causes[1].node, "a");
  EXPECT_EQ(tanh.causes[1].code, "no-form");
  EXPECT_EQ(tanh.fix, "");
}

TEST_F(Cli, ExplainNamesEveryBranchOfAConcat) {
  const Finished done = isthmus("explain " + kModel + kTarget + "concat --json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json json = Json::parse(done.out);
  for (const char* key : {"node", "op", "origin", "module", "precision", "place", "group", "cuts", "causes", "fix"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["op"], "cat");
  EXPECT_EQ(json["precision"], "int8");
  EXPECT_EQ(json["place"], "xnnpack:0");
  EXPECT_EQ(json["group"]["scale"], nullptr);
  std::size_t branches = 0;
  for (const Json& member : json["group"]["members"]) {
    EXPECT_TRUE(member.contains("value") && member.contains("bits_lost")) << member;
    const Json& tie = member["tie"];
    if (tie.is_null()) {
      EXPECT_EQ(member["value"], json["node"]);
      continue;
    }
    if (tie["node"] != json["node"]) continue;
    ++branches;
    EXPECT_EQ(tie["because"], "concatenates bytes and cannot rescale them");
    EXPECT_EQ(tie["origin"], json["origin"].get<std::string>() + " concat");
  }
  EXPECT_EQ(branches, 2U);
}

TEST_F(Cli, ExplainWithDataKnowsTheNumbers) {
  const Finished done = isthmus("explain " + kModel + kTarget + "concat --json --calibrate " + folder_.string() + "/s");
  EXPECT_EQ(done.code, 1);
  ASSERT_EQ(isthmus("calibrate " + kModel + kTarget + "-o " + (folder_ / "m.stats").string()).code, 0);
  const Finished with =
      isthmus("explain " + kModel + kTarget + "concat --json --calibrate " + (folder_ / "m.stats").string());
  ASSERT_EQ(with.code, 0) << with.err;
  const Json json = Json::parse(with.out);
  EXPECT_GT(json["group"]["scale"], 0);
  EXPECT_TRUE(json["group"]["zero_point"].is_number_integer());
  EXPECT_LT(json["group"]["range"][0], json["group"]["range"][1]);
  EXPECT_GT(json["loss"]["db"], 10);
}

TEST_F(Cli, ExplainAnUnknownOperatorThenRefuseIt) {
  const std::filesystem::path renamed = folder_ / "renamed.pt2";
  test::write_renamed(kModel, "aten.concat.default", "aten.conkat.default", renamed);
  const Finished all = isthmus("explain " + renamed.string() + kTarget + "--json");
  ASSERT_EQ(all.code, 1) << all.err;
  const Json overview = Json::parse(all.out);
  EXPECT_EQ(overview["delegates"], 2);
  ASSERT_EQ(overview["roots"].size(), 1U) << overview["roots"];
  EXPECT_EQ(overview["roots"][0]["code"], "foreign-op");
  EXPECT_EQ(overview["roots"][0]["delegates"], 1);
  const Finished one = isthmus("explain " + renamed.string() + kTarget + "conkat --json");
  ASSERT_EQ(one.code, 1) << one.err;
  const Json json = Json::parse(one.out);
  EXPECT_EQ(json["place"], "host");
  ASSERT_EQ(json["causes"].size(), 1U);
  EXPECT_THAT(json["causes"][0]["because"].get<std::string>(), HasSubstr("Isthmus does not know this operator"));
  EXPECT_THAT(json["fix"].get<std::string>(), HasSubstr("there would be 1 delegate instead of 2"));
  const Finished checked = isthmus("check " + renamed.string() + kTarget + "--json");
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.err, HasSubstr("ExecuTorch has no host kernel for it"));
  EXPECT_EQ(all.err, checked.err);
  EXPECT_EQ(isthmus("compile " + renamed.string() + kTarget + "-o " + (folder_ / "m.pte").string()).err, checked.err);
  EXPECT_EQ(Json::parse(checked.out)["host"][0]["causes"][0]["code"], "foreign-op");
}

TEST_F(Cli, ExplainListsWhatAWordMayMean) {
  const Finished done = isthmus("explain " + kModel + kTarget + "conv2d --json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json json = Json::parse(done.out);
  ASSERT_GT(json["matches"].size(), 1U);
  for (const Json& match : json["matches"]) EXPECT_EQ(match["op"], "conv2d");
}

TEST_F(Cli, ExplainRejectsUnknownNodes) {
  const Finished done = isthmus("explain " + kModel + kTarget + "konkat");
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("did you mean concat"));
  EXPECT_EQ(isthmus("explain " + kModel).code, 2);
}

}  // namespace
}  // namespace isthmus::explain_test
