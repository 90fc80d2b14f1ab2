// How such graphs grow.
#include "support/random_device_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/known.h"

namespace isthmus::test {
namespace {

constexpr std::int64_t kFewestRows = 2;  // along every axis that numbers of rows may count

std::int64_t product(const Ints& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

const std::vector<RandomDeviceModel::Family>& RandomDeviceModel::families() {
  using M = RandomDeviceModel;
  static const std::vector<Family> kFamilies{{4, &M::conv},
                                             {1, &M::conv_of_row},
                                             {2, &M::transposed_conv},
                                             {2, &M::linear},
                                             {2, &M::matmul},
                                             {1, &M::attention},
                                             {2, &M::max_pool},
                                             {2, &M::avg_pool},
                                             {1, &M::adaptive_pool},
                                             {2, &M::resize},
                                             {2, &M::norm},
                                             {2, &M::softmax},
                                             {3, &M::unary},
                                             {1, &M::positive_unary},
                                             {2, &M::clamp},
                                             {1, &M::power},
                                             {4, &M::binary},
                                             {1, &M::quotient},
                                             {2, &M::choice},
                                             {1, &M::bool_as_number},
                                             {3, &M::reduction},
                                             {1, &M::composed_reduction},
                                             {2, &M::permute},
                                             {2, &M::reshape},
                                             {2, &M::slice},
                                             {1, &M::flip},
                                             {2, &M::pad},
                                             {1, &M::expand},
                                             {1, &M::pick},
                                             {1, &M::look_up},
                                             {2, &M::cat}};
  return kFamilies;
}

Graph RandomDeviceModel::make() {
  emitter_.begin({}, "v");
  const std::int64_t batch = below(3) == 0 ? 2 : 1;
  values_.push_back(graph_.add_input("image", {DType::kF32, {batch, 2 * up_to(4), 3 + up_to(6), 3 + up_to(6)}}));
  values_.push_back(graph_.add_input("tokens", {DType::kF32, {batch, 1 + up_to(5), 2 * up_to(5)}}));
  rows_ = graph_.add_input("rows", {DType::kI64, {up_to(4)}});
  std::vector<std::size_t> weights;
  for (const Family& family : families()) weights.push_back(family.weight);
  std::discrete_distribution<std::size_t> next(weights.begin(), weights.end());
  const std::size_t nodes = std::min(static_cast<std::size_t>(2 + up_to(6)), max_nodes_);
  for (std::size_t i = 0; i < nodes; ++i) {
    // Chains more often than bushes.
    const ValueId value = below(3) == 0 ? one_of(values_) : values_.back();
    constexpr std::int64_t kMaxElements = 4000;
    const Grown grown = (this->*families()[next(random_)].grow)(value);
    if (grown && product(sizes(*grown)) <= kMaxElements) values_.push_back(*grown);
  }
  std::vector<bool> is_read(graph_.values().size(), false);
  for (const Node& node : graph_.nodes()) {
    for (const ValueId input : node.inputs) is_read[input.index] = true;
  }
  for (std::uint32_t i = 0; i < is_read.size(); ++i) {
    const bool is_number =
        graph_[ValueId{i}].kind == ValueKind::kResult && graph_.type(ValueId{i}).dtype == DType::kF32;
    if (is_number && !is_read[i]) graph_.add_output({ValueId{i}, OutputKind::kResult, {}});
  }
  return std::move(graph_);
}

std::vector<Tensor> RandomDeviceModel::inputs(const Graph& graph) {
  std::vector<Tensor> result;
  for (const ValueId input : graph.inputs()) {
    Tensor tensor(graph.type(input).dtype, *fixed_sizes(graph.type(input).shape));
    std::normal_distribution<float> normal(0.2F, 1);
    if (tensor.dtype() == DType::kF32) {
      for (float& number : tensor.mutable_data<float>()) number = normal(random_);
    } else {
      for (std::int64_t& row : tensor.mutable_data<std::int64_t>()) row = below(kFewestRows);
    }
    result.push_back(std::move(tensor));
  }
  return result;
}

Ints RandomDeviceModel::sizes(ValueId value) const { return *fixed_sizes(graph_.type(value).shape); }

ValueId RandomDeviceModel::floats(Ints sizes, double size) {
  Tensor tensor(DType::kF32, std::move(sizes));
  for (float& number : tensor.mutable_data<float>()) number = static_cast<float>(some(-size, size));
  return emitter_.constant(tensor.view());
}

ValueId RandomDeviceModel::bools(Ints sizes) {
  Tensor tensor(DType::kBool, std::move(sizes));
  for (std::uint8_t& boolean : tensor.mutable_data<std::uint8_t>()) boolean = coin() ? 1 : 0;
  return emitter_.constant(tensor.view());
}

RandomDeviceModel::Grown RandomDeviceModel::emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
  const auto made = emitter_.emit(op, std::move(attrs), std::move(inputs));
  return made ? Grown(*made) : Grown();
}

ValueId RandomDeviceModel::partner(ValueId value) {
  std::vector<ValueId> others;
  for (const ValueId other : values_) {
    if (sizes(other) == sizes(value)) others.push_back(other);
  }
  if (!others.empty() && coin()) return one_of(others);
  Ints shape = sizes(value);
  for (std::int64_t& size : shape) size = coin() ? 1 : size;
  if (coin() && !shape.empty()) shape.erase(shape.begin());
  if (below(4) != 0) return floats(shape);
  const Grown spread = emit(Op::kAmax, ReduceAttrs{{axis_of(value)}, true}, {value});
  return spread.value_or(value);
}

ValueId RandomDeviceModel::boolean(ValueId value) {
  const Op op = one_of<Op>({Op::kGt, Op::kLt, Op::kGe, Op::kLe, Op::kEq, Op::kNe});
  const ValueId compared = *emit(op, NoAttrs{}, {value, partner(value)});
  switch (below(5)) {
    case 0:
      return *emit(Op::kLogicalNot, NoAttrs{}, {compared});
    case 1: {
      const Op joined = one_of<Op>({Op::kLogicalAnd, Op::kLogicalOr, Op::kLogicalXor});
      return *emit(joined, NoAttrs{}, {compared, bools(sizes(value))});
    }
    case 2:
      return *emit(coin() ? Op::kAny : Op::kAll, ReduceAttrs{{axis_of(compared)}, true}, {compared});
    default:
      return compared;
  }
}

ValueId RandomDeviceModel::positive(ValueId value) {
  const ValueId size = *emit(Op::kAbs, NoAttrs{}, {value});
  return *emit(Op::kAdd, NoAttrs{}, {size, emitter_.scalar(some(0.3, 1), DType::kF32)});
}

RandomDeviceModel::Grown RandomDeviceModel::conv(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() != 4) return {};
  const std::int64_t channels = in[1];
  std::int64_t groups = coin() ? 1 : channels;
  if (channels % 2 == 0 && below(4) == 0) groups = 2;
  const std::int64_t out = groups * up_to(groups == 1 ? 6 : 2);
  const Ints kernel{up_to(3), up_to(3)};
  const std::int64_t far = below(6) == 0 ? 5 : 2;  // more than some devices can
  const Ints padding{below(kernel[0]), below(kernel[0]), below(kernel[1]), below(kernel[1])};
  const ConvAttrs attrs{{up_to(far), up_to(far)}, padding, {up_to(2), up_to(2)}, groups};
  std::vector<ValueId> inputs{value, floats({out, channels / groups, kernel[0], kernel[1]}, 0.6)};
  if (coin()) inputs.push_back(floats({out}));
  return emit(Op::kConv2d, attrs, std::move(inputs));
}

RandomDeviceModel::Grown RandomDeviceModel::conv_of_row(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() != 3) return {};
  const auto image = emitter_.reshape(value, {in[0], in[1], 1, in[2]});
  if (!image) return {};
  const std::int64_t kernel = up_to(std::min<std::int64_t>(in[2], 5));
  const std::int64_t groups = coin() ? 1 : in[1];
  const ConvAttrs attrs{{1, up_to(2)}, {0, 0, below(kernel), below(kernel)}, {1, 1}, groups};
  const Grown made = emit(Op::kConv2d, attrs, {*image, floats({in[1], in[1] / groups, 1, kernel}, 0.6)});
  if (!made) return {};
  const auto row = emitter_.reshape(*made, {in[0], in[1], sizes(*made)[3]});
  return row ? Grown(*row) : Grown();
}

