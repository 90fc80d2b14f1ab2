// Indices that are known now, and choices by a known condition.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "ops/known.h"
#include "transforms/legalize/pick.h"
#include "transforms/legalize/probe.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Indices counted from the front; nothing where one lies outside.
std::optional<Ints> normal(Ints indices, Dim size) {
  if (!size.is_fixed()) return std::nullopt;
  for (std::int64_t& index : indices) {
    if (index < -size.value() || index >= size.value()) return std::nullopt;
    if (index < 0) index += size.value();
  }
  return indices;
}

// The index tensor of gather or scatter where it is the same for all places of the other axes: what it is along its
// own. `size` is that of the axis which is indexed.
std::optional<Ints> line_index(const Site& site, std::int64_t axis, Dim size) {
  const Node* producer = site.producer(1);
  const bool is_expanded = producer != nullptr && producer->op == Op::kExpand;
  const ValueId source = is_expanded ? producer->inputs[0] : site.inputs[1];
  const auto known = known_integers(site.graph(), source);
  const auto sizes = fixed_sizes(site.graph().type(source).shape);
  const Shape& shape = site.graph().type(site.inputs[1]).shape;
  const Dim count = shape[static_cast<std::size_t>(axis)];
  if (!known || known->empty() || !count.is_fixed() || sizes->size() > shape.size()) return std::nullopt;
  // The stride of the axis in the source; it has none where it was expanded.
  const std::size_t missing = shape.size() - sizes->size();
  const auto at = static_cast<std::size_t>(axis);
  const Ints strides = row_major_strides(*sizes);
  const bool has_axis = at >= missing && (*sizes)[at - missing] != 1;
  const std::int64_t stride = has_axis ? strides[at - missing] : 0;
  const std::int64_t length = has_axis ? (*sizes)[at - missing] : 1;
  for (std::size_t i = 0; i < known->size(); ++i) {
    const std::int64_t along = stride == 0 ? 0 : static_cast<std::int64_t>(i) / stride % length;
    if ((*known)[i] != (*known)[static_cast<std::size_t>(along * stride)]) return std::nullopt;
  }
  Ints line;
  if (count.value() < 1 || count.value() > kMaxElements) return std::nullopt;
  for (std::int64_t i = 0; i < count.value(); ++i) line.push_back((*known)[static_cast<std::size_t>(i * stride)]);
  return normal(std::move(line), size);
}

bool is_same_beside(const Shape& a, const Shape& b, std::int64_t axis) {
  return with_axis(a, axis, {}) == with_axis(b, axis, {});
}

// The elements of several tensors one behind the other, and of them those at these positions, in this shape.
Replacement picked_from_all(const Site& site, const std::vector<ValueId>& sources, const Ints& positions) {
  std::vector<ValueId> parts;
  for (const ValueId source : sources) {
    const Dim count = site.emitter.exprs().product(site.emitter.shape(source));
    parts.push_back(TRY(site.emitter.reshape(source, {count})));
  }
  const auto flat = TRY(pick(site, TRY(site.emitter.cat(std::move(parts), 0)), 0, positions));
  if (!flat) return flat;
  return replaced_by(site.emitter.reshape(*flat, site.result().shape));
}

std::optional<Tensor> counted_like(const Site& site, std::size_t i, std::int64_t first) {
  const auto sizes = fixed_sizes(site.graph().type(site.inputs[i]).shape);
  if (!sizes || site.emitter.exprs().product(site.emitter.shape(site.inputs[i])).value() > kMaxElements) {
    return std::nullopt;
  }
  Tensor result = counted(DType::kI64, *sizes);
  for (std::int64_t& number : result.mutable_data<std::int64_t>()) number += first;
  return result;
}

Replacement selected(const Site& site) {
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  const auto known = known_integers(site.graph(), site.inputs[1]);
  const auto positions = known ? normal(*known, site.emitter.size(site.inputs[0], axis)) : std::nullopt;
  if (!positions) return unchanged();
  const auto picked = TRY(pick(site, site.inputs[0], axis, *positions));
  if (!picked) return picked;
  return replaced_by(site.emitter.reshape(*picked, site.result().shape));
}

Replacement gathered(const Site& site) {
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  const Shape shape = site.emitter.shape(site.inputs[0]);
  const auto line = line_index(site, axis, site.emitter.size(site.inputs[0], axis));
  if (line && is_same_beside(shape, site.result().shape, axis)) {
    return pick(site, site.inputs[0], axis, *line);
  }
  const TensorView* index = site.constant(1);
  const auto places = counted_like(site, 0, 0);
  if (index == nullptr || !places) return unchanged();
  const auto moved = result_of(Op::kGather, AxisAttrs{axis}, {*places, Tensor::from(*index)});
  if (!moved) return unchanged();
  return picked_from_all(site, {site.inputs[0]}, positions_in(*moved));
}

