// Each kernel of the host: what it computes through a program file, and that no argument can make it stumble.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "program/run/method.h"
#include "support/calls.h"
#include "support/host_case.h"
#include "support/models.h"
#include "support/programs.h"
#include "targets/host/kernel.h"

namespace isthmus::host_kernels_test {
namespace {

using host_case::Arg;
using host_case::Built;
using host_case::Case;
using host_case::CaseBuilder;
using host_case::computed;
using host_case::flag;
using host_case::In;
using host_case::Ins;
using host_case::Ints;
using host_case::none;
using host_case::number;
using host_case::Out;
using host_case::OutNumber;
using host_case::real;
using host_case::Result;
using test::floats;
using test::ProgramBuilder;
using testing::HasSubstr;

template <class Number>
Tensor scalar(Number number) {
  return test::tensor<Number>({}, {number});
}
Tensor bool_scalar(bool value) {
  Tensor result(DType::kBool, {});
  result.mutable_data<std::uint8_t>()[0] = value ? 1 : 0;
  return result;
}
Tensor quantized(std::vector<std::int64_t> sizes, const std::vector<std::int8_t>& numbers) {
  return test::tensor<std::int8_t>(std::move(sizes), numbers);
}

const Tensor kX = floats({2, 3}, {1, -2, 3, -4, 5, -6});

std::vector<Case> cases() {
  const float a = std::sqrt(1.5f);
  const auto prim = [](const char* name, Arg left, Arg right, OutNumber out) {
    return Case{std::string("executorch_prim::") + name + ".Scalar", {std::move(left), std::move(right), out}};
  };
  const auto integer = [](std::int64_t expected) { return OutNumber{std::int64_t{0}, scalar(expected)}; };
  const auto boolean = [](bool expected) { return OutNumber{!expected, bool_scalar(expected)}; };
  return {
      {"aten::native_layer_norm.out",
       {In{floats({1, 3}, {1, 2, 3})}, Ints{{3}}, In{floats({3}, {1, 1, 2})}, In{floats({3}, {0, 0.5, 0})}, real(0),
        Out{floats({1, 3}, {-a, 0.5f, 2 * a})}, Out{floats({1, 1}, {2})}, Out{floats({1, 1}, {a})}, Result{}}},
      {"aten::native_layer_norm.out",
       {In{floats({1, 3}, {1, 2, 3})}, Ints{{3}}, none(), none(), real(0), Out{floats({1, 3}, {-a, 0, a})},
        Out{floats({1, 1}, {2})}, Out{floats({1, 1}, {a})}, Result{}}},
      {"aten::squeeze_copy.dims_out",
       {In{floats({1, 2, 1}, {1, 2})}, Ints{{0, 1, -1}}, Out{floats({2}, {1, 2})}, Result{}}},
      {"aten::squeeze_copy.dim_out", {In{floats({1, 2, 1}, {1, 2})}, number(2), Out{floats({1, 2}, {1, 2})}, Result{}}},
      {"aten::unsqueeze_copy.out", {In{floats({2}, {1, 2})}, number(-1), Out{floats({2, 1}, {1, 2})}, Result{}}},
      {"aten::expand_copy.out",
       {In{floats({2, 1}, {1, 2})}, Ints{{2, -1, 3}}, flag(false),
        Out{floats({2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2})}, Result{}}},
      {"aten::expand_copy.out", {In{kX}, Ints{{2, 3}}, flag(false), Out{kX}, Result{}}},
      {"aten::select_copy.int_out", {In{kX}, number(1), number(-1), Out{floats({2}, {3, -6})}, Result{}}},
      {"aten::slice_copy.Tensor_out",
       {In{kX}, number(-1), number(-2), number(100), number(1), Out{floats({2, 2}, {-2, 3, 5, -6})}, Result{}}},
      {"aten::slice_copy.Tensor_out",
       {In{kX}, number(1), none(), none(), number(2), Out{floats({2, 2}, {1, 3, -4, -6})}, Result{}}},
      {"aten::view_copy.out", {In{kX}, Ints{{3, -1}}, Out{floats({3, 2}, {1, -2, 3, -4, 5, -6})}, Result{}}},
      {"aten::permute_copy.out", {In{kX}, Ints{{1, -2}}, Out{floats({3, 2}, {1, -4, -2, 5, 3, -6})}, Result{}}},
      {"aten::transpose_copy.int_out",
       {In{kX}, number(0), number(-1), Out{floats({3, 2}, {1, -4, -2, 5, 3, -6})}, Result{}}},
      {"aten::cat.out",
       {Ins{{kX, floats({0}, {}), floats({1, 3}, {7, 8, 9})}}, number(0),
        Out{floats({3, 3}, {1, -2, 3, -4, 5, -6, 7, 8, 9})}, Result{}}},
      {"aten::clone.out", {In{kX}, none(), Out{kX}, Result{}}},
      {"dim_order_ops::_clone_dim_order.out", {In{kX}, flag(false), none(), Out{kX}, Result{}}},
      {"quantized_decomposed::quantize_per_tensor.out",
       {In{floats({5}, {0, 0.25, -1000, 0.75, 1000})}, real(0.5), number(3), number(-128), number(127), number(1),
        Out{quantized({5}, {3, 3, -128, 5, 127})}, Result{}}},
      {"quantized_decomposed::dequantize_per_tensor.out",
       {In{quantized({3}, {3, -128, 4})}, real(0.5), number(3), number(-128), number(127), number(1), none(),
        Out{floats({3}, {0, -65.5, 0.5})}, Result{}}},
      {"aten::add.out",
       {In{kX}, In{floats({1}, {1})}, number(1), Out{floats({2, 3}, {2, -1, 4, -3, 6, -5})}, Result{}}},
      {"aten::sub.out", {In{kX}, In{kX}, number(1), Out{floats({2, 3}, {0, 0, 0, 0, 0, 0})}, Result{}}},
      {"aten::mul.out", {In{kX}, In{floats({}, {2})}, Out{floats({2, 3}, {2, -4, 6, -8, 10, -12})}, Result{}}},
      {"aten::div.out", {In{floats({2}, {1, 3})}, In{floats({1}, {2})}, Out{floats({2}, {0.5, 1.5})}, Result{}}},
      {"aten::relu.out", {In{kX}, Out{floats({2, 3}, {1, 0, 3, 0, 5, 0})}, Result{}}},
      {"aten::sigmoid.out", {In{floats({1}, {0})}, Out{floats({1}, {0.5})}, Result{}}},
      {"aten::tanh.out", {In{floats({1}, {1})}, Out{floats({1}, {std::tanh(1.0f)})}, Result{}}},
      {"aten::_softmax.out",
       {In{floats({2, 2}, {0, 0, 1, 1})}, number(-1), flag(false), Out{floats({2, 2}, {0.5, 0.5, 0.5, 0.5})},
        Result{}}},
      {"aten::sym_size.int", {In{kX}, number(-1), integer(3)}},
      {"executorch_prim::et_view.default", {In{kX}, Ints{{6}}, Out{floats({6}, {1, -2, 3, -4, 5, -6})}}},
      prim("add", number(2), number(-5), integer(-3)),
      prim("sub", number(2), number(-5), integer(7)),
      prim("mul", number(2), number(-5), integer(-10)),
      prim("floordiv", number(-7), number(2), integer(-4)),
      prim("floordiv", number(7), number(2), integer(3)),
      prim("eq", number(2), number(2), boolean(true)),
      prim("gt", number(2), real(1.5), boolean(true)),
      prim("lt", number(2), number(2), boolean(false)),
      prim("ge", number(2), number(2), boolean(true)),
      prim("le", real(2.5), number(2), boolean(false)),
  };
}

TEST(HostKernels, ComputeWhatTheirNamesSay) {
  for (const Case& facts : cases()) {
    const Built built = CaseBuilder().run(facts);
    const auto outputs = computed(built);
    ASSERT_TRUE(outputs.has_value()) << facts.kernel << ": " << outputs.error().text();
    ASSERT_EQ(outputs->size(), built.expected.size());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      ASSERT_TRUE((*outputs)[i].has_value()) << facts.kernel;
      EXPECT_EQ((*outputs)[i]->dtype(), built.expected[i].dtype()) << facts.kernel;
      EXPECT_LE(test::difference(*(*outputs)[i], built.expected[i]).max, 1e-6) << facts.kernel << ", output " << i;
    }
  }
}

TEST(HostKernels, ADifferentNumberOfArgumentsIsRefused) {
  for (const Case& facts : cases()) {
    Built built = CaseBuilder().run(facts);
    auto& args = std::get<pte::KernelCall>(built.builder.plan().chains[0].instructions[0]).args;
    const std::string expected = "takes " + std::to_string(args.size()) + " arguments, not ";
    args.push_back(args.back());
    EXPECT_THAT(computed(built).error().text(), HasSubstr(expected)) << facts.kernel;
    args.resize(args.size() - 2);
    EXPECT_THAT(computed(built).error().text(), HasSubstr(expected)) << facts.kernel;
    args.clear();
    EXPECT_THAT(computed(built).error().text(), HasSubstr(expected)) << facts.kernel;
  }
}

// Each argument replaced by values of every kind and by numbers at the edges; the sanitizers watch.
TEST(HostKernels, WrongArgumentsNeverCrash) {
  std::size_t refused = 0;
  std::size_t accepted = 0;
  for (const Case& facts : cases()) {
    for (std::size_t i = 0; i < facts.args.size(); ++i) {
      Built built = CaseBuilder().run(facts);
      ProgramBuilder& b = built.builder;
      constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
      const pte::ValueIndex tensor = b.tensor({2, 2});
      const pte::ValueIndex strange[] = {
          b.value(pte::None{}),
          b.value(std::int64_t{-1}),
          b.value(kMin),
          b.value(std::numeric_limits<double>::quiet_NaN()),
          b.value(std::string("text")),
          tensor,
          b.tensor({}),
          b.tensor({0, 3}),
          b.tensor({2, 3}, DType::kF16),
          b.tensor({2, 3}, DType::kF8E5M2),
          b.tensor({3}, DType::kI64, pte::Dynamism::kBounded),
          b.constant(floats({2}, {1, 2})),
          b.ints({}),
          b.ints({kMin, ~kMin, -1, 0}),
          b.value(pte::TensorList{{tensor}}),
          b.value(pte::OptionalTensorList{{std::nullopt}}),
      };
      auto& args = std::get<pte::KernelCall>(b.plan().chains[0].instructions[0]).args;
      for (const pte::ValueIndex value : strange) {
        args[i] = value;
        const auto outputs = computed(built);
        ++(outputs ? accepted : refused);
        if (!outputs) {
          EXPECT_THAT(outputs.error().text(), HasSubstr("in " + facts.kernel));
        }
      }
    }
  }
  EXPECT_GT(refused, accepted);
}

TEST(HostKernels, OverflowsOfIntegersAreRefused) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const auto refusal = [](const char* name, std::int64_t a, std::int64_t b) {
    const Case facts{std::string("executorch_prim::") + name + ".Scalar",
                     {number(a), number(b), OutNumber{std::int64_t{0}, scalar(std::int64_t{0})}}};
    const auto outputs = computed(CaseBuilder().run(facts));
    return outputs ? "accepted" : outputs.error().message;
  };
  EXPECT_EQ(refusal("add", kMin, -1), "the result overflows a 64-bit integer");
  EXPECT_EQ(refusal("sub", kMin, 1), "the result overflows a 64-bit integer");
  EXPECT_EQ(refusal("mul", kMin, -1), "the result overflows a 64-bit integer");
  EXPECT_EQ(refusal("floordiv", kMin, -1), "the result overflows a 64-bit integer");
  EXPECT_EQ(refusal("floordiv", 1, 0), "the result overflows a 64-bit integer");
}

