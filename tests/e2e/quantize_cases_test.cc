// Concat, moveaxis and the join of a class token: one delegate, nothing on the host, and the answer is right.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "interpret/interpreter.h"
#include "support/compile.h"
#include "support/compile_quantized.h"
#include "support/quantized_graphs.h"
#include "targets/registry.h"

namespace isthmus::quantize_cases_test {
namespace {

std::filesystem::path models() { return test::source_dir() / "tests" / "models"; }

void expect_right(const test::QuantizedProgram& program, const std::vector<Tensor>& inputs, double min_db) {
  EXPECT_EQ(program.delegates(), 1U);
  EXPECT_EQ(program.host_calls(), 0U);
  const auto expected = interpret(program.prepared.graph, inputs);
  ASSERT_TRUE(expected) << expected.error().text();
  const auto found = test::run_program(program, inputs);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_GE(test::sqnr(*found, *expected), min_db);
}

TEST(QuantizeCases, ConcatOfTwoStreams) {
  const std::vector<Tensor> inputs = test::read_tensors(models(), "emg_cascade_input_");
  const auto program = test::quantize_model(models() / "emg_cascade.pt2", {inputs});
  ASSERT_TRUE(program) << program.error().text();
  expect_right(*program, inputs, 45);
  const auto older = test::quantize_model(models() / "torch26" / "emg_cascade.pt2", {inputs});
  ASSERT_TRUE(older) << older.error().text();
  expect_right(*older, inputs, 45);
  EXPECT_EQ(older->model.plan.groups.size(), program->model.plan.groups.size());
  EXPECT_EQ(older->model.plan.cuts.size(), program->model.plan.cuts.size());
}

TEST(QuantizeCases, TransformerWithAClassToken) {
  const std::vector<Tensor> inputs = test::read_tensors(models(), "deit_micro_input_");
  const auto program = test::quantize_model(models() / "deit_micro.pt2", {inputs});
  ASSERT_TRUE(program) << program.error().text();
  expect_right(*program, inputs, 41.5);
}

// Patches of an image behind a class token, in either order, and what reads all of them.
Graph token_graph(bool class_first, double size_of_token, std::string_view move) {
  Graph graph =
      test::graph_of(std::string(R"(graph
  input %image : f32[1,2,8,8]
  const %filter : f32[4,2,1,1] = [0.3,-0.4,0.5,0.2,-0.3,0.4,0.25,-0.15]
  const %token : f32[1,1,4] = [0.9,-0.7,0.4,0.1]
  const %again : f32[2,4,1,1] = [0.3,-0.2,0.5,0.1,-0.4,0.3,0.2,0.6]
  %conv = conv2d(%image, %filter) stride=[2,2] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,4,4]
  %flat = reshape(%conv) shape=[1,4,16] : f32[1,4,16]
)") + std::string(move) +
                     (class_first ? "  %tokens = cat(%token, %patches) axis=1 : f32[1,17,4]  # vit.py:41 concat\n"
                                  : "  %tokens = cat(%patches, %token) axis=1 : f32[1,17,4]  # vit.py:41 concat\n") +
                     R"(  %turned = permute(%tokens) axes=[0,2,1] : f32[1,4,17]
  %rows = reshape(%turned) shape=[1,4,1,17] : f32[1,4,1,17]
  %mixed = conv2d(%rows, %again) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,1,17]
  %skip = conv2d(%conv, %again) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,4,4]
  return %mixed, %skip
)");
  Graph result;
  std::vector<ValueId> now(graph.values().size());
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    const ValueId id{i};
    const Value& value = graph[id];
    if (value.kind == ValueKind::kInput) now[i] = result.add_input(value.name, value.type);
    if (value.kind != ValueKind::kConstant) continue;
    Tensor data(DType::kF32, graph.constant(id)->data->sizes);
    const Tensor given = Tensor::from(*graph.constant(id)->data);
    const double factor = value.name == "token" ? size_of_token : 1;
    for (std::size_t k = 0; k < given.data<float>().size(); ++k) {
      data.mutable_data<float>()[k] = static_cast<float>(factor * static_cast<double>(given.data<float>()[k]));
    }
    now[i] = result.add_constant(value.name, data.view());
  }
  for (const Node& node : graph.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(now[input.index]);
    const Value& value = graph[node.outputs[0]];
    const NodeId made = result.add_node(node.op, node.attrs, inputs, {{value.name, value.type}}, node.origin);
    now[node.outputs[0].index] = result[made].outputs[0];
  }
  for (const Output& output : graph.outputs()) {
    result.add_output({now[std::get<ValueId>(output.value).index], output.kind, output.target});
  }
  return result;
}
constexpr std::string_view kPermute = "  %patches = permute(%flat) axes=[0,2,1] : f32[1,16,4]  # vit.py:40 moveaxis\n";

