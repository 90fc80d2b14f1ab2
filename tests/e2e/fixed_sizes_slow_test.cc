// Models of any batch for devices that need every size: fixed to the example's, in one delegate, and said so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "report/compile.h"
#include "support/compile.h"
#include "targets/registry.h"

namespace isthmus::fixed_sizes_slow_test {
namespace {

TEST(FixedSizesSlow, EveryModelOfAnyBatch) {
  const std::filesystem::path folder = test::shared_dir() / "models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the models are not here";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file != "model_dynamic.pt2" && file != "model_unbounded.pt2") continue;
    ++count;
    for (const std::string target_name : {"tosa-int", "ethos-u55-128", "ethos-u85-256"}) {
      SCOPED_TRACE(entry.path().string() + " on " + target_name);
      const TargetDesc& target = *find_target(target_name);
      Diagnostics diagnostics;
      const auto loaded = test::open(entry.path(), diagnostics);
      ASSERT_TRUE(loaded) << loaded.error().text();
      const auto prepared = prepare(loaded->graph, {&target, {}}, diagnostics);
      ASSERT_TRUE(prepared) << prepared.error().text();
      const auto model = quantize(*prepared, target, nullptr, {}, diagnostics);
      ASSERT_TRUE(model) << model.error().text();
      const CompileSummary summary = summarize("model", target, *prepared, &*model, diagnostics);
      EXPECT_EQ(summary.delegates, 1U);
      EXPECT_EQ(summary.host.size(), 0U);
      EXPECT_TRUE(std::ranges::any_of(summary.warnings, [](const Diagnostic& entry_of) {
        return entry_of.code == "fixed-size" || entry_of.code == "unbounded-size";
      }));
    }
  }
  EXPECT_GT(count, 8U);
}

}  // namespace
}  // namespace isthmus::fixed_sizes_slow_test
