// Concat and moveaxis, the two operators whose missing names once cut models into islands: one delegate with the right
// name, islands with each node of the host explained where it is unknown.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <random>

#include "ops/known.h"
#include "report/compile.h"
#include "support/compile.h"
#include "support/island_models.h"
#include "support/random_quant_model.h"
#include "support/renamed_archive.h"
#include "targets/registry.h"

namespace isthmus::islands_test {
namespace {

constexpr const char* kTargets[] = {"xnnpack", "ethos-u55-128", "ethos-u85-256"};

// As `isthmus check` finds it.
CompileSummary checked(const Graph& graph, const std::string& target_name) {
  const TargetDesc& target = *find_target(target_name);
  const test::Unmeasured model = test::quantize_without_data(graph, target);
  return summarize("model", target, model.prepared, &model.quantized, model.diagnostics);
}

void expect_whole(const Graph& graph) {
  for (const char* target : kTargets) {
    SCOPED_TRACE(target);
    const CompileSummary summary = checked(graph, target);
    EXPECT_EQ(summary.delegates, 1U);
    EXPECT_EQ(summary.host.size(), 0U);
  }
}

// Every node on the host says that it is unknown, or whose fault it is.
void expect_islands(const Graph& graph, std::size_t delegates, std::size_t unknown) {
  for (const char* target : kTargets) {
    SCOPED_TRACE(target);
    const CompileSummary summary = checked(graph, target);
    EXPECT_EQ(summary.delegates, delegates);
    std::size_t found = 0;
    for (const CompileSummary::HostNode& node : summary.host) {
      EXPECT_FALSE(node.reason.empty()) << node.node;
      ASSERT_FALSE(node.causes.empty()) << node.node;
      EXPECT_EQ(node.causes.back().code, "foreign-op") << node.node;
      EXPECT_FALSE(node.hint.empty()) << node.node;
      EXPECT_FALSE(node.origin.empty()) << node.node;
      found += node.code == "foreign-op" ? 1 : 0;
    }
    EXPECT_EQ(found, unknown);
  }
}

TEST(Islands, OneDelegateWithTheRightName) {
  expect_whole(test::joined_streams());
  expect_whole(test::convnext_blocks(4));
}

TEST(Islands, ComeBackWithAnUnknownName) {
  expect_islands(test::joined_streams("aten.conkat.default"), 2, 1);
  expect_islands(test::convnext_blocks(4, "aten.moveaxiz.int"), 9, 8);
}

Graph renamed_archive(const std::filesystem::path& archive, const std::string& from, const std::string& to) {
  const std::filesystem::path out = std::filesystem::path(testing::TempDir()) / "renamed_islands.pt2";
  test::write_renamed(archive, from, to, out);
  Diagnostics diagnostics;
  auto model = test::open(out, diagnostics);
  CHECK(model.has_value(), model ? "" : model.error().text());
  return std::move(model->graph);
}

TEST(Islands, ComeBackInRealArchives) {
  const std::filesystem::path models = test::source_dir() / "tests" / "models";
  const auto archive = models / "emg_cascade.pt2";
  expect_whole(renamed_archive(archive, "aten.concat.default", "aten.concatenate.default"));
  expect_islands(renamed_archive(archive, "aten.concat.default", "aten.conkat.default"), 2, 1);
}

// The file's bytes, with the nodes of this op kept off the device; with all of them on it where none is named.
Compiled compiled(const Graph& graph, const std::string& target_name, const std::string& off_device) {
  const TargetDesc& target = *find_target(target_name);
  Diagnostics diagnostics;
  const auto prepared = prepare(graph, {&target, {}}, diagnostics);
  CHECK(prepared.has_value(), prepared ? "" : prepared.error().text());
  std::vector<Tensor> inputs;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const ValueId input : graph.inputs()) {
    Tensor tensor(DType::kF32, *fixed_sizes(graph.type(input).shape));
    for (float& number : tensor.mutable_data<float>()) number = normal(random);
    inputs.push_back(std::move(tensor));
  }
  const Statistics statistics = test::observed(prepared->graph, {inputs});
  QuantConfig config;
  if (!off_device.empty()) {
    QuantRule rule;
    rule.op = off_device;
    rule.in_float = true;
    config.rules.push_back(std::move(rule));
  }
  const auto model = quantize(*prepared, target, &statistics, config, diagnostics);
  CHECK(model.has_value(), model ? "" : model.error().text());
  auto result = compile(model->quantized.graph, model->partitioning, target, {}, nullptr);
  CHECK(result.has_value(), result ? "" : result.error().text());
  return *std::move(result);
}

// What the islands cost in bytes, and that one delegate costs less than ExecuTorch's file of the same layers.
TEST(Islands, AreLargerThanOneDelegate) {
  struct Row {
    const char* name;
    Graph graph;
    const char* op;
    std::size_t islands;
    std::size_t theirs_before, theirs;  // on ethos-u55-128, as TOSA
  };
  const Row kRows[] = {{"joined streams", test::joined_streams(), "cat", 2, 31920, 29064},
                       {"4 ConvNeXt blocks", test::convnext_blocks(4), "permute", 9, 288528, 269040}};
  for (const Row& row : kRows) {
    for (const std::string target : {"ethos-u55-128", "ethos-u85-256"}) {
      const Compiled before = compiled(row.graph, target, row.op);
      const Compiled after = compiled(row.graph, target, "");
      std::cout << row.name << " for " << target << ": " << before.bytes.size() << " -> " << after.bytes.size()
                << " bytes, " << before.delegates.size() << " -> " << after.delegates.size() << " delegates\n";
      EXPECT_GE(before.delegates.size(), row.islands);
      EXPECT_EQ(after.delegates.size(), 1U);
      EXPECT_LT(after.bytes.size(), before.bytes.size());
      EXPECT_LT(after.bytes.size(), row.theirs);
      EXPECT_LT(before.bytes.size(), row.theirs_before);
    }
  }
}

}  // namespace
}  // namespace isthmus::islands_test
