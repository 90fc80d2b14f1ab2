// ConvNeXt models as PyTorch exports them, with moveaxis made unknown: islands, and 1 delegate with the right name.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "report/compile.h"
#include "support/compile.h"
#include "support/renamed_archive.h"
#include "targets/registry.h"

namespace isthmus::islands_slow_test {
namespace {

CompileSummary checked(const std::filesystem::path& archive, const std::string& target_name) {
  const TargetDesc& target = *find_target(target_name);
  Diagnostics diagnostics;
  const auto loaded = test::open(archive, diagnostics);
  CHECK(loaded.has_value(), loaded ? "" : loaded.error().text());
  const auto prepared = prepare(loaded->graph, {&target, {}}, diagnostics);
  CHECK(prepared.has_value(), prepared ? "" : prepared.error().text());
  const auto model = quantize(*prepared, target, nullptr, {}, diagnostics);
  CHECK(model.has_value(), model ? "" : model.error().text());
  return summarize("model", target, *prepared, &*model, diagnostics);
}

TEST(IslandsSlow, ComeBackInExportedModels) {
  const std::filesystem::path folder = test::shared_dir() / "models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the models are not here";
  // Towers side by side share their islands.
  const struct {
    const char* model;
    const char* from;
    const char* to;
    std::size_t delegates, unknown;
  } kRows[] = {{"fmnist_convnext", "aten.moveaxis.int", "aten.moveaxiz.int", 7, 6},
               {"convnext_ensemble", "aten.moveaxis.int", "aten.moveaxiz.int", 5, 8},
               {"emg_cascade", "aten.concat.default", "aten.conkat.default", 2, 1}};
  const std::filesystem::path renamed = std::filesystem::path(testing::TempDir()) / "renamed_islands_slow.pt2";
  for (const auto& row : kRows) {
    const std::filesystem::path archive = folder / row.model / "model.pt2";
    test::write_renamed(archive, row.from, row.to, renamed);
    for (const std::string target : {"xnnpack", "ethos-u55-128", "ethos-u85-256"}) {
      SCOPED_TRACE(row.model + (" on " + target));
      const CompileSummary whole = checked(archive, target);
      EXPECT_EQ(whole.delegates, 1U);
      EXPECT_EQ(whole.host.size(), 0U);
      const CompileSummary islands = checked(renamed, target);
      EXPECT_EQ(islands.delegates, row.delegates);
      EXPECT_EQ(islands.host.size(), row.unknown);
      for (const CompileSummary::HostNode& node : islands.host) {
        EXPECT_EQ(node.code, "foreign-op");
        EXPECT_EQ(node.causes.back().code, "foreign-op");
        EXPECT_FALSE(node.origin.empty());
      }
    }
  }
}

bool calls(const std::filesystem::path& archive, const std::string& name) {
  Diagnostics diagnostics;
  const auto loaded = test::open(archive, diagnostics);
  CHECK(loaded.has_value(), loaded ? "" : loaded.error().text());
  return std::ranges::any_of(loaded->graph.nodes(), [&](const Node& node) {
    const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
    return foreign != nullptr && foreign->target == name;
  });
}

// Single joins and moves: whatever is on the host is there because of the unknown one.
TEST(IslandsSlow, ComeBackInSmallCases) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "ops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the corpus is not here";
  const std::filesystem::path renamed = std::filesystem::path(testing::TempDir()) / "renamed_case.pt2";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("case_") || entry.path().extension() != ".pt2") continue;
    for (const std::string name :
         {"aten.cat.default", "aten.concat.default", "aten.hstack.default", "aten.moveaxis.int"}) {
      if (!calls(entry.path(), name)) continue;
      ++count;
      test::write_renamed(entry.path(), name, "aten.unheard_of.default", renamed);
      for (const std::string target : {"xnnpack", "ethos-u55-128", "ethos-u85-256"}) {
        SCOPED_TRACE(entry.path().filename().string() + " without " + name + " on " + target);
        const CompileSummary whole = checked(entry.path(), target);
        EXPECT_EQ(whole.delegates, 1U);
        EXPECT_EQ(whole.host.size(), 0U);
        const CompileSummary islands = checked(renamed, target);
        EXPECT_GE(islands.host.size(), 1U);
        for (const CompileSummary::HostNode& node : islands.host) {
          EXPECT_EQ(node.causes.back().code, "foreign-op") << node.node;
        }
      }
    }
  }
  EXPECT_GE(count, 16U);
}

}  // namespace
}  // namespace isthmus::islands_slow_test
