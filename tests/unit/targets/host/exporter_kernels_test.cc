// Kernels that files of ExecuTorch's own exporter call and ours do not: what they compute through a program file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "interpret/half.h"
#include "support/calls.h"
#include "support/host_case.h"
#include "support/models.h"

namespace isthmus::host_exporter_kernels_test {
namespace {

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
using host_case::Outs;
using host_case::real;
using host_case::Result;
using test::floats;

Tensor integers(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& numbers) {
  return test::tensor<std::int64_t>(std::move(sizes), numbers);
}
Tensor bools(std::vector<std::int64_t> sizes, const std::vector<std::uint8_t>& numbers) {
  return test::tensor<std::uint8_t>(std::move(sizes), numbers, DType::kBool);
}
host_case::Arg text(const char* words) { return pte::Value(std::string(words)); }

const Tensor kX = floats({2, 3}, {1, -2, 3, -4, 5, -6});
const Tensor kI = integers({3}, {7, -7, 2});

std::vector<Case> number_cases() {
  return {
      {"aten::mul.Scalar_out", {In{kX}, real(0.5), Out{floats({2, 3}, {0.5, -1, 1.5, -2, 2.5, -3})}, Result{}}},
      {"aten::mul.Scalar_out", {In{kI}, real(0.5), Out{floats({3}, {3.5, -3.5, 1})}, Result{}}},
      {"aten::mul.Scalar_out", {In{kI}, number(3), Out{integers({3}, {21, -21, 6})}, Result{}}},
      {"aten::mul.Scalar_out", {In{bools({2}, {1, 0})}, number(3), Out{integers({2}, {3, 0})}, Result{}}},
      {"aten::mul.Scalar_out",  // 0.1 is not rounded to f16 before it multiplies
       {In{narrowed(floats({1}, {3}), DType::kF16)}, real(0.1), Out{narrowed(floats({1}, {0.3f}), DType::kF16)},
        Result{}}},
      {"aten::add.Scalar_out", {In{kI}, number(2), number(3), Out{integers({3}, {13, -1, 8})}, Result{}}},
      {"aten::sub.Scalar_out", {In{kI}, real(0.5), number(1), Out{floats({3}, {6.5, -7.5, 1.5})}, Result{}}},
      {"aten::rsub.Scalar_out", {In{kI}, number(1), number(2), Out{integers({3}, {-13, 15, -3})}, Result{}}},
      {"aten::div.Scalar_out", {In{kI}, number(2), Out{floats({3}, {3.5, -3.5, 1})}, Result{}}},
      {"aten::div.Scalar_mode_out", {In{kI}, number(2), text("floor"), Out{integers({3}, {3, -4, 1})}, Result{}}},
      {"aten::div.Scalar_mode_out", {In{kI}, number(2), text("trunc"), Out{integers({3}, {3, -3, 1})}, Result{}}},
      {"aten::fmod.Scalar_out", {In{kX}, number(2), Out{floats({2, 3}, {1, 0, 1, 0, 1, 0})}, Result{}}},
      {"aten::remainder.Scalar_out", {In{floats({2}, {-3, 3})}, number(2), Out{floats({2}, {1, 1})}, Result{}}},
      {"aten::pow.Tensor_Scalar_out", {In{floats({2}, {3, -2})}, number(2), Out{floats({2}, {9, 4})}, Result{}}},
      {"aten::bitwise_and.Scalar_out", {In{kI}, number(3), Out{integers({3}, {3, 1, 2})}, Result{}}},
      {"aten::bitwise_or.Scalar_out", {In{kI}, number(8), Out{integers({3}, {15, -7, 10})}, Result{}}},
      {"aten::bitwise_xor.Scalar_out", {In{kI}, number(1), Out{integers({3}, {6, -8, 3})}, Result{}}},
      {"aten::eq.Scalar_out", {In{kI}, real(2.5), Out{bools({3}, {0, 0, 0})}, Result{}}},
      {"aten::ne.Scalar_out", {In{kI}, number(2), Out{bools({3}, {1, 1, 0})}, Result{}}},
      {"aten::lt.Scalar_out", {In{kI}, real(2.5), Out{bools({3}, {0, 1, 1})}, Result{}}},
      {"aten::le.Scalar_out", {In{kI}, number(2), Out{bools({3}, {0, 1, 1})}, Result{}}},
      {"aten::gt.Scalar_out", {In{kI}, number(2), Out{bools({3}, {1, 0, 0})}, Result{}}},
      {"aten::ge.Scalar_out", {In{kI}, number(2), Out{bools({3}, {1, 0, 1})}, Result{}}},
      {"aten::full.out", {Ints{{2, 1}}, real(1.5), Out{floats({2, 1}, {1.5, 1.5})}, Result{}}},
      {"aten::full_like.out", {In{kI}, number(4), none(), Out{floats({3}, {4, 4, 4})}, Result{}}},
      {"aten::fill.Scalar_out", {In{kI}, number(4), Out{integers({3}, {4, 4, 4})}, Result{}}},
      {"aten::fill.Tensor_out", {In{kI}, In{floats({}, {5})}, Out{integers({3}, {5, 5, 5})}, Result{}}},
      {"aten::zeros.out", {Ints{{2}}, Out{floats({2}, {0, 0})}, Result{}}},
      {"aten::ones.out", {Ints{{2}}, Out{bools({2}, {1, 1})}, Result{}}},
      {"aten::scalar_tensor.out", {real(2.5), Out{floats({}, {2.5})}, Result{}}},
      {"aten::hardtanh.out", {In{kX}, number(-1), number(2), Out{floats({2, 3}, {1, -1, 2, -1, 2, -1})}, Result{}}},
      {"aten::clamp.Tensor_out",
       {In{kX}, In{floats({3}, {0, -3, 0})}, none(), Out{floats({2, 3}, {1, -2, 3, 0, 5, 0})}, Result{}}},
      {"aten::logit.out", {In{floats({2}, {0.5, 2})}, real(0.25), Out{floats({2}, {0, std::log(3.0f)})}, Result{}}},
  };
}

std::vector<Case> reduction_cases() {
  return {
      {"aten::any.out",
       {In{bools({2, 2}, {0, 1, 0, 0})}, number(-1), flag(true), Out{bools({2, 1}, {1, 0})}, Result{}}},
      {"aten::any.all_out", {In{floats({2}, {0, 2})}, Out{bools({}, {1})}, Result{}}},
      {"aten::max.unary_out", {In{kX}, Out{floats({}, {5})}, Result{}}},
      {"aten::min.unary_out", {In{kX}, Out{floats({}, {-6})}, Result{}}},
      {"aten::max.dim_max",
       {In{kX}, number(1), flag(false), Out{floats({2}, {3, 5})}, Out{integers({2}, {2, 1})}, Result{}}},
      {"aten::min.dim_min",
       {In{kX}, number(0), flag(true), Out{floats({1, 3}, {-4, -2, -6})}, Out{integers({1, 3}, {1, 0, 1})}, Result{}}},
      {"aten::prod.out", {In{kI}, none(), Out{integers({}, {-98})}, Result{}}},
      {"aten::mean.dtype_out", {In{kX}, none(), Out{floats({}, {-0.5})}, Result{}}},
      {"aten::var.out",
       {In{floats({1, 3}, {1, 2, 3})}, Ints{{1}}, flag(true), flag(false), Out{floats({1}, {1})}, Result{}}},
      {"aten::var.out",
       {In{floats({1, 2}, {1, 3})}, Ints{{1}}, flag(false), flag(false), Out{floats({1}, {1})}, Result{}}},
      {"aten::var_mean.correction_out",
       {In{floats({1, 3}, {1, 2, 3})}, Ints{{1}}, number(1), flag(false), Out{floats({1}, {1})}, Out{floats({1}, {2})},
        Result{}}},
      {"aten::arange.out", {number(3), Out{integers({3}, {0, 1, 2})}, Result{}}},
      {"aten::scatter.value_out",
       {In{kX}, number(1), In{integers({2, 1}, {0, 2})}, real(9), Out{floats({2, 3}, {9, -2, 3, -4, 5, 9})}, Result{}}},
  };
}

std::vector<Case> copy_cases() {
  const Tensor line = floats({4}, {1, 2, 3, 4});
  const Tensor image = floats({1, 4, 1, 1}, {1, 2, 3, 4});
  const Tensor shuffled = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  return {
      {"aten::alias_copy.out", {In{kX}, Out{kX}, Result{}}},
      {"aten::detach_copy.out", {In{kX}, Out{kX}, Result{}}},
      {"aten::lift_fresh_copy.out", {In{kX}, Out{kX}, Result{}}},
      {"aten::copy.out", {In{kX}, In{kI}, flag(false), Out{floats({2, 3}, {7, -7, 2, 7, -7, 2})}, Result{}}},
      {"aten::_to_copy.out", {In{kI}, flag(false), none(), Out{floats({3}, {7, -7, 2})}, Result{}}},
      {"aten::t_copy.out", {In{kX}, Out{floats({3, 2}, {1, -4, -2, 5, 3, -6})}, Result{}}},
      {"aten::narrow_copy.out", {In{line}, number(0), number(-3), number(2), Out{floats({2}, {2, 3})}, Result{}}},
      {"aten::split_copy.Tensor_out",
       {In{line}, number(3), number(0), Outs{{floats({3}, {1, 2, 3}), floats({1}, {4})}}, Result{}}},
      {"aten::split_with_sizes_copy.out",
       {In{kX}, Ints{{1, 2}}, number(1), Outs{{floats({2, 1}, {1, -4}), floats({2, 2}, {-2, 3, 5, -6})}}, Result{}}},
      {"aten::unbind_copy.int_out",
       {In{kX}, number(0), Outs{{floats({3}, {1, -2, 3}), floats({3}, {-4, 5, -6})}}, Result{}}},
      {"aten::stack.out",
       {Ins{{floats({2}, {1, 2}), floats({2}, {3, 4})}}, number(-1), Out{floats({2, 2}, {1, 3, 2, 4})}, Result{}}},
      {"aten::repeat.out",
       {In{floats({1, 2}, {1, 2})}, Ints{{2, 1, 2}}, Out{floats({2, 1, 4}, {1, 2, 1, 2, 1, 2, 1, 2})}, Result{}}},
      {"aten::roll.out", {In{line}, Ints{{1}}, Ints{{0}}, Out{floats({4}, {4, 1, 2, 3})}, Result{}}},
      {"aten::roll.out", {In{line}, Ints{{-5}}, Ints{{0}}, Out{floats({4}, {2, 3, 4, 1})}, Result{}}},
      {"aten::unfold_copy.out",
       {In{line}, number(0), number(2), number(1), Out{floats({3, 2}, {1, 2, 2, 3, 3, 4})}, Result{}}},
      {"aten::unfold_copy.out",
       {In{floats({3, 2}, {1, 2, 3, 4, 5, 6})}, number(0), number(2), number(1),
        Out{floats({2, 2, 2}, {1, 3, 2, 4, 3, 5, 4, 6})}, Result{}}},
      {"aten::pixel_shuffle.out", {In{image}, number(2), Out{shuffled}, Result{}}},
      {"aten::pixel_unshuffle.out", {In{shuffled}, number(2), Out{image}, Result{}}},
      {"aten::slice_scatter.out",
       {In{line}, In{floats({2}, {8, 9})}, number(0), number(0), none(), number(2), Out{floats({4}, {8, 2, 9, 4})},
        Result{}}},
      {"aten::select_scatter.out",
       {In{kX}, In{floats({3}, {7, 8, 9})}, number(0), number(-1), Out{floats({2, 3}, {1, -2, 3, 7, 8, 9})}, Result{}}},
      {"aten::tril.out", {In{kX}, number(1), Out{floats({2, 3}, {1, -2, 0, -4, 5, -6})}, Result{}}},
      {"aten::glu.out", {In{floats({1, 2}, {4, 0})}, number(1), Out{floats({1, 1}, {2})}, Result{}}},
  };
}

void expect_computed(const std::vector<Case>& cases) {
  for (const Case& facts : cases) {
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

TEST(HostExporterKernels, OfATensorAndANumber) { expect_computed(number_cases()); }
TEST(HostExporterKernels, Reductions) { expect_computed(reduction_cases()); }
TEST(HostExporterKernels, Copies) { expect_computed(copy_cases()); }

TEST(HostExporterKernels, ListsOfAnotherLengthAreRefused) {
  const Tensor line = floats({4}, {1, 2, 3, 4});
  const Case facts{"aten::split_copy.Tensor_out",
                   {In{line}, number(3), number(0), Outs{{floats({3}, {1, 2, 3})}}, Result{}}};
  const auto outputs = computed(CaseBuilder().run(facts));
  ASSERT_FALSE(outputs.has_value());
  EXPECT_THAT(outputs.error().text(), testing::HasSubstr("2 results for a list of 1"));
}

}  // namespace
}  // namespace isthmus::host_exporter_kernels_test
