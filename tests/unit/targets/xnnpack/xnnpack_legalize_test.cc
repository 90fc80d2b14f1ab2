// Forms of ops that only move numbers: all of them run in the delegate, and every number is the same.
#include <gtest/gtest.h>

#include <cmath>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/compile.h"
#include "support/form_case.h"
#include "targets/legalize.h"
#include "targets/registry.h"

namespace isthmus::xnnpack_legalize_test {
namespace {

using test::agree;
using test::Build;
using test::Case;
using test::copies;
using test::exact;
using test::expect_delegated;
using test::input_of;
using test::kInfinity;
using test::Numbers;
using test::rounded;
using test::Sizes;
using test::without_batch;

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
               return b.emit(Op::kWhere, NoAttrs{}, {b.bools({3, 5}), b.x, b.of_x(Op::kNeg)});
             }),
      copies("where_number", {2, 3, 5},
             [](Build& b) {
               return b.emit(Op::kWhere, NoAttrs{}, {b.bools({3, 5}), b.number(0.25), b.x});
             }),
      copies("where_minus_infinity", {2, 3, 5},
             [](Build& b) {
               return b.emit(Op::kWhere, NoAttrs{}, {b.bools({1, 3, 5}), b.x, b.number(-kInfinity)});
             }),
      copies("where_wider", {2, 1, 5},
             [](Build& b) {
               return b.emit(Op::kWhere, NoAttrs{}, {b.bools({3, 1}), b.x, b.number(1)});
             }),
  };
}

class XnnpackMovement : public testing::TestWithParam<Case> {};
TEST_P(XnnpackMovement, RunsInTheDelegate) { expect_delegated(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Forms, XnnpackMovement, testing::ValuesIn(selections()), test::name_of_case);

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
  const TargetDesc& target = *find_target("xnnpack");
  const auto prepared = prepare_float(*graph, {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  for (const Node& node : prepared->graph.nodes()) EXPECT_FALSE(target.refusal(prepared->graph, node));
  const auto compiled = compile(*prepared, target, {}, nullptr);
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
         return b.emit(Op::kWhere, NoAttrs{}, {b.bools({4, 5}), b.x, b.number(std::nan(""))});
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
    const auto prepared = prepare_float(std::move(build).finish(result), {find_target("xnnpack"), {}}, diagnostics);
    ASSERT_TRUE(prepared) << prepared.error().text();
    EXPECT_EQ(prepared->graph.nodes().back().op, op) << print(prepared->graph);
  }
}

// A size without a bound does not make the target rewrite what the delegate has.
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
  const auto legal = legalize(*graph, *find_target("xnnpack"));
  ASSERT_TRUE(legal) << legal.error().text();
  EXPECT_EQ(print(*legal), print(*graph));
}

}  // namespace
}  // namespace isthmus::xnnpack_legalize_test