std::vector<Tensor> image() {
  Tensor tensor(DType::kF32, {1, 2, 8, 8});
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (float& number : tensor.mutable_data<float>()) number = normal(random);
  return {tensor};
}

TEST(QuantizeCases, TokenJoinInEitherOrder) {
  QuantConfig config;
  config.front = 0;
  for (const double size : {0.05, 1.0, 40.0}) {
    const auto first = test::quantize_graph(token_graph(true, size, kPermute), {image()}, config);
    const auto last = test::quantize_graph(token_graph(false, size, kPermute), {image()}, config);
    ASSERT_TRUE(first) << first.error().text();
    ASSERT_TRUE(last) << last.error().text();
    EXPECT_EQ(test::groups_text(first->model), test::groups_text(last->model)) << size;
    // A wide token must not cost the skip its bits: the conv's result is rescaled on its way to the join.
    EXPECT_EQ(first->model.plan.cuts.size(), size > 10 ? 1U : 0U) << size;
    EXPECT_EQ(last->model.plan.cuts.size(), first->model.plan.cuts.size()) << size;
    expect_right(*first, image(), 34);
    expect_right(*last, image(), 34);
  }
}

// Made-up scales must not make one quantized value of two bounds.
TEST(QuantizeCases, NarrowBoundsStayOnTheDeviceWithoutData) {
  for (const char* bounds : {"min=-0.4 max=0.5", "min=0.1 max=0.101", "min=60.0 max=60.5", "min=-3.0 max=-2.5"}) {
    const Graph graph = test::graph_of(std::string(R"(graph
  input %x : f32[1,4,6,8]
  %conv = max_pool2d(%x) kernel=[2,2] stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,5,7]
  %clip = clamp(%conv) )") + bounds + R"( : f32[1,4,5,7]
  return %clip
)");
    QuantConfig config;
    config.inputs = config.outputs = IoType::kInt8;
    for (const char* target_name : {"xnnpack", "tosa-int"}) {
      Diagnostics diagnostics;
      const TargetDesc& target = *find_target(target_name);
      const auto prepared = prepare(graph, {&target, {}}, diagnostics);
      ASSERT_TRUE(prepared) << prepared.error().text();
      const auto model = quantize(*prepared, target, nullptr, config, diagnostics);
      ASSERT_TRUE(model) << model.error().text();
      EXPECT_EQ(model->partitioning.segments.size(), 1U) << bounds << " on " << target.name;
      EXPECT_EQ(model->partitioning.schedule.size(), 1U) << bounds << " on " << target.name;
    }
  }
}

// The islands come back where an operator is unknown, so that the tests above can fail.
TEST(QuantizeCases, AnUnknownMoverBreaksTheDelegateInTwo) {
  const Graph graph = token_graph(
      true, 1, "  %patches = foreign(\"aten.moveaxis_unknown.int\", self=%flat) : f32[1,16,4]  # vit.py:40 moveaxis\n");
  Diagnostics diagnostics;
  const TargetDesc& target = *find_target("xnnpack");
  const auto prepared = prepare(graph, {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  const auto model = quantize(*prepared, target, nullptr, {}, diagnostics);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->partitioning.segments.size(), 2U);
}

}  // namespace
}  // namespace isthmus::quantize_cases_test
