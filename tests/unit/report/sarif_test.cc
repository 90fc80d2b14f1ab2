// Fallbacks and warnings as SARIF results at files of the user.
#include "report/sarif.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/source_paths.h"

namespace isthmus::sarif_test {
namespace {

CompileSummary::HostNode fallback(std::string origin, bool needs_fix) {
  CompileSummary::HostNode node{"cat_1",
                                "cat",
                                "foreign-op",
                                "Isthmus does not know this operator",
                                std::move(origin),
                                "fusion",
                                "write it with others",
                                "conkat",
                                {},
                                needs_fix};
  node.causes.push_back({"cat_1", "cat", node.origin, "fusion", "foreign-op", "unknown", ""});
  return node;
}

nlohmann::json results_of(const CompileSummary& summary, const SourcePaths& paths) {
  return nlohmann::json::parse(to_sarif(summary, paths))["runs"][0]["results"];
}

TEST(Sarif, PutsFallbacksAtTheirLines) {
  CompileSummary summary;
  summary.model = "models/my net.pt2";
  summary.host = {fallback("networks.py:251", true), fallback("", false)};
  const auto results = results_of(summary, {{"networks.py:251", "src/net works/networks.py"}});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["ruleId"], "foreign-op");
  EXPECT_EQ(results[0]["level"], "warning");
  const auto& place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "src/net%20works/networks.py");
  EXPECT_EQ(place["region"]["startLine"], 251);
  EXPECT_EQ(results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "fusion.cat_1");
  EXPECT_EQ(results[1]["level"], "note");
  EXPECT_EQ(results[1]["ruleIndex"], results[0]["ruleIndex"]);
  EXPECT_EQ(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "models/my%20net.pt2");
}

TEST(Sarif, HasWarningsAndTheErrorToo) {
  CompileSummary summary;
  summary.warnings = {{Severity::kWarning, "join-loses-bits", "cat_1", "two bits"}};
  summary.error = Error(ErrorKind::kUnsupported, "no kernel");
  const auto results = results_of(summary, {});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["message"]["text"], "two bits");
  EXPECT_EQ(results[1]["level"], "error");
}

TEST(SourcePaths, FindTheFileInACheckout) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "source_paths";
  std::filesystem::create_directories(root / "src" / "nets");
  std::ofstream(root / "src" / "nets" / "a.py") << "x";
  OpenModel model;
  model.archive.program.nodes.resize(2);
  model.archive.program.nodes[0].metadata["stack_trace"] =
      "  File \"/home/me/project/src/nets/a.py\", line 7, in forward\n    x\n";
  model.archive.program.nodes[1].metadata["stack_trace"] = "  File \"/home/me/b.py\", line 9, in forward\n    x\n";
  const SourcePaths paths = source_paths(model, root);
  EXPECT_EQ(paths.at("a.py:7"), "src/nets/a.py");
  EXPECT_EQ(paths.at("b.py:9"), "/home/me/b.py");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace isthmus::sarif_test
