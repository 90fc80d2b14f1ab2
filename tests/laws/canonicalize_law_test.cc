// Laws of canonicalize on random graphs: twice is once, and nothing changes what a graph computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "canonicalize/canonicalize.h"
#include "exec/interpreter.h"
#include "ir/text.h"
#include "ops/emitter.h"
#include "support/models.h"

namespace isthmus {
namespace {

// Grows a graph of ops on f32[2,c,h,w] values whose shapes it may change; constants hold moderate numbers.
class RandomModel {
 public:
  explicit RandomModel(unsigned seed) : random_(seed), emitter_(graph_) {}

  Graph make() {
    emitter_.begin({}, "v");
    const Dim channels(static_cast<std::int64_t>(pick(3) + 1));
    values_.push_back(graph_.add_input("x", {DType::kF32, {2, channels, 4, 6}}));
    values_.push_back(graph_.add_input("y", {DType::kF32, {2, channels, 4, 6}}));
    for (std::size_t i = 0; i < 14; ++i) values_.push_back(grow(values_[pick(values_.size())]));
    graph_.add_output({values_.back(), OutputKind::kResult, {}});
    graph_.add_output({values_[pick(values_.size())], OutputKind::kResult, {}});
    return std::move(graph_);
  }

  Tensor input(const TensorType& type) {
    std::vector<std::int64_t> sizes;
    for (const Dim dim : type.shape) sizes.push_back(dim.value());
    Tensor tensor(DType::kF32, sizes);
    for (float& number : tensor.mutable_data<float>()) number = some_number();
    return tensor;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  float some_number() { return std::uniform_real_distribution<float>(-1.5F, 1.5F)(random_); }
  ValueId constant(std::vector<std::int64_t> sizes, bool is_positive = false) {
    Tensor tensor(DType::kF32, std::move(sizes));
    for (float& number : tensor.mutable_data<float>())
      number = is_positive ? std::abs(some_number()) + 0.3F : some_number();
    return emitter_.constant(tensor.view());
  }
  ValueId take(Expected<ValueId> value) {
    if (!value) throw std::runtime_error(value.error().text());
    return *value;
  }
  Ints shuffled(std::int64_t rank) {
    Ints axes;
    for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
    std::ranges::shuffle(axes, random_);
    return axes;
  }

  ValueId grow(ValueId value) {
    const Shape shape = emitter_.shape(value);
    const std::int64_t rank = emitter_.rank(value);
    const auto axis = static_cast<std::int64_t>(pick(static_cast<std::size_t>(rank)));
    const Dim size = shape[static_cast<std::size_t>(axis)];
    switch (pick(16)) {
      case 0:
        return take(emitter_.emit(Op::kPermute, AxesAttrs{shuffled(rank)}, {value}));
      case 1: {
        Shape flat{emitter_.exprs().product(shape)};
        return take(emitter_.emit(Op::kReshape, ShapeAttrs{pick(2) == 0 ? flat : shape}, {value}));
      }
      case 2: {
        Shape wider = shape;
        wider.insert(wider.begin() + axis, Dim(1));
        return take(emitter_.emit(Op::kReshape, ShapeAttrs{wider}, {value}));
      }
      case 3:
        return take(emitter_.emit(Op::kSlice, SliceAttrs{axis, Dim(size.value() > 1 && pick(2) == 0 ? 1 : 0), size, 1},
                                  {value}));
      case 4:
        return take(
            emitter_.emit(Op::kCat, AxisAttrs{axis}, pick(3) == 0 ? std::vector{value} : std::vector{value, value}));
      case 5:
        return take(emitter_.emit(Op::kFlip, AxesAttrs{{axis}}, {value}));
      case 6:
        return take(emitter_.emit(Op::kClamp, ClampAttrs{-static_cast<double>(pick(3)), static_cast<double>(pick(2))},
                                  {value}));
      case 7:
        return take(emitter_.unary(Op::kSigmoid, value));
      case 8:
        return take(emitter_.binary(Op::kAdd, value, value));
      case 9:
        return take(emitter_.binary(Op::kMul, value, constant({})));
      case 10:
        return take(emitter_.binary(Op::kAdd, value, take(emitter_.unary(Op::kNeg, constant({})))));
      case 11: {
        const std::int64_t inner = shape.back().value();
        return take(emitter_.emit(Op::kLinear, NoAttrs{}, {value, constant({3, inner})}));
      }
      case 12: {
        if (rank < 2) return value;
        const ValueId product =
            take(emitter_.emit(Op::kMatmul, NoAttrs{}, {value, constant({shape.back().value(), 4})}));
        return take(emitter_.binary(Op::kAdd, product, constant({4})));
      }
      case 13:
      case 14: {
        if (rank != 4) return take(emitter_.emit(Op::kExpand, ShapeAttrs{shape}, {value}));
        const std::int64_t channels = shape[1].value();
        ConvAttrs attrs{{1, 1}, {1, 1, 1, 1}, {1, 1}, 1};
        const ValueId conv = take(emitter_.emit(Op::kConv2d, attrs, {value, constant({2, channels, 3, 3})}));
        return take(emitter_.emit(Op::kBatchNorm, EpsAttrs{},
                                  {conv, constant({2}), constant({2}, true), constant({2}), constant({2})}));
      }
      default: {
        if (rank < 2) return value;
        const std::int64_t channels = shape[1].value();
        return take(emitter_.emit(
            Op::kBatchNorm, EpsAttrs{},
            {value, constant({channels}), constant({channels}, true), constant({channels}), constant({channels})}));
      }
    }
  }

  std::mt19937 random_;
  Graph graph_;
  Emitter emitter_;
  std::vector<ValueId> values_;
};

TEST(CanonicalizeLaws, TwiceIsOnceAndNothingComputedChanges) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomModel model(seed);
    const Graph graph = model.make();
    Diagnostics diagnostics;
    const auto once = canonicalize(graph, diagnostics);
    ASSERT_TRUE(once.has_value()) << "seed " << seed << ": " << once.error().text() << "\n" << print(graph);
    const auto twice = canonicalize(*once, diagnostics);
    ASSERT_TRUE(twice.has_value()) << "seed " << seed << ": " << twice.error().text();
    ASSERT_EQ(print(*twice), print(*once)) << "seed " << seed;

    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs()) inputs.push_back(model.input(graph.type(input)));
    const auto before = interpret(graph, inputs);
    const auto after = interpret(*once, inputs);
    ASSERT_TRUE(before.has_value()) << "seed " << seed << ": " << before.error().text() << "\n" << print(graph);
    ASSERT_TRUE(after.has_value()) << "seed " << seed << ": " << after.error().text() << "\n" << print(*once);
    ASSERT_EQ(before->size(), after->size());
    for (std::size_t i = 0; i < before->size(); ++i) {
      const test::Difference gap = test::difference(*(*after)[i], *(*before)[i]);
      double largest = 1;
      for (const double number : test::doubles(*(*before)[i])) largest = std::max(largest, std::abs(number));
      ASSERT_LE(gap.max, 1e-4 * largest) << "seed " << seed << "\n" << print(graph) << print(*once);
    }
  }
}

}  // namespace
}  // namespace isthmus
