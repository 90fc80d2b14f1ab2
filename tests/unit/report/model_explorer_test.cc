// What Model Explorer opens: a collection of graphs whose nodes name the ends of their edges.
#include "report/model_explorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "formats/executorch/pte.h"
#include "session/open_model.h"
#include "support/models.h"

namespace isthmus::model_explorer_test {
namespace {

using nlohmann::json;

json explored(const std::string& file) {
  const std::string path = test::source_dir() / "tests/models" / file;
  if (file.ends_with(".pte")) {
    const pte::Program program = pte::read_program(map_file(path).value()).value();
    return json::parse(to_model_explorer(anatomy::take_apart(program, program.plans[0]).value(), file));
  }
  return json::parse(to_model_explorer(anatomy::take_apart(open_model(path).value().model.graph), file));
}

const json& node_called(const json& nodes, const std::string& label) {
  for (const json& node : nodes) {
    if (node["label"] == label) return node;
  }
  static const json none;
  return none;
}

TEST(ModelExplorer, NamesEveryEndOfAnEdge) {
  for (const char* file : {"fmnist/cnn.pt2", "fmnist/vit.pt2", "probes/odd.pt2", "state/decoder.pt2",
                           "pte/vit_tokens_xnnpack_reverted.pte", "pte/emg_u55tosa_v2_fixed.pte"}) {
    const json collection = explored(file);
    EXPECT_EQ(collection["label"], file);
    ASSERT_EQ(collection["graphs"].size(), 1);
    std::set<std::string> ids;
    std::size_t edges = 0;
    for (const json& node : collection["graphs"][0]["nodes"]) {
      EXPECT_TRUE(ids.insert(node["id"]).second) << file << ": " << node["id"];
      EXPECT_TRUE(node["label"].is_string() && node["namespace"].is_string()) << file;
      for (const json& edge : node["incomingEdges"]) {
        EXPECT_TRUE(ids.contains(edge["sourceNodeId"])) << file << ": " << edge;
        EXPECT_TRUE(edge["sourceNodeOutputId"].is_string() && edge["targetNodeInputId"].is_string());
        ++edges;
      }
      for (const json& attribute : node["attrs"]) EXPECT_TRUE(attribute["value"].is_string()) << attribute;
    }
    EXPECT_GT(edges, ids.size() / 2) << file;
  }
}

TEST(ModelExplorer, KeepsModulesShapesAndSourceLines) {
  const json nodes = explored("fmnist/cnn.pt2")["graphs"][0]["nodes"];
  const json& concat = node_called(nodes, "aten.concat.default");
  EXPECT_EQ(concat["incomingEdges"].size(), 2);
  EXPECT_EQ(concat["outputsMetadata"][0]["attrs"][1]["key"], "tensor_shape");
  EXPECT_EQ(concat["outputsMetadata"][0]["attrs"][1]["value"], "f32[1,32,14,14]");
  EXPECT_THAT(concat["attrs"], testing::Contains(json{{"key", "source"}, {"value", "gen_corpus.py:546"}}));
  EXPECT_EQ(node_called(nodes, "aten.conv2d.default")["namespace"], "stem/0");
  EXPECT_EQ(
      node_called(explored("pte/vit_tokens_xnnpack_reverted.pte")["graphs"][0]["nodes"], "convolution_2d")["namespace"],
      "delegate 0");
}

}  // namespace
}  // namespace isthmus::model_explorer_test
