// Forms of ops that the delegate has no node for: all of them run there, and the numbers are those of the ops.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "exec/interpreter.h"
#include "ir/text.h"
#include "legalize/legalize.h"
#include "ops/emitter.h"
#include "support/compile.h"

namespace isthmus {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Sizes = std::vector<std::int64_t>;

// A graph of one input, whose first size may be symbolic.
class Build {
 public:
  Build(const Sizes& sizes, bool is_symbolic, std::int64_t least = 1) : emitter_(graph_) {
    Shape shape(sizes.begin(), sizes.end());
    if (is_symbolic) {
      graph_.exprs().declare({"s0", least, 8, least + 1});
      shape[0] = graph_.exprs().symbol("s0");
    }
    x = graph_.add_input("x", {DType::kF32, shape});
  }

  ValueId emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
    auto made = emitter_.emit(op, std::move(attrs), std::move(inputs));
    CHECK(made.has_value(), made ? "" : made.error().text());
    return *made;
  }
  ValueId of_x(Op op, Attrs attrs = NoAttrs{}) { return emit(op, std::move(attrs), {x}); }
  ValueId floats(const Sizes& sizes) {
    Tensor tensor(DType::kF32, sizes);
    for (float& number : tensor.mutable_data<float>()) number = next();
    return emitter_.constant(tensor.view());
  }
  ValueId integers(const Sizes& sizes, const Ints& numbers) {
    Tensor tensor(DType::kI64, sizes);
    std::copy(numbers.begin(), numbers.end(), tensor.mutable_data<std::int64_t>().begin());
    return emitter_.constant(tensor.view());
  }
  ValueId truths(const Sizes& sizes) {
    Tensor tensor(DType::kBool, sizes);
    for (std::uint8_t& truth : tensor.mutable_data<std::uint8_t>()) truth = next() > 0 ? 1 : 0;
    return emitter_.constant(tensor.view());
  }
  ValueId number(double value) { return emitter_.scalar(value, DType::kF32); }
  Dim size(std::size_t axis) const { return graph_.type(x).shape[axis]; }
  Exprs& exprs() { return graph_.exprs(); }

  Graph finish(ValueId result) && {
    graph_.add_output({result, OutputKind::kResult, {}});
    return std::move(graph_);
  }

  ValueId x;

 private:
  float next() { return std::uniform_real_distribution<float>(-1.5F, 1.5F)(random_); }

  Graph graph_;
  Emitter emitter_;
  std::mt19937 random_{7};
};

enum class Numbers : std::uint8_t {
  kCopied,    // exactly, infinities too
  kExact,     // exactly
  kRounded,   // to 1e-6 of the largest
  kPositive,  // the same, of positive numbers
};

struct Case {
  const char* name;
  Sizes sizes;
  Numbers numbers;
  std::function<ValueId(Build&)> make;
  bool has_batch = true;  // the first axis is not worked on
};
std::ostream& operator<<(std::ostream& stream, const Case& row) { return stream << row.name; }

Tensor input_of(Sizes sizes, const Case& row, std::int64_t batch) {
  if (row.has_batch) sizes[0] = batch;
  Tensor tensor(DType::kF32, std::move(sizes));
  std::mt19937 random(static_cast<unsigned>(batch));
  std::uniform_real_distribution<float> numbers(row.numbers == Numbers::kPositive ? 0.5F : -2, 2);
  const auto data = tensor.mutable_data<float>();
  for (float& number : data) number = numbers(random);
  if (row.numbers == Numbers::kCopied && data.size() > 8) {
    data[1] = kInfinity;
    data[data.size() / 2] = -kInfinity;
  }
  return tensor;
}

testing::AssertionResult agree(const std::vector<std::optional<Tensor>>& found, const Tensor& expected,
                               Numbers numbers) {
  const double error = test::difference(*found[0], expected).max;
  double allowed = 0;
  if (numbers == Numbers::kRounded || numbers == Numbers::kPositive) {
    for (const float number : expected.data<float>()) {
      if (std::isfinite(number)) allowed = std::max(allowed, 1e-6 * static_cast<double>(std::abs(number)));
    }
  }
  if (error <= allowed) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "differs by " << error;
}

