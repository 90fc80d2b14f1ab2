// How random graphs grow.
#include "support/random_model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace isthmus::test {
namespace {

ValueId take(Expected<ValueId> value) {
  if (!value) throw std::runtime_error(value.error().text());
  return *value;
}

}  // namespace

Graph RandomModel::make() {
  emitter_.begin({}, "v");
  const Dim channels(static_cast<std::int64_t>(pick(3) + 1));
  values_.push_back(graph_.add_input("x", {DType::kF32, {2, channels, 4, 6}}));
  values_.push_back(graph_.add_input("y", {DType::kF32, {2, channels, 4, 6}}));
  for (std::size_t i = 0; i < 14; ++i) values_.push_back(grow(values_[pick(values_.size())]));
  graph_.add_output({values_.back(), OutputKind::kResult, {}});
  graph_.add_output({values_[pick(values_.size())], OutputKind::kResult, {}});
  return std::move(graph_);
}

Tensor RandomModel::input(const TensorType& type) {
  std::vector<std::int64_t> sizes;
  for (const Dim dim : type.shape) sizes.push_back(dim.value());
  Tensor tensor(DType::kF32, sizes);
  for (float& number : tensor.mutable_data<float>()) number = some_number();
  return tensor;
}

ValueId RandomModel::constant(std::vector<std::int64_t> sizes, bool is_positive) {
  Tensor tensor(DType::kF32, std::move(sizes));
  for (float& number : tensor.mutable_data<float>())
    number = is_positive ? std::abs(some_number()) + 0.3F : some_number();
  return emitter_.constant(tensor.view());
}

Ints RandomModel::shuffled(std::int64_t rank) {
  Ints axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  std::ranges::shuffle(axes, random_);
  return axes;
}

ValueId RandomModel::grow(ValueId value) {
  const Shape shape = emitter_.shape(value);
  const std::int64_t rank = emitter_.rank(value);
  if (rank == 0) return take(emitter_.unary(Op::kSigmoid, value));
  const auto axis = static_cast<std::int64_t>(pick(static_cast<std::size_t>(rank)));
  const Dim size = shape[static_cast<std::size_t>(axis)];
  switch (pick(24)) {
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
      return take(
          emitter_.emit(Op::kSlice, SliceAttrs{axis, Dim(size.value() > 1 && pick(2) == 0 ? 1 : 0), size, 1}, {value}));
    case 4:
      return take(
          emitter_.emit(Op::kCat, AxisAttrs{axis}, pick(3) == 0 ? std::vector{value} : std::vector{value, value}));
    case 5:
      return take(emitter_.emit(Op::kFlip, AxesAttrs{{axis}}, {value}));
    case 6:
      return take(
          emitter_.emit(Op::kClamp, ClampAttrs{-static_cast<double>(pick(3)), static_cast<double>(pick(2))}, {value}));
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
      const ValueId product = take(emitter_.emit(Op::kMatmul, NoAttrs{}, {value, constant({shape.back().value(), 4})}));
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
    case 15:
      return take(emitter_.emit(Op::kSoftmax, AxisAttrs{axis}, {value}));
    case 16:
      return take(emitter_.emit(Op::kLayerNorm, LayerNormAttrs{}, {value, constant({shape.back().value()})}));
    case 17:
      return take(emitter_.emit(Op::kMean, ReduceAttrs{{axis}, true}, {value}));
    case 18: {
      if (rank != 4 || shape[2].value() < 2 || shape[3].value() < 2) return take(emitter_.unary(Op::kTanh, value));
      return take(emitter_.emit(Op::kMaxPool2d, MaxPoolAttrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, false}, {value}));
    }
    case 19: {
      Ints before(shape.size(), 0);
      before[static_cast<std::size_t>(axis)] = 1;
      return take(emitter_.emit(Op::kPad, PadAttrs{PadMode::kConstant, before, Ints(shape.size(), 0), 0.5}, {value}));
    }
    case 20: {
      if (rank < 2) return value;
      Ints axes = shuffled(rank);
      std::ranges::sort(axes);
      std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
      return take(emitter_.binary(Op::kMatmul, value, take(emitter_.permute(value, axes))));
    }
    case 21: {
      const ValueId slice = take(emitter_.slice(value, axis, 0, 1));
      return take(emitter_.binary(Op::kSub, value, take(emitter_.expand(slice, shape))));
    }
    case 22:
      return take(emitter_.emit(Op::kSum, ReduceAttrs{{axis}, false}, {value}));
    default: {
      if (rank < 2) return value;
      const std::int64_t channels = shape[1].value();
      return take(emitter_.emit(
          Op::kBatchNorm, EpsAttrs{},
          {value, constant({channels}), constant({channels}, true), constant({channels}), constant({channels})}));
    }
  }
}

}  // namespace isthmus::test
