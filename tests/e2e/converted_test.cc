// Archives that PyTorch has quantized, with sharing broken wherever it can be: one delegate, no data needed, and the
// numbers that PyTorch would compute.
#include "support/converted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "evaluate/evaluate.h"
#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "session/stages.h"
#include "support/compile.h"
#include "support/compile_quantized.h"
#include "support/models.h"
#include "support/quantized_graphs.h"
#include "targets/registry.h"

namespace isthmus::converted_test {
namespace {

std::filesystem::path models() { return test::source_dir() / "tests" / "models"; }

Graph canonical(const Graph& loaded) {
  Diagnostics diagnostics;
  std::vector<StageTime> times;
  std::vector<RewriteTime> rewrites;
  auto graph = canonical_graph(loaded, {find_target("xnnpack"), {}}, diagnostics, times, rewrites);
  CHECK(graph.has_value(), graph ? "" : graph.error().text());
  return *std::move(graph);
}

struct Quantization {
  Prepared prepared;
  QuantizedModel model;
  Diagnostics diagnostics;

  std::size_t delegates() const { return model.partitioning.segments.size(); }
  bool says(std::string_view code) const {
    return std::ranges::any_of(diagnostics.entries(), [&](const Diagnostic& entry) { return entry.code == code; });
  }
};

// Without any data.
Quantization quantized(const Graph& archive, const char* target_name) {
  const TargetDesc& target = *find_target(target_name);
  Quantization result;
  auto prepared = prepare(archive, {&target, {}}, result.diagnostics);
  CHECK(prepared.has_value(), prepared ? "" : prepared.error().text());
  result.prepared = *std::move(prepared);
  auto model = quantize(result.prepared, target, nullptr, {}, result.diagnostics);
  CHECK(model.has_value(), model ? "" : model.error().text());
  result.model = *std::move(model);
  return result;
}

// What computes on the host; I/O conversions do not count.
std::size_t host_nodes(const Quantization& found) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < found.model.quantized.graph.nodes().size(); ++i) {
    const Node& node = found.model.quantized.graph.nodes()[i];
    const bool converts =
        std::holds_alternative<QuantizeAttrs>(node.attrs) || std::holds_alternative<DequantizeAttrs>(node.attrs);
    const bool is_on_host = !std::holds_alternative<std::size_t>(found.model.partitioning.place[i]);
    count += is_on_host && !converts ? 1 : 0;
  }
  return count;
}

// Quantized values against the archive as it is written, in dB.
double agreement(const Graph& archive, const Quantization& found, const char* target,
                 const std::vector<Tensor>& inputs) {
  const auto expected = interpret(canonical(archive), inputs);
  CHECK(expected.has_value(), expected ? "" : expected.error().text());
  const auto computed = interpret_integers(found.model.quantized.graph, inputs, *find_target(target)->integers.kernels);
  CHECK(computed.has_value(), computed ? "" : computed.error().text());
  return test::sqnr(*computed, *expected);
}

constexpr const char* kTargets[] = {"xnnpack", "tosa-int", "ethos-u55-128", "ethos-u85-256"};

void expect_repaired(const Graph& archive, const std::vector<Tensor>& inputs, double min_db) {
  for (const char* target : kTargets) {
    const Quantization found = quantized(archive, target);
    EXPECT_TRUE(found.model.plan.has_ranges) << target;
    EXPECT_EQ(found.delegates(), 1U) << target;
    EXPECT_EQ(host_nodes(found), 0U) << target;
    EXPECT_TRUE(found.says("pins-disagree")) << target;
    EXPECT_FALSE(found.says(kNotPinned)) << target;
    EXPECT_FALSE(found.model.plan.cuts.empty()) << target;
    EXPECT_GE(agreement(archive, found, target, inputs), min_db) << target;
  }
}

Tensor random_tensor(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::kF32, std::move(sizes));
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (float& number : tensor.mutable_data<float>()) number = normal(random);
  return tensor;
}

