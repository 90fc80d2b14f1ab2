// Arrays that do not fit a program's inputs are refused with what would make them fit.
#include "session/given_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::given_inputs_test {
namespace {

using ::testing::HasSubstr;

std::string refusal(const run::TensorInfo& input, const Tensor& array) {
  const std::vector<std::string> files{"a.npy"};
  const auto checked = check_inputs({&input, 1}, {&array, 1}, files);
  return checked ? "" : checked.error().text();
}

TEST(GivenInputs, WhatFitsPasses) {
  EXPECT_EQ(refusal({DType::kF32, {1, 3, 8, 8}}, Tensor(DType::kF32, {1, 3, 8, 8})), "");
  EXPECT_EQ(refusal({DType::kF32, {4, 3}, true}, Tensor(DType::kF32, {2, 3})), "");
}

TEST(GivenInputs, ChannelsLastAreRecognised) {
  const std::string text = refusal({DType::kF32, {1, 3, 8, 8}}, Tensor(DType::kF32, {1, 8, 8, 3}));
  EXPECT_THAT(text, HasSubstr("a.npy is f32[1,8,8,3], but input 0 takes f32[1,3,8,8]"));
  EXPECT_THAT(text, HasSubstr("channels-last (NHWC)"));
  EXPECT_THAT(text, HasSubstr("numpy.transpose(x, (0, 3, 1, 2))"));
}

TEST(GivenInputs, OtherElementTypesAreConvertedByHand) {
  EXPECT_THAT(refusal({DType::kF32, {2}}, Tensor(DType::kF64, {2})), HasSubstr("x.astype(\"float32\")"));
  EXPECT_THAT(refusal({DType::kU8, {2}}, Tensor(DType::kI64, {2})), HasSubstr("x.astype(\"uint8\")"));
}

TEST(GivenInputs, MoreThanTheUpperBoundIsRefused) {
  EXPECT_THAT(refusal({DType::kF32, {4, 3}, true}, Tensor(DType::kF32, {5, 3})), HasSubstr("f32[4,3] at most"));
}

}  // namespace
}  // namespace isthmus::given_inputs_test