// A scatter picks from what was there and what is put there.
Replacement scattered(const Site& site) {
  const std::int64_t axis = site.attrs<ScatterAttrs>().axis;
  const Shape shape = site.emitter.shape(site.inputs[0]);
  const Dim size = shape[static_cast<std::size_t>(axis)];
  const auto line = line_index(site, axis, size);
  if (line && is_same_beside(shape, site.emitter.shape(site.inputs[2]), axis) &&
      is_same_beside(shape, site.emitter.shape(site.inputs[1]), axis) && size.value() <= kMaxElements) {
    Ints positions(static_cast<std::size_t>(size.value()));
    std::iota(positions.begin(), positions.end(), 0);
    for (std::size_t i = 0; i < line->size(); ++i) {
      positions[static_cast<std::size_t>((*line)[i])] = size.value() + static_cast<std::int64_t>(i);
    }
    return pick(site, TRY(site.emitter.cat({site.inputs[0], site.inputs[2]}, axis)), axis, positions);
  }
  const TensorView* index = site.constant(1);
  const auto before = counted_like(site, 0, 0);
  const auto put = before ? counted_like(site, 2, before->count()) : std::nullopt;
  if (index == nullptr || !put) return unchanged();
  const auto moved = result_of(Op::kScatter, site.node.attrs, {*before, Tensor::from(*index), *put});
  if (!moved) return unchanged();
  return picked_from_all(site, {site.inputs[0], site.inputs[2]}, positions_in(*moved));
}

// Sums of what is put to one place, as a product with ones and zeros.
Replacement added(const Site& site) {
  const auto& attrs = site.attrs<ScatterAttrs>();
  const Shape shape = site.emitter.shape(site.inputs[0]);
  const Dim size = shape[static_cast<std::size_t>(attrs.axis)];
  const auto line = line_index(site, attrs.axis, size);
  if (attrs.mode != ScatterMode::kAdd || !line ||
      !is_same_beside(shape, site.emitter.shape(site.inputs[2]), attrs.axis) ||
      !is_same_beside(shape, site.emitter.shape(site.inputs[1]), attrs.axis) ||
      size.value() > kMaxWeights / std::ssize(*line)) {
    return unchanged();
  }
  std::vector<double> matrix(static_cast<std::size_t>(size.value()) * line->size(), 0);
  for (std::size_t i = 0; i < line->size(); ++i) matrix[static_cast<std::size_t>((*line)[i]) * line->size() + i] = 1;
  const ValueId used = TRY(site.emitter.slice(site.inputs[2], attrs.axis, 0, std::ssize(*line)));
  const ValueId sums = TRY(product_along(site.emitter, used, attrs.axis, matrix));
  return replaced_by(site.emitter.binary(Op::kAdd, site.inputs[0], sums));
}

// One side of a choice: its numbers where it is chosen and minus infinity elsewhere. The greater of both sides is the
// result, whatever finite or infinite numbers they hold.
Expected<ValueId> where_chosen(const Site& site, std::size_t side, const Ints& bools, bool is_chosen_where) {
  std::vector<double> bounds;
  for (const std::int64_t boolean : bools) bounds.push_back((boolean != 0) == is_chosen_where ? kInfinity : -kInfinity);
  const ValueId bound = site.emitter.floats(bounds, DType::kF32, *fixed_sizes(site.emitter.shape(site.inputs[0])));
  return site.emitter.binary(Op::kMinimum, site.inputs[side], bound);
}

bool is_minus_infinity(const TensorView* constant) {
  const auto numbers = numbers_of(constant);
  return numbers && std::ranges::all_of(*numbers, [](double number) { return number == -kInfinity; });
}
bool has_nan(const TensorView* constant) {
  const auto numbers = numbers_of(constant);
  return numbers && std::ranges::any_of(*numbers, [](double number) { return std::isnan(number); });
}

Replacement chosen(const Site& site) {
  const auto bools = known_integers(site.graph(), site.inputs[0]);
  if (!bools || has_nan(site.constant(1)) || has_nan(site.constant(2))) return unchanged();
  const ValueId first = TRY(where_chosen(site, 1, *bools, true));
  const ValueId second = TRY(where_chosen(site, 2, *bools, false));
  const bool needs_both = !is_minus_infinity(site.constant(1)) && !is_minus_infinity(site.constant(2));
  const ValueId result = needs_both                            ? TRY(site.emitter.binary(Op::kMaximum, first, second))
                         : is_minus_infinity(site.constant(1)) ? second
                                                               : first;
  return replaced_by(site.emitter.expand(result, site.result().shape));
}

constexpr OpForm kIndexForms[] = {
    {Op::kIndexSelect, selected}, {Op::kGather, gathered}, {Op::kScatter, scattered},
    {Op::kScatterReduce, added},  {Op::kWhere, chosen},
};

}  // namespace

Replacement index_forms(const Site& site) { return formed(site, kIndexForms); }

}  // namespace isthmus::rewrites
