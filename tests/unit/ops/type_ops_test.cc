// Casts, names that do nothing, constants made in the graph, quantize and dequantize.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/text.h"
#include "support/spellings.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::type_ops_test {
namespace {

using test::form_of;
using test::is_refused;
using test::run;
using test::same_form;
using Numbers = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(TypeOps, NamesThatDoNothing) {
  for (const std::string_view call :
       {R"("aten.clone.default", self=%x)", R"("aten.contiguous.default", self=%x)",
        R"("aten.detach.default", self=%x)", R"("aten.detach_.default", self=%x)", R"("aten.alias.default", self=%x)",
        R"("aten.lift_fresh_copy.default", self=%x)", R"("aten.to.dtype", self=%x, dtype=f32)",
        R"("aten._to_copy.default", self=%x)", R"("aten.dropout.default", input=%x, p=0.5, train=false)",
        R"("aten.dropout.default", input=%x, p=0.0, train=true)",
        R"("aten.feature_dropout.default", input=%x, p=0.5, train=false)", R"("aten.positive.default", self=%x)",
        R"("aten.view.dtype", self=%x, dtype=f32)"}) {
    EXPECT_EQ(form_of("%x : f32[2]", "f32[2]", call), "return %0\n") << call;
  }
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.dropout.default", input=%x, p=0.5, train=true)"));
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.rand_like.default", self=%x)"));
}

TEST(TypeOps, Casts) {
  EXPECT_TRUE(same_form(
      "%x : f32[2], %z : i64[3]", "i64[2]",
      {R"("aten.to.dtype", self=%x, dtype=i64)", R"("aten._to_copy.default", self=%x, dtype=i64)",
       R"("aten.to.dtype_layout", self=%x, dtype=i64)", R"("aten.to.other", self=%x, other=%z)",
       R"("aten.type_as.default", self=%x, other=%z)", R"("prims.convert_element_type.default", a=%x, dtype=i64)"}));
  EXPECT_EQ(run("%x : f32[3]", "i32[3]", R"("aten.to.dtype", self=%x, dtype=i32)", {{-1.9, 2.9, 1e20}}),
            (Numbers{-1, 2, static_cast<double>(std::numeric_limits<std::int32_t>::min())}));
  EXPECT_EQ(run("%x : f32[3]", "bool[3]", R"("aten.to.dtype", self=%x, dtype=bool)", {{0, kNan, 0.1}}),
            (Numbers{0, 1, 1}));
  EXPECT_EQ(run("%x : i32[2]", "u8[2]", R"("aten.to.dtype", self=%x, dtype=u8)", {{-1, 300}}), (Numbers{255, 44}));
  EXPECT_TRUE(is_refused("%x : f32[2]", "c64[2]", R"("aten.to.dtype", self=%x, dtype=c64)"));
}

// What a cast made is new memory; a cast to the same type is the tensor itself.
TEST(TypeOps, WritingToTheResultOfACast) {
  const auto canonical = [](std::string_view dtype) {
    Diagnostics diagnostics;
    const auto graph = parse_graph("graph\n  input %x : " + std::string(dtype) +
                                   R"([2]
  %t = foreign("aten.to.dtype", self=%x, dtype=f32) : f32[2]
  %y = foreign("aten.div_.Tensor", self=%t, other=255.0) : f32[2]
  return %y, %x
)");
    EXPECT_TRUE(graph.has_value());
    const auto result = canonicalize(*graph, diagnostics);
    return result ? print(*result) : result.error().text();
  };
  EXPECT_NE(canonical("u8").find("return %y, %x\n"), std::string::npos) << canonical("u8");
  EXPECT_NE(canonical("f32").find("return %y, %y\n"), std::string::npos) << canonical("f32");
}