Case copies(const char* name, Sizes sizes, std::function<ValueId(Build&)> make) {
  return {name, std::move(sizes), Numbers::kCopied, std::move(make)};
}
Case exact(const char* name, Sizes sizes, std::function<ValueId(Build&)> make) {
  return {name, std::move(sizes), Numbers::kExact, std::move(make)};
}
Case rounded(const char* name, Sizes sizes, std::function<ValueId(Build&)> make) {
  return {name, std::move(sizes), Numbers::kRounded, std::move(make)};
}
Case without_batch(Case row) {
  row.has_batch = false;
  return row;
}

PadAttrs pad_of(PadMode mode, Ints before, Ints after) { return {mode, std::move(before), std::move(after), 0}; }
ResizeAttrs resize_of(ResizeMode mode, std::int64_t height, std::int64_t width, std::vector<double> scales = {},
                      bool align_corners = false) {
  return {mode, {height, width}, std::move(scales), align_corners};
}

std::vector<Case> selections() {
  const auto slice = [](std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
    return [=](Build& b) { return b.of_x(Op::kSlice, SliceAttrs{axis, start, end, step}); };
  };
  const auto flip = [](Ints axes) { return [=](Build& b) { return b.of_x(Op::kFlip, AxesAttrs{axes}); }; };
  const auto pad = [](PadMode mode, Ints before, Ints after) {
    return [=](Build& b) { return b.of_x(Op::kPad, pad_of(mode, before, after)); };
  };
  const auto resize = [](ResizeMode mode, std::int64_t height, std::int64_t width, std::vector<double> scales = {}) {
    return [=](Build& b) { return b.of_x(Op::kResize2d, resize_of(mode, height, width, scales)); };
  };
  const auto select = [](std::int64_t axis, Ints positions) {
    return [=](Build& b) {
      const ValueId index = b.integers({static_cast<std::int64_t>(positions.size())}, positions);
      return b.emit(Op::kIndexSelect, AxisAttrs{axis}, {b.x, index});
    };
  };
  return {
      copies("flip_short", {2, 3, 4}, flip({1, 2})),
      copies("flip_long", {2, 3, 24}, flip({2})),
      copies("flip_prime", {2, 3, 97}, flip({2})),
      copies("flip_middle", {2, 35, 3, 2}, flip({1})),
      copies("flip_rank6", {2, 2, 1, 26, 3, 2}, flip({3})),
      without_batch(copies("flip_first", {13, 4}, flip({0}))),
      copies("step_divides", {2, 3, 12}, slice(2, 0, 12, 3)),
      copies("step_from_one", {2, 3, 12}, slice(2, 1, 12, 2)),
      copies("step_with_rest", {2, 3, 11}, slice(2, 1, 11, 4)),
      copies("step_beyond_end", {2, 7, 3}, slice(1, 0, 7, 4)),
      copies("step_rank6", {2, 3, 1, 8, 2, 2}, slice(3, 1, 8, 3)),
      without_batch(copies("step_first", {9, 4}, slice(0, 0, 9, 2))),
      copies("pad_reflect", {2, 3, 6, 5}, pad(PadMode::kReflect, {0, 0, 2, 1}, {0, 0, 3, 4})),
      copies("pad_reflect_far", {2, 3, 40}, pad(PadMode::kReflect, {0, 0, 30}, {0, 0, 39})),
      copies("pad_replicate", {2, 3, 6, 5}, pad(PadMode::kReplicate, {0, 0, 1, 7}, {0, 0, 2, 0})),
      copies("pad_infinity", {2, 3, 6},
             [](Build& b) {
               return b.of_x(Op::kPad, PadAttrs{PadMode::kConstant, {0, 0, 1}, {0, 0, 2}, -kInfinity});
             }),
      copies("nearest_twice", {2, 3, 4, 5}, resize(ResizeMode::kNearest, 8, 10)),
      copies("nearest_odd", {2, 3, 6, 4}, resize(ResizeMode::kNearest, 9, 7)),
      copies("nearest_down", {2, 3, 9, 10}, resize(ResizeMode::kNearest, 4, 5)),
      copies("nearest_scaled", {2, 3, 4, 4}, resize(ResizeMode::kNearest, 6, 7, {1.6, 1.9})),
      copies("nearest_exact", {2, 3, 5, 4}, resize(ResizeMode::kNearestExact, 7, 12)),
      copies("nearest_many", {2, 2, 2, 1}, resize(ResizeMode::kNearest, 64, 37)),
      copies("index_runs", {2, 8, 3}, select(1, {6, 7, 0, 1, 2, -1})),
      copies("index_repeats", {2, 8, 3}, select(1, {3, 3, 3, 3, 1, 2})),
      copies("index_tiles", {2, 5, 3}, select(1, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4})),
      copies("index_tiles_often", {2, 3, 2}, select(1, {2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2})),
      copies("index_windows", {2, 3, 10}, select(2, {0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 7, 8, 9, 1, 0, 0})),
      copies("index_overlap", {2, 3, 9}, select(2, {0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6, 5, 6, 7, 6, 7, 8})),
      copies("index_pattern", {2, 12, 3}, select(1, {1, 0, 5, 4, 9, 8})),
      copies("index_pattern_with_rest", {2, 13, 3}, select(1, {1, 3, 5, 7, 9, 11})),
      exact("index_shuffled", {2, 101, 2},
            [](Build& b) {
              Ints positions;
              for (std::int64_t i = 0; i < 90; ++i) positions.push_back(i * i * 7 % 101);
              return b.emit(Op::kIndexSelect, AxisAttrs{1}, {b.x, b.integers({90}, positions)});
            }),
      copies(
          "gather_lines", {2, 3, 5},
          [](Build& b) {
            const ValueId line = b.integers({1, 1, 4}, {4, 0, 0, -2});
            return b.emit(Op::kGather, AxisAttrs{2}, {b.x, b.emit(Op::kExpand, ShapeAttrs{{b.size(0), 3, 4}}, {line})});
          }),
      without_batch(copies("gather_each", {2, 3, 4},
                           [](Build& b) {
                             return b.emit(Op::kGather, AxisAttrs{2},
                                           {b.x, b.integers({2, 3, 2}, {0, 3, 1, 1, 2, 0, 3, 3, 2, 1, 0, 2})});
                           })),
      copies("scatter_lines", {2, 3, 5},
             [](Build& b) {
               const ValueId line = b.integers({1, 1, 2}, {3, 0});
               const ValueId index = b.emit(Op::kExpand, ShapeAttrs{{b.size(0), 3, 2}}, {line});
               const ValueId source = b.emit(Op::kNeg, NoAttrs{}, {b.of_x(Op::kSlice, SliceAttrs{2, 1, 3, 1})});
               return b.emit(Op::kScatter, ScatterAttrs{2}, {b.x, index, source});
             }),
      without_batch(
          copies("scatter_each", {2, 4},
                 [](Build& b) {
                   const ValueId source = b.emit(Op::kNeg, NoAttrs{}, {b.of_x(Op::kSlice, SliceAttrs{1, 0, 2, 1})});
                   return b.emit(Op::kScatter, ScatterAttrs{1}, {b.x, b.integers({2, 2}, {3, 0, 1, 2}), source});
                 })),
      rounded("scatter_add", {2, 3, 5},
              [](Build& b) {
                const ValueId line = b.integers({1, 1, 5}, {1, 0, 1, 4, 1});
                const ValueId index = b.emit(Op::kExpand, ShapeAttrs{{b.size(0), 3, 5}}, {line});
                return b.emit(Op::kScatterReduce, ScatterAttrs{2, ScatterMode::kAdd}, {b.x, index, b.x});
              }),
      copies(
          "cat_with_nothing", {2, 3, 5},
          [](Build& b) {
            return b.emit(Op::kCat, AxisAttrs{2}, {b.of_x(Op::kSlice, SliceAttrs{2, 0, 0, 1}), b.x, b.of_x(Op::kNeg)});
          }),
      copies("many_axes", {2, 6, 4, 8, 5},
             [](Build& b) {
               const ValueId parts = b.of_x(Op::kReshape, ShapeAttrs{{b.size(0), 2, 3, 1, 4, 2, 4, 5}});
               const ValueId turned = b.emit(Op::kPermute, AxesAttrs{{0, 4, 5, 3, 1, 2, 7, 6}}, {parts});
               return b.emit(Op::kReshape, ShapeAttrs{{b.size(0), 8, 6, 20}}, {turned});
             }),
      copies("where_both", {2, 3, 5},
             [](Build& b) {
               return b.emit(Op::kWhere, NoAttrs{}, {b.truths({3, 5}), b.x, b.of_x(Op::kNeg)});
             }),
      copies("where_number", {2, 3, 5},
             [](Build& b) {
               return b.emit(Op::kWhere, NoAttrs{}, {b.truths({3, 5}), b.number(0.25), b.x});
             }),
      copies("where_minus_infinity", {2, 3, 5},
             [](Build& b) {
               return b.emit(Op::kWhere, NoAttrs{}, {b.truths({1, 3, 5}), b.x, b.number(-kInfinity)});
             }),
      copies("where_wider", {2, 1, 5},
             [](Build& b) {
               return b.emit(Op::kWhere, NoAttrs{}, {b.truths({3, 1}), b.x, b.number(1)});
             }),
  };
}

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

