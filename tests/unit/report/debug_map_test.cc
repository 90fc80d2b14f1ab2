// Every instruction names its nodes, and every operator of a delegate its node.
#include "report/debug_map.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::debug_map_test {
namespace {

using nlohmann::json;

json mapped(const std::string& file, bool is_float) {
  const std::string path = test::source_dir() / "tests/models" / file;
  SessionOptions options;
  options.prepare.target = find_target("xnnpack");
  options.is_float = is_float;
  Session session = Session::create(std::make_shared<OpenModel>(open_model(path).value()), options).value();
  EXPECT_TRUE(session.place(WithData::kYes));
  EXPECT_TRUE(session.compile());
  return json::parse(debug_map(session));
}

TEST(DebugMap, NamesTheNodeOfEachOperatorOfADelegate) {
  const json map = mapped("fmnist/cnn.pt2", false);
  ASSERT_EQ(map["instructions"].size(), 1);
  const json& call = map["instructions"][0];
  EXPECT_EQ(call["delegate"], "XnnpackBackend");
  std::set<std::string> sources;
  std::set<int> handles;
  for (const json& node : call["nodes"]) {
    handles.insert(node["debug_handle"].get<int>());
    if (node.contains("source")) sources.insert(node["source"]);
  }
  EXPECT_EQ(handles.size(), call["nodes"].size());
  EXPECT_TRUE(sources.contains("gen_corpus.py:546"));
  bool has_concat = false;
  for (const json& one : call["operators"]) {
    EXPECT_TRUE(handles.contains(one["debug_handle"].get<int>())) << one;
    has_concat = has_concat || (one["operator"] == "concatenate2" || one["node"] == "concat");
  }
  EXPECT_TRUE(has_concat);
  EXPECT_EQ(map["debug_handle_map"]["forward"]["0"].size(), call["nodes"].size());
  EXPECT_EQ(map["delegate_map"]["forward"]["0"]["name"], "XnnpackBackend");
  EXPECT_TRUE(map["delegate_map"]["forward"]["0"]["delegate_map"].empty());
}

TEST(DebugMap, NamesTheNodesOfCallsOnTheHost) {
  const json map = mapped("probes/odd.pt2", true);
  std::set<std::string> kernels, delegates;
  for (const json& row : map["instructions"]) {
    if (row.contains("delegate")) delegates.insert(row["delegate"]);
    if (!row.contains("kernel")) continue;
    for (const json& node : row["nodes"]) {
      kernels.insert(node["node"]);
      EXPECT_EQ(map["debug_handle_map"]["forward"][std::to_string(row["instruction"].get<int>())][0],
                node["debug_handle"]);
    }
  }
  EXPECT_TRUE(kernels.contains("embedding"));
  EXPECT_EQ(delegates, std::set<std::string>{"XnnpackBackend"});
}

void collect(const json& value, const std::string& path, std::set<std::string>& paths) {
  for (const auto& [key, inner] : value.items()) {
    const std::string below = value.is_array() ? path + "[]" : path.empty() ? key : path + "." + key;
    if (!value.is_array()) paths.insert(below);
    // Names below the maps are data.
    if (inner.is_structured() && !below.ends_with("_map")) collect(inner, below, paths);
  }
}

TEST(DebugMap, IsDescribedKeyByKey) {
  std::set<std::string> described, found;
  std::ifstream page(test::source_dir() / "docs/report.md");
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `")) described.insert(line.substr(3, line.find('`', 3) - 3));
  }
  collect(mapped("fmnist/cnn.pt2", false), "", found);
  collect(mapped("probes/odd.pt2", true), "", found);
  EXPECT_EQ(found, described);
}

}  // namespace
}  // namespace isthmus::debug_map_test
