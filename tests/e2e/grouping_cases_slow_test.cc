// Who shares with whom in the grouping cases of the operator corpus and in the three models, on every kind of target.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/compile_quantized.h"
#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::grouping_cases_slow_test {
namespace {

using ::testing::HasSubstr;
using Names = std::set<std::string>;

constexpr const char* kTargets[] = {"xnnpack", "tosa-int", "ethos-u85-256", "ethos-u55-128"};

// The members of the group that a value is in; empty where it has none.
Names group_of(const QuantizedModel& model, const std::string& name) {
  Names result;
  const Graph& graph = model.model;
  const auto id = graph.find(name);
  if (!id || !model.plan.group_of[id->index]) return result;
  for (const Member& member : model.plan.group(*id)->members) result.insert(graph[member.value].name);
  return result;
}

Names cuts_of(const QuantizedModel& model) {
  Names result;
  const Graph& graph = model.model;
  for (const Cut& cut : model.plan.cuts) {
    const Node& node = graph[cut.tie.node];
    result.insert(fmt::format("{} -> {}", graph[node.inputs[cut.tie.input]].name, graph[node.outputs[0]].name));
  }
  return result;
}

struct GroupingCase {
  const char* name;
  std::vector<Names> groups;
  Names cuts;
  bool has_16_bits = true;  // whether it holds on targets with 16 bits, too
};

const std::vector<GroupingCase>& grouping_cases() {
  static const std::vector<GroupingCase> kCases{
      // Branches of ranges 1, 4 and 16 that only the joins read lose nothing by sharing.
      {"cat_of_cats", {{"cat", "cat_1", "conv2d", "mul", "mul_1"}}, {}},
      {"cat_small_conv_and_input", {{"a", "cat", "mul"}}, {}},
      {"cat_constant_50", {{"b_k", "cat", "conv2d"}}, {}},
      {"cat_same_three_times", {{"cat", "conv2d"}}, {}},
      // The sum reads what the wide join would cost its bits.
      // With 16 bits it loses none.
      {"cat_wide_then_skip_add", {{"cat", "mul"}, {"conv2d"}}, {"conv2d -> cat"}, false},
      {"concat_dynamic_h", {{"concat", "conv2d", "conv2d_1"}}, {}},
      // Each relu is part of its convolution, wherever it stands.
      {"relu_not_next_node", {{"conv2d", "relu"}, {"conv2d_1", "relu_1"}}, {}},
      // A part of the join's quantized values cannot have more bits than they have.
      {"cls_token_cat", {}, {}},
  };
  return kCases;
}

TEST(GroupingCasesSlow, AreGroupedAsTheyShould) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the corpus is not here";
  QuantConfig config;
  config.front = 0;
  config.outputs = IoType::kInt8;  // so that nothing at the end is in float
  for (const GroupingCase& facts : grouping_cases()) {
    const std::filesystem::path file = folder / fmt::format("case_{}.pt2", facts.name);
    const auto runs = test::recorded_runs(folder / fmt::format("case_{}.npz", facts.name));
    ASSERT_TRUE(runs) << facts.name << ": " << runs.error().text();
    for (const char* target : kTargets) {
      SCOPED_TRACE(fmt::format("{} on {}", facts.name, target));
      if (!facts.has_16_bits && find_target(target)->integers.storage.size() > 1) continue;
      const auto program = test::quantize_model(file, {(*runs)[0].inputs}, config, false, target);
      ASSERT_TRUE(program) << program.error().text();
      EXPECT_EQ(program->delegates(), 1U);
      for (const Names& group : facts.groups) EXPECT_EQ(group_of(program->model, *group.rbegin()), group);
      EXPECT_EQ(cuts_of(program->model), facts.cuts);
    }
  }
}

TEST(GroupingCasesSlow, AJoinThatLosesBitsNamesBothBranches) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the corpus is not here";
  const auto runs = test::recorded_runs(folder / "case_cls_token_cat.npz");
  ASSERT_TRUE(runs) << runs.error().text();
  QuantConfig config;
  config.wide = false;
  for (const char* target : {"tosa-int", "ethos-u85-256", "ethos-u55-128"}) {
    const auto program =
        test::quantize_model(folder / "case_cls_token_cat.pt2", {(*runs)[0].inputs}, config, false, target);
    ASSERT_TRUE(program) << program.error().text();
    std::vector<std::string> texts;
    for (const auto& entry : program->diagnostics.entries()) {
      if (entry.code == "join-loses-bits") texts.push_back(entry.text);
    }
    ASSERT_EQ(texts.size(), 1U) << target;
    EXPECT_THAT(texts[0], HasSubstr("%p_cls ")) << target;
    EXPECT_THAT(texts[0], HasSubstr("%transpose ")) << target;
  }
}

// What is decided without data.
struct Decided {
  std::size_t delegates = 0;
  std::set<Names> groups;         // without constants: an exporter may have made values of them, or not
  bool needs_fixed_size = false;  // some node has no integers on the target because a size is symbolic
};
Expected<Decided> decided(const std::filesystem::path& file, const std::string& target_name) {
  Diagnostics diagnostics;
  const Model model = TRY(test::open(file, diagnostics));
  const TargetDesc& target = *find_target(target_name);
  const Prepared prepared = TRY(prepare(model.graph, {&target, {}}, diagnostics));
  const QuantizedModel quantized = TRY(quantize(prepared, target, nullptr, {}, diagnostics));
  Decided result{quantized.partitioning.segments.size(), {}, false};
  for (const Group& group : quantized.plan.groups) {
    Names members;
    for (const Member& member : group.members) {
      const Value& value = quantized.model[member.value];
      if (value.kind != ValueKind::kConstant) members.insert(value.name);
    }
    result.groups.insert(members);
  }
  for (const std::optional<Reason>& reason : quantized.plan.reasons) {
    result.needs_fixed_size = result.needs_fixed_size || (reason && reason->code == ReasonCode::kDynamicShape);
  }
  return result;
}

TEST(GroupingCasesSlow, SizesAndExportersChangeNoGroup) {
  const std::filesystem::path models = test::shared_dir() / "models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "the models are not here";
  for (const char* name : {"emg_cascade", "convnext_ensemble", "deit_micro"}) {
    const std::filesystem::path files[] = {
        models / name / "model.pt2", models / name / "model_dynamic.pt2", models / name / "model_unbounded.pt2",
        models / "torch26" / name / "model.pt2", models / "torch26" / name / "model_dynamic.pt2"};
    for (const char* target : kTargets) {
      const auto expected = decided(files[0], target);
      ASSERT_TRUE(expected) << expected.error().text();
      for (const std::filesystem::path& file : files) {
        const auto found = decided(file, target);
        ASSERT_TRUE(found) << found.error().text();
        EXPECT_EQ(found->delegates, 1U) << file << " on " << target;
        if (found->needs_fixed_size) {
          // What computes in float for want of a size has no group; no other group changes for that.
          EXPECT_TRUE(std::ranges::includes(expected->groups, found->groups)) << file << " on " << target;
        } else {
          EXPECT_EQ(found->groups, expected->groups) << file << " on " << target;
        }
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::grouping_cases_slow_test
