// What the library refuses of quantized values, only asserts or gets wrong: each demand has a graph that breaks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engines/xnnpack/builder.h"
#include "ir/text.h"
#include "support/int8_graph.h"
#include "support/programs.h"
#include "targets/partition.h"
#include "targets/xnnpack/desc.h"
#include "targets/xnnpack/forms/forms.h"

namespace isthmus::xnnpack_int8_refusal_test {
namespace {

using test::compile_graph;

struct Row {
  const char* name;
  const char* text;
  const char* code;  // of the last node
};
std::ostream& operator<<(std::ostream& stream, const Row& row) { return stream << row.name; }

// One node between an input %x of quantized values @a and a result of quantized values @b.
#define ONE(node, shape, parameters) \
  "graph\n  input %x : i8[1,4,6,6] @a\n  %y = " node " : i8" shape " @b\n  return %y\nquant\n" parameters
#define FOUR "[1,4,6,6]"
#define TWO(node, parameters)                                                     \
  "graph\n  input %x : i8[1,4,6,6] @a\n  input %z : i8[1,4,6,6] @c\n  %y = " node \
  " : i8[1,4,6,6] @b\n  return %y\n"                                              \
  "quant\n" parameters
#define UNEQUAL "  @a i8 scale=0.5 zp=1\n  @b i8 scale=0.5 zp=2\n"
// A linear layer: its weights with @w, a bias of this type with @v.
#define LINEAR(bias, parameters)                                                              \
  "graph\n  input %x : i8[1,2] @a\n  const %w : i8[2,2] @w = [1,2,3,4]\n  const %v : " bias   \
  " = [5,6]\n  %y = linear(%x, %w, %v) : i8[1,2] @b\n  return %y\nquant\n  @a i8 scale=0.5\n" \
  "  @b i8 scale=0.5\n" parameters

const Row kRows[] = {
    {"permute", ONE("permute(%x) axes=[0,1,3,2]", FOUR, UNEQUAL), "sharing-broken"},
    {"reshape", ONE("reshape(%x) shape=[1,4,36]", "[1,4,36]", UNEQUAL), "sharing-broken"},
    {"slice", ONE("slice(%x) axis=1 start=0 end=2", "[1,2,6,6]", UNEQUAL), "sharing-broken"},
    {"pad", ONE("pad(%x) before=[0,0,1,0] after=[0,0,0,0]", "[1,4,7,6]", UNEQUAL), "sharing-broken"},
    {"max_pool2d",
     ONE("max_pool2d(%x) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] dilation=[1,1]", "[1,4,3,3]", UNEQUAL),
     "sharing-broken"},
    {"resize2d", ONE("resize2d(%x) mode=linear size=[12,12]", "[1,4,12,12]", UNEQUAL), "sharing-broken"},
    {"clamp", ONE("clamp(%x) min=0", FOUR, UNEQUAL), "sharing-broken"},
    {"one_ulp", ONE("permute(%x) axes=[0,1,3,2]", FOUR, "  @a i8 scale=0.1\n  @b i8 scale=0.10000001\n"),
     "sharing-broken"},
    {"cat",
     "graph\n  input %x : i8[1,4] @a\n  input %z : i8[1,4] @b\n  %y = cat(%x, %z) axis=1 : i8[1,8] @a\n  return %y\n"
     "quant\n" UNEQUAL,
     "sharing-broken"},
    {"bias_of_another_scale", LINEAR("i32[2] @v", "  @w i8 scale=0.25\n  @v i32 scale=0.126\n"), "sharing-broken"},
    {"bias_of_other_scales",
     LINEAR("i32[2] @v", "  @w i8 axis=0 scale=[0.25,0.5]\n  @v i32 axis=0 scale=[0.125,0.3]\n"), "sharing-broken"},

    {"add_too_coarse", TWO("add(%x, %z)", "  @a i8 scale=1\n  @b i8 scale=0.00390625\n  @c i8 scale=0.01\n"),
     "illegal-ratio"},
    {"add_too_fine", TWO("add(%z, %x)", "  @a i8 scale=0.0009\n  @b i8 scale=1\n  @c i8 scale=1\n"), "illegal-ratio"},
    {"sub_too_coarse", TWO("sub(%x, %z)", "  @a i8 scale=0.01\n  @b i8 scale=0.00390625\n  @c i8 scale=1\n"),
     "illegal-ratio"},
    {"mul_too_coarse", TWO("mul(%x, %z)", "  @a i8 scale=1\n  @b i8 scale=0.00390625\n  @c i8 scale=1\n"),
     "illegal-ratio"},
    {"mul_too_fine", TWO("mul(%x, %z)", "  @a i8 scale=0.001\n  @b i8 scale=1\n  @c i8 scale=0.01\n"), "illegal-ratio"},
    {"rescale_too_coarse", ONE("rescale(%x)", FOUR, "  @a i8 scale=1.01\n  @b i8 scale=0.0078125\n"), "illegal-ratio"},
    {"rescale_too_fine", ONE("rescale(%x)", FOUR, "  @a i8 scale=0.0039\n  @b i8 scale=1\n"), "illegal-ratio"},
    {"leaky_relu_too_coarse", ONE("leaky_relu(%x) slope=0.5", FOUR, "  @a i8 scale=1.01\n  @b i8 scale=0.0078125\n"),
     "illegal-ratio"},
    {"leaky_relu_too_flat", ONE("leaky_relu(%x) slope=0.003", FOUR, "  @a i8 scale=1\n  @b i8 scale=1\n"),
     "illegal-ratio"},
    {"linear_too_coarse", LINEAR("i32[2] @v", "  @w i8 axis=0 scale=[0.25,256]\n  @v i32 axis=0 scale=[0.125,128]\n"),
     "illegal-ratio"},

    {"softmax", ONE("softmax(%x) axis=3", FOUR, "  @a i8 scale=1\n  @b i8 scale=1\n"), "no-form"},
    {"div", TWO("div(%x, %z)", "  @a i8 scale=1\n  @b i8 scale=1\n  @c i8 scale=1\n"), "no-form"},
    {"maximum", TWO("maximum(%x, %z)", "  @a i8 scale=1\n  @b i8 scale=1\n  @c i8 scale=1\n"), "no-form"},
    {"minimum", TWO("minimum(%x, %z)", "  @a i8 scale=1\n  @b i8 scale=1\n  @c i8 scale=1\n"), "no-form"},
    {"matmul", TWO("matmul(%x, %z)", "  @a i8 scale=1\n  @b i8 scale=1\n  @c i8 scale=1\n"), "no-form"},
    {"avg_pool2d",
     ONE("avg_pool2d(%x) kernel=[2,2] stride=[2,2] padding=[0,0,0,0]", "[1,4,3,3]",
         "  @a i8 scale=1\n  @b i8 scale=1\n"),
     "no-form"},
    {"clamp_to_one_value", ONE("clamp(%x) min=0", FOUR, "  @a i8 scale=1 zp=127\n  @b i8 scale=1 zp=127\n"), "no-form"},
    {"mean_of_any_batch",
     "graph\n  symbol s0 in [1,8] ~2\n  input %x : i8[s0,4,6,6] @a\n"
     "  %y = mean(%x) axes=[2,3] keepdim=true : i8[s0,4,1,1] @a\n  return %y\nquant\n  @a i8 scale=1\n",
     "dynamic-shape"},

    {"bias_in_float", LINEAR("f32[2]", "  @w i8 scale=0.25\n"), "dtype"},
    {"bias_of_one_scale", LINEAR("i32[2] @v", "  @w i8 axis=0 scale=[0.25,0.5]\n  @v i32 scale=0.125\n"), "dtype"},
    {"bias_of_two_scales", LINEAR("i32[2] @v", "  @w i8 scale=0.25\n  @v i32 axis=0 scale=[0.125,0.125]\n"), "dtype"},
    {"weights_with_a_zero_point", LINEAR("i32[2] @v", "  @w i8 scale=0.25 zp=1\n  @v i32 scale=0.125\n"), "dtype"},
    {"weights_along_another_axis",
     LINEAR("i32[2] @v", "  @w i8 axis=1 scale=[0.25,0.5]\n  @v i32 axis=0 scale=[0.125,0.25]\n"), "dtype"},
    {"quantized_and_float",
     "graph\n  input %x : i8[1,4] @a\n  input %z : f32[1,4]\n  %y = add(%x, %z) : i8[1,4] @a\n  return %y\n"
     "quant\n  @a i8 scale=1\n",
     "dtype"},
    {"int16_values",
     "graph\n  input %x : i16[1,4] @a\n  %y = neg(%x) : i16[1,4] @a\n  return %y\n"
     "quant\n  @a i16 scale=1\n",
     "dtype"},
    {"data_of_channels",
     "graph\n  input %x : i8[1,2] @a\n  %y = neg(%x) : i8[1,2] @a\n  return %y\n"
     "quant\n  @a i8 axis=1 scale=[1,2]\n",
     "dtype"},
    {"a_zero_point_out_of_range", ONE("neg(%x)", FOUR, "  @a i8 scale=1 zp=128\n  @b i8 scale=1\n"), "dtype"},
    {"a_scale_that_is_denormal", ONE("neg(%x)", FOUR, "  @a i8 scale=1e-40\n  @b i8 scale=1\n"), "dtype"},
    {"a_scale_of_nothing", ONE("neg(%x)", FOUR, "  @a i8 scale=0\n  @b i8 scale=1\n"), "dtype"},
    {"quantize_of_quantized", ONE("quantize(%x)", FOUR, "  @a i8 scale=1\n  @b i8 scale=1\n"), "dtype"},
};

class Int8Refusal : public testing::TestWithParam<Row> {};
TEST_P(Int8Refusal, HasItsCode) {
  const auto graph = parse_graph(GetParam().text);
  ASSERT_TRUE(graph) << graph.error().text();
  const auto reason = xnnpack::refusal(*graph, graph->nodes().back());
  ASSERT_TRUE(reason);
  EXPECT_EQ(code_text(reason->code), GetParam().code) << text_of(*reason);
  // No other node computes on quantized values.
  const auto program = compile_graph(*graph);
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().text(), testing::HasSubstr(GetParam().code));
}
INSTANTIATE_TEST_SUITE_P(Rows, Int8Refusal, testing::ValuesIn(kRows),
                         [](const testing::TestParamInfo<Row>& row) { return row.param.name; });

// The bounds themselves are legal: the library would abort, not refuse.
TEST(Int8Ratios, ReachTheirLimits) {
  const char* const kTexts[] = {
      TWO("add(%x, %z)", "  @a i8 scale=255\n  @b i8 scale=1\n  @c i8 scale=0.0009765625\n"),
      TWO("sub(%x, %z)", "  @a i8 scale=255\n  @b i8 scale=1\n  @c i8 scale=0.0009765625\n"),
      TWO("mul(%x, %z)", "  @a i8 scale=255\n  @b i8 scale=1\n  @c i8 scale=1\n"),
      TWO("mul(%x, %z)", "  @a i8 scale=0.0009765625\n  @b i8 scale=1\n  @c i8 scale=0.015625\n"),
      ONE("rescale(%x)", FOUR, "  @a i8 scale=128\n  @b i8 scale=1\n"),
      ONE("rescale(%x)", FOUR, "  @a i8 scale=0.00390625\n  @b i8 scale=1\n"),
      ONE("leaky_relu(%x) slope=0.5", FOUR, "  @a i8 scale=128\n  @b i8 scale=1\n"),
      ONE("leaky_relu(%x) slope=-127", FOUR, "  @a i8 scale=1\n  @b i8 scale=1\n"),
      ONE("leaky_relu(%x) slope=0.00390625", FOUR, "  @a i8 scale=1\n  @b i8 scale=1\n"),
      ONE("mean(%x) axes=[2,3] keepdim=true", "[1,4,1,1]", "  @a i8 scale=1000\n  @b i8 scale=0.001\n"),
      ONE("mean(%x) axes=[2,3] keepdim=true", "[1,4,1,1]", "  @a i8 scale=1e-6\n  @b i8 scale=1e6\n"),
      ONE("gelu(%x)", FOUR, "  @a i8 scale=1e10\n  @b i8 scale=1e-10\n"),
      LINEAR("i32[2] @v", "  @w i8 scale=255\n  @v i32 scale=127.5\n"),
      LINEAR("i32[2] @v", "  @w i8 scale=1e-30\n  @v i32 scale=0.5e-30\n"),
  };
  for (const char* text : kTexts) {
    const auto graph = parse_graph(text);
    ASSERT_TRUE(graph) << graph.error().text();
    const auto program = compile_graph(*graph);
    ASSERT_TRUE(program) << program.error().text() << "\n" << text;
    EXPECT_EQ(program->delegates(), 1u);
  }
}

// A node that is still in float: what the planner asks.
TEST(Int8Forms, AreKnownBeforeParametersAre) {
  const auto graph = parse_graph(
      "graph\n  symbol s0 in [1,8] ~2\n  input %x : f32[2,4,6,6]\n  input %z : f32[s0,4,6,6]\n"
      "  %a = mean(%x) axes=[2,3] keepdim=true : f32[2,4,1,1]\n"
      "  %b = mean(%z) axes=[2,3] keepdim=true : f32[s0,4,1,1]\n"
      "  %c = softmax(%x) axis=3 : f32[2,4,6,6]\n"
      "  return %a, %b, %c\n");
  ASSERT_TRUE(graph) << graph.error().text();
  const auto refuse = xnnpack::desc().integers.refusal;
  EXPECT_FALSE(refuse(*graph, graph->nodes()[0], DType::kI8));
  EXPECT_EQ(refuse(*graph, graph->nodes()[0], DType::kI16)->code, ReasonCode::kDType);
  EXPECT_EQ(refuse(*graph, graph->nodes()[1], DType::kI8)->code, ReasonCode::kDynamicShape);
  EXPECT_EQ(refuse(*graph, graph->nodes()[2], DType::kI8)->code, ReasonCode::kNoForm);
}

// A hostile delegate: the library would write beyond the memory in which it keeps sums.
TEST(Int8Runtime, MeansOfGrowingBatchesStayInMemory) {
  test::GraphBuilder build;
  const xnn::Quant params = xnn::PerTensor{0.5F, 3};
  const std::uint32_t in = build.input({64, 4, 4, 32}, xnn::DataType::kQI8, params);
  build.node(xnn::NodeKind::kGlobalAvgPool2d, {in}, {build.output({64, 1, 1, 32}, xnn::DataType::kQI8, params)}).flags =
      0x40;
  auto runtime = xnnpack::build(build.graph, [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(runtime) << runtime.error().text();
  for (const std::size_t batch : {1u, 64u, 2u, 63u}) {
    const auto shapes = runtime->reshape(std::vector<xnnpack::Dims>{{batch, 4, 4, 32}, {}});
    ASSERT_TRUE(shapes) << shapes.error().text();
    std::vector<std::byte> from(batch * 512 + xnnpack::kExtraBytes, std::byte{7});
    std::vector<std::byte> to(batch * 32 + xnnpack::kExtraBytes);
    std::byte* const buffers[] = {from.data(), to.data()};
    ASSERT_TRUE(runtime->run(buffers));
    EXPECT_EQ(std::count(to.begin(), to.end(), std::byte{7}), static_cast<std::ptrdiff_t>(batch * 32));
  }
  EXPECT_FALSE(runtime->reshape(std::vector<xnnpack::Dims>{{65, 4, 4, 32}, {}}));
}

}  // namespace
}  // namespace isthmus::xnnpack_int8_refusal_test
