// Forms of ops that compute: pools, reductions, resizes, convolutions; all of them run in the delegate.
#include <gtest/gtest.h>

#include "support/form_case.h"

namespace isthmus::xnnpack_legalize_compute_test {
namespace {

using test::Build;
using test::Case;
using test::copies;
using test::kInfinity;
using test::Numbers;
using test::rounded;
using test::Sizes;
using test::without_batch;

std::vector<Case> windows() {
  const auto max = [](MaxPoolAttrs attrs) { return [=](Build& b) { return b.of_x(Op::kMaxPool2d, attrs); }; };
  const auto avg = [](AvgPoolAttrs attrs) { return [=](Build& b) { return b.of_x(Op::kAvgPool2d, attrs); }; };
  const auto adaptive = [](Op op, std::int64_t height, std::int64_t width) {
    return [=](Build& b) { return b.of_x(op, SizeAttrs{{height, width}}); };
  };
  return {
      copies("max_ceil", {2, 3, 6, 8}, max({{3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, true})),
      copies("max_ceil_far", {2, 3, 7, 8}, max({{2, 4}, {2, 3}, {1, 1, 2, 2}, {1, 1}, true})),
      copies("max_ceil_dilated", {2, 3, 9, 12}, max({{2, 3}, {2, 3}, {1, 1, 1, 1}, {2, 2}, true})),
      copies("max_dilated", {2, 3, 9, 10}, max({{3, 2}, {1, 2}, {1, 1, 1, 1}, {2, 3}, false})),
      copies("max_of_one", {2, 3, 5, 6}, max({{1, 1}, {2, 3}, {0, 0, 0, 0}, {1, 1}, false})),
      copies("max_with_gaps", {2, 3, 11, 9}, max({{2, 3}, {5, 2}, {1, 1, 0, 0}, {1, 1}, false})),
      copies("max_gaps_dilated", {2, 2, 11, 9}, max({{2, 2}, {3, 4}, {1, 1, 0, 0}, {2, 3}, true})),
      rounded("avg_of_one", {2, 3, 5, 6}, avg({{1, 1}, {2, 2}, {0, 0, 0, 0}, false, true, 3})),
      rounded("avg_counts_padding", {2, 3, 6, 7}, avg({{3, 3}, {2, 1}, {1, 1, 1, 1}, false, true, 0})),
      rounded("avg_divisor", {2, 3, 6, 7}, avg({{3, 2}, {2, 1}, {1, 1, 0, 0}, false, true, 7})),
      rounded("avg_ceil", {2, 3, 6, 8}, avg({{3, 3}, {2, 2}, {0, 0, 0, 0}, true, true, 0})),
      rounded("avg_ceil_counts", {2, 3, 6, 7}, avg({{3, 3}, {2, 3}, {1, 1, 1, 1}, true, true, 0})),
      rounded("avg_ceil_inside", {2, 3, 6, 7}, avg({{3, 2}, {2, 3}, {1, 1, 1, 1}, true, false, 0})),
      copies("max_3d", {2, 3, 5, 6, 7},
             [](Build& b) {
               return b.of_x(Op::kMaxPool3d, MaxPoolAttrs{{2, 3, 2}, {2, 1, 2}, {1, 0, 1, 1, 0, 0}, {1, 2, 1}, true});
             }),
      rounded("avg_3d", {2, 3, 5, 6, 7},
              [](Build& b) {
                return b.of_x(Op::kAvgPool3d, AvgPoolAttrs{{2, 3, 2}, {2, 2, 1}, {1, 1, 1, 0, 0, 1}, true, true, 0});
              }),
      rounded("avg_3d_inside", {2, 3, 5, 6, 7},
              [](Build& b) {
                return b.of_x(Op::kAvgPool3d, AvgPoolAttrs{{3, 1, 2}, {1, 1, 2}, {1, 1, 0, 0, 1, 1}, false, false, 0});
              }),
      rounded("avg_3d_divisor", {2, 3, 5, 6, 7},
              [](Build& b) {
                return b.of_x(Op::kAvgPool3d, AvgPoolAttrs{{2, 2, 2}, {1, 2, 2}, {0, 0, 0, 0, 0, 0}, false, true, 5});
              }),
      rounded("adaptive_avg", {2, 3, 7, 10}, adaptive(Op::kAdaptiveAvgPool2d, 3, 4)),
      rounded("adaptive_avg_grows", {2, 3, 3, 4}, adaptive(Op::kAdaptiveAvgPool2d, 5, 4)),
      copies("adaptive_max", {2, 3, 7, 10}, adaptive(Op::kAdaptiveMaxPool2d, 3, 4)),
      copies("adaptive_max_uneven", {2, 3, 11, 13}, adaptive(Op::kAdaptiveMaxPool2d, 7, 5)),
  };
}

std::vector<Case> reductions() {
  const auto reduce = [](Op op, Ints axes, bool keepdim) {
    return [=](Build& b) { return b.of_x(op, ReduceAttrs{axes, keepdim}); };
  };
  const auto along = [](Op op, std::int64_t axis) { return [=](Build& b) { return b.of_x(op, AxisAttrs{axis}); }; };
  const auto norm = [](double order) {
    return [=](Build& b) { return b.of_x(Op::kVectorNorm, VectorNormAttrs{{1, 2}, false, order}); };
  };
  return {
      copies("amax_last", {2, 3, 7}, reduce(Op::kAmax, {2}, false)),
      copies("amax_middle", {2, 5, 7}, reduce(Op::kAmax, {1}, true)),
      copies("amax_of_rows", {2, 9}, reduce(Op::kAmax, {1}, false)),
      copies("amax_image", {2, 3, 4, 5}, reduce(Op::kAmax, {2, 3}, false)),
      copies("amax_apart", {2, 3, 4, 5}, reduce(Op::kAmax, {1, 3}, true)),
      copies("amax_one", {2, 1, 4}, reduce(Op::kAmax, {1}, false)),
      without_batch(copies("amax_all", {3, 4, 5}, reduce(Op::kAmax, {0, 1, 2}, false))),
      copies("amin", {2, 3, 7}, reduce(Op::kAmin, {1}, false)),
      rounded("sum_last", {2, 3, 7}, reduce(Op::kSum, {2}, false)),
      rounded("sum_image", {2, 3, 4, 5}, reduce(Op::kSum, {2, 3}, true)),
      rounded("sum_middle", {2, 3, 4, 5}, reduce(Op::kSum, {1, 2}, false)),
      rounded("mean_middle", {2, 3, 4, 5}, reduce(Op::kMean, {1, 2}, false)),
      rounded("prod", {2, 3, 11}, reduce(Op::kProd, {2}, false)),
      rounded("prod_apart", {2, 3, 4, 5}, reduce(Op::kProd, {1, 3}, true)),
      rounded("cumsum", {2, 3, 11}, along(Op::kCumsum, 2)),
      rounded("cumsum_middle", {2, 6, 3}, along(Op::kCumsum, 1)),
      rounded("cumprod", {2, 3, 7}, along(Op::kCumprod, 2)),
      rounded("logsumexp", {2, 3, 7}, reduce(Op::kLogsumexp, {2}, false)),
      rounded("logsumexp_apart", {2, 3, 4, 5}, reduce(Op::kLogsumexp, {1, 3}, true)),
      rounded("log_softmax", {2, 3, 7}, along(Op::kLogSoftmax, 2)),
      rounded("log_softmax_middle", {2, 5, 3}, along(Op::kLogSoftmax, 1)),
      rounded("norm_0", {2, 3, 5}, norm(0)),
      rounded("norm_1", {2, 3, 5}, norm(1)),
      rounded("norm_2", {2, 3, 5}, norm(2)),
      rounded("norm_3", {2, 3, 5}, norm(3)),
      {"norm_half", {2, 3, 5}, Numbers::kPositive, norm(1.5)},
      copies("norm_infinite", {2, 3, 5}, norm(kInfinity)),
      copies("norm_least", {2, 3, 5}, norm(-kInfinity)),
  };
}

ResizeAttrs resize_of(ResizeMode mode, std::int64_t height, std::int64_t width, std::vector<double> scales = {},
                      bool align_corners = false) {
  return {mode, {height, width}, std::move(scales), align_corners};
}

std::vector<Case> images() {
  const auto resize = [](ResizeAttrs attrs) { return [=](Build& b) { return b.of_x(Op::kResize2d, attrs); }; };
  const auto conv = [](Op op, Attrs attrs, Sizes filters, std::int64_t bias) {
    return [=](Build& b) { return b.emit(op, attrs, {b.x, b.floats(filters), b.floats({bias})}); };
  };
  return {
      rounded("linear_scaled", {2, 3, 5, 6}, resize(resize_of(ResizeMode::kLinear, 8, 7, {1.7, 1.3}))),
      rounded("linear_corner", {2, 3, 5, 6}, resize(resize_of(ResizeMode::kLinear, 1, 7, {}, true))),
      rounded("cubic", {2, 3, 5, 6}, resize(resize_of(ResizeMode::kCubic, 8, 4))),
      rounded("cubic_corners", {2, 3, 5, 6}, resize(resize_of(ResizeMode::kCubic, 9, 11, {}, true))),
      rounded("grid_sample", {2, 3, 5, 6},
              [](Build& b) {
                const ValueId grid = b.emit(Op::kExpand, ShapeAttrs{{b.size(0), 4, 3, 2}}, {b.floats({1, 4, 3, 2})});
                return b.emit(Op::kGridSample, GridSampleAttrs{}, {b.x, grid});
              }),
      rounded("conv3d", {2, 4, 5, 6, 7},
              conv(Op::kConv3d, ConvAttrs{{2, 1, 2}, {1, 0, 1, 1, 0, 1}, {2, 1, 1}, 1}, {6, 4, 2, 3, 2}, 6)),
      rounded("conv3d_groups", {2, 4, 5, 6, 7},
              conv(Op::kConv3d, ConvAttrs{{1, 1, 1}, {1, 1, 0, 0, 0, 0}, {1, 1, 1}, 2}, {6, 2, 3, 3, 3}, 6)),
      rounded("conv3d_flat", {2, 4, 3, 6, 7},
              conv(Op::kConv3d, ConvAttrs{{1, 1, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}, 4}, {4, 1, 1, 3, 3}, 4)),
      rounded("conv_transpose_groups", {2, 6, 4, 5},
              conv(Op::kConvTranspose2d, ConvTransposeAttrs{{2, 3}, {1, 0, 0, 1}, {1, 1}, 3}, {6, 4, 3, 4}, 12)),
      rounded("conv_transpose_far", {2, 3, 4, 5},
              conv(Op::kConvTranspose2d, ConvTransposeAttrs{{2, 1}, {1, -3, 0, -1}, {4, 2}, 1}, {3, 2, 2, 3}, 2)),
      rounded("conv_transpose3d", {2, 3, 4, 3, 5},
              conv(Op::kConvTranspose3d, ConvTransposeAttrs{{2, 2, 1}, {1, 0, 0, 1, 1, 1}, {1, 1, 1}, 1},
                   {3, 2, 3, 2, 3}, 2)),
      rounded("conv_transpose3d_groups", {2, 4, 3, 3, 5},
              conv(Op::kConvTranspose3d, ConvTransposeAttrs{{3, 1, 2}, {2, 1, 0, 0, 0, 0}, {2, 1, 1}, 2},
                   {4, 3, 2, 2, 2}, 6)),
      rounded("conv_computed_filter", {2, 3, 7, 8},
              [](Build& b) {
                const ValueId row = b.of_x(Op::kSlice, SliceAttrs{0, 0, 1, 1});
                const ValueId part = b.emit(Op::kSlice, SliceAttrs{2, 0, 2, 1}, {row});
                const ValueId small = b.emit(Op::kSlice, SliceAttrs{3, 0, 4, 1}, {part});
                const ValueId filter = b.emit(Op::kReshape, ShapeAttrs{{4, 3, 2, 1}}, {small});
                const ConvAttrs attrs{{2, 1}, {1, 0, 0, 1}, {2, 1}, 1};
                return b.emit(Op::kConv2d, attrs, {b.x, filter, b.floats({4})});
              }),
      rounded(
          "conv_computed_bias", {2, 3, 7, 8},
          [](Build& b) {
            const ValueId row = b.of_x(Op::kSlice, SliceAttrs{0, 0, 1, 1});
            const ValueId mean = b.emit(Op::kMean, ReduceAttrs{{0, 2, 3}, false}, {row});
            return b.emit(Op::kConv2d, ConvAttrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, 1}, {b.x, b.floats({3, 3, 2, 2}), mean});
          }),
      rounded("col2im", {2, 12, 16},
              [](Build& b) {
                return b.of_x(Op::kCol2im, FoldAttrs{{6, 9}, {2, 3}, {2, 2}, {1, 0}, {1, 1}});
              }),
      rounded("col2im_dilated", {2, 12, 16},
              [](Build& b) {
                return b.of_x(Op::kCol2im, FoldAttrs{{8, 10}, {2, 3}, {2, 2}, {1, 1}, {2, 2}});
              }),
  };
}

class XnnpackCompute : public testing::TestWithParam<Case> {};
TEST_P(XnnpackCompute, RunsInTheDelegate) { expect_delegated(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Windows, XnnpackCompute, testing::ValuesIn(windows()), test::name_of_case);
INSTANTIATE_TEST_SUITE_P(Reductions, XnnpackCompute, testing::ValuesIn(reductions()), test::name_of_case);
INSTANTIATE_TEST_SUITE_P(Images, XnnpackCompute, testing::ValuesIn(images()), test::name_of_case);

}  // namespace
}  // namespace isthmus::xnnpack_legalize_compute_test
