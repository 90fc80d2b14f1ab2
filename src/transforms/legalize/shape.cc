// Equal ranks, expanding and joining.
#include <algorithm>
#include <iterator>

#include "ops/known.h"
#include "ops/table.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

constexpr std::int64_t kMaxOnes = 1 << 16;

// Whether the target has the op with operands that broadcast against each other.
bool takes_broadcast(const Site& site) {
  const OpDef& row = def(site.node.op);
  return row.broadcasts && site.inputs.size() > 1 && site.target.has_form(site.node.op);
}

Shape with_rank(const Shape& shape, std::size_t rank) {
  Shape result(rank - shape.size(), Dim(1));
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

Dim dim_from_end(const Shape& shape, std::size_t i) { return i < shape.size() ? shape[shape.size() - 1 - i] : Dim(1); }

// An input of the graph with an axis of this symbolic size, or else the first value that was computed with one.
std::optional<ValueId> value_of_size(const Graph& graph, Dim size) {
  const auto has_size = [&](ValueId id) {
    return graph.type(id).dtype == DType::kF32 &&
           std::ranges::find(graph.type(id).shape, size) != graph.type(id).shape.end();
  };
  const auto input = std::ranges::find_if(graph.inputs(), has_size);
  if (input != graph.inputs().end()) return *input;
  const auto node = std::ranges::find_if(graph.nodes(), [&](const Node& maker) { return has_size(maker.outputs[0]); });
  return node == graph.nodes().end() ? std::nullopt : std::optional(node->outputs[0]);
}

// Zeros with this symbolic size along one axis, made of a value that has it; nothing where none has.
Expected<std::optional<ValueId>> zeros_of_size(const Site& site, Dim size, std::size_t axis, std::size_t rank) {
  const auto source = value_of_size(site.graph(), size);
  if (!source) return std::optional<ValueId>();
  const Shape from = site.emitter.shape(*source);
  const auto found = std::ranges::find(from, size) - from.begin();
  ValueId value = *source;
  for (std::ptrdiff_t i = 0; i < std::ssize(from); ++i) {
    if (i != found) value = TRY(site.emitter.slice(value, i, 0, 1));
  }
  Shape shape(rank, Dim(1));
  shape[axis] = size;
  value = TRY(site.emitter.reshape(value, std::move(shape)));
  // Not x - x and not x * 0: they would make NaN of infinity.
  value = TRY(site.emitter.emit(Op::kClamp, ClampAttrs{0, 0.5}, {value}));
  return std::optional(TRY(site.emitter.unary(Op::kFloor, value)));
}

}  // namespace

Replacement same_ranks(const Site& site) {
  if (!is_float(site) || !takes_broadcast(site)) return unchanged();
  const Shape a = site.graph().type(site.inputs[0]).shape;
  const Shape b = site.graph().type(site.inputs[1]).shape;
  if (a.size() == b.size()) return unchanged();
  const std::size_t rank = std::max(a.size(), b.size());
  const ValueId left = TRY(site.emitter.reshape(site.inputs[0], with_rank(a, rank)));
  const ValueId right = TRY(site.emitter.reshape(site.inputs[1], with_rank(b, rank)));
  return replaced_by(site.emitter.binary(site.node.op, left, right));
}

Replacement absorb_expand(const Site& site) {
  if (!is_float(site) || !takes_broadcast(site) || !def(site.node.op).is_elementwise || site.inputs.size() != 2) {
    return unchanged();
  }
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
    if (count > kMaxOnes / std::max<std::int64_t>(wanted[i].value(), 1)) {
      value = TRY(site.emitter.binary(
          Op::kMul, value,
          site.emitter.floats(std::vector<double>(static_cast<std::size_t>(count), 1), DType::kF32, ones)));
      std::ranges::fill(ones, 1);
      count = 1;
    }
    ones[i] = wanted[i].value();
    count *= ones[i];
  }
  if (count > 1) {
    value = TRY(site.emitter.binary(
        Op::kMul, value,
        site.emitter.floats(std::vector<double>(static_cast<std::size_t>(count), 1), DType::kF32, ones)));
  }
  return std::optional(value);
}

// Axes that stay side by side count as one, and those of size one not at all.
Replacement merge_axes(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kPermute || site.result().rank() <= site.target.max_rank)
    return unchanged();
  const Shape shape = site.graph().type(site.inputs[0]).shape;
  Ints order;  // of the result's axes that are longer than one, as axes of the input
  std::ranges::copy_if(site.attrs<AxesAttrs>().axes, std::back_inserter(order),
                       [&](auto axis) { return !shape[static_cast<std::size_t>(axis)].is(1); });
  Ints long_axes = order;
  std::ranges::sort(long_axes);
  const auto next_of = [&](std::int64_t axis) {
    const auto after = std::ranges::upper_bound(long_axes, axis);
    return after == long_axes.end() ? -1 : *after;
  };
  // The first axis of each group in the order of the result, and the sizes of the groups in the order of the input.
  Ints firsts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || next_of(order[i - 1]) != order[i]) firsts.push_back(order[i]);
  }
  Ints sorted = firsts;
  std::ranges::sort(sorted);
  Shape merged;
  for (const std::int64_t axis : long_axes) {
    const Dim size = shape[static_cast<std::size_t>(axis)];
    if (std::ranges::binary_search(sorted, axis)) {
      merged.push_back(size);
    } else {
      merged.back() = site.emitter.exprs().multiply(merged.back(), size);
    }
  }
  if (merged.size() > site.target.max_rank) return unchanged();
  Ints axes;
  for (const std::int64_t first : firsts) axes.push_back(std::ranges::find(sorted, first) - sorted.begin());
  const ValueId flat = TRY(site.emitter.reshape(site.inputs[0], std::move(merged)));
  return replaced_by(site.emitter.reshape(TRY(site.emitter.permute(flat, std::move(axes))), site.result().shape));
}

Replacement split_cat(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kCat) return unchanged();
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  std::vector<ValueId> parts;
  std::ranges::copy_if(site.inputs, std::back_inserter(parts),
                       [&](ValueId input) { return !site.emitter.size(input, axis).is(0); });
  if (parts.size() < site.inputs.size() && !parts.empty()) return replaced_by(site.emitter.cat(std::move(parts), axis));
  if (site.inputs.size() <= site.target.max_cat_inputs) return unchanged();
  parts.clear();
  for (std::size_t i = 0; i < site.inputs.size(); i += site.target.max_cat_inputs) {
    const std::size_t end = std::min(site.inputs.size(), i + site.target.max_cat_inputs);
    parts.push_back(TRY(site.emitter.cat(
        {site.inputs.begin() + static_cast<std::ptrdiff_t>(i), site.inputs.begin() + static_cast<std::ptrdiff_t>(end)},
        axis)));
  }
  return replaced_by(site.emitter.cat(std::move(parts), axis));
}

}  // namespace isthmus::rewrites
