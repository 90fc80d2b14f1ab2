// What the builder of TOSA graphs writes for each device, where Vela takes or prices equal forms differently.
#include <gtest/gtest.h>

#include <algorithm>

#include "targets/ethos_u/forms/builder.h"

namespace isthmus::ethos_u_builder_test {
namespace {

using ethos_u::Device;
using ethos_u::Operand;
using ethos_u::TosaBuilder;

std::vector<tosa::Op> operators(const TosaBuilder& builder) {
  std::vector<tosa::Op> ops;
  for (const tosa::Operator& one : builder.graph().operators) {
    if (one.op != tosa::Op::kConst && one.op != tosa::Op::kConstShape) ops.push_back(one.op);
  }
  return ops;
}

TosaBuilder widened_extreme(Device device, std::int32_t zero_point) {
  TosaBuilder builder(device, TosaBuilder::Constants::kWritten);
  const Operand x = builder.input(tosa::Type::kI8, {6, 5}, "x");
  builder.output(builder.widened(builder.reduce(tosa::Op::kReduceMax, x, 1), zero_point));
  return builder;
}

// Vela makes one reduction of the two, which U55 lacks, where the RESCALE changes the type alone.
TEST(EthosUBuilder, ExtremesAreCastTo32BitsOnU55) {
  const auto has = [](const TosaBuilder& builder, tosa::Op op) { return std::ranges::count(operators(builder), op); };
  EXPECT_EQ(has(widened_extreme(Device::kU55, 0), tosa::Op::kCast), 1);
  EXPECT_EQ(has(widened_extreme(Device::kU55, 0), tosa::Op::kRescale), 0);
  for (const TosaBuilder& builder : {widened_extreme(Device::kU55, 3), widened_extreme(Device::kU85, 0)}) {
    EXPECT_EQ(has(builder, tosa::Op::kCast), 0);
    EXPECT_EQ(has(builder, tosa::Op::kRescale), 1);
  }
  // What is not an extreme is rescaled, also behind a reshape.
  TosaBuilder plain(Device::kU55, TosaBuilder::Constants::kWritten);
  plain.widened(plain.reshape(plain.input(tosa::Type::kI8, {6, 5}, "x"), {5, 6}), 0);
  EXPECT_EQ(has(plain, tosa::Op::kCast), 0);
}

TEST(EthosUBuilder, ExtremesOfRowsAreFoundInColumnsOfOneTranspose) {
  TosaBuilder builder(Device::kU85, TosaBuilder::Constants::kWritten);
  const Operand x = builder.input(tosa::Type::kI8, {1, 3, 4, 5}, "x");
  EXPECT_EQ(builder.reduce(tosa::Op::kReduceMax, x, 3).shape, (Ints{1, 3, 4, 1}));
  EXPECT_EQ(builder.reduce(tosa::Op::kReduceMin, x, 3).shape, (Ints{1, 3, 4, 1}));
  EXPECT_EQ(std::ranges::count(operators(builder), tosa::Op::kTranspose), 1);
  for (const tosa::Operator& one : builder.graph().operators) {
    if (one.op != tosa::Op::kReduceMax) continue;
    EXPECT_EQ(builder.graph().values[one.inputs[0]].shape.size(), 2U);
  }
  // The standard's own targets get the plain reduction, and so do rows that NPUs cannot count.
  TosaBuilder standard(Device::kTosaInt, TosaBuilder::Constants::kWritten);
  standard.reduce(tosa::Op::kReduceMax, standard.input(tosa::Type::kI8, {3, 5}, "x"), 1);
  EXPECT_EQ(operators(standard), std::vector{tosa::Op::kReduceMax});
  TosaBuilder many(Device::kU85, TosaBuilder::Constants::kWritten);
  many.reduce(tosa::Op::kReduceMax, many.input(tosa::Type::kI8, {70'000, 5}, "x"), 1);
  EXPECT_EQ(operators(many), std::vector{tosa::Op::kReduceMax});
}

TEST(EthosUBuilder, TransposesLoseAxesOfSizeOneAboveRankFour) {
  TosaBuilder builder(Device::kU85, TosaBuilder::Constants::kWritten);
  const Operand x = builder.input(tosa::Type::kI8, {1, 4, 1, 2, 3}, "x");
  EXPECT_EQ(builder.transpose(x, {2, 0, 3, 1, 4}).shape, (Ints{1, 1, 2, 4, 3}));
  const auto found = std::ranges::find(builder.graph().operators, tosa::Op::kTranspose, &tosa::Operator::op);
  ASSERT_NE(found, builder.graph().operators.end());
  // The first axis of size one is gone: [4, 1, 2, 3] as [1, 2, 4, 3].
  EXPECT_EQ(std::get<tosa::Transpose>(found->fields).perms, (std::vector<std::int32_t>{1, 2, 0, 3}));
  // Images keep theirs: [N, C, H, W] as [N, H, W, C] is a plain transpose.
  TosaBuilder image(Device::kU85, TosaBuilder::Constants::kWritten);
  image.transpose(image.input(tosa::Type::kI8, {1, 3, 8, 8}, "x"), {0, 2, 3, 1});
  EXPECT_EQ(operators(image), std::vector{tosa::Op::kTranspose});
}

}  // namespace
}  // namespace isthmus::ethos_u_builder_test
