// ONNX files: reading them, refusing them, and what becomes of their operators.
#include "formats/onnx/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "frontends/onnx/load.h"
#include "interpret/interpreter.h"
#include "ir/specialize.h"
#include "ir/text.h"
#include "support/models.h"
#include "support/onnx_writer.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::test::onnx_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kFloat = 1;
constexpr std::int64_t kU8 = 2;
constexpr std::int64_t kI8 = 3;
constexpr std::int64_t kI64 = 7;
constexpr std::int64_t kString = 8;
constexpr std::int64_t kBool = 9;

Expected<Model> loaded(const Blob& file) {
  const onnx::Model model = TRY(onnx::read_model(file, onnx::files_in({})));
  Diagnostics diagnostics;
  return load(model, diagnostics);
}
Expected<Graph> canonical(const Blob& file) {
  const Model model = TRY(loaded(file));
  Diagnostics diagnostics;
  return canonicalize(model.graph, diagnostics);
}
std::string text_of(const Blob& file) {
  const auto graph = canonical(file);
  return graph ? print(*graph) : graph.error().text();
}
std::string error_of(const Blob& file) {
  const auto model = loaded(file);
  return model ? "no error" : model.error().text();
}

Tensor tensor_of(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  Tensor result(DType::kF32, std::move(sizes));
  std::ranges::copy(values, result.mutable_data<float>().begin());
  return result;
}
std::vector<float> run(const Blob& file, const std::vector<Tensor>& inputs) {
  const auto graph = canonical(file);
  if (!graph) {
    ADD_FAILURE() << graph.error().text();
    return {};
  }
  const auto results = interpret(*graph, inputs);
  if (!results) {
    ADD_FAILURE() << results.error().text();
    return {};
  }
  const auto data = results->front()->data<float>();
  return {data.begin(), data.end()};
}

OnnxGraph small_cnn() {
  OnnxGraph graph;
  graph.input("image:0", kFloat, {std::int64_t{1}, std::int64_t{1}, std::int64_t{4}, std::int64_t{4}})
      .floats("w", {2, 1, 3, 3}, std::vector<float>(18, 0.5F))
      .floats("fc", {2, 3}, {1, 2, 3, 4, 5, 6})
      .node("Conv", {"image:0", "w"}, {"c"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}})
      .node("Relu", {"c"}, {"r"})
      .node("GlobalAveragePool", {"r"}, {"p"})
      .node("Flatten", {"p"}, {"f"})
      .node("MatMul", {"f", "fc"}, {"/head/y"})
      .output("/head/y");
  return graph;
}

TEST(Onnx, ReadsAModelAndKeepsWeightsWhereTheyAre) {
  const Blob file = onnx_model(small_cnn());
  EXPECT_TRUE(onnx::looks_like_model(file));
  const auto model = loaded(file);
  ASSERT_TRUE(model) << model.error().text();
  const std::string text = print(model->graph);
  EXPECT_THAT(text, HasSubstr("input %image_0 : f32[1,1,4,4]"));
  EXPECT_THAT(text, HasSubstr("onnx.Conv.17"));
  const std::byte* const first = file.bytes().data();
  std::size_t weights = 0;
  for (const Constant& constant : model->graph.constants()) {
    if (constant.fqn.empty()) continue;
    ++weights;
    const std::byte* const at = constant.data->storage.bytes().data();
    EXPECT_TRUE(at >= first && at < first + file.size()) << constant.fqn << " was copied";
  }
  EXPECT_EQ(weights, 2);
  const std::string ops = text_of(file);
  EXPECT_THAT(ops, HasSubstr("conv2d"));
  EXPECT_THAT(ops, HasSubstr("linear"));
  EXPECT_THAT(ops, Not(HasSubstr("onnx.")));
}

TEST(Onnx, EveryTruncationIsAnErrorOrAModel) {
  const Blob file = onnx_model(small_cnn());
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Blob part = *file.part(0, size);
    const auto model = loaded(part);
    if (!model) {
      EXPECT_FALSE(model.error().text().empty()) << size;
    }
  }
}

