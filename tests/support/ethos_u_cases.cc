// The graphs.
#include "support/ethos_u_cases.h"

namespace isthmus::test {
namespace {

std::vector<Case> windows() {
  const auto max = [](MaxPoolAttrs attrs) { return [=](Build& b) { return b.of_x(Op::kMaxPool2d, attrs); }; };
  const auto avg = [](AvgPoolAttrs attrs) { return [=](Build& b) { return b.of_x(Op::kAvgPool2d, attrs); }; };
  const auto adaptive = [](Op op, std::int64_t height, std::int64_t width) {
    return [=](Build& b) { return b.of_x(op, SizeAttrs{{height, width}}); };
  };
  return {
      exact("max_plain", {2, 3, 8, 8}, max({{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, false})),
      exact("max_clamped", {2, 3, 8, 8},
            [](Build& b) {
              const ValueId pooled = b.of_x(Op::kMaxPool2d, MaxPoolAttrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, false});
              return b.emit(Op::kClamp, ClampAttrs{0.1, 0.7}, {pooled});
            }),
      exact("max_ceil", {2, 3, 6, 8}, max({{3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, true})),
      exact("max_ceil_far", {2, 3, 7, 8}, max({{2, 4}, {2, 3}, {1, 1, 2, 2}, {1, 1}, true})),
      exact("max_dilated", {2, 3, 9, 10}, max({{3, 2}, {1, 2}, {1, 1, 1, 1}, {2, 3}, false})),
      exact("max_ceil_dilated", {2, 3, 9, 12}, max({{2, 3}, {2, 3}, {1, 1, 1, 1}, {2, 2}, true})),
      exact("max_far", {2, 3, 17, 16}, max({{8, 8}, {8, 8}, {0, 0, 0, 0}, {1, 1}, false})),
      exact("max_far_overlap", {2, 3, 17, 16}, max({{6, 5}, {5, 4}, {1, 1, 2, 2}, {1, 1}, false})),
      exact("max_high", {1, 2, 300, 3}, max({{300, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, false})),
      rounded("avg_plain", {2, 3, 8, 8}, avg({{2, 2}, {2, 2}, {0, 0, 0, 0}, false, true, 0})),
      rounded("avg_far", {1, 3, 17, 16}, avg({{8, 8}, {8, 8}, {0, 0, 0, 0}, false, true, 0})),
      rounded("avg_far_overlap", {2, 3, 17, 16}, avg({{6, 5}, {5, 4}, {0, 0, 0, 0}, false, true, 0})),
      rounded("avg_counts_padding", {2, 3, 6, 7}, avg({{3, 3}, {2, 1}, {1, 1, 1, 1}, false, true, 0})),
      rounded("avg_inside", {2, 3, 6, 7}, avg({{3, 3}, {2, 1}, {1, 1, 1, 1}, false, false, 0})),
      rounded("avg_divisor", {2, 3, 6, 7}, avg({{3, 2}, {2, 1}, {1, 1, 0, 0}, false, true, 7})),
      rounded("avg_ceil", {2, 3, 6, 8}, avg({{3, 3}, {2, 2}, {0, 0, 0, 0}, true, true, 0})),
      rounded("avg_of_one", {2, 3, 5, 6}, avg({{1, 1}, {2, 2}, {0, 0, 0, 0}, false, true, 3})),
      rounded("adaptive_avg", {2, 3, 7, 10}, adaptive(Op::kAdaptiveAvgPool2d, 3, 4)),
      rounded("adaptive_avg_even", {2, 3, 12, 12}, adaptive(Op::kAdaptiveAvgPool2d, 2, 2)),
      exact("adaptive_max", {2, 3, 7, 10}, adaptive(Op::kAdaptiveMaxPool2d, 3, 4)),
      exact("max_3d", {2, 3, 5, 6, 7},
            [](Build& b) {
              return b.of_x(Op::kMaxPool3d, MaxPoolAttrs{{2, 3, 2}, {2, 1, 2}, {1, 0, 1, 1, 0, 0}, {1, 2, 1}, true});
            }),
  };
}

std::vector<Case> convolutions() {
  const auto conv = [](Sizes filters, ConvAttrs attrs, bool has_bias = true) {
    return [=](Build& b) {
      std::vector<ValueId> inputs{b.x, b.floats(filters)};
      if (has_bias) inputs.push_back(b.floats({filters[0]}));
      return b.emit(Op::kConv2d, attrs, std::move(inputs));
    };
  };
  const auto transposed = [](Sizes filters, ConvTransposeAttrs attrs) {
    return [=](Build& b) {
      return b.emit(Op::kConvTranspose2d, attrs, {b.x, b.floats(filters), b.floats({filters[1] * attrs.groups})});
    };
  };
  return {
      rounded("conv_plain", {2, 4, 9, 9}, conv({6, 4, 3, 3}, {{2, 2}, {1, 1, 1, 1}, {1, 1}, 1})),
      rounded("conv_depthwise", {2, 4, 9, 9}, conv({8, 1, 3, 3}, {{1, 2}, {1, 1, 0, 0}, {1, 1}, 4})),
      rounded("conv_groups", {2, 6, 7, 8}, conv({9, 2, 3, 2}, {{1, 1}, {1, 0, 0, 1}, {1, 2}, 3})),
      rounded("conv_patches", {2, 3, 32, 24}, conv({5, 3, 8, 8}, {{8, 8}, {0, 0, 0, 0}, {1, 1}, 1})),
      rounded("conv_far", {2, 3, 19, 23}, conv({5, 3, 5, 3}, {{4, 7}, {2, 1, 0, 3}, {1, 1}, 1}, false)),
      rounded("conv_far_rows", {1, 3, 19, 23}, conv({5, 3, 7, 3}, {{4, 2}, {3, 3, 1, 1}, {1, 2}, 1})),
      rounded("conv_far_groups", {1, 4, 19, 23}, conv({6, 2, 3, 3}, {{4, 4}, {0, 0, 1, 1}, {1, 1}, 2})),
      rounded("conv_far_depthwise", {2, 3, 25, 26}, conv({3, 1, 3, 3}, {{4, 5}, {1, 1, 1, 1}, {1, 1}, 3})),
      rounded("conv_whole", {2, 3, 70, 60}, conv({4, 3, 70, 60}, {{1, 1}, {0, 0, 0, 0}, {1, 1}, 1})),
      rounded("conv_high", {1, 2, 80, 5}, conv({3, 2, 70, 3}, {{1, 2}, {0, 1, 1, 1}, {1, 1}, 1})),
      rounded("conv_computed_filter", {2, 3, 6, 5},
              [](Build& b) {
                const ValueId filters = b.emit(Op::kNeg, NoAttrs{}, {b.floats({4, 3, 2, 2})});
                const ValueId part = b.of_x(Op::kSlice, SliceAttrs{0, 0, 1, 1});
                const ValueId sum = b.emit(Op::kMean, ReduceAttrs{{0, 2, 3}, false}, {part});
                const ValueId row = b.emit(Op::kReshape, ShapeAttrs{{1, 3, 1, 1}}, {sum});
                const ValueId scaled = b.emit(Op::kMul, NoAttrs{}, {filters, row});
                return b.emit(Op::kConv2d, ConvAttrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, 1}, {b.x, scaled});
              }),
      rounded("transposed_plain", {2, 3, 5, 6}, transposed({3, 4, 3, 3}, {{2, 2}, {1, 1, 1, 0}, {1, 1}, 1})),
      rounded("transposed_far", {2, 3, 5, 6}, transposed({3, 4, 5, 4}, {{4, 3}, {1, 1, 2, 0}, {1, 1}, 1})),
      rounded("transposed_groups", {2, 4, 5, 6}, transposed({4, 3, 3, 2}, {{2, 1}, {1, 0, 0, 0}, {1, 1}, 2})),
      rounded("transposed_depthwise", {2, 4, 5, 6}, transposed({4, 1, 4, 4}, {{2, 2}, {1, 1, 1, 1}, {1, 1}, 4})),
      rounded("transposed_dilated", {2, 3, 5, 6}, transposed({3, 2, 3, 2}, {{2, 1}, {1, 2, 0, -1}, {2, 3}, 1})),
      rounded("transposed_cut", {1, 3, 5, 6}, transposed({3, 2, 1, 2}, {{3, 3}, {2, 1, 3, 2}, {1, 1}, 1})),
      rounded("matmul_rank4", {2, 3, 4, 5},
              [](Build& b) {
                const ValueId turned = b.of_x(Op::kPermute, AxesAttrs{{0, 1, 3, 2}});
                return b.emit(Op::kMatmul, NoAttrs{}, {b.x, turned});
              }),
      rounded("matmul_one_matrix", {2, 3, 4, 5},
              [](Build& b) {
                const ValueId part = b.of_x(Op::kSlice, SliceAttrs{0, 0, 1, 1});
                const ValueId one = b.emit(Op::kSlice, SliceAttrs{1, 0, 1, 1}, {part});
                const ValueId turned = b.emit(Op::kReshape, ShapeAttrs{{5, 4}}, {one});
                return b.emit(Op::kMatmul, NoAttrs{}, {b.x, turned});
              }),
      rounded("matmul_broadcast", {2, 3, 4, 5},
              [](Build& b) {
                const ValueId part = b.of_x(Op::kSlice, SliceAttrs{1, 0, 1, 1});
                const ValueId turned = b.emit(Op::kPermute, AxesAttrs{{1, 0, 3, 2}}, {part});
                const ValueId some = b.of_x(Op::kSlice, SliceAttrs{1, 0, 1, 1});
                return b.emit(Op::kMatmul, NoAttrs{}, {some, turned});
              }),
      rounded("linear_computed", {2, 3, 5},
              [](Build& b) {
                const ValueId weight = b.emit(Op::kReshape, ShapeAttrs{{6, 5}}, {b.x});
                return b.emit(Op::kLinear, NoAttrs{}, {b.x, weight});
              }),
      rounded("attention_causal", {2, 2, 5, 4},
              [](Build& b) {
                const ValueId key = b.of_x(Op::kTanh);
                return b.emit(Op::kAttention, AttentionAttrs{0, true}, {b.x, key, b.x});
              }),
  };
}

std::vector<Case> norms() {
  const auto reduce = [](Op op, Ints axes, bool keepdim) {
    return [=](Build& b) { return b.of_x(op, ReduceAttrs{axes, keepdim}); };
  };
  return {
      rounded("group_norm", {2, 6, 4, 5},
              [](Build& b) {
                return b.emit(Op::kGroupNorm, GroupNormAttrs{3, 1e-5}, {b.x, b.floats({6}), b.floats({6})});
              }),
      rounded("group_norm_bare", {2, 6, 7},
              [](Build& b) {
                return b.of_x(Op::kGroupNorm, GroupNormAttrs{2, 1e-5});
              }),
      rounded("instance_norm", {2, 3, 4, 5},
              [](Build& b) {
                return b.of_x(Op::kGroupNorm, GroupNormAttrs{3, 1e-5});
              }),
      rounded(
          "batch_norm", {2, 3, 4, 5},
          [](Build& b) {
            const ValueId variance = b.emit(Op::kAbs, NoAttrs{}, {b.floats({3})});
            return b.emit(Op::kBatchNorm, EpsAttrs{0.1}, {b.x, b.floats({3}), variance, b.floats({3}), b.floats({3})});
          }),
      rounded("layer_norm", {2, 3, 4, 5},
              [](Build& b) {
                return b.emit(Op::kLayerNorm, LayerNormAttrs{2, 1e-5}, {b.x, b.floats({4, 5}), b.floats({4, 5})});
              }),
      rounded("layer_norm_in_parts", {2, 3, 257, 131},
              [](Build& b) {
                return b.emit(Op::kLayerNorm, LayerNormAttrs{3, 1e-5}, {b.x, b.floats({3, 257, 131})});
              }),
      rounded("group_norm_in_parts", {1, 4, 160, 128},
              [](Build& b) {
                return b.emit(Op::kGroupNorm, GroupNormAttrs{2, 1e-5}, {b.x, b.floats({4}), b.floats({4})});
              }),
      rounded("layer_norm_computed", {2, 3, 5},
              [](Build& b) {
                const ValueId weight = b.emit(Op::kAmax, ReduceAttrs{{0, 1}, false}, {b.x});
                return b.emit(Op::kLayerNorm, LayerNormAttrs{1, 1e-5}, {b.x, weight});
              }),
      rounded("softmax_inner", {2, 3, 4, 5}, [](Build& b) { return b.of_x(Op::kSoftmax, AxisAttrs{1}); }),
      rounded("log_softmax_inner", {2, 3, 4, 5}, [](Build& b) { return b.of_x(Op::kLogSoftmax, AxisAttrs{2}); }),
      rounded("variance", {2, 3, 4, 5},
              [](Build& b) {
                return b.of_x(Op::kVariance, VarianceAttrs{{1, 3}, false, 1});
              }),
      rounded("cumsum", {2, 7, 3}, [](Build& b) { return b.of_x(Op::kCumsum, AxisAttrs{1}); }),
      rounded("prod", {2, 5, 3}, reduce(Op::kProd, {1}, false)),
      rounded("logsumexp", {2, 5, 3}, reduce(Op::kLogsumexp, {1, 2}, true)),
      rounded("mean", {2, 3, 4, 5}, reduce(Op::kMean, {1, 3}, false)),
      rounded("sum_beside_many", {70000, 3, 2}, reduce(Op::kSum, {1}, false)),
      rounded("vector_norm", {2, 5, 3},
              [](Build& b) {
                return b.of_x(Op::kVectorNorm, VectorNormAttrs{{1}, false, 2});
              }),
  };
}

std::vector<Case> others() {
  const auto compared = [](Op op) {
    return [=](Build& b) {
      const ValueId boolean = b.emit(op, NoAttrs{}, {b.x, b.floats({3, 4})});
      return b.emit(Op::kWhere, NoAttrs{}, {boolean, b.x, b.floats({4})});
    };
  };
  return {
      rounded("div_constant", {2, 3, 4},
              [](Build& b) {
                return b.emit(Op::kDiv, NoAttrs{}, {b.x, b.floats({4})});
              }),
      {"div",
       {2, 3, 4},
       Numbers::kPositive,
       [](Build& b) {
         return b.emit(Op::kDiv, NoAttrs{}, {b.floats({3, 4}), b.x});
       }},
      {"pow",
       {2, 3, 4},
       Numbers::kPositive,
       [](Build& b) {
         return b.emit(Op::kPow, NoAttrs{}, {b.x, b.number(1.7)});
       }},
      {"remainder",
       {2, 3, 4},
       Numbers::kPositive,
       [](Build& b) {
         return b.emit(Op::kRemainder, NoAttrs{}, {b.x, b.number(0.75)});
       }},
      rounded("prelu", {2, 3, 4},
              [](Build& b) {
                return b.emit(Op::kPrelu, NoAttrs{}, {b.x, b.floats({1, 3, 1})});
              }),
      rounded("prelu_one_slope", {2, 3, 4},
              [](Build& b) {
                const ValueId slope = b.emit(Op::kExpand, ShapeAttrs{{1, 3, 1}}, {b.number(0.25)});
                return b.emit(Op::kPrelu, NoAttrs{}, {b.x, slope});
              }),
      rounded("where_gt", {2, 3, 4}, compared(Op::kGt)),
      rounded("where_le", {2, 3, 4}, compared(Op::kLe)),
      exact("where_known", {2, 3, 4},
            [](Build& b) {
              return b.emit(Op::kWhere, NoAttrs{}, {b.bools({3, 4}), b.x, b.floats({2, 3, 4})});
            }),
      exact("truth", {2, 3, 4},
            [](Build& b) {
              const ValueId boolean = b.emit(Op::kLt, NoAttrs{}, {b.x, b.floats({4})});
              return b.emit(Op::kCast, DTypeAttrs{DType::kF32}, {boolean});
            }),
      rounded("masked_softmax", {2, 3, 4},
              [](Build& b) {
                const ValueId masked = b.emit(Op::kWhere, NoAttrs{}, {b.bools({3, 4}), b.x, b.number(-kInfinity)});
                return b.emit(Op::kSoftmax, AxisAttrs{2}, {masked});
              }),
      exact("flip", {2, 3, 4, 5},
            [](Build& b) {
              return b.of_x(Op::kFlip, AxesAttrs{{1, 2, 3}});
            }),
      exact("step", {2, 3, 11},
            [](Build& b) {
              return b.of_x(Op::kSlice, SliceAttrs{2, 1, 11, 4});
            }),
      exact("pad_reflect", {2, 3, 6, 5},
            [](Build& b) {
              return b.of_x(Op::kPad, PadAttrs{PadMode::kReflect, {0, 0, 2, 1}, {0, 0, 3, 4}, 0});
            }),
      exact("index_known", {2, 8, 3},
            [](Build& b) {
              return b.emit(Op::kIndexSelect, AxisAttrs{1}, {b.x, b.integers({6}, {6, 7, 0, 1, 2, -1})});
            }),
      exact("nearest_twice", {1, 3, 4, 5},
            [](Build& b) {
              return b.of_x(Op::kResize2d, ResizeAttrs{ResizeMode::kNearest, {8, 10}, {}, false});
            }),
      exact("nearest_odd", {2, 3, 6, 4},
            [](Build& b) {
              return b.of_x(Op::kResize2d, ResizeAttrs{ResizeMode::kNearest, {9, 7}, {}, false});
            }),
      rounded("resize_linear", {2, 3, 6, 4},
              [](Build& b) {
                return b.of_x(Op::kResize2d, ResizeAttrs{ResizeMode::kLinear, {9, 7}, {}, true});
              }),
      rounded("resize_cubic", {2, 3, 6, 4},
              [](Build& b) {
                return b.of_x(Op::kResize2d, ResizeAttrs{ResizeMode::kCubic, {9, 7}, {}, false});
              }),
      exact("cat_of_many", {2, 3},
            [](Build& b) { return b.emit(Op::kCat, AxisAttrs{1}, std::vector<ValueId>(100, b.x)); }),
      exact("expand", {2, 3, 1},
            [](Build& b) {
              return b.of_x(Op::kExpand, ShapeAttrs{{4, 2, 3, 5}});
            }),
  };
}

}  // namespace

std::vector<Case> ethos_u_cases() {
  std::vector<Case> all;
  for (std::vector<Case>& family : std::vector{windows(), convolutions(), norms(), others()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace isthmus::test