TEST(TypeOps, Bitcasts) {
  EXPECT_EQ(run("%x : f32[1]", "i32[1]", R"("aten.view.dtype", self=%x, dtype=i32)", {{1}}), (Numbers{0x3f800000}));
  EXPECT_EQ(
      form_of("symbol s0 in [1,8] ~3\n  input %x : i16[2,s0]", "u8[2,2*s0]", R"("aten.view.dtype", self=%x, dtype=u8)"),
      "%1 = bitcast(%0) dtype=u8 : u8[2,2*s0]\nreturn %1\n");
  EXPECT_EQ(run("%x : u8[4]", "i16[2]", R"("aten.view.dtype", self=%x, dtype=i16)", {{1, 0, 0, 1}}), (Numbers{1, 256}));
  EXPECT_TRUE(is_refused("%x : u8[3]", "i16[1]", R"("aten.view.dtype", self=%x, dtype=i16)"));
  EXPECT_TRUE(is_refused("%x : f32[]", "u8[]", R"("aten.view.dtype", self=%x, dtype=u8)"));
}

TEST(TypeOps, FilledTensors) {
  EXPECT_TRUE(
      same_form("%x : f32[2,3]", "f32[2,3]",
                {R"("aten.zeros.default", size=[2,3])", R"("aten.zeros_like.default", self=%x)",
                 R"("aten.full.default", size=[2,3], fill_value=0)",
                 R"("aten.full.default", size=[2,3], fill_value=0.0, dtype=f32)",
                 R"("aten.new_zeros.default", self=%x, size=[2,3])",
                 R"("aten.full_like.default", self=%x, fill_value=0)", R"("aten.empty.memory_format", size=[2,3])",
                 R"("aten.zero.default", self=%x)", R"("aten.fill.Scalar", self=%x, value=0)"}));
  EXPECT_EQ(run("%x : f32[1]", "i64[2]", R"("aten.full.default", size=[2], fill_value=3.7, dtype=i64)", {{0}}),
            (Numbers{3, 3}));
  EXPECT_EQ(run("%x : f32[1]", "bool[2]", R"("aten.full.default", size=[2], fill_value=true)", {{0}}), (Numbers{1, 1}));
  EXPECT_EQ(run("%x : f32[1]", "f32[]", R"("aten.scalar_tensor.default", s=-inf)", {{0}}),
            (Numbers{-std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(
      run("%x : f32[2,2], %z : f32[2]", "f32[2,2]", R"("aten.copy.default", self=%x, src=%z)", {{0, 0, 0, 0}, {1, 2}}),
      (Numbers{1, 2, 1, 2}));
  EXPECT_TRUE(is_refused("%x : f32[1]", "f32[2]", R"("aten.zeros.default", size=[-2])"));
  EXPECT_TRUE(is_refused("%x : f32[1]", "c64[2]", R"("aten.zeros.default", size=[2], dtype=c64)"));
  EXPECT_TRUE(is_refused("%x : f32[1]", "i32[2]", R"("aten.full.default", size=[2], fill_value=1e300, dtype=i32)"));
  EXPECT_NE(form_of("symbol s0 in [1,8] ~3\n  input %x : f32[s0,2]", "f32[s0,4]", R"("aten.ones.default", size=[s0,4])")
                .find("expand(%"),
            std::string::npos);
}

TEST(TypeOps, Ranges) {
  const auto range = [](std::string_view type, std::string_view call) { return run("%x : f32[1]", type, call, {{0}}); };
  EXPECT_EQ(range("i64[3]", R"("aten.arange.default", end=3)"), (Numbers{0, 1, 2}));
  EXPECT_EQ(range("i64[3]", R"("aten.arange.start_step", start=5, end=0, step=-2)"), (Numbers{5, 3, 1}));
  EXPECT_EQ(range("f32[2]", R"("aten.arange.start", start=1, end=3, dtype=f32)"), (Numbers{1, 2}));
  EXPECT_EQ(range("f32[3]", R"("aten.arange.start_step", start=0.0, end=1.5, step=0.5)"), (Numbers{0, 0.5, 1}));
  EXPECT_EQ(range("f32[3]", R"("aten.linspace.default", start=-1, end=1, steps=3)"), (Numbers{-1, 0, 1}));
  EXPECT_EQ(range("f32[3]", R"("aten.logspace.default", start=0, end=2, steps=3)"), (Numbers{1, 10, 100}));
  EXPECT_EQ(range("i64[2,3]", R"("aten.eye.m", n=2, m=3, dtype=i64)"), (Numbers{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(range("i64[0]", R"("aten.arange.default", end=0)"), Numbers{});
  for (const std::string_view call :
       {R"("aten.arange.start_step", start=0, end=3, step=0)",
        R"("aten.arange.start_step", start=0.0, end=3.0, step=0.0)",
        R"("aten.linspace.default", start=0, end=1, steps=-1)", R"("aten.eye.default", n=9223372036854775807)",
        R"("aten.linspace.default", start=0, end=1, steps=9223372036854775807)",
        R"("aten.arange.start_step", start=0.0, end=nan, step=1.0)"}) {
    EXPECT_TRUE(is_refused("%x : f32[1]", "f32[3]", call)) << call;
  }
  const std::string symbolic = "symbol s0 in [1,8] ~3\n  input %x : f32[s0]";
  EXPECT_EQ(form_of(symbolic, "i64[s0]", R"("aten.arange.default", end=s0)"),
            "%1 = arange() end=s0 : i64[s0]\nreturn %1\n");
  EXPECT_EQ(form_of(symbolic, "i64[floordiv(s0+1,2)]", R"("aten.arange.start_step", start=0, end=s0, step=2)"),
            "%1 = arange() end=s0 step=2 : i64[floordiv(s0+1,2)]\nreturn %1\n");
}

TEST(TypeOps, QuantizeAsPyTorchConverts) {
  const std::string quantized = R"(, quant_min=-128, quant_max=127, dtype=i8)";
  EXPECT_EQ(run("%x : f32[5]", "i8[5]",
                R"("quantized_decomposed.quantize_per_tensor.default", input=%x, scale=0.5, zero_point=1)" + quantized,
                {{0.25, 0.75, -100, 100, 1}}),
            (Numbers{1, 3, -128, 127, 3}));
  EXPECT_EQ(
      run("%x : i8[2]", "f32[2]",
          R"("quantized_decomposed.dequantize_per_tensor.default", input=%x, scale=0.5, zero_point=1)" + quantized,
          {{3, -128}}),
      (Numbers{1, -64.5}));
  EXPECT_EQ(run("%x : f32[2,2], %s : f32[2], %z : i64[2]", "i8[2,2]",
                R"("quantized_decomposed.quantize_per_channel.default", input=%x, scales=%s, zero_points=%z, axis=1)" +
                    quantized,
                {{1, 1, 2, 2}, {1, 0.5}, {0, 10}}),
            (Numbers{1, 12, 2, 14}));
  EXPECT_EQ(
      run("%x : i8[2,2], %s : f32[2], %z : i64[2]", "f32[2,2]",
          R"("quantized_decomposed.dequantize_per_channel.default", input=%x, scales=%s, zero_points=%z, axis=-1)" +
              quantized,
          {{1, 12, 2, 14}, {1, 0.5}, {0, 10}}),
      (Numbers{1, 1, 2, 2}));
  EXPECT_EQ(
      run("%x : f32[3]", "f32[3]",
          R"("aten.fake_quantize_per_tensor_affine.default", self=%x, scale=0.5, zero_point=0, quant_min=0, quant_max=255)",
          {{0.6, -1, 500}}),
      (Numbers{0.5, 0, 127.5}));
  EXPECT_TRUE(is_refused("%x : f32[2]", "i8[2]",
                         R"("quantized_decomposed.quantize_per_tensor.default", input=%x, scale=0.5, zero_point=0, )"
                         R"(quant_min=0, quant_max=255, dtype=i8)"));
  EXPECT_TRUE(
      is_refused("%x : f32[2,3], %s : f32[2], %z : i64[2]", "i8[2,3]",
                 R"("quantized_decomposed.quantize_per_channel.default", input=%x, scales=%s, zero_points=%z, axis=1)" +
                     quantized));
}

TEST(TypeOps, ScalesChosenAsTheModelRuns) {
  const std::string quantized = R"(, quant_min=-128, quant_max=127, eps=0.001, dtype=i8)";
  const Numbers numbers{-1, 0.5, 4.1, 0};
  const auto chosen = [&](std::string_view name, std::string_view types, const std::string& rest,
                          const Numbers& given) {
    const std::string shape = types.find("[2,1]") == std::string_view::npos ? "[1,4]" : "[2,2]";
    return run("%x : f32" + shape, types, "\"quantized_decomposed." + std::string(name) + "\", input=%x" + rest,
               {given});
  };
  const auto near = [](double number) { return ::testing::DoubleNear(number, 1e-7); };
  EXPECT_THAT(chosen("choose_qparams.tensor", "f64[1], i64[1]", quantized, numbers),
              ::testing::ElementsAre(near(5.1 / 255), near(-78)));
  EXPECT_THAT(chosen("choose_qparams.tensor", "f64[1], i64[1]", quantized, {0, 0, 0, 0}),
              ::testing::ElementsAre(near(0.001), near(-128)));
  EXPECT_THAT(chosen("choose_qparams_symmetric.tensor", "f64[1], i64[1]", quantized, numbers),
              ::testing::ElementsAre(near(4.1 / 127.5), near(0)));
  EXPECT_THAT(chosen("choose_qparams_per_token_asymmetric.default", "f64[2,1], i64[2,1]", ", dtype=i8", numbers),
              ::testing::ElementsAre(near(1.5 / 255), near(4.1 / 255), near(42), near(-128)));
  for (const double odd : {kNan, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(chosen("choose_qparams.tensor", "f64[1], i64[1]", quantized, {odd, -odd, 0, 0}).size(), 2U);
    EXPECT_EQ(
        chosen("choose_qparams_per_token_asymmetric.default", "f64[2,1], i64[2,1]", ", dtype=i8", {odd, -odd, 0, 0})
            .size(),
        4U);
  }
  EXPECT_THAT(chosen("choose_qparams_per_token.default", "f64[2,1], i64[2,1]", ", dtype=i8", numbers),
              ::testing::ElementsAre(near(1.0 / 127), near(4.1 / 127), near(0), near(0)));
}

TEST(TypeOps, PerRowAndPerGroupQuantization) {
  EXPECT_EQ(run("%x : f32[1,2,2], %s : f64[1,2,1], %z : i64[1,2,1]", "i8[1,2,2]",
                R"("quantized_decomposed.quantize_per_token.default", input=%x, scales=%s, zero_points=%z, )"
                R"(quant_min=-128, quant_max=127, dtype=i8)",
                {{1, 2, 3, 400}, {0.5, 1}, {0, 10}}),
            (Numbers{2, 4, 13, 127}));
  EXPECT_EQ(run("%x : i8[1,2,2], %s : f64[1,2,1], %z : i64[1,2,1]", "f32[1,2,2]",
                R"("quantized_decomposed.dequantize_per_token.default", input=%x, scales=%s, zero_points=%z, )"
                R"(quant_min=-128, quant_max=127, dtype=i8, output_dtype=f32)",
                {{2, 4, 13, 127}, {0.5, 1}, {0, 10}}),
            (Numbers{1, 2, 3, 117}));
  EXPECT_EQ(run("%x : i8[1,4], %s : f32[1,2], %z : i64[1,2]", "f32[1,4]",
                R"("quantized_decomposed.dequantize_per_channel_group.default", w_int8=%x, scales=%s, zero_points=%z, )"
                R"(quant_min=-8, quant_max=7, dtype=i8, group_size=2, output_dtype=f32)",
                {{2, 4, -8, 7}, {0.5, 1}, {0, 1}}),
            (Numbers{1, 2, -9, 6}));
  EXPECT_TRUE(is_refused("%x : i8[1,5], %s : f32[1,2], %z : i64[1,2]", "f32[1,5]",
                         R"("quantized_decomposed.dequantize_per_channel_group.default", w_int8=%x, scales=%s, )"
                         R"(zero_points=%z, quant_min=-8, quant_max=7, dtype=i8, group_size=2, output_dtype=f32)"));
  // Embedding tables have zero points between two quantized values.
  EXPECT_EQ(run("%x : u8[2,1], %s : f32[2], %z : f32[2]", "f32[2,1]",
                R"("quantized_decomposed.dequantize_per_channel.default", input=%x, scales=%s, zero_points=%z, )"
                R"(axis=0, quant_min=0, quant_max=255, dtype=u8)",
                {{3, 4}, {1, 2}, {0.5, 1.5}}),
            (Numbers{2.5, 5}));
}

}  // namespace
}  // namespace isthmus::type_ops_test
