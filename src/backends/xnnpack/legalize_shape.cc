// Equal ranks, expanding and joining.
#include <algorithm>

#include "backends/xnnpack/legalize.h"
#include "simplify/weights.h"

namespace isthmus::xnnpack {
namespace {

constexpr std::size_t kMostConcat = 5;
constexpr std::int64_t kMostOnes = 1 << 16;

bool is_binary(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMinimum:
    case Op::kMaximum:
      return true;
    default:
      return false;
  }
}

Shape with_rank(const Shape& shape, std::size_t rank) {
  Shape result(rank - shape.size(), Dim(1));
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

Dim dim_from_end(const Shape& shape, std::size_t i) { return i < shape.size() ? shape[shape.size() - 1 - i] : Dim(1); }

// Zeros with this symbolic size along one axis, made of an input of the graph that has it; nothing where none has.
Expected<std::optional<ValueId>> zeros_of_size(const Site& site, Dim size, std::size_t axis, std::size_t rank) {
  const std::vector<ValueId> inputs(site.graph().inputs().begin(), site.graph().inputs().end());
  for (const ValueId input : inputs) {
    const TensorType type = site.graph().type(input);
    const auto found = std::ranges::find(type.shape, size);
    if (type.dtype != DType::kF32 || found == type.shape.end()) continue;
    ValueId value = input;
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
      if (static_cast<std::ptrdiff_t>(i) == found - type.shape.begin()) continue;
      value = TRY(site.emitter.slice(value, static_cast<std::int64_t>(i), 0, 1));
    }
    Shape shape(rank, Dim(1));
    shape[axis] = size;
    value = TRY(site.emitter.reshape(value, std::move(shape)));
    // Not x - x and not x * 0: they would make NaN of infinity.
    value = TRY(site.emitter.emit(Op::kClamp, ClampAttrs{0, 0.5}, {value}));
    return std::optional(TRY(site.emitter.unary(Op::kFloor, value)));
  }
  return std::optional<ValueId>();
}

}  // namespace

Replacement same_ranks(const Site& site) {
  if (!is_float(site) || !(is_binary(site.node.op) || site.node.op == Op::kMatmul)) return unchanged();
  const Shape a = site.graph().type(site.inputs[0]).shape;
  const Shape b = site.graph().type(site.inputs[1]).shape;
  if (a.size() == b.size()) return unchanged();
  const std::size_t rank = std::max(a.size(), b.size());
  const ValueId left = TRY(site.emitter.reshape(site.inputs[0], with_rank(a, rank)));
  const ValueId right = TRY(site.emitter.reshape(site.inputs[1], with_rank(b, rank)));
  return replaced_by(site.emitter.binary(site.node.op, left, right));
}

Replacement absorb_expand(const Site& site) {
  if (!is_float(site) || !is_binary(site.node.op)) return unchanged();
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* expand = site.producer(i);
    if (expand == nullptr || expand->op != Op::kExpand) continue;
    const ValueId source = expand->inputs[0];
    const Shape other = site.graph().type(site.inputs[1 - i]).shape;
    const Shape& shape = site.graph().type(source).shape;
    const Shape& wanted = site.result().shape;
    bool is_same = true;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const Dim dim = dim_from_end(wanted, k);
      is_same = is_same && (dim_from_end(other, k) == dim || dim_from_end(shape, k) == dim);
    }
    if (!is_same || std::max(other.size(), shape.size()) != wanted.size()) continue;
    return replaced_by(i == 0 ? site.emitter.binary(site.node.op, source, site.inputs[1])
                              : site.emitter.binary(site.node.op, site.inputs[0], source));
  }
  return unchanged();
}

Replacement expand_by_ones(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kExpand) return unchanged();
  const Shape wanted = site.result().shape;
  const std::size_t rank = wanted.size();
  ValueId value = TRY(site.emitter.reshape(site.inputs[0], with_rank(site.graph().type(site.inputs[0]).shape, rank)));
  const Shape shape = site.emitter.shape(value);
  std::vector<std::int64_t> ones(rank, 1);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    if (shape[i] == wanted[i]) continue;
    if (!wanted[i].is_fixed()) {
      const auto zeros = TRY(zeros_of_size(site, wanted[i], i, rank));
      if (!zeros) return unchanged();
      value = TRY(site.emitter.binary(Op::kAdd, value, *zeros));
      continue;
    }
    if (count > kMostOnes / std::max<std::int64_t>(wanted[i].value(), 1)) {
      value = TRY(site.emitter.binary(
          Op::kMul, value,
          constant_of(site.emitter, std::vector<double>(static_cast<std::size_t>(count), 1), DType::kF32, ones)));
      std::ranges::fill(ones, 1);
      count = 1;
    }
    ones[i] = wanted[i].value();
    count *= ones[i];
  }
  if (count > 1) {
    value = TRY(site.emitter.binary(
        Op::kMul, value,
        constant_of(site.emitter, std::vector<double>(static_cast<std::size_t>(count), 1), DType::kF32, ones)));
  }
  return std::optional(value);
}

Replacement split_cat(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kCat || site.inputs.size() <= kMostConcat) return unchanged();
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < site.inputs.size(); i += kMostConcat) {
    const std::size_t end = std::min(site.inputs.size(), i + kMostConcat);
    parts.push_back(TRY(site.emitter.cat(
        {site.inputs.begin() + static_cast<std::ptrdiff_t>(i), site.inputs.begin() + static_cast<std::ptrdiff_t>(end)},
        axis)));
  }
  return replaced_by(site.emitter.cat(std::move(parts), axis));
}

}  // namespace isthmus::xnnpack