RandomDeviceModel::Grown RandomDeviceModel::transposed_conv(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() != 4) return {};
  const std::int64_t groups = below(3) == 0 ? in[1] : 1;
  const std::int64_t out = up_to(3);
  const Ints kernel{up_to(4), up_to(4)};
  const auto cut = [&](std::size_t axis) { return below(std::min<std::int64_t>(kernel[axis], 2)); };
  const ConvTransposeAttrs attrs{
      {up_to(3), up_to(2)}, {cut(0), cut(0), cut(1), cut(1)}, {1, below(4) == 0 ? 2 : 1}, groups};
  std::vector<ValueId> inputs{value, floats({in[1], out, kernel[0], kernel[1]}, 0.6)};
  if (coin()) inputs.push_back(floats({out * groups}));
  return emit(Op::kConvTranspose2d, attrs, std::move(inputs));
}

RandomDeviceModel::Grown RandomDeviceModel::linear(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() < 2) return {};
  const std::int64_t out = up_to(8);
  std::vector<ValueId> inputs{value, floats({out, in.back()}, 0.7)};
  if (coin()) inputs.push_back(floats({out}));
  return emit(Op::kLinear, NoAttrs{}, std::move(inputs));
}

RandomDeviceModel::Grown RandomDeviceModel::matmul(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() < 2) return {};
  if (coin()) return emit(Op::kMatmul, NoAttrs{}, {value, floats({in.back(), up_to(6)}, 0.7)});
  Ints axes(in.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  std::swap(axes[in.size() - 1], axes[in.size() - 2]);
  const auto turned = emitter_.permute(value, axes);
  return turned ? emit(Op::kMatmul, NoAttrs{}, {value, *turned}) : Grown();
}

