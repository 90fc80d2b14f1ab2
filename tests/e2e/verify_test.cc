// Defects that are put into programs are found where they are, and sound programs depart nowhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "formats/executorch/pte.h"
#include "formats/executorch/xnn_blob.h"
#include "formats/npy.h"
#include "program/anatomy/anatomy.h"
#include "program/run/method.h"
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

// What a device would leave of a run of `file`, as files in `folder`. `disturbed` computes nonsense.
void dump(const std::string& file, const Tensor& input, const std::filesystem::path& folder,
          std::optional<std::size_t> disturbed, const std::function<bool(const std::string& name)>& is_wanted) {
  const Blob bytes = map_file(file).value();
  const pte::Program program = pte::read_program(bytes).value();
  const anatomy::Graph graph = anatomy::take_apart(program, program.plans[0]).value();
  run::LoadOptions options;
  options.shows_values = true;
  run::Method method = run::Method::load(bytes, "forward", options).value();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const auto show = [&](const anatomy::Event& event, const Tensor& elements) {
    for (const anatomy::Node& node : graph.nodes) {
      for (const std::uint32_t output : node.outputs) {
        std::string stem = graph.values[output].name;
        std::ranges::replace(stem, ' ', '_');
        if (graph.values[output].event != event || !is_wanted(stem)) continue;
        Tensor copy(elements.dtype(), elements.sizes());
        std::ranges::copy(elements.bytes(), copy.mutable_bytes().begin());
        if (node.number == disturbed) {
          for (std::byte& byte : copy.mutable_bytes()) byte ^= std::byte{0x35};
        }
        EXPECT_TRUE(write_file((folder / (stem + ".npy")).string(), write_npy(copy.view()).value()));
      }
    }
  };
  const std::vector<Tensor> inputs{input};
  EXPECT_TRUE(method.run(inputs, show).has_value());
}

TEST_F(Verify, ComparesWhatADeviceLeft) {
  const std::string file = compiled("cnn", "xnnpack");
  // Nothing like the images that ranges were calibrated with: means are beyond theirs, and cut off.
  Tensor input(DType::kF32, {1, 1, 28, 28});
  for (std::size_t i = 0; i < input.mutable_data<float>().size(); ++i) {
    input.mutable_data<float>()[i] = static_cast<float>(i % 29) / 29;
  }
  std::filesystem::create_directory(folder_ / "data");
  ASSERT_TRUE(write_file(path("data/x.npy"), write_npy(input.view()).value()));
  const std::string here = "verify " + file + " --reference " + kModels + "cnn.pt2 --data " + path("data") + " --json";
  const std::string there = here + " --device-outputs " + path("dumped");
  const auto all = [](const std::string&) { return true; };
  const auto departure = [&](const std::string& arguments) {
    const auto done = isthmus(arguments);
    EXPECT_EQ(done.code, 3) << done.err;
    return json::parse(done.out, nullptr, false)["departure"];
  };
  EXPECT_EQ(departure(here)["model_value"], "mean");

  // What the program cuts off is not the device's doing, in each step and in all of them at once.
  dump(file, input, folder_ / "dumped", {}, all);
  const auto sound = isthmus(there);
  EXPECT_EQ(sound.code, 0) << sound.err;
  dump(file, input, folder_ / "dumped", {}, [](const std::string& name) { return name.starts_with("output"); });
  const auto sound_output = isthmus(there);
  EXPECT_EQ(sound_output.code, 0) << sound_output.err;
  // A kernel of the device that computes nonsense: early, in the middle of the network, at what is cut off, and behind
  // it.
  for (const std::size_t number : {3, 7, 10, 14}) {
    dump(file, input, folder_ / "dumped", number, all);
    const json found = departure(there);
    EXPECT_EQ(found["number"], number) << found;
  }
  const auto none = isthmus("verify " + file + " --reference " + kModels + "cnn.pt2 --device-outputs " + path("data"));
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("named after a value of the program"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace isthmus::verify_test