TEST(HostKernels, OnlyConversionsOfModelInputsAndOutputsCount) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({2}));
  const auto inside = b.tensor({2}, DType::kI8);
  const auto real_again = b.tensor({2});
  const auto quantized_again = b.tensor({2}, DType::kI8);
  const auto y = b.output(b.tensor({2}));
  const auto scale = b.value(0.5);
  const auto zero = b.value(std::int64_t{0});
  const auto low = b.value(std::int64_t{-128});
  const auto high = b.value(std::int64_t{127});
  const auto type = b.value(std::int64_t{1});
  const auto nothing = b.value(pte::None{});
  const std::string q = "quantized_decomposed::quantize_per_tensor.out";
  const std::string dq = "quantized_decomposed::dequantize_per_tensor.out";
  b.call(q, {x, scale, zero, low, high, type, inside, inside});
  b.call(dq, {inside, scale, zero, low, high, type, nothing, real_again, real_again});
  b.call(q, {real_again, scale, zero, low, high, type, quantized_again, quantized_again});
  b.call(dq, {quantized_again, scale, zero, low, high, type, nothing, y, y});
  auto method = run::Method::load(b.file());
  ASSERT_TRUE(method.has_value()) << method.error().text();
  const auto outputs = method->run(std::vector{floats({2}, {1.5, -1})});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().text();
  EXPECT_EQ(test::numbers<float>(*(*outputs)[0]), (std::vector<float>{1.5, -1}));
  EXPECT_EQ(method->statistics().host_calls, 4u);
  EXPECT_EQ(method->statistics().io_calls, 2u);
}

}  // namespace
}  // namespace isthmus::host_kernels_test
