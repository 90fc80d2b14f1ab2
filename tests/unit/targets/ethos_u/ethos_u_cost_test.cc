// The estimate of what TOSA graphs cost on NPUs, against figures of Vela 5.1.0 for the same graphs.
#include <gtest/gtest.h>

#include "formats/tosa/tosa.h"
#include "support/tosa.h"
#include "targets/ethos_u/cost.h"

namespace isthmus::ethos_u_cost_test {
namespace {

using ethos_u::estimate;
using ethos_u::find_machine;
using ethos_u::GraphCost;
using test::TosaBuilder;
using tosa::Op;
using tosa::Type;
using tosa::ValueIndex;
using Shape = std::vector<std::int32_t>;

GraphCost cost(const TosaBuilder& b, std::string_view target) { return estimate(b.graph, *find_machine(target)); }

ValueIndex rescale(TosaBuilder& b, ValueIndex x, Type from, Type to, const Shape& shape) {
  return b.op(
      Op::kRescale, tosa::Rescale{true, tosa::Rounding::kSingle, false},
      {x, b.constant(Type::kI32, {1}, {1 << 30}), b.constant(Type::kI8, {1}, {32}), b.zero(from, 0), b.zero(to, 0)}, to,
      shape);
}
std::vector<std::int64_t> ones(std::int64_t count) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), 1);
}

TosaBuilder transpose(const Shape& shape, const std::vector<std::int32_t>& perms) {
  TosaBuilder b;
  Shape out;
  for (const std::int32_t axis : perms) out.push_back(shape[static_cast<std::size_t>(axis)]);
  b.output(b.op(Op::kTranspose, tosa::Transpose{perms}, {b.input(Type::kI8, shape)}, Type::kI8, out));
  return b;
}

TosaBuilder conv(Op op, const Shape& in, const Shape& weight, std::int32_t stride, const Shape& out) {
  TosaBuilder b;
  std::int64_t weights = 1;
  for (const std::int32_t size : weight) weights *= size;
  const ValueIndex sums = b.op(op, tosa::Conv{{0, 0, 0, 0}, {stride, stride}, {1, 1}, false, Type::kI32},
                               {b.input(Type::kI8, in), b.constant(Type::kI8, weight, ones(weights)),
                                b.constant(Type::kI32, {1}, {0}), b.zero(Type::kI8, 0), b.zero(Type::kI8, 0)},
                               Type::kI32, out);
  b.output(rescale(b, sums, Type::kI32, Type::kI8, out));
  return b;
}

// The image of a network, whose three channels fill bricks of 16: Vela says 401,582 cycles, and 18,822 for the smaller.
TEST(EthosUCost, TransposesOfFewChannelsComputeWholeBricks) {
  EXPECT_NEAR(cost(transpose({1, 3, 224, 224}, {0, 2, 3, 1}), "ethos-u85-256").cycles, 401'582, 0.05 * 401'582);
  EXPECT_NEAR(cost(transpose({1, 3, 48, 48}, {0, 2, 3, 1}), "ethos-u85-256").cycles, 18'822, 0.05 * 18'822);
}

TEST(EthosUCost, TransposesOfManyAxesAreSeveralSteps) {
  for (const std::string_view target : {"ethos-u55-128", "ethos-u85-256"}) {
    const double plain = cost(transpose({1, 48, 12, 16}, {0, 2, 1, 3}), target).cycles;
    const double four = cost(transpose({12, 4, 12, 16}, {0, 2, 1, 3}), target).cycles;
    const double five = cost(transpose({3, 4, 4, 12, 16}, {3, 2, 1, 0, 4}), target).cycles;
    EXPECT_GT(four, 3 * plain) << target;
    EXPECT_GT(five, four) << target;
  }
}

// Vela says 144 times 580 cycles.
TEST(EthosUCost, ConvolutionsOfLargeStepsAreOneForEachPosition) {
  const TosaBuilder strided = conv(Op::kConv2d, {1, 48, 48, 3}, {32, 4, 4, 3}, 4, {1, 12, 12, 32});
  const TosaBuilder plain = conv(Op::kConv2d, {1, 12, 12, 48}, {32, 1, 1, 48}, 1, {1, 12, 12, 32});
  const double cycles = cost(strided, "ethos-u85-256").cycles;
  EXPECT_NEAR(cycles, 144 * 580, 0.25 * 144 * 580);
  EXPECT_GT(cycles, 10 * cost(plain, "ethos-u85-256").cycles);
}

// A depthwise convolution over 7 by 7 pixels and 960 channels: 21,204 cycles.
TEST(EthosUCost, DepthwiseConvolutions) {
  const TosaBuilder b = conv(Op::kDepthwiseConv2d, {1, 9, 9, 960}, {3, 3, 960, 1}, 1, {1, 7, 7, 960});
  EXPECT_NEAR(cost(b, "ethos-u85-256").cycles, 21'204, 0.25 * 21'204);
}

TEST(EthosUCost, OperatorsFusedByVelaCostNothing) {
  const TosaBuilder b = conv(Op::kConv2d, {1, 8, 8, 16}, {16, 1, 1, 16}, 1, {1, 8, 8, 16});
  const GraphCost all = cost(b, "ethos-u85-256");
  ASSERT_EQ(all.by_operator.size(), b.graph.operators.size());
  double sum = 0;
  for (std::size_t i = 0; i < all.by_operator.size(); ++i) {
    if (b.graph.operators[i].op == Op::kRescale) {
      EXPECT_EQ(all.by_operator[i], 0);
    }
    sum += all.by_operator[i];
  }
  EXPECT_DOUBLE_EQ(sum, all.cycles);
}

// What a step reads and what it makes, 1024 bytes each.
TEST(EthosUCost, MemoryIsThatOfLivingTensors) {
  TosaBuilder b;
  const Shape shape{1, 8, 8, 16};
  ValueIndex x = b.input(Type::kI8, shape);
  for (int i = 0; i < 3; ++i) {
    x = b.op(Op::kTranspose, tosa::Transpose{{0, 2, 1, 3}}, {x}, Type::kI8, shape);
  }
  b.output(x);
  EXPECT_EQ(cost(b, "ethos-u85-256").sram_bytes, 2048);
  EXPECT_EQ(cost(b, "ethos-u55-128").sram_bytes, 2048);
}

TEST(EthosUCost, EveryNpuHasFigures) {
  for (const char* target :
       {"ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512",
        "ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"}) {
    ASSERT_NE(find_machine(target), nullptr) << target;
    EXPECT_GT(cost(transpose({1, 8, 8, 16}, {0, 2, 1, 3}), target).cycles, 0) << target;
  }
  EXPECT_EQ(find_machine("tosa-int"), nullptr);
  EXPECT_EQ(find_machine("xnnpack"), nullptr);
}

}  // namespace
}  // namespace isthmus::ethos_u_cost_test