TEST(Onnx, NoFileOutsideOfTheFolderIsRead) {
  const auto folder = std::filesystem::temp_directory_path() / "isthmus_onnx_external";
  std::filesystem::create_directories(folder / "inside");
  std::ofstream(folder / "inside" / "w.bin", std::ios::binary) << std::string(8, '\0');
  std::ofstream(folder / "secret.bin", std::ios::binary) << std::string(8, '\0');
  const auto read = [&](const std::string& location) {
    OnnxGraph graph;
    graph.input("x", kFloat, {std::int64_t{2}}).external("w", {2}, location).node("Add", {"x", "w"}, {"y"}).output("y");
    const auto model = onnx::read_model(onnx_model(graph), onnx::files_in((folder / "inside").string()));
    return model ? std::string("read") : model.error().text();
  };
  EXPECT_EQ(read("w.bin"), "read");
  EXPECT_THAT(read("../secret.bin"), HasSubstr("is outside of the folder"));
  EXPECT_THAT(read((folder / "secret.bin").string()), HasSubstr("an absolute path"));
  EXPECT_THAT(read(""), HasSubstr("not the name of a file"));
  std::filesystem::create_symlink(folder / "secret.bin", folder / "inside" / "link.bin");
  EXPECT_THAT(read("link.bin"), HasSubstr("is outside of the folder"));
  std::filesystem::remove_all(folder);
}

TEST(Onnx, DataThatDoesNotFitItsSizesIsRefused) {
  OnnxGraph graph;
  graph.bytes("w", kFloat, {2, 2}, std::string(12, '\0')).node("Relu", {"w"}, {"y"}).output("y");
  EXPECT_THAT(error_of(onnx_model(graph)), HasSubstr("12 bytes of data, but its type and shape need 16"));
}

TEST(Onnx, WhatCannotBeReadIsNamed) {
  OnnxGraph sparse;
  sparse.sparse("mostly_zero").output("mostly_zero");
  EXPECT_THAT(error_of(onnx_model(sparse)), HasSubstr("\"mostly_zero\" is a sparse tensor"));
  OnnxGraph text;
  text.input("words", kString, {std::int64_t{1}}).output("words");
  EXPECT_THAT(error_of(onnx_model(text)), HasSubstr("elements of type STRING"));
  EXPECT_THAT(error_of(onnx_model(small_cnn(), 17, 2)), HasSubstr("IR version 2; 3 and later"));
  OnnxGraph unknown;
  unknown.input("x", kFloat, {std::int64_t{1}}).node("Frobnicate", {"x"}, {"y"}).output("y");
  EXPECT_THAT(error_of(onnx_model(unknown)),
              HasSubstr("Isthmus does not know this operator\n  in node \"y\" (Frobnicate)"));
  OnnxGraph order;
  order.input("x", kFloat, {std::int64_t{1}}).node("Add", {"x", "later"}, {"y"}).output("y");
  EXPECT_THAT(error_of(onnx_model(order)), HasSubstr("\"later\" is used before it is defined"));
}

// The arithmetic of shapes that exporters write out for a batch of any size.
TEST(Onnx, ShapesOfASymbolicBatchFoldAway) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::string("batch"), std::int64_t{2}, std::int64_t{3}})
      .integers("zero", {}, {0})
      .integers("axes", {1}, {0})
      .integers("rest", {1}, {-1})
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"n"}, {{"axis", std::int64_t{0}}})
      .node("Unsqueeze", {"n", "axes"}, {"n1"})
      .node("Concat", {"n1", "rest"}, {"shape"}, {{"axis", std::int64_t{0}}})
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  const std::string text = text_of(onnx_model(graph));
  EXPECT_THAT(text, HasSubstr("input %x : f32[batch,2,3]"));
  EXPECT_THAT(text, HasSubstr("%y = reshape(%x) shape=[batch,6] : f32[batch,6]"));
  EXPECT_THAT(text, Not(HasSubstr("cat")));
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(onnx_model(graph), {tensor_of({1, 2, 3}, numbers)}), numbers);
}

TEST(Onnx, ABranchThatIsKnownIsTaken) {
  const auto model = [](bool is_known) {
    OnnxGraph yes;
    yes.node("Neg", {"x"}, {"a"}).output("a");
    OnnxGraph no;
    no.node("Abs", {"x"}, {"b"}).output("b");
    OnnxGraph graph;
    graph.input("x", kFloat, {std::int64_t{2}});
    if (is_known) {
      graph.bytes("p", kBool, {}, std::string(1, '\1'));
    } else {
      graph.input("p", kBool, {});
    }
    graph.node("If", {"p"}, {"y"}, {}, {{"then_branch", yes}, {"else_branch", no}}).output("y");
    return onnx_model(graph);
  };
  EXPECT_EQ(run(model(true), {tensor_of({2}, {1, -2})}), (std::vector<float>{-1, 2}));
  EXPECT_THAT(error_of(model(false)), HasSubstr("its condition is known only at run time"));
}

