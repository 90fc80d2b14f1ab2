// What TOSA demands of each operator: the graph that breaks a rule is refused in words that name operator and tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "support/tosa.h"
#include "targets/tosa/rules.h"

namespace isthmus::tosa_rules_test {
namespace {

using test::TosaBuilder;
using testing::HasSubstr;
using tosa::Op;
using tosa::Type;
using tosa::ValueIndex;

std::string refusal(const TosaBuilder& b) {
  if (const auto verified = tosa::verify(b.graph); !verified) return "not even a graph: " + verified.error().text();
  const auto checked = tosa::check(b.graph);
  const auto loaded = tosa::Interpreter::load(b.graph);
  if (checked.has_value() != loaded.has_value()) return "checks differ";
  return checked ? "accepted" : checked.error().text();
}

struct Fault {
  const char* name;
  std::function<void(TosaBuilder&)> make;
  const char* words;
};
void PrintTo(const Fault& fault, std::ostream* stream) { *stream << fault.name; }

TosaBuilder conv() {
  TosaBuilder b;
  const ValueIndex x = b.input(Type::kI8, {1, 5, 5, 3});
  const ValueIndex w = b.constant(Type::kI8, {4, 3, 3, 3}, std::vector<std::int64_t>(108, 1));
  const ValueIndex bias = b.constant(Type::kI32, {4}, {1, 2, 3, 4});
  const ValueIndex in_zero = b.zero(Type::kI8, 5);
  const ValueIndex weight_zero = b.zero(Type::kI8);
  b.output(b.op(Op::kConv2d, tosa::Conv{{0, 0, 0, 0}, {2, 2}, {1, 1}, false, Type::kI32},
                {x, w, bias, in_zero, weight_zero}, Type::kI32, {1, 2, 2, 4}));
  return b;
}
tosa::Conv& conv_fields(TosaBuilder& b) { return std::get<tosa::Conv>(b.graph.operators.back().fields); }

const Fault kConvFaults[] = {
    {"even",
     [](TosaBuilder& b) {
       conv_fields(b).pad = {0, 1, 0, 0};
     },
     "along axis 1 of \"v5\" there are 3 to go in steps of 2, which does not come out even\n  in CONV2D \"v5\""},
    {"steps",
     [](TosaBuilder& b) {
       conv_fields(b).stride = {1, 2};
     },
     "the output \"v5\" is i32[1,2,2,4], but 3 long along axis 1"},
    {"stride",
     [](TosaBuilder& b) {
       conv_fields(b).stride = {0, 2};
     },
     "the stride is [0,2]"},
    {"large stride",
     [](TosaBuilder& b) {
       conv_fields(b).stride = {8193, 2};
     },
     "its numbers are from 1 to 8192"},
    {"pad",
     [](TosaBuilder& b) {
       conv_fields(b).pad = {-1, 0, 0, 0};
     },
     "the padding is [-1,0,0,0]"},
    {"pads",
     [](TosaBuilder& b) {
       conv_fields(b).pad = {0, 0};
     },
     "the padding has 2 numbers instead of 4"},
    {"dilation",
     [](TosaBuilder& b) {
       conv_fields(b).dilation = {2731, 1};
     },
     "a kernel of 3 with a dilation of 2731"},
    {"acc", [](TosaBuilder& b) { conv_fields(b).acc_type = Type::kI48; }, "sums in i48 instead of i32"},
    {"bias", [](TosaBuilder& b) { b.graph.operators.back().inputs[2] = b.graph.operators.back().inputs[3]; },
     "types i8 i8 i8 i8 i8 > i32"},
    {"channels",
     [](TosaBuilder& b) {
       b.graph.values[0].shape = {1, 5, 5, 2};
     },
     "do not fit 2 channels of the input"},
    {"rank",
     [](TosaBuilder& b) {
       b.graph.values[0].shape = {5, 5, 3};
     },
     "the input \"v0\" is i8[5,5,3], but it has 4 dimensions"},
    {"batch",
     [](TosaBuilder& b) {
       b.graph.values[5].shape = {2, 2, 2, 4};
     },
     "the output \"v5\" is i32[2,2,2,4] instead of [1,2,2,4]"},
    {"type", [](TosaBuilder& b) { b.graph.values[0].type = Type::kI16; },
     "types i16 i8 i32 i8 i8 > i32, but legal are"},
};

class TosaConvRules : public testing::TestWithParam<Fault> {};
TEST_P(TosaConvRules, AreKept) {
  TosaBuilder b = conv();
  EXPECT_EQ(refusal(b), "accepted");
  GetParam().make(b);
  EXPECT_THAT(refusal(b), HasSubstr(GetParam().words));
}
INSTANTIATE_TEST_SUITE_P(Every, TosaConvRules, testing::ValuesIn(kConvFaults));

// One operator on constants and inputs as they are given, with the words that refuse it.
const Fault kFaults[] = {
    {"dynamic zero point",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {2}), z = b.input(Type::kI8, {1});
       b.op(Op::kNegate, tosa::Nothing{}, {x, z, z}, Type::kI8, {2});
     },
     "the zero point of the input \"v1\" is not constant\n  in NEGATE \"v2\""},
    {"zero point of 16 bits",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI16, {2}), z = b.zero(Type::kI16, 3);
       b.op(Op::kNegate, tosa::Nothing{}, {x, z, z}, Type::kI16, {2});
     },
     "the zero point of the input \"v1\" is 3, but i16 has no zero point"},
    {"add of 8 bits",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {2});
       b.op(Op::kAdd, tosa::Nothing{}, {x, x}, Type::kI8, {2});
     },
     "types i8 i8 > i8, but legal are i32 i32 > i32"},
    {"broadcast",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI32, {2, 3}), y = b.input(Type::kI32, {2, 4});
       b.op(Op::kAdd, tosa::Nothing{}, {x, y}, Type::kI32, {2, 4});
     },
     "inputs \"v0\" i32[2,3] and \"v1\" i32[2,4] differ along axis 1"},
    {"broadcast ranks",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI32, {2, 3}), y = b.input(Type::kI32, {3});
       b.op(Op::kAdd, tosa::Nothing{}, {x, y}, Type::kI32, {2, 3});
     },
     "an input \"v1\" is i32[3], but it has 2 dimensions"},
    {"mul shift",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI16, {2});
       b.op(Op::kMul, tosa::Nothing{}, {x, x, b.constant(Type::kI8, {1}, {1})}, Type::kI32, {2});
     },
     "the shift \"v1\" is 1, but at most 0 for i16"},
    {"rank",
     [](TosaBuilder& b) {
       b.op(Op::kAbs, tosa::Nothing{}, {b.input(Type::kI32, {1, 1, 1, 1, 1, 1, 1})}, Type::kI32, {1, 1, 1, 1, 1, 1, 1});
     },
     "\"v0\" has 7 dimensions, and level 8K allows 6\n  in ABS \"v1\""},
    {"list",
     [](TosaBuilder& b) {
       const std::vector<ValueIndex> many(65, b.input(Type::kI8, {1}));
       b.op(Op::kConcat, tosa::Axis{0}, many, Type::kI8, {65});
     },
     "65 inputs, and level 8K allows 64"},
    {"concat",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {2, 3}), y = b.input(Type::kI8, {2, 4});
       b.op(Op::kConcat, tosa::Axis{0}, {x, y}, Type::kI8, {4, 3});
     },
     "an input \"v1\" is i8[2,4] instead of [2,3]"},
    {"concat types",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {2}), y = b.input(Type::kI16, {2});
       b.op(Op::kConcat, tosa::Axis{0}, {x, y}, Type::kI8, {4});
     },
     "types i8 i16 > i8"},
    {"axis",
     [](TosaBuilder& b) {
       b.op(Op::kReduceSum, tosa::Axis{2}, {b.input(Type::kI32, {2, 3})}, Type::kI32, {2, 1});
     },
     "axis 2 of \"v0\" i32[2,3]"},
    {"table of 8 bits",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {2});
       b.op(Op::kTable, tosa::Nothing{}, {x, b.constant(Type::kI8, {255}, std::vector<std::int64_t>(255, 0))},
            Type::kI8, {2});
     },
     "the table \"v1\" is i8[255] instead of [256]"},
    {"table of 16 bits",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI16, {2});
       b.op(Op::kTable, tosa::Nothing{}, {x, b.constant(Type::kI16, {512}, std::vector<std::int64_t>(512, 0))},
            Type::kI32, {2});
     },
     "the table \"v1\" is i16[512] instead of [513]"},
    {"pool padding",
     [](TosaBuilder& b) {
       b.op(Op::kMaxPool2d, tosa::MaxPool{{2, 2}, {1, 1}, {2, 0, 0, 0}}, {b.input(Type::kI8, {1, 3, 3, 1})}, Type::kI8,
            {1, 4, 2, 1});
     },
     "a padding of 2 is not less than the kernel's 2"},
    {"pool size",
     [](TosaBuilder& b) {
       b.op(Op::kMaxPool2d, tosa::MaxPool{{2, 2}, {2, 2}, {0, 0, 0, 0}}, {b.input(Type::kI8, {1, 3, 4, 1})}, Type::kI8,
            {1, 1, 2, 1});
     },
     "there are 1 to go in steps of 2, which does not come out even"},
    {"transposed padding",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {1, 3, 3, 1});
       const auto w = b.constant(Type::kI8, {1, 2, 2, 1}, {1, 1, 1, 1});
       const auto bias = b.constant(Type::kI32, {1}, {0});
       b.op(Op::kTransposeConv2d, tosa::TransposeConv{{-2, 0, 0, 0}, {1, 1}},
            {x, w, bias, b.zero(Type::kI8), b.zero(Type::kI8)}, Type::kI32, {1, 2, 4, 1});
     },
     "a padding of -2 and 0 takes all of a kernel of 2"},
    {"clamp",
     [](TosaBuilder& b) {
       b.op(Op::kClamp, tosa::Clamp{{std::byte{5}}, {std::byte{0xFF}}}, {b.input(Type::kI8, {2})}, Type::kI8, {2});
     },
     "its bounds are 5 and -1"},
    {"clamp bytes",
     [](TosaBuilder& b) {
       b.op(Op::kClamp, tosa::Clamp{{std::byte{5}}, {std::byte{6}}}, {b.input(Type::kI16, {2})}, Type::kI16, {2});
     },
     "bounds of 1 and 1 bytes for i16"},
    {"permutation",
     [](TosaBuilder& b) {
       b.op(Op::kTranspose, tosa::Transpose{{0, 0}}, {b.input(Type::kI8, {2, 2})}, Type::kI8, {2, 2});
     },
     "the permutation has axis 0 twice"},
    {"slice",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {5});
       b.op(Op::kSlice, tosa::Nothing{}, {x, b.shape({3}), b.shape({3})}, Type::kI8, {3});
     },
     "3 elements from 3 on of 5 along axis 0"},
    {"reshape",
     [](TosaBuilder& b) {
       b.op(Op::kReshape, tosa::Nothing{}, {b.input(Type::kI8, {5}), b.shape({2, 2})}, Type::kI8, {2, 2});
     },
     "5 elements become 4"},
    {"pad count",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {5});
       b.op(Op::kPad, tosa::Nothing{}, {x, b.shape({1}), b.zero(Type::kI8)}, Type::kI8, {6});
     },
     "the padding \"v1\" has 1 numbers instead of 2"},
    {"resize scale",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {1, 2, 2, 1});
       b.op(Op::kResize, tosa::Resize{tosa::ResizeMode::kNearest},
            {x, b.shape({257, 1, 1, 1}), b.shape({0, 0}), b.shape({0, 0})}, Type::kI8, {1, 258, 2, 1});
     },
     "a scale of 257/1, and level 8K allows 256"},
    {"resize mode",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {1, 2, 2, 1});
       b.op(Op::kResize, tosa::Resize{tosa::ResizeMode::kBilinear},
            {x, b.shape({1, 1, 1, 1}), b.shape({0, 0}), b.shape({0, 0})}, Type::kI8, {1, 2, 2, 1});
     },
     "mode 2 does not make i8 of i8"},
    {"matrices",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kI8, {1, 2, 3}), y = b.input(Type::kI8, {1, 4, 2}), z = b.zero(Type::kI8);
       b.op(Op::kMatMul, tosa::Nothing{}, {x, y, z, z}, Type::kI32, {1, 2, 2});
     },
     "the right matrix \"v1\" is i8[1,4,2] instead of [1,3,2]"},
    {"float", [](TosaBuilder& b) { b.op(Op::kSigmoid, tosa::Nothing{}, {b.input(Type::kF32, {2})}, Type::kF32, {2}); },
     "this operator is none of those in integers that Isthmus computes\n  in SIGMOID \"v1\""},
    {"float add",
     [](TosaBuilder& b) {
       const auto x = b.input(Type::kF32, {2});
       b.op(Op::kAdd, tosa::Nothing{}, {x, x}, Type::kF32, {2});
     },
     "types f32 f32 > f32"},
};

