// Moves reshapes and permutes behind what does not mind them: then clamps meet the products that they bound, and
// reshapes meet each other and vanish.
#include <algorithm>

#include "ops/known.h"
#include "ops/table.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

bool is_movement(const Node* node) { return node != nullptr && (node->op == Op::kReshape || node->op == Op::kPermute); }

// Where a reshape only drops one axis of size one: that axis.
std::optional<std::size_t> dropped_axis(const Shape& from, const Shape& to) {
  if (from.size() != to.size() + 1) return std::nullopt;
  for (std::size_t i = 0; i < from.size(); ++i) {
    Shape rest = from;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (from[i].is(1) && rest == to) return i;
  }
  return std::nullopt;
}

}  // namespace

Replacement raise_movement(const Site& site) {
  if (!is_float(site) || site.inputs.empty() || !def(site.node.op).is_elementwise ||
      !site.target.has_form(site.node.op)) {
    return unchanged();
  }
  std::vector<ValueId> sources;
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    const Node* movement = site.producer(i);
    const Node* first = site.producer(0);
    const bool is_read_twice = site.inputs.size() == 2 && site.inputs[0] == site.inputs[1];
    if (!is_movement(movement) || !(site.is_only_reader(i) || is_read_twice) || movement->op != first->op ||
        movement->attrs != first->attrs ||
        site.graph().type(movement->inputs[0]) != site.graph().type(first->inputs[0])) {
      return unchanged();
    }
    sources.push_back(movement->inputs[0]);
  }
  const Node movement = *site.producer(0);  // a copy: emitting moves the nodes
  const ValueId result = TRY(site.emitter.emit(site.node.op, site.node.attrs, std::move(sources)));
  return replaced_by(site.emitter.emit(movement.op, movement.attrs, {result}));
}

Replacement raise_reshape_over_cat(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kCat) return unchanged();
  const std::int64_t axis = site.attrs<AxisAttrs>().axis;
  std::vector<ValueId> sources;
  std::optional<std::size_t> dropped;
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    const Node* reshape = site.producer(i);
    if (reshape == nullptr || reshape->op != Op::kReshape || !site.is_only_reader(i)) return unchanged();
    const auto here =
        dropped_axis(site.graph().type(reshape->inputs[0]).shape, site.graph().type(site.inputs[i]).shape);
    if (!here || (dropped && *dropped != *here)) return unchanged();
    dropped = here;
    sources.push_back(reshape->inputs[0]);
  }
  const std::int64_t raised = axis >= static_cast<std::int64_t>(*dropped) ? axis + 1 : axis;
  const ValueId joined = TRY(site.emitter.cat(std::move(sources), raised));
  return replaced_by(site.emitter.reshape(joined, site.result().shape));
}

// linear(x * a + b) -> linear(x) with other weights.
Replacement fold_into_linear(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kLinear || !site.is_only_reader(0)) return unchanged();
  const Node* maker = site.producer(0);
  if (maker == nullptr || (maker->op != Op::kMul && maker->op != Op::kAdd)) return unchanged();
  const std::size_t data = site.graph().constant(maker->inputs[0]) == nullptr ? 0 : 1;
  const Constant* constant = site.graph().constant(maker->inputs[1 - data]);
  const auto weights = numbers_of(site.constant(1));
  if (constant == nullptr || !constant->data || !weights) return unchanged();
  auto numbers = numbers_of(&*constant->data);
  const auto sizes = site.constant(1)->sizes;  // [O, I]
  const auto inputs = static_cast<std::size_t>(sizes[1]);
  const bool is_by_channel =
      numbers && (numbers->size() == 1 || (numbers->size() == inputs && constant->data->sizes.back() == sizes[1]));
  const ValueId x = maker->inputs[data];
  if (!is_by_channel || site.graph().type(x).shape != site.graph().type(site.inputs[0]).shape) return unchanged();
  numbers->resize(inputs, numbers->front());
  std::vector<double> folded = *weights;
  std::vector<ValueId> operands{x, site.inputs[1]};
  if (maker->op == Op::kMul) {
    for (std::size_t i = 0; i < folded.size(); ++i) folded[i] *= (*numbers)[i % inputs];
    operands[1] = site.emitter.floats(folded, DType::kF32, sizes);
    if (site.inputs.size() > 2) operands.push_back(site.inputs[2]);
    return replaced_by(site.emitter.emit(Op::kLinear, NoAttrs{}, std::move(operands)));
  }
  const auto bias = site.inputs.size() > 2 ? numbers_of(site.constant(2))
                                           : std::vector<double>(static_cast<std::size_t>(sizes[0]), 0);
  if (!bias) return unchanged();
  std::vector<double> sums = *bias;
  for (std::size_t i = 0; i < folded.size(); ++i) sums[i / inputs] += folded[i] * (*numbers)[i % inputs];
  operands.push_back(site.emitter.floats(sums, DType::kF32, {sizes[0]}));
  return replaced_by(site.emitter.emit(Op::kLinear, NoAttrs{}, std::move(operands)));
}

}  // namespace isthmus::rewrites
