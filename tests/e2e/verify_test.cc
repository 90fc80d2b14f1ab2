// Defects that are put into programs are found where they are, and sound programs depart nowhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "formats/executorch/pte.h"
#include "formats/executorch/xnn_blob.h"
#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::verify_test {
namespace {

using nlohmann::json;

const std::string kModels = "tests/models/fmnist/";

class Verify : public test::CommandLine {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string compiled(const std::string& model, const std::string& target) const {
    const std::string file = path(model + "." + target + ".pte");
    const auto done = isthmus("compile " + kModels + model + ".pt2 --target " + target + " --calibrate " + kModels +
                              "calib_32.npz -q -o " + file);
    EXPECT_EQ(done.code, 0) << done.err;
    return file;
  }

  // The same program with another graph in its first delegate.
  std::string changed(const std::string& file, const std::function<void(xnn::Graph&)>& change) const {
    pte::Program program = pte::read_program(map_file(file).value()).value();
    pte::Delegate& delegate = program.plans[0].delegates[0];
    xnn::Graph graph = xnn::read_blob(delegate.blob).value();
    change(graph);
    delegate.blob = Blob::owning(xnn::write_blob(graph).value());
    const std::string result = path("changed.pte");
    EXPECT_TRUE(write_file(result, pte::write_program(program).value()));
    return result;
  }

  json verified(const std::string& file, const std::string& model, int code, const std::string& more = "") const {
    const auto done = isthmus("verify " + file + " --reference " + kModels + model + ".pt2 --data " + kModels +
                              "calib_32.npz --json " + more);
    EXPECT_EQ(done.code, code) << done.err << done.out;
    EXPECT_EQ(done.err.empty(), code == 0) << done.err;
    return json::parse(done.out, nullptr, false);
  }
};

// The nodes that `wanted` chooses, by number.
std::vector<std::size_t> nodes_where(const xnn::Graph& graph, const std::function<bool(const xnn::Node&)>& wanted) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (wanted(graph.nodes[i])) result.push_back(i);
  }
  return result;
}

TEST_F(Verify, SoundProgramsDepartNowhere) {
  for (const char* target : {"xnnpack", "tosa-int"}) {
    const json found = verified(compiled("cnn", target), "cnn", 0);
    EXPECT_FALSE(found["departs"].get<bool>());
    EXPECT_GT(found["outputs"][0]["sqnr_db"].get<double>(), 35);
    EXPECT_GE(found["steps"].size(), 15);
    for (const json& step : found["steps"]) EXPECT_GE(step["own_db"].get<double>(), 20) << step;
    verified(path(std::string("cnn.") + target + ".pte"), "cnn", 3, "--min-sqnr 1000");
  }
}

TEST_F(Verify, NamesTheFirstOfTwoLayersWithEachOthersWeights) {
  std::size_t first = 0;
  const std::string file = changed(compiled("vit", "xnnpack"), [&](xnn::Graph& graph) {
    const auto layers =
        nodes_where(graph, [](const xnn::Node& node) { return name_of(node.kind) == "fully_connected"; });
    for (std::size_t i = 1; i < layers.size(); ++i) {
      xnn::Node& a = graph.nodes[layers[i]];
      for (std::size_t j = i + 1; j < layers.size() && first == 0; ++j) {
        xnn::Node& b = graph.nodes[layers[j]];
        const xnn::Value& left = graph.values[a.inputs[1]];
        const xnn::Value& right = graph.values[b.inputs[1]];
        // Sums of rows are layers, too, and all alike.
        if (left.dims != right.dims || left.data == 0 || right.data == 0) continue;
        const xnn::Constant& p = graph.constants[left.data];
        const xnn::Constant& q = graph.constants[right.data];
        if (p.key == q.key && p.bytes.text() == q.bytes.text()) continue;
        std::swap(a.inputs[1], b.inputs[1]);
        first = layers[i];
      }
    }
  });
  ASSERT_GT(first, 0);
  const json found = verified(file, "vit", 3);
  EXPECT_EQ(found["departure"]["number"], first) << found["departure"];
  EXPECT_EQ(found["departure"]["op"], "fully_connected");
  EXPECT_EQ(found["departure"]["place"], "delegate 0");
}

TEST_F(Verify, NamesTheNodeWhoseZeroPointCutsItsNumbers) {
  std::size_t wrong = 0;
  const std::string file = changed(compiled("cnn", "xnnpack"), [&](xnn::Graph& graph) {
    const auto is_layer = [](const xnn::Node& node) { return std::holds_alternative<xnn::ConvFields>(node.fields); };
    for (const std::size_t i : nodes_where(graph, is_layer)) {
      const std::uint32_t value = graph.nodes[i].outputs[0];
      const auto readers = nodes_where(
          graph, [&](const xnn::Node& node) { return std::ranges::find(node.inputs, value) != node.inputs.end(); });
      auto* quant = std::get_if<xnn::PerTensor>(&graph.values[value].quant);
      if (i < 3 || readers.size() != 1 || !is_layer(graph.nodes[readers[0]]) || quant == nullptr) continue;
      quant->zero_point = 100;
      wrong = i;
      break;
    }
  });
  ASSERT_GT(wrong, 0);
  const json found = verified(file, "cnn", 3);
  EXPECT_EQ(found["departure"]["number"], wrong) << found["departure"];
  EXPECT_TRUE(found["departure"].contains("model_value"));
}

TEST_F(Verify, NamesWhatMovesElementsToWrongPlaces) {
  std::size_t wrong = 0;
  const std::string file = changed(compiled("vit", "xnnpack"), [&](xnn::Graph& graph) {
    // Queries, keys and values are as many as heads: the two axes can change places.
    for (std::size_t i = 0; i < graph.nodes.size() && wrong == 0; ++i) {
      auto* fields = std::get_if<xnn::TransposeFields>(&graph.nodes[i].fields);
      if (fields == nullptr || fields->order != std::vector<std::uint32_t>{2, 0, 3, 1, 4}) continue;
      fields->order = {3, 0, 2, 1, 4};
      wrong = i;
    }
  });
  ASSERT_GT(wrong, 0);
  const json found = verified(file, "vit", 3);
  EXPECT_EQ(found["departure"]["number"], wrong) << found["departure"];
  EXPECT_TRUE(found["departure"]["moves_elements"].get<bool>());
}

}  // namespace
}  // namespace isthmus::verify_test