TEST(Converted, ConcatOfThreeScales) {
  const Graph model = test::graph_of(R"(graph
  input %x : f32[1,2,6,6]
  const %a : f32[2,2,1,1] = [0.3,-0.4,0.5,0.2]
  const %b : f32[2,2,1,1] = [1.3,-2.4,3.5,1.2]
  const %c : f32[2,2,1,1] = [0.03,-0.04,0.05,0.02]
  const %d : f32[3,6,1,1] = [0.3,-0.4,0.5,0.2,0.1,0.6,0.3,-0.4,0.5,0.2,0.1,0.6,-0.3,0.4,0.5,0.2,-0.1,0.6]
  %narrow = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,6,6]
  %wide = conv2d(%x, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,6,6]
  %small = conv2d(%x, %c) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,6,6]
  %joined = cat(%narrow, %wide, %small) axis=1 : f32[1,6,6,6]  # net.py:7 concat
  %mixed = conv2d(%joined, %d) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,3,6,6]
  return %mixed
)");
  const std::vector<Tensor> inputs{random_tensor({1, 2, 6, 6})};
  expect_repaired(test::converted(model, test::each_for_itself(model, inputs)), inputs, 44);
}

TEST(Converted, MoveaxisBetweenTwoScales) {
  const Graph model = test::graph_of(R"(graph
  input %x : f32[1,2,6,4]
  const %a : f32[3,2,1,1] = [0.3,-0.4,0.5,0.2,0.7,-0.1]
  const %b : f32[2,6,1,1] = [0.3,-0.4,0.5,0.2,0.1,0.6,-0.3,0.4,0.5,0.2,-0.1,0.6]
  %conv = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,3,6,4]
  %moved = permute(%conv) axes=[0,2,3,1] : f32[1,6,4,3]  # net.py:9 moveaxis
  %again = conv2d(%moved, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,4,3]
  return %again
)");
  const std::vector<Tensor> inputs{random_tensor({1, 2, 6, 4})};
  const test::Given each = test::each_for_itself(model, inputs);
  const test::Given other = [&](const Graph& graph, ValueId id) {
    auto pin = each(graph, id);
    if (pin && graph[id].name == "moved") pin->quant.scales[0] *= 1.25F;
    return pin;
  };
  expect_repaired(test::converted(model, other), inputs, 39);
}

TEST(Converted, ClassTokenOfItsOwnScale) {
  const Graph model = test::graph_of(R"(graph
  input %image : f32[1,2,8,8]
  const %filter : f32[4,2,1,1] = [0.3,-0.4,0.5,0.2,-0.3,0.4,0.25,-0.15]
  const %token : f32[1,1,4] = [9.1,-7.3,4.2,0.7]
  const %again : f32[2,4,1,1] = [0.3,-0.2,0.5,0.1,-0.4,0.3,0.2,0.6]
  %conv = conv2d(%image, %filter) stride=[2,2] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,4,4]
  %flat = reshape(%conv) shape=[1,4,16] : f32[1,4,16]
  %patches = permute(%flat) axes=[0,2,1] : f32[1,16,4]
  %cls = expand(%token) shape=[1,1,4] : f32[1,1,4]
  %tokens = cat(%cls, %patches) axis=1 : f32[1,17,4]  # vit.py:41 concat
  %turned = permute(%tokens) axes=[0,2,1] : f32[1,4,17]
  %rows = reshape(%turned) shape=[1,4,1,17] : f32[1,4,1,17]
  %mixed = conv2d(%rows, %again) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,1,17]
  %skip = conv2d(%conv, %again) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,4,4]
  return %mixed, %skip
)");
  const std::vector<Tensor> inputs{random_tensor({1, 2, 8, 8})};
  expect_repaired(test::converted(model, test::each_for_itself(model, inputs)), inputs, 35.5);
}