// All of the graph runs in one delegate, for each of these batches.
void expect_delegated(const Graph& graph, const Case& row, const std::vector<std::int64_t>& batches) {
  Diagnostics diagnostics;
  const BackendDesc& backend = *find_backend("xnnpack");
  const auto prepared = prepare(graph, {&backend, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  const std::string text = print(prepared->graph);
  for (const Node& node : prepared->graph.nodes()) {
    const auto reason = backend.refusal(prepared->graph, node);
    ASSERT_FALSE(reason) << name_of(node.op) << ": " << text_of(*reason) << "\n" << text;
  }
  const auto compiled = compile(*prepared, backend, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text() << "\n" << text;
  auto method = run::Method::load(Blob(compiled->bytes, nullptr));
  ASSERT_TRUE(method) << method.error().text();
  for (const std::int64_t batch : batches) {
    const std::vector<Tensor> inputs{input_of(row.sizes, row, batch)};
    const auto expected = interpret(graph, inputs);
    ASSERT_TRUE(expected) << expected.error().text();
    const auto formed = interpret(prepared->graph, inputs);
    ASSERT_TRUE(formed) << formed.error().text() << "\n" << text;
    EXPECT_TRUE(agree(*formed, *expected->front(), row.numbers)) << text;
    const auto run = method->run(inputs);
    ASSERT_TRUE(run) << run.error().text() << "\n" << text;
    EXPECT_TRUE(agree(*run, *expected->front(), row.numbers)) << "in the delegate\n" << text;
  }
}

class XnnpackForms : public testing::TestWithParam<Case> {};

TEST_P(XnnpackForms, ComputeTheSame) {
  Build build(GetParam().sizes, false);
  const ValueId result = GetParam().make(build);
  expect_delegated(std::move(build).finish(result), GetParam(), {GetParam().sizes[0]});
}

TEST_P(XnnpackForms, ComputeTheSameForAnyBatch) {
  if (!GetParam().has_batch) return;
  Build build(GetParam().sizes, true);
  const ValueId result = GetParam().make(build);
  expect_delegated(std::move(build).finish(result), GetParam(), {1, 3, 8});
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Selections, XnnpackForms, testing::ValuesIn(selections()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Windows, XnnpackForms, testing::ValuesIn(windows()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Reductions, XnnpackForms, testing::ValuesIn(reductions()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Images, XnnpackForms, testing::ValuesIn(images()), name_of_case);

// Parts of an axis whose size is known only when the model runs.
TEST(XnnpackSymbolicAxis, IsCutAndThinned) {
  struct Part {
    std::int64_t start, left, step;
  };
  for (const auto& [start, left, step] : {Part{1, 0, 1}, Part{0, 2, 1}, Part{1, 1, 1}, Part{0, 0, 2}, Part{1, 1, 3}}) {
    Case row = exact("part", {5, 2, 3}, nullptr);
    Build build(row.sizes, true, 3);
    const Dim end = build.exprs().add(build.size(0), -left);
    const ValueId result = build.of_x(Op::kSlice, SliceAttrs{0, start, end, step});
    expect_delegated(std::move(build).finish(result), row, {3, 5, 8});
  }
}

TEST(XnnpackSymbolicAxis, GivesPartsOfFixedSize) {
  Case row = copies("part", {5, 2, 3}, nullptr);
  Build build(row.sizes, true, 5);
  const ValueId result = build.of_x(Op::kSlice, SliceAttrs{0, 1, 5, 2});
  expect_delegated(std::move(build).finish(result), row, {5, 8});
}

// An image of any size, doubled and averaged.
TEST(XnnpackSymbolicAxis, IsRepeatedAndAveraged) {
  const auto graph = parse_graph(R"(graph
  symbol s0 in [1,4] ~2
  symbol s1 in [2,6] ~4
  symbol s2 in [2,7] ~5
  input %x : f32[s0,3,s1,s2]
  %big = resize2d(%x) size=[2*s1,3*s2] : f32[s0,3,2*s1,3*s2]
  %mean = mean(%big) axes=[2,3] : f32[s0,3]
  return %big, %mean
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const Case row{"image", {}, Numbers::kPositive, nullptr};
  Diagnostics diagnostics;
  const BackendDesc& backend = *find_backend("xnnpack");
  const auto prepared = prepare(*graph, {&backend, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  for (const Node& node : prepared->graph.nodes()) EXPECT_FALSE(backend.refusal(prepared->graph, node));
  const auto compiled = compile(*prepared, backend, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text() << print(prepared->graph);
  auto method = run::Method::load(Blob(compiled->bytes, nullptr));
  ASSERT_TRUE(method) << method.error().text();
  for (const Sizes& sizes : {Sizes{1, 3, 2, 2}, Sizes{4, 3, 6, 7}, Sizes{2, 3, 5, 3}}) {
    const std::vector<Tensor> inputs{input_of(sizes, row, sizes[0])};
    const auto expected = interpret(*graph, inputs);
    const auto run = method->run(inputs);
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_TRUE(agree(*run, *expected->front(), Numbers::kExact));
    EXPECT_TRUE(agree({(*run)[1]}, **(expected->begin() + 1), Numbers::kRounded));
  }
}

// What has no form stays as it is: one node, for the host.
TEST(XnnpackWithoutForm, NodesStayAsTheyAre) {
  struct Left {
    Op op;
    std::function<ValueId(Build&)> make;
  };
  const Left cases[] = {
      {Op::kFlip, [](Build& b) { return b.of_x(Op::kFlip, AxesAttrs{{0}}); }},
      {Op::kCumsum, [](Build& b) { return b.of_x(Op::kCumsum, AxisAttrs{0}); }},
      {Op::kAmax,
       [](Build& b) {
         return b.of_x(Op::kAmax, ReduceAttrs{{0}, false});
       }},
      {Op::kSlice,  // empty where the batch is one
       [](Build& b) {
         return b.of_x(Op::kSlice, SliceAttrs{0, 1, b.size(0), 1});
       }},
      {Op::kPad,
       [](Build& b) {
         return b.of_x(Op::kPad, pad_of(PadMode::kReplicate, {1, 0, 0, 0}, {0, 0, 0, 0}));
       }},
      {Op::kIndexSelect,  // outside of the axis: an error when it runs
       [](Build& b) {
         return b.emit(Op::kIndexSelect, AxisAttrs{1}, {b.x, b.integers({1}, {7})});
       }},
      {Op::kWhere,
       [](Build& b) {
         return b.emit(Op::kWhere, NoAttrs{}, {b.truths({4, 5}), b.x, b.number(std::nan(""))});
       }},
      {Op::kResize2d, [](Build& b) { return b.of_x(Op::kResize2d, resize_of(ResizeMode::kCubic, 1 << 20, 5)); }},
      {Op::kConv2d,  // groups of computed filters
       [](Build& b) {
         const ValueId row = b.of_x(Op::kSlice, SliceAttrs{0, 0, 1, 1});
         const ValueId part = b.emit(Op::kSlice, SliceAttrs{3, 0, 1, 1}, {row});
         const ValueId filter = b.emit(Op::kReshape, ShapeAttrs{{6, 1, 2, 1}}, {part});
         return b.emit(Op::kConv2d, ConvAttrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, 3}, {b.x, filter});
       }},
  };
  for (const auto& [op, make] : cases) {
    Build build({2, 3, 4, 5}, true);
    const ValueId result = make(build);
    Diagnostics diagnostics;
    const auto prepared = prepare(std::move(build).finish(result), {find_backend("xnnpack"), {}}, diagnostics);
    ASSERT_TRUE(prepared) << prepared.error().text();
    EXPECT_EQ(prepared->graph.nodes().back().op, op) << print(prepared->graph);
  }
}

// A size without a bound is no reason to rewrite what the delegate has.
TEST(XnnpackWithoutForm, NodesOfUnboundedSizeStayAsTheyAre) {
  const auto graph = parse_graph(R"(graph
  symbol s0 in [1,]
  input %x : f32[s0,3,8,8]
  %max = max_pool2d(%x) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] dilation=[1,1] : f32[s0,3,4,4]
  %avg = avg_pool2d(%max) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] : f32[s0,3,2,2]
  return %avg
)");
  ASSERT_TRUE(graph) << graph.error().text();
  Diagnostics diagnostics;
  const auto legal = legalize(*graph, *find_backend("xnnpack"));
  ASSERT_TRUE(legal) << legal.error().text();
  EXPECT_EQ(print(*legal), print(*graph));
}

}  // namespace
}  // namespace isthmus