TEST(Onnx, ALoopWithAKnownCountIsUnrolled) {
  const auto model = [](bool is_known) {
    OnnxGraph body;
    body.input("i", kI64, {}).input("go", kBool, {}).input("sum", kFloat, {std::int64_t{2}});
    body.node("Identity", {"go"}, {"go_on"}).node("Add", {"sum", "x"}, {"next"}).node("Neg", {"next"}, {"seen"});
    body.output("go_on").output("next").output("seen");
    OnnxGraph graph;
    graph.input("x", kFloat, {std::int64_t{2}});
    if (is_known) {
      graph.integers("count", {}, {3});
    } else {
      graph.input("count", kI64, {});
    }
    graph.node("Loop", {"count", "", "x"}, {"last", "all"}, {}, {{"body", body}})
        .node("ReduceSum", {"all"}, {"sum_of_all"}, {{"keepdims", std::int64_t{0}}})
        .node("Add", {"last", "sum_of_all"}, {"y"})
        .output("y");
    return onnx_model(graph, 11);
  };
  // The turns leave 2x, 3x and 4x.
  EXPECT_EQ(run(model(true), {tensor_of({2}, {1, 10})}), (std::vector<float>{4 - 99, 40 - 99}));
  EXPECT_THAT(error_of(model(false)), HasSubstr("its trip count is known only at run time"));
}

TEST(Onnx, SequencesAreLists) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{2}})
      .integers("last", {}, {-1})
      .node("Neg", {"x"}, {"n"})
      .node("SequenceConstruct", {"x", "n"}, {"list"})
      .node("SequenceInsert", {"list", "x"}, {"longer"})
      .node("SequenceAt", {"longer", "last"}, {"item"})
      .node("ConcatFromSequence", {"longer"}, {"all"}, {{"axis", std::int64_t{0}}})
      .node("Concat", {"all", "item"}, {"y"}, {{"axis", std::int64_t{0}}})
      .output("y");
  EXPECT_EQ(run(onnx_model(graph), {tensor_of({2}, {1, 2})}), (std::vector<float>{1, 2, -1, -2, 1, 2, 1, 2}));
}

// Before opset 13 all axes from the given one on are one row.
TEST(Onnx, SoftmaxMeansWhatItsOpsetSays) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{2}, std::int64_t{2}})
      .node("Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{1}}})
      .output("y");
  const Tensor zeros = tensor_of({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(run(onnx_model(graph, 11), {zeros}), (std::vector<float>(4, 0.25F)));
  EXPECT_EQ(run(onnx_model(graph, 13), {zeros}), (std::vector<float>(4, 0.5F)));
}

TEST(Onnx, AxesCountedFromTheEndAreTaken) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}})
      .node("Transpose", {"x"}, {"y"}, {{"perm", std::vector<std::int64_t>{0, -1, 1}}})
      .output("y");
  EXPECT_THAT(text_of(onnx_model(graph)), HasSubstr("permute(%x) axes=[0,2,1] : f32[1,3,2]"));
}

TEST(Onnx, QuantizedPairsArePins) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{4}})
      .floats("s", {}, {0.5F})
      .bytes("z", kU8, {}, std::string(1, '\x80'))
      .node("QuantizeLinear", {"x", "s", "z"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "z"}, {"d"})
      .node("Relu", {"d"}, {"y"})
      .output("y");
  EXPECT_THAT(text_of(onnx_model(graph)),
              HasSubstr("fake_quantize(%x) scale=0.5 zero_point=128 min=0 max=255 dtype=u8"));
  EXPECT_EQ(run(onnx_model(graph), {tensor_of({1, 4}, {0.3F, 0.2F, -1, 100})}),
            (std::vector<float>{0.5F, 0, 0, 63.5F}));
}

// Integers in, integers out: read as the numbers that they stand for.
TEST(Onnx, QuantizedOperatorsHaveTheSameForm) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{2}})
      .floats("s", {}, {0.5F})
      .floats("t", {}, {0.25F})
      .floats("u", {}, {1.0F})
      .bytes("z", kU8, {}, std::string(1, '\x80'))
      .bytes("zw", kI8, {}, std::string(1, '\0'))
      .bytes("w", kI8, {2, 1}, std::string("\x04\x08", 2))
      .node("QuantizeLinear", {"x", "s", "z"}, {"q"})
      .node("QLinearMatMul", {"q", "s", "z", "w", "t", "zw", "u", "z"}, {"p"})
      .node("DequantizeLinear", {"p", "u", "z"}, {"y"})
      .output("y");
  // 1 * 1 + 3 * 2
  EXPECT_EQ(run(onnx_model(graph), {tensor_of({1, 2}, {1, 3})}), (std::vector<float>{7}));
  EXPECT_THAT(text_of(onnx_model(graph)), HasSubstr("linear"));
}