RandomDeviceModel::Grown RandomDeviceModel::attention(ValueId value) {
  if (sizes(value).size() < 3) return {};
  const Grown key = emit(Op::kTanh, NoAttrs{}, {value});
  return emit(Op::kAttention, AttentionAttrs{0, coin()}, {value, *key, value});
}

RandomDeviceModel::Grown RandomDeviceModel::max_pool(ValueId value) {
  if (sizes(value).size() != 4) return {};
  const Ints kernel{up_to(4), up_to(4)};
  const std::int64_t y = below(kernel[0] / 2 + 1), x = below(kernel[1] / 2 + 1);
  const std::int64_t far = below(6) == 0 ? 5 : 2;
  const Ints dilation = below(4) == 0 ? Ints{2, 1} : Ints{1, 1};
  return emit(Op::kMaxPool2d, MaxPoolAttrs{kernel, {up_to(far), up_to(far)}, {y, y, x, x}, dilation, coin()}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::avg_pool(ValueId value) {
  if (sizes(value).size() != 4) return {};
  const Ints kernel{up_to(4), up_to(4)};
  const std::int64_t y = below(kernel[0] / 2 + 1), x = below(kernel[1] / 2 + 1);
  const std::int64_t far = below(6) == 0 ? 5 : 2;
  const std::int64_t divisor = below(4) == 0 ? up_to(9) : 0;
  return emit(Op::kAvgPool2d, AvgPoolAttrs{kernel, {up_to(far), up_to(far)}, {y, y, x, x}, coin(), coin(), divisor},
              {value});
}

RandomDeviceModel::Grown RandomDeviceModel::adaptive_pool(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() != 4) return {};
  return emit(coin() ? Op::kAdaptiveAvgPool2d : Op::kAdaptiveMaxPool2d, SizeAttrs{{up_to(in[2]), up_to(in[3])}},
              {value});
}

RandomDeviceModel::Grown RandomDeviceModel::resize(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() != 4) return {};
  const ResizeMode mode = coin() ? ResizeMode::kNearest : ResizeMode::kLinear;
  const bool doubles = coin();
  const Dims size = doubles ? Dims{2 * in[2], 2 * in[3]} : Dims{up_to(12), up_to(12)};
  return emit(Op::kResize2d, ResizeAttrs{mode, size, {}, mode == ResizeMode::kLinear && coin()}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::norm(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() < 3 || in[1] == 0) return {};
  const std::int64_t channels = in[1];
  switch (below(3)) {
    case 0: {
      const std::int64_t groups = channels % 2 == 0 && coin() ? channels / 2 : 1;
      if (product(in) / in[0] / groups < 2) return {};
      std::vector<ValueId> inputs{value};
      if (coin()) inputs.insert(inputs.end(), {floats({channels}), floats({channels})});
      return emit(Op::kGroupNorm, GroupNormAttrs{groups, 1e-5}, std::move(inputs));
    }
    case 1: {
      const Grown variance = emit(Op::kAbs, NoAttrs{}, {floats({channels})});
      return emit(Op::kBatchNorm, EpsAttrs{0.1},
                  {value, floats({channels}), *variance, floats({channels}), floats({channels})});
    }
    default: {
      const std::int64_t axes = up_to(2);
      const Ints inner(in.end() - axes, in.end());
      if (product(inner) < 2) return {};
      std::vector<ValueId> inputs{value};
      if (coin()) inputs.insert(inputs.end(), {floats(inner), floats(inner)});
      return emit(Op::kLayerNorm, LayerNormAttrs{axes, 1e-5}, std::move(inputs));
    }
  }
}

RandomDeviceModel::Grown RandomDeviceModel::softmax(ValueId value) {
  if (sizes(value).empty()) return {};
  return emit(below(3) == 0 ? Op::kLogSoftmax : Op::kSoftmax, AxisAttrs{axis_of(value)}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::unary(ValueId value) {
  switch (below(6)) {
    case 0:
      return emit(Op::kGelu, GeluAttrs{coin()}, {value});
    case 1:
      return emit(Op::kElu, EluAttrs{some(0.5, 2), 1, 1}, {value});
    case 2:
      return emit(Op::kLeakyRelu, SlopeAttrs{some(0, 0.5)}, {value});
    default:
      break;
  }
  const Op op =
      one_of<Op>({Op::kSigmoid, Op::kTanh, Op::kSilu,  Op::kHardswish, Op::kHardsigmoid, Op::kMish,  Op::kLogSigmoid,
                  Op::kErf,     Op::kErfc, Op::kSin,   Op::kCos,       Op::kAtan,        Op::kAsinh, Op::kNeg,
                  Op::kAbs,     Op::kSign, Op::kFloor, Op::kCeil,      Op::kRound,       Op::kTrunc});
  return emit(op, NoAttrs{}, {value});
}

// What has poles, or grows without bounds.
RandomDeviceModel::Grown RandomDeviceModel::positive_unary(ValueId value) {
  if (coin()) {
    const Op op = one_of<Op>({Op::kExp, Op::kExp2, Op::kExpm1, Op::kSinh, Op::kCosh});
    return emit(op, NoAttrs{}, {*emit(Op::kClamp, ClampAttrs{-3, 3}, {value})});
  }
  const Op op = one_of<Op>({Op::kLog, Op::kLog2, Op::kLog10, Op::kLog1p, Op::kSqrt, Op::kRsqrt, Op::kReciprocal});
  return emit(op, NoAttrs{}, {positive(value)});
}

RandomDeviceModel::Grown RandomDeviceModel::clamp(ValueId value) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  switch (below(3)) {
    case 0:
      return emit(Op::kClamp, ClampAttrs{0, some(1, 6)}, {value});
    case 1:
      return emit(Op::kClamp, ClampAttrs{some(-2, 0.5), some(0.6, 6)}, {value});
    default:
      return emit(Op::kClamp, ClampAttrs{0, kNone}, {value});
  }
}

RandomDeviceModel::Grown RandomDeviceModel::power(ValueId value) {
  const ValueId small = *emit(Op::kClamp, ClampAttrs{-4, 4}, {value});
  if (coin()) return emit(Op::kPow, NoAttrs{}, {small, emitter_.scalar(static_cast<double>(up_to(3)), DType::kF32)});
  return emit(Op::kPow, NoAttrs{}, {positive(small), emitter_.scalar(some(-1.5, 2.5), DType::kF32)});
}

RandomDeviceModel::Grown RandomDeviceModel::binary(ValueId value) {
  const Op op = one_of<Op>({Op::kAdd, Op::kAdd, Op::kSub, Op::kMul, Op::kMinimum, Op::kMaximum});
  std::vector<ValueId> inputs{value, partner(value)};
  if (coin()) std::ranges::reverse(inputs);
  return emit(op, NoAttrs{}, std::move(inputs));
}

RandomDeviceModel::Grown RandomDeviceModel::quotient(ValueId value) {
  return emit(Op::kDiv, NoAttrs{}, {value, positive(partner(value))});
}

RandomDeviceModel::Grown RandomDeviceModel::choice(ValueId value) {
  if (below(4) == 0) return emit(Op::kPrelu, NoAttrs{}, {value, floats(Ints(sizes(value).size(), 1))});
  const ValueId condition = below(3) == 0 ? bools(sizes(value)) : boolean(value);
  return emit(Op::kWhere, NoAttrs{}, {condition, value, partner(value)});
}

RandomDeviceModel::Grown RandomDeviceModel::bool_as_number(ValueId value) {
  return emit(Op::kCast, DTypeAttrs{DType::kF32}, {boolean(value)});
}

RandomDeviceModel::Grown RandomDeviceModel::reduction(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() < 2) return {};
  Ints axes{axis_of(value)};
  if (coin() && axes[0] + 1 < static_cast<std::int64_t>(in.size())) axes.push_back(axes[0] + 1);
  const Op op = one_of<Op>({Op::kSum, Op::kMean, Op::kMean, Op::kAmax, Op::kAmin});
  return emit(op, ReduceAttrs{axes, coin()}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::composed_reduction(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() < 2) return {};
  const std::int64_t axis = axis_of(value);
  switch (below(5)) {
    case 0:
      return emit(Op::kCumsum, AxisAttrs{axis}, {value});
    case 1:
      if (in[static_cast<std::size_t>(axis)] < 2) return {};
      return emit(Op::kVariance, VarianceAttrs{{axis}, coin(), 1}, {value});
    case 2:
      return emit(Op::kVectorNorm, VectorNormAttrs{{axis}, coin(), 2}, {value});
    case 3:
      return emit(Op::kProd, ReduceAttrs{{axis}, coin()}, {*emit(Op::kTanh, NoAttrs{}, {value})});
    default:
      return emit(Op::kLogsumexp, ReduceAttrs{{axis}, coin()}, {value});
  }
}

RandomDeviceModel::Grown RandomDeviceModel::permute(ValueId value) {
  Ints axes(sizes(value).size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  std::ranges::shuffle(axes, random_);
  return emit(Op::kPermute, AxesAttrs{axes}, {value});
}

// Two axes into one, or one into two.
RandomDeviceModel::Grown RandomDeviceModel::reshape(ValueId value) {
  const Ints in = sizes(value);
  if (in.empty()) return {};
  const auto axis = static_cast<std::size_t>(axis_of(value));
  Dims shape(in.begin(), in.end());
  if (axis + 1 < in.size() && coin()) {
    shape[axis] = in[axis] * in[axis + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  } else if (in[axis] % 2 == 0 && in.size() < 5) {
    shape[axis] = 2;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, in[axis] / 2);
  } else {
    return {};
  }
  return emit(Op::kReshape, ShapeAttrs{shape}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::slice(ValueId value) {
  if (sizes(value).empty()) return {};
  const std::int64_t axis = axis_of(value);
  const std::int64_t size = sizes(value)[static_cast<std::size_t>(axis)];
  if (size < 2) return {};
  const std::int64_t start = below(size - 1);
  const std::int64_t step = below(3) == 0 ? up_to(3) : 1;
  return emit(Op::kSlice, SliceAttrs{axis, start, start + up_to(size - start), step}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::flip(ValueId value) {
  if (sizes(value).empty()) return {};
  return emit(Op::kFlip, AxesAttrs{{axis_of(value)}}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::pad(ValueId value) {
  const Ints in = sizes(value);
  if (in.empty()) return {};
  Ints before(in.size(), 0), after(in.size(), 0);
  const auto axis = static_cast<std::size_t>(axis_of(value));
  before[axis] = below(3);
  after[axis] = up_to(2);
  PadMode mode = one_of<PadMode>({PadMode::kConstant, PadMode::kConstant, PadMode::kReflect, PadMode::kReplicate});
  if (mode == PadMode::kReflect && in[axis] <= std::max(before[axis], after[axis])) mode = PadMode::kConstant;
  return emit(Op::kPad, PadAttrs{mode, before, after, mode == PadMode::kConstant && coin() ? some(-1, 1) : 0.0},
              {value});
}

RandomDeviceModel::Grown RandomDeviceModel::expand(ValueId value) {
  const Ints in = sizes(value);
  if (in.size() > 4) return {};
  Dims shape(in.begin(), in.end());
  for (Dim& dim : shape) dim = dim.value() == 1 ? Dim(up_to(3)) : dim;
  if (coin()) shape.insert(shape.begin(), Dim(2));
  return emit(Op::kExpand, ShapeAttrs{shape}, {value});
}

RandomDeviceModel::Grown RandomDeviceModel::pick(ValueId value) {
  if (sizes(value).empty()) return {};
  const std::int64_t axis = axis_of(value);
  Ints rows(static_cast<std::size_t>(up_to(5)));
  for (std::int64_t& row : rows) row = below(sizes(value)[static_cast<std::size_t>(axis)]);
  return emit(Op::kIndexSelect, AxisAttrs{axis}, {value, emitter_.integers(rows)});
}

RandomDeviceModel::Grown RandomDeviceModel::look_up(ValueId value) {
  if (sizes(value).empty()) return {};
  const std::int64_t axis = axis_of(value);
  if (sizes(value)[static_cast<std::size_t>(axis)] < kFewestRows) return {};
  return emit(Op::kIndexSelect, AxisAttrs{axis}, {value, rows_});
}

RandomDeviceModel::Grown RandomDeviceModel::cat(ValueId value) {
  if (sizes(value).empty()) return {};
  const std::int64_t axis = axis_of(value);
  std::vector<ValueId> parts{value};
  const std::int64_t more = up_to(2);
  for (std::int64_t i = 0; i < more; ++i) {
    const ValueId other = partner(value);
    parts.push_back(sizes(other) == sizes(value) ? other : floats(sizes(value), some(0.1, 4)));
  }
  std::ranges::shuffle(parts, random_);
  return emit(Op::kCat, AxisAttrs{axis}, std::move(parts));
}

}  // namespace isthmus::test