TEST(Converted, AWholeModelWithAConcat) {
  Diagnostics diagnostics;
  const auto model = test::open(models() / "emg_cascade.pt2", diagnostics);
  ASSERT_TRUE(model) << model.error().text();
  const Graph graph = canonical(model->graph);
  const std::vector<Tensor> inputs = test::read_tensors(models(), "emg_cascade_input_");
  expect_repaired(test::converted(graph, test::each_for_itself(graph, inputs)), inputs, 42);
}

TEST(Converted, ATransformerWithAClassToken) {
  Diagnostics diagnostics;
  const auto model = test::open(models() / "deit_micro.pt2", diagnostics);
  ASSERT_TRUE(model) << model.error().text();
  const Graph graph = canonical(model->graph);
  const std::vector<Tensor> inputs = test::read_tensors(models(), "deit_micro_input_");
  const Graph archive = test::converted(graph, test::each_for_itself(graph, inputs));
  const Quantization found = quantized(archive, "xnnpack");
  EXPECT_EQ(found.delegates(), 1U);
  EXPECT_EQ(host_nodes(found), 0U);
  EXPECT_TRUE(found.model.plan.has_ranges);
  EXPECT_GE(agreement(archive, found, "xnnpack", inputs), 20);
}

// Products of quantized values are exact on both sides, and so is their rounding, but for ties.
TEST(Converted, AConvolutionIsComputedBitForBit) {
  const Graph model = test::graph_of(R"(graph
  input %x : f32[1,2,6,6]
  const %a : f32[4,2,1,1] = [0.3,-0.4,0.5,0.2,1.3,-2.4,3.5,1.2]
  %conv = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,6,6]
  return %conv
)");
  const std::vector<Tensor> inputs{random_tensor({1, 2, 6, 6})};
  const Graph archive = test::converted(model, test::each_for_itself(model, inputs));
  for (const char* target : kTargets) {
    const Quantization found = quantized(archive, target);
    EXPECT_GE(agreement(archive, found, target, inputs), 100) << target;
  }
}

TEST(Converted, TheFloatProgramRoundsAsTheArchiveDoes) {
  Diagnostics diagnostics;
  const auto model = test::open(models() / "emg_cascade.pt2", diagnostics);
  ASSERT_TRUE(model) << model.error().text();
  const Graph graph = canonical(model->graph);
  const std::vector<Tensor> inputs = test::read_tensors(models(), "emg_cascade_input_");
  const Graph archive = test::converted(graph, test::each_for_itself(graph, inputs));
  const TargetDesc& target = *find_target("xnnpack");
  auto prepared = prepare(archive, {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  const auto kept = keep_in_float(*prepared, target);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(prepared->partitioning.segments.size(), 1U);
  EXPECT_EQ(prepared->partitioning.schedule.size(), 1U);
  const auto compiled = compile(*prepared, target, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text();
  auto method = run::Method::load(Blob(compiled->bytes, nullptr));
  ASSERT_TRUE(method) << method.error().text();
  const auto found = method->run(inputs);
  ASSERT_TRUE(found) << found.error().text();
  const auto expected = interpret(canonical(archive), inputs);
  ASSERT_TRUE(expected) << expected.error().text();
  EXPECT_GE(test::sqnr(*found, *expected), 120);
}

// As PyTorch computes them, in float with rounding: partly, dynamically, by channels and by groups.
TEST(Converted, ArchivesOfPyTorchComputeAsRecorded) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(models() / "ptq")) {
    if (entry.path().extension() != ".pt2") continue;
    const test::CorpusCase facts{entry.path().stem().string(), "", false, 1e-6};
    EXPECT_EQ(test::check_corpus_case(entry.path().parent_path(), facts), "") << facts.name;
    ++count;
  }
  EXPECT_GE(count, 6U);
  EXPECT_EQ(test::check_corpus_case(models() / "torch26", {"causal_mask", "", false, 1e-6}), "");
}

}  // namespace
}  // namespace isthmus::converted_test
