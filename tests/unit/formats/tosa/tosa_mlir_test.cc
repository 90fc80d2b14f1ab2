// TOSA graphs as MLIR text.
#include "formats/tosa/tosa_mlir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/tosa.h"

namespace isthmus::tosa_mlir_test {
namespace {

using test::TosaBuilder;
using testing::HasSubstr;
using tosa::Op;
using tosa::Type;
using tosa::ValueIndex;

// mlir-opt 22 takes this text as it is.
constexpr std::string_view kSmallGraph = R"(module {
  func.func @main(%v0: tensor<1x2x2x1xi8>) -> (tensor<4x2xi8>) {
    %v1 = "tosa.const"() <{values = dense<[[[[3]]], [[[-4]]]]> : tensor<2x1x1x1xi8>}> : () -> tensor<2x1x1x1xi8>
    %v2 = "tosa.const"() <{values = dense<7> : tensor<2xi32>}> : () -> tensor<2xi32>
    %v3 = "tosa.const"() <{values = dense<[-128]> : tensor<1xi8>}> : () -> tensor<1xi8>
    %v4 = "tosa.const"() <{values = dense<[0]> : tensor<1xi8>}> : () -> tensor<1xi8>
    %v5 = "tosa.conv2d"(%v0, %v1, %v2, %v3, %v4) <{acc_type = i32, local_bound = false, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>}> : (tensor<1x2x2x1xi8>, tensor<2x1x1x1xi8>, tensor<2xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x2xi32> loc("net.py:7 \22conv\22")
    %v6 = "tosa.const"() <{values = dense<[1073741824, 1518500250]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %v7 = "tosa.const"() <{values = dense<[33, 34]> : tensor<2xi8>}> : () -> tensor<2xi8>
    %v8 = "tosa.const"() <{values = dense<[0]> : tensor<1xi32>}> : () -> tensor<1xi32>
    %v9 = "tosa.rescale"(%v5, %v6, %v7, %v8, %v4) <{scale32 = true, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, per_channel = true, input_unsigned = false, output_unsigned = false}> : (tensor<1x2x2x2xi32>, tensor<2xi32>, tensor<2xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x2x2x2xi8>
    %v10 = "tosa.clamp"(%v9) <{min_val = -5 : i8, max_val = 100 : i8, nan_mode = #tosa.nan_mode<PROPAGATE>}> : (tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8>
    %v11 = "tosa.const_shape"() <{values = dense<[4, 2]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    %v12 = "tosa.reshape"(%v10, %v11) : (tensor<1x2x2x2xi8>, !tosa.shape<2>) -> tensor<4x2xi8>
    return %v12 : tensor<4x2xi8>
  }
}
)";

// A convolution with its rescale, a clamp and a reshape.
TEST(TosaMlir, SmallGraph) {
  TosaBuilder b;
  const ValueIndex x = b.input(Type::kI8, {1, 2, 2, 1});
  const ValueIndex filters = b.constant(Type::kI8, {2, 1, 1, 1}, {3, -4});
  const ValueIndex bias = b.constant(Type::kI32, {2}, {7, 7});
  const ValueIndex input_zero = b.zero(Type::kI8, -128);
  const ValueIndex weight_zero = b.zero(Type::kI8);
  const tosa::Conv conv{{0, 0, 0, 0}, {1, 1}, {1, 1}, false, Type::kI32};
  const ValueIndex sums =
      b.op(Op::kConv2d, conv, {x, filters, bias, input_zero, weight_zero}, Type::kI32, {1, 2, 2, 2});
  b.graph.operators.back().location = "net.py:7 \"conv\"";
  const ValueIndex multiplier = b.constant(Type::kI32, {2}, {1073741824, 1518500250});
  const ValueIndex shift = b.constant(Type::kI8, {2}, {33, 34});
  const ValueIndex zero = b.zero(Type::kI32);
  const ValueIndex scaled = b.op(Op::kRescale, tosa::Rescale{true, tosa::Rounding::kSingle, true, false, false},
                                 {sums, multiplier, shift, zero, weight_zero}, Type::kI8, {1, 2, 2, 2});
  const ValueIndex low = b.op(Op::kClamp, tosa::Clamp{test::packed(Type::kI8, {-5}), test::packed(Type::kI8, {100})},
                              {scaled}, Type::kI8, {1, 2, 2, 2});
  const ValueIndex sizes = b.shape({4, 2});
  b.output(b.op(Op::kReshape, tosa::Nothing{}, {low, sizes}, Type::kI8, {4, 2}));
  EXPECT_EQ(tosa::to_mlir(b.graph), kSmallGraph);
}

// Elements of every width, one alone, all alike, none, and more than are written as numbers.
TEST(TosaMlir, Constants) {
  const auto text = [](Type type, std::vector<std::int32_t> shape, const std::vector<std::int64_t>& numbers) {
    TosaBuilder b;
    b.output(b.constant(type, std::move(shape), numbers));
    return tosa::to_mlir(b.graph);
  };
  EXPECT_THAT(text(Type::kI8, {}, {-7}), HasSubstr("values = dense<-7> : tensor<i8>}> : () -> tensor<i8>"));
  EXPECT_THAT(text(Type::kI16, {1, 1}, {-300}), HasSubstr("dense<[[-300]]> : tensor<1x1xi16>"));
  EXPECT_THAT(text(Type::kI4, {3}, {-8, 7, -1}), HasSubstr("dense<[-8, 7, -1]> : tensor<3xi4>"));
  EXPECT_THAT(text(Type::kBool, {2}, {1, 0}), HasSubstr("dense<[true, false]> : tensor<2xi1>"));
  EXPECT_THAT(text(Type::kI48, {2, 1}, {-140737488355328, 1}),
              HasSubstr("dense<[[-140737488355328], [1]]> : tensor<2x1xi48>"));
  EXPECT_THAT(text(Type::kI32, {2, 3}, {9, 9, 9, 9, 9, 9}), HasSubstr("dense<9> : tensor<2x3xi32>"));
  EXPECT_THAT(text(Type::kI32, {0, 3}, {}), HasSubstr("dense<> : tensor<0x3xi32>"));
  std::vector<std::int64_t> many(40, 0);
  many[0] = -2;
  many[39] = 16;
  EXPECT_THAT(text(Type::kI16, {40}, many), HasSubstr("dense<\"0xFEFF0000"));
  EXPECT_THAT(text(Type::kI16, {40}, many), HasSubstr("00001000\"> : tensor<40xi16>"));
  EXPECT_THAT(text(Type::kBool, {40}, std::vector<std::int64_t>(40, 1)), HasSubstr("dense<true> : tensor<40xi1>"));
}

// Names of files can be anything; two that become one are told apart.
TEST(TosaMlir, Names) {
  TosaBuilder b;
  const ValueIndex x = b.input(Type::kI8, {2});
  const ValueIndex y = b.op(Op::kIdentity, tosa::Nothing{}, {x}, Type::kI8, {2});
  const ValueIndex z = b.op(Op::kIdentity, tosa::Nothing{}, {y}, Type::kI8, {2});
  b.output(z);
  b.graph.values[x].name = "0\") {";
  b.graph.values[y].name = "a/b";
  b.graph.values[z].name = "a b";
  b.graph.operators.back().location = "\n\xff\\";
  const std::string text = tosa::to_mlir(b.graph);
  EXPECT_THAT(text, HasSubstr("@main(%_0____: tensor<2xi8>) -> (tensor<2xi8>)"));
  EXPECT_THAT(text, HasSubstr("%a_b = \"tosa.identity\"(%_0____) : (tensor<2xi8>) -> tensor<2xi8>\n"));
  EXPECT_THAT(text,
              HasSubstr("%a_b_2 = \"tosa.identity\"(%a_b) : (tensor<2xi8>) -> tensor<2xi8> loc(\"\\0A\\FF\\5C\")"));
  EXPECT_THAT(text, HasSubstr("return %a_b_2 : tensor<2xi8>"));
}

// What each kind of attributes is called.
TEST(TosaMlir, Attributes) {
  using tosa::NanPropagation;
  const std::pair<tosa::Fields, const char*> kRows[] = {
      {tosa::Nothing{}, "(%x) : ("},
      {tosa::Axis{2}, "<{axis = 2 : i32}>"},
      {tosa::AxisNan{1, NanPropagation::kIgnore}, "<{axis = 1 : i32, nan_mode = #tosa.nan_mode<IGNORE>}>"},
      {tosa::NanMode{}, "<{nan_mode = #tosa.nan_mode<PROPAGATE>}>"},
      {tosa::AvgPool{{1, 2}, {3, 4}, {5, 6, 7, 8}, Type::kI32},
       "<{acc_type = i32, kernel = array<i64: 1, 2>, stride = array<i64: 3, 4>, pad = array<i64: 5, 6, 7, 8>}>"},
      {tosa::MaxPool{{1, 2}, {3, 4}, {5, 6, 7, 8}, NanPropagation::kPropagate},
       "pad = array<i64: 5, 6, 7, 8>, nan_mode = #tosa.nan_mode<PROPAGATE>}>"},
      {tosa::Conv{{1, 2, 3, 4}, {5, 6}, {7, 8}, true, Type::kI48},
       "<{acc_type = i48, local_bound = true, pad = array<i64: 1, 2, 3, 4>, stride = array<i64: 5, 6>, dilation = "
       "array<i64: 7, 8>}>"},
      {tosa::TransposeConv{{-1, 2, -3, 4}, {5, 6}, false, Type::kI32},
       "<{acc_type = i32, local_bound = false, out_pad = array<i64: -1, 2, -3, 4>, stride = array<i64: 5, 6>}>"},
      {tosa::Clamp{test::packed(Type::kI16, {-300}), test::packed(Type::kI16, {300})},
       "<{min_val = -300 : i16, max_val = 300 : i16, nan_mode = #tosa.nan_mode<PROPAGATE>}>"},
      {tosa::RightShift{true}, "<{round = true}>"},
      {tosa::Transpose{{1, 0}}, "<{perms = array<i32: 1, 0>}>"},
      {tosa::Resize{tosa::ResizeMode::kBilinear}, "<{mode = #tosa.resize_mode<BILINEAR>}>"},
      {tosa::Rescale{false, tosa::Rounding::kDouble, true, true, false},
       "<{scale32 = false, rounding_mode = #tosa.rounding_mode<DOUBLE_ROUND>, per_channel = true, input_unsigned = "
       "true, output_unsigned = false}>"},
  };
  for (const auto& [fields, expected] : kRows) {
    TosaBuilder b;
    const ValueIndex x = b.input(Type::kI16, {2, 2});
    b.graph.values[x].name = "x";
    b.output(b.op(Op::kIdentity, fields, {x}, Type::kI16, {2, 2}));
    EXPECT_THAT(tosa::to_mlir(b.graph), HasSubstr(expected));
  }
}

}  // namespace
}  // namespace isthmus::tosa_mlir_test
