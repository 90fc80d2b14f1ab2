// Inputs that lie channels-last in memory: --input-layout nhwc.
#include "session/input_layout.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ir/text.h"
#include "support/command_line.h"
#include "support/compile.h"
#include "targets/registry.h"

namespace isthmus::input_layout_test {
namespace {

using Cli = test::CommandLine;
using test::Finished;
using Json = nlohmann::json;

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return std::move(*graph);
}

TEST(InputLayout, WordsNameInputsOrMeanAllImages) {
  const Graph graph = graph_of(R"(graph
  input %a : f32[1,3,4,4]
  input %b : f32[1,8]
  input %c : f32[1,2,5,5]
  return %a
)");
  const Order flat = row_major(2);
  const Order plain = row_major(4);
  EXPECT_EQ(*input_orders(graph, {}), (std::vector<Order>{plain, flat, plain}));
  EXPECT_EQ(*input_orders(graph, {"nhwc"}), (std::vector<Order>{kChannelsLast, flat, kChannelsLast}));
  EXPECT_EQ(*input_orders(graph, {"nhwc", "a=nchw"}), (std::vector<Order>{plain, flat, kChannelsLast}));
  EXPECT_EQ(*input_orders(graph, {"input_2=nhwc"}), (std::vector<Order>{plain, flat, kChannelsLast}));
  EXPECT_FALSE(input_orders(graph, {"b=nhwc"}));
  EXPECT_FALSE(input_orders(graph, {"d=nhwc"}));
  EXPECT_FALSE(input_orders(graph, {"nwhc"}));
  EXPECT_FALSE(input_orders(graph_of("graph\n  input %b : f32[1,8]\n  return %b\n"), {"nhwc"}));
}

// A kernel of the host that wants its axes in order gets a copy; what quantizes takes them as they lie.
TEST(InputLayout, HostKernelsComputeTheSame) {
  const TargetDesc& target = *find_target("xnnpack");
  const Graph graph = graph_of(R"(graph
  input %x : f64[2,3,4,5]
  %s = softmax(%x) axis=1 : f64[2,3,4,5]
  %t = neg(%x) : f64[2,3,4,5]
  return %s, %t
)");
  Diagnostics diagnostics;
  const auto prepared = prepare_float(graph, {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  Tensor input(DType::kF64, {2, 3, 4, 5});
  for (std::size_t i = 0; i < 120; ++i) input.mutable_data<double>()[i] = static_cast<double>(i * i % 37);
  std::vector<std::vector<std::optional<Tensor>>> results;
  for (const std::vector<Order>& orders : {std::vector<Order>{}, std::vector<Order>{kChannelsLast}}) {
    const auto compiled = compile(prepared->graph, prepared->partitioning, target, {}, nullptr, orders);
    ASSERT_TRUE(compiled) << compiled.error().text();
    auto method = run::Method::load(Blob(compiled->bytes, nullptr));
    ASSERT_TRUE(method) << method.error().text();
    auto found = method->run(std::vector{input});
    ASSERT_TRUE(found) << found.error().text();
    results.push_back(std::move(*found));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(results[0][i]->sizes(), results[1][i]->sizes());
    EXPECT_TRUE(std::ranges::equal(results[0][i]->bytes(), results[1][i]->bytes())) << i;
  }
}

TEST_F(Cli, ChannelsLastInputsAreNotTransposed) {
  const std::string model =
      "compile tests/models/fmnist/cnn.pt2 --calibrate tests/models/fmnist/calib_32.npz --json -o ";
  const std::string data = " --reference tests/models/fmnist/cnn.pt2 --data tests/models/fmnist/test_500.npz --json";
  for (const std::string target : {"xnnpack", "ethos-u85-256"}) {
    Json evaluations[2];
    std::size_t transposes[2] = {0, 0};
    for (const bool is_last : {false, true}) {
      const std::string out = (folder_ / (is_last ? "nhwc.pte" : "nchw.pte")).string();
      const std::string layout = is_last ? " --input-layout nhwc" : "";
      const Finished done = isthmus(model + out + " --target " + target + layout);
      ASSERT_EQ(done.code, 0) << done.err;
      transposes[is_last ? 1 : 0] = Json::parse(done.out)["transposes"].size();
      const Finished shown = isthmus("inspect --json " + out);
      ASSERT_EQ(shown.code, 0) << shown.err;
      const Json order = is_last ? Json{0, 2, 3, 1} : Json{0, 1, 2, 3};
      EXPECT_EQ(Json::parse(shown.out)["inputs"][0]["dim_order"], order) << target;
      const Finished judged = isthmus("eval " + out + data);
      ASSERT_EQ(judged.code, 0) << judged.err;
      evaluations[is_last ? 1 : 0] = Json::parse(judged.out)["sqnr_db"];
    }
    EXPECT_EQ(evaluations[0], evaluations[1]) << target;
    EXPECT_LE(transposes[1], transposes[0]) << target;
  }
  const Finished wrong = isthmus(model + (folder_ / "x.pte").string() + " --target xnnpack --input-layout y=nhwc");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("no such input"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace isthmus::input_layout_test