// The channel is axis 1, whatever size the last axis has.
TEST(Onnx, SlopesOfChannelsAreOfAxis1) {
  const auto model = [](const std::vector<std::int64_t>& sizes, std::int64_t opset) {
    OnnxGraph graph;
    graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{2}, std::int64_t{1}, std::int64_t{2}})
        .floats("slope", sizes, {0.5F, 0.25F})
        .node("PRelu", {"x", "slope"}, {"y"})
        .output("y");
    return onnx_model(graph, opset);
  };
  const Tensor x = tensor_of({1, 2, 1, 2}, {-1, 2, -4, -8});
  EXPECT_EQ(run(model({2, 1, 1}, 17), {x}), (std::vector<float>{-0.5F, 2, -1, -2}));
  EXPECT_EQ(run(model({2}, 6), {x}), (std::vector<float>{-0.5F, 2, -1, -2}));
  EXPECT_EQ(run(model({2}, 17), {x}), (std::vector<float>{-0.5F, 2, -2, -2}));  // broadcast along the last axis
}

// Older quantizers add the bias to the integers.
TEST(OnnxDynamic, ConvolutionsOfIntegersHaveTheBiasOfTheModel) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{2}})
      .bytes("w", kI8, {2, 1, 1, 1}, std::string("\x04\x08", 2))
      .bytes("zw", kI8, {}, std::string(1, '\0'))
      .floats("sw", {}, {0.25F})
      .floats("bias", {2}, {1, -1})
      .integers("shape", {4}, {1, 2, 1, 1})
      .node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"})
      .node("Mul", {"s", "sw"}, {"both"})
      .node("Div", {"bias", "both"}, {"steps"})
      .node("Floor", {"steps"}, {"whole"})
      .node("Cast", {"whole"}, {"integers"}, {{"to", std::int64_t{6}}})
      .node("Reshape", {"integers", "shape"}, {"b"})
      .node("ConvInteger", {"q", "w", "z", "zw"}, {"p"})
      .node("Add", {"p", "b"}, {"sum"})
      .node("Cast", {"sum"}, {"f"}, {{"to", std::int64_t{1}}})
      .node("Mul", {"f", "both"}, {"y"})
      .output("y");
  const std::string text = text_of(onnx_model(graph));
  EXPECT_THAT(text, HasSubstr("%y = conv2d(%x, "));
  EXPECT_THAT(text, Not(HasSubstr("i32")));
  EXPECT_EQ(run(onnx_model(graph), {tensor_of({1, 1, 1, 2}, {255, 51})}), (std::vector<float>{256, 52, 509, 101}));
}

// What ONNX Runtime's dynamic quantization makes of MatMul, and what its optimizer makes of that.
TEST(OnnxDynamic, IntegerProductsBecomeFloatLayers) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{2}})
      .bytes("w", kU8, {2, 1}, std::string("\x84\x88", 2))
      .bytes("zw", kU8, {}, std::string("\x80"))
      .floats("sw", {}, {0.25F})
      .node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"})
      .node("MatMulInteger", {"q", "w", "z", "zw"}, {"p"})
      .node("Cast", {"p"}, {"f"}, {{"to", std::int64_t{1}}})
      .node("Mul", {"s", "sw"}, {"both"})
      .node("Mul", {"f", "both"}, {"y"})
      .output("y");
  const std::string text = text_of(onnx_model(graph));
  EXPECT_THAT(text, HasSubstr("dynamic_quantize(%x) min=0 max=255 dtype=u8"));
  EXPECT_THAT(text, HasSubstr("linear"));
  EXPECT_THAT(text, Not(HasSubstr("i32")));
  // 255 * 1 + 510 * 2, in steps of 2
  EXPECT_EQ(run(onnx_model(graph), {tensor_of({1, 2}, {254, 510})}), (std::vector<float>{254 + 1020}));
  OnnxGraph fused;
  fused.input("x", kFloat, {std::int64_t{1}, std::int64_t{2}})
      .bytes("w", kU8, {2, 1}, std::string("\x84\x88", 2))
      .bytes("zw", kU8, {}, std::string("\x80"))
      .floats("sw", {}, {0.25F})
      .node("DynamicQuantizeMatMul", {"x", "w", "sw", "zw"}, {"y"}, {}, {}, "com.microsoft")
      .output("y");
  EXPECT_THAT(text_of(onnx_model(fused)), HasSubstr("dynamic_quantize(%x) min=0 max=255 dtype=u8"));
  EXPECT_EQ(run(onnx_model(fused), {tensor_of({1, 2}, {254, 510})}), (std::vector<float>{254 + 1020}));
}

}  // namespace
}  // namespace isthmus::test::onnx_test