class TosaRules : public testing::TestWithParam<Fault> {};
TEST_P(TosaRules, AreKept) {
  TosaBuilder b;
  GetParam().make(b);
  b.output(static_cast<ValueIndex>(b.graph.values.size() - 1));
  EXPECT_THAT(refusal(b), HasSubstr(GetParam().words));
}
INSTANTIATE_TEST_SUITE_P(Every, TosaRules, testing::ValuesIn(kFaults));

struct RescaleCase {
  Type in = Type::kI8, out = Type::kI8;
  tosa::Rescale fields = {};
  std::int64_t multiplier = 1 << 14, shift = 14, in_zero = 0, out_zero = 0;
};
std::string rescale_refusal(const RescaleCase& c) {
  TosaBuilder b;
  const auto x = b.input(c.in, {2});
  const auto multiplier = b.constant(c.fields.scale32 ? Type::kI32 : Type::kI16, {1}, {c.multiplier});
  const auto shift = b.constant(Type::kI8, {1}, {c.shift});
  const auto in_zero = b.zero(c.in, c.in_zero);
  const auto out_zero = b.zero(c.out, c.out_zero);
  b.output(b.op(Op::kRescale, c.fields, {x, multiplier, shift, in_zero, out_zero}, c.out, {2}));
  return refusal(b);
}
TEST(TosaRescaleRules, AreKept) {
  using tosa::Rescale;
  using tosa::Rounding;
  EXPECT_EQ(rescale_refusal({}), "accepted");
  EXPECT_THAT(rescale_refusal({.multiplier = -1}), HasSubstr("multiplier 0 is -1"));
  EXPECT_THAT(rescale_refusal({.shift = 1}), HasSubstr("shift 0 is 1, not from 2 to 62"));
  EXPECT_THAT(rescale_refusal({.shift = 63}), HasSubstr("shift 0 is 63"));
  EXPECT_THAT(rescale_refusal({.in = Type::kI16, .in_zero = 1}), HasSubstr("i16 has no zero point"));
  EXPECT_THAT(rescale_refusal({.in = Type::kI32, .in_zero = 1}), HasSubstr("i32 has no zero point"));
  EXPECT_EQ(
      rescale_refusal({.in = Type::kI16, .fields = Rescale{true, Rounding::kSingle, false, true}, .in_zero = -32768}),
      "accepted");
  EXPECT_THAT(
      rescale_refusal({.in = Type::kI16, .fields = Rescale{true, Rounding::kSingle, false, true}, .in_zero = 7}),
      HasSubstr("has no zero point"));
  EXPECT_THAT(rescale_refusal({.fields = Rescale{true, Rounding::kSingle, false, true, true}}),
              HasSubstr("not both sides"));
  EXPECT_THAT(rescale_refusal({.in = Type::kI32, .fields = Rescale{true, Rounding::kSingle, false, false, true}}),
              HasSubstr("neither side can be unsigned"));
  EXPECT_THAT(rescale_refusal({.in = Type::kI48, .fields = Rescale{true}}), HasSubstr("types i48 i32"));
  EXPECT_EQ(rescale_refusal({.in = Type::kI48, .fields = Rescale{false}}), "accepted");
  EXPECT_THAT(rescale_refusal({.fields = Rescale{false, Rounding::kDouble}}), HasSubstr("double rounding needs"));
  EXPECT_THAT(rescale_refusal({.fields = Rescale{true, Rounding::kUnknown}}), HasSubstr("does not say how to round"));
  EXPECT_THAT(rescale_refusal({.in = Type::kBool}), HasSubstr("types bool"));
}

