// Host kernels compute as ExecuTorch's do where these are not PyTorch's: the expected numbers follow from its sources
// (kernels/portable/cpu and kernels/quantized/cpu, version 1.5.0), bit by bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/calls.h"
#include "support/host_case.h"
#include "targets/host/portable/kernels.h"

namespace isthmus::executorch_kernels_test {
namespace {

using host_case::Arg;
using host_case::Case;
using host_case::flag;
using host_case::In;
using host_case::Ints;
using host_case::none;
using host_case::number;
using host_case::Out;
using host_case::real;
using host_case::Result;
using test::floats;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class Number>
Tensor vector(const std::vector<Number>& numbers) {
  return test::tensor<Number>({static_cast<std::int64_t>(numbers.size())}, numbers);
}
Tensor reals(const std::vector<float>& numbers) { return vector<float>(numbers); }
Tensor doubles(const std::vector<double>& numbers) { return vector<double>(numbers); }
Tensor longs(const std::vector<std::int64_t>& numbers) { return vector<std::int64_t>(numbers); }
Tensor ints(const std::vector<std::int32_t>& numbers) { return vector<std::int32_t>(numbers); }
Tensor quantized(const std::vector<std::int8_t>& numbers) { return vector<std::int8_t>(numbers); }
Tensor bools(const std::vector<std::uint8_t>& numbers) {
  return test::tensor<std::uint8_t>({static_cast<std::int64_t>(numbers.size())}, numbers, DType::kBool);
}

Case unary(const std::string& name, const Tensor& x, const Tensor& y) {
  return {"aten::" + name + ".out", {In{x}, Out{y}, Result{}}};
}
Case binary(const std::string& name, const Tensor& a, const Tensor& b, const Tensor& y) {
  return {"aten::" + name, {In{a}, In{b}, Out{y}, Result{}}};
}
Case along(const std::string& name, const Tensor& x, std::int64_t axis, const Tensor& y) {
  return {"aten::" + name + ".out", {In{x}, Ints{{axis}}, flag(false), none(), Out{y}, Result{}}};
}
Case at_axis(const std::string& name, const Tensor& x, std::int64_t axis, Arg last, const Tensor& y) {
  return {"aten::" + name, {In{x}, number(axis), std::move(last), Out{y}, Result{}}};
}

constexpr std::int64_t kLarge = (std::int64_t{1} << 53) + 1;  // no double
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

std::vector<Case> division_cases() {
  return {
      // C's %: the rest has the sign of the dividend. Floats have the divisor's.
      binary("remainder.Tensor_out", longs({-29, 29, -29, 29}), longs({7, -7, -7, 7}), longs({-1, 1, -1, 1})),
      binary("remainder.Tensor_out", quantized({-29, 29}), quantized({7, -7}), quantized({-1, 1})),
      binary("remainder.Tensor_out", reals({-5.5, 5.5, -4, 1}), reals({2, -2, 2, kInfinity}),
             reals({.5, -.5, -0.f, 1})),
      binary("remainder.Tensor_out", doubles({1.1}), doubles({1}), doubles({static_cast<float>(std::fmod(1.1, 1))})),
      // Integers are doubles on the way.
      binary("fmod.Tensor_out", ints({-29, 29}), ints({7, -7}), ints({-1, 1})),
      binary("fmod.Tensor_out", longs({kLarge}), longs({2}), longs({0})),
      {"aten::div.out_mode",
       {In{longs({kLarge, -7})}, In{longs({1, 2})}, Arg(pte::Value(std::string("trunc"))), Out{longs({kLarge - 1, -3})},
        Result{}}},
      binary("pow.Tensor_Tensor_out", longs({3, 2, 0}), longs({35, -1, -1}), longs({50031545098999704, 0, kLowest})),
      binary("pow.Tensor_Tensor_out", ints({2, -2}), ints({31, 31}), ints({-2147483647 - 1, -2147483647 - 1})),
      // Exact.
      binary("floor_divide.out", longs({-29, kLarge, 29}), longs({7, 1, -7}), longs({-5, kLarge, -5})),
      // Infinite by the dividend's sign wherever the divisor is 0.
      binary("floor_divide.out", reals({1, -1, 0, 1, -29.5}), reals({0, 0, 0, -0.f, 7}),
             reals({kInfinity, -kInfinity, kInfinity, kInfinity, -5})),
      // Amounts beyond the type are taken by their low bits on x86.
      binary("bitwise_left_shift.Tensor_out", ints({1, 1, 3}), ints({4, 33, 0}), ints({16, 2, 3})),
      binary("bitwise_right_shift.Tensor_out", ints({-16, -16}), ints({2, 34}), ints({-4, -4})),
  };
}

std::vector<Case> elementwise_cases() {
  return {
      unary("abs", reals({-0.f, -2, kNan}), reals({-0.f, 2, kNan})),
      unary("sign", reals({kNan, -3, -0.f, 4}), reals({kNan, -1, 0, 1})),
      unary("round", reals({.5, 1.5, 2.5, -.5, -1.5, -2.5}), reals({0, 2, 2, -0.f, -2, -2})),
      unary("relu", reals({kNan, -1, -0.f}), reals({kNan, 0, -0.f})),
      binary("maximum.out", reals({kNan, 1, 0, -0.f}), reals({1, kNan, -0.f, 0}), reals({kNan, kNan, 0, -0.f})),
      binary("minimum.out", reals({kNan, 1, 0, -0.f}), reals({1, kNan, -0.f, 0}), reals({kNan, kNan, 0, -0.f})),
      {"aten::clamp.out", {In{reals({kNan, -5, 5})}, real(-1), real(1), Out{reals({kNan, -1, 1})}, Result{}}},
      // In doubles, then rounded.
      {"aten::gelu.out",
       {In{reals({1, -kInfinity})}, Arg(pte::Value(std::string("none"))),
        Out{reals({static_cast<float>(0.5 * (1 + std::erf(1 * 0.70710678118654752440))), 0})}, Result{}}},
      binary("logical_and.out", reals({kNan, 0}), reals({2, 1}), bools({1, 0})),
      {"aten::add.out", {In{longs({1, 2})}, In{longs({3, 4})}, number(10), Out{longs({31, 42})}, Result{}}},
  };
}

// Sums are floats, number after number.
std::vector<Case> reduction_cases() {
  const Tensor lossy = floats({2, 3}, {1e8, 1, -1e8, 1, 2, 3});
  const float third = 1.0f / 3;
  return {
      {"aten::sum.IntList_out", {In{lossy}, Ints{{1}}, flag(false), none(), Out{reals({0, 6})}, Result{}}},
      along("mean", lossy, 1, reals({0, 2})),
      along("mean", floats({3, 2}, {1e8, 1, 1, 2, -1e8, 3}), 0, reals({0, 2})),
      at_axis("cumsum.out", lossy, 1, none(), floats({2, 3}, {1e8, 1e8, 0, 1, 3, 6})),
      {"aten::var.correction_out",
       {In{floats({1, 2}, {1, 4})}, Ints{{1}}, real(2), flag(false), Out{reals({kNan})}, Result{}}},
      {"aten::argmax.out",
       {In{floats({2, 4}, {1, 3, 3, 2, 1, kNan, 9, kNan})}, number(1), flag(false), Out{longs({1, 1})}, Result{}}},
      {"aten::amax.out", {In{floats({1, 3}, {1, kNan, 3})}, Ints{{1}}, flag(false), Out{reals({kNan})}, Result{}}},
      {"aten::any.dims_out", {In{floats({1, 2}, {0, kNan})}, Ints{{1}}, flag(false), Out{bools({1})}, Result{}}},
      at_axis("_softmax.out", floats({1, 3}, {0, 0, 0}), 1, flag(false), floats({1, 3}, {third, third, third})),
      {"aten::topk.values",
       {In{reals({1, kNan, 3, 2})}, number(3), number(0), flag(true), flag(true), Out{reals({kNan, 3, 2})},
        Out{longs({1, 2, 3})}, Result{}}},
  };
}

std::vector<Case> layer_cases() {
  const Tensor far = floats({1, 3}, {10000, 10001, 10002});
  const float deviation = std::sqrt(1e-5f);  // the squares leave no variance
  const auto factor = static_cast<float>(1.0 / static_cast<double>(deviation));
  return {
      {"aten::native_layer_norm.out",
       {In{far}, Ints{{3}}, none(), none(), real(1e-5), Out{floats({1, 3}, {-1 / deviation, 0, 1 / deviation})},
        Out{floats({1, 1}, {10001})}, Out{floats({1, 1}, {factor})}, Result{}}},
      {"aten::mm.out",
       {In{floats({1, 3}, {1e8, 1, -1e8})}, In{floats({3, 1}, {1, 1, 1})}, Out{floats({1, 1}, {0})}, Result{}}},
      // NaN is greater than none, and none greater than it.
      {"aten::max_pool2d_with_indices.out",
       {In{floats({1, 1, 2, 2}, {kNan, 1, 2, kNan})}, Ints{{1, 2}}, Ints{{1, 2}}, Ints{{0, 0}}, Ints{{1, 1}},
        flag(false), Out{floats({1, 1, 2, 1}, {kNan, 2})}, Out{test::tensor<std::int64_t>({1, 1, 2, 1}, {0, 2})},
        Result{}}},
      {"aten::avg_pool2d.out",
       {In{floats({1, 1, 1, 3}, {1e8, 1, -1e8})}, Ints{{1, 3}}, Ints{{1, 3}}, Ints{{0, 0}}, flag(false), flag(true),
        none(), Out{floats({1, 1, 1, 1}, {0})}, Result{}}},
      {"quantized_decomposed::quantize_per_tensor.out",
       {In{reals({.25, -.75, 100, -kInfinity})}, real(.1), number(1), number(-128), number(127), number(1),
        Out{quantized({3, -7, 127, -128})}, Result{}}},
  };
}

// Numbers by their bits, but any NaN is a NaN.
template <class Number>
bool is_same(Number a, Number b) {
  return (is_nan(a) && is_nan(b)) || std::memcmp(&a, &b, sizeof(Number)) == 0;
}

void expect_cases(const std::vector<Case>& cases) {
  for (const Case& facts : cases) {
    SCOPED_TRACE(facts.kernel);
    const host_case::Built built = host_case::CaseBuilder().run(facts);
    const auto outputs = host_case::computed(built);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().text();
    ASSERT_EQ(outputs->size(), built.expected.size());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const Tensor& found = *(*outputs)[i];
      ASSERT_EQ(found.dtype(), built.expected[i].dtype());
      dispatch(found.dtype(), [&]<class Number>(Number) {
        for (std::size_t k = 0; k < found.data<Number>().size(); ++k) {
          const Number expected = built.expected[i].data<Number>()[k];
          EXPECT_TRUE(is_same(found.data<Number>()[k], expected))
              << "output " << i << ", element " << k << ": " << +found.data<Number>()[k] << ", not " << +expected;
        }
      });
    }
  }
}

TEST(ExecutorchKernels, Divide) { expect_cases(division_cases()); }
TEST(ExecutorchKernels, MapElements) { expect_cases(elementwise_cases()); }
TEST(ExecutorchKernels, Reduce) { expect_cases(reduction_cases()); }
TEST(ExecutorchKernels, AreLayers) { expect_cases(layer_cases()); }

// Dilation can put all taps of a window into the padding: there is no number to read.
TEST(ExecutorchKernels, RefuseWindowsOfPadding) {
  const auto computed = [](std::vector<std::int64_t> sizes, std::vector<std::int64_t> padding) {
    const Case facts{
        "aten::max_pool2d_with_indices.out",
        {In{test::tensor<float>(sizes, {1, 2})}, Ints{{sizes[2], sizes[3]}}, Ints{{1, 1}}, Ints{padding}, Ints{{3, 3}},
         flag(false), Out{floats({1, 1, 1, 1}, {0})}, Out{test::tensor<std::int64_t>({1, 1, 1, 1}, {0})}, Result{}}};
    return host_case::computed(host_case::CaseBuilder().run(facts));
  };
  const std::vector<std::int64_t> kImages[] = {{1, 1, 1, 2}, {1, 1, 2, 1}};
  for (const auto& sizes : kImages) {
    const auto found = computed(sizes, {sizes[2] - 1, sizes[3] - 1});
    ASSERT_FALSE(found.has_value());
    EXPECT_THAT(found.error().text(), testing::HasSubstr("covers only padding"));
  }
}

// The sums of rows that are added side by side are those of each row alone.
TEST(ExecutorchKernels, NormalizeEachRowAlone) {
  constexpr std::size_t kRows = 19;
  constexpr std::size_t kCount = 37;
  std::vector<float> in(kRows * kCount);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i * i % 1009)) * 3 + 1;
  std::vector<float> out(in.size());
  std::vector<float> means(kRows);
  std::vector<float> factors(kRows);
  executorch_kernels::layer_norm(executorch_kernels::NormRows<float>{
      in.data(), nullptr, nullptr, out.data(), means.data(), factors.data(), kRows, kCount, 1e-5f});
  for (std::size_t row = 0; row < kRows; ++row) {
    std::vector<float> alone(kCount);
    float mean = 0;
    float factor = 0;
    executorch_kernels::layer_norm(executorch_kernels::NormRows<float>{in.data() + row * kCount, nullptr, nullptr,
                                                                       alone.data(), &mean, &factor, 1, kCount, 1e-5f});
    EXPECT_EQ(mean, means[row]);
    EXPECT_EQ(factor, factors[row]);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), out.begin() + static_cast<std::ptrdiff_t>(row * kCount)));
  }
}

}  // namespace
}  // namespace isthmus::executorch_kernels_test