TEST(TosaRules, OfEveryOperatorThatIsComputed) {
  std::set<std::string_view> computed;
  for (const Op op : tosa::all_ops()) {
    if (tosa::find_rule(op) != nullptr) computed.insert(tosa::name_of(op));
  }
  for (const char* name : {"ARGMAX",
                           "AVG_POOL2D",
                           "CONV2D",
                           "DEPTHWISE_CONV2D",
                           "MATMUL",
                           "MAX_POOL2D",
                           "TRANSPOSE_CONV2D",
                           "CLAMP",
                           "ADD",
                           "ARITHMETIC_RIGHT_SHIFT",
                           "BITWISE_AND",
                           "BITWISE_OR",
                           "BITWISE_XOR",
                           "INTDIV",
                           "LOGICAL_AND",
                           "LOGICAL_LEFT_SHIFT",
                           "LOGICAL_RIGHT_SHIFT",
                           "LOGICAL_OR",
                           "LOGICAL_XOR",
                           "MAXIMUM",
                           "MINIMUM",
                           "MUL",
                           "SUB",
                           "TABLE",
                           "ABS",
                           "BITWISE_NOT",
                           "CLZ",
                           "LOGICAL_NOT",
                           "NEGATE",
                           "SELECT",
                           "EQUAL",
                           "GREATER",
                           "GREATER_EQUAL",
                           "REDUCE_ALL",
                           "REDUCE_ANY",
                           "REDUCE_MAX",
                           "REDUCE_MIN",
                           "REDUCE_SUM",
                           "CONCAT",
                           "PAD",
                           "RESHAPE",
                           "REVERSE",
                           "SLICE",
                           "TILE",
                           "TRANSPOSE",
                           "GATHER",
                           "SCATTER",
                           "RESIZE",
                           "CAST",
                           "RESCALE",
                           "IDENTITY"}) {
    EXPECT_TRUE(computed.erase(name) == 1) << name;
  }
  EXPECT_TRUE(computed.empty());
}

TEST(TosaLimits, OfMemoryAndSteps) {
  const TosaBuilder b = conv();
  EXPECT_THAT(tosa::Interpreter::load(b.graph, {.max_bytes = 100}).error().text(),
              HasSubstr("than there may be\n  in CONV2D"));
  EXPECT_THAT(tosa::Interpreter::load(b.graph, {.max_bytes = 100, .kernels = tosa::Kernels::kPlain}).error().text(),
              HasSubstr("bytes of memory, and there may be 100"));
  EXPECT_THAT(tosa::Interpreter::load(b.graph, {.max_work = 400}).error().text(), HasSubstr("more than 400 steps"));
  EXPECT_EQ(tosa::Interpreter::load(b.graph)->work(), 16u * 27u);
}

}  // namespace
}  // namespace isthmus::tosa_rules_test
