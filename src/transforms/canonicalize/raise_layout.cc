// Converters from channels-last frameworks write a permute before and behind every convolution. Between two of them
// only ops without an order of axes are left: these compute in the order that is around, and the permutes meet.
#include <algorithm>
#include <set>

#include "ops/table.h"
#include "transforms/canonicalize/rewrites.h"

namespace isthmus {
namespace {

const Ints* permuted_axes(const Node* node) {
  return node != nullptr && node->op == Op::kPermute ? &std::get<AxesAttrs>(node->attrs).axes : nullptr;
}

// Each number of the result comes from the same place of the inputs, or from the same place of one of them.
bool has_no_order(const Node& node) {
  if (node.op == Op::kForeign || node.outputs.size() != 1) return false;
  const OpDef& row = def(node.op);
  if (row.flow == QFlow::kPins || row.flow == QFlow::kPinsAsItRuns) return false;
  return row.is_elementwise || node.op == Op::kCat;
}

bool are_inverse(const Ints& first, const Ints& second) {
  if (first.size() != second.size()) return false;
  for (std::size_t i = 0; i < second.size(); ++i) {
    if (first[static_cast<std::size_t>(second[i])] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

// The axes of a reduction in the order before the permute; nothing where what is left would be in another order.
std::optional<Ints> reduced_before(const Ints& reduced, const Ints& permuted) {
  Ints axes;
  for (const std::int64_t axis : reduced) axes.push_back(permuted[static_cast<std::size_t>(axis)]);
  std::int64_t last = -1;
  for (std::size_t i = 0; i < permuted.size(); ++i) {
    if (std::ranges::find(reduced, static_cast<std::int64_t>(i)) != reduced.end()) continue;
    if (permuted[i] < last) return std::nullopt;
    last = permuted[i];
  }
  std::ranges::sort(axes);
  return axes;
}

// Whether behind this node, over other ops without an order, something undoes the permute.
bool is_undone_behind(const Graph& graph, const Node& node, const Ints& axes) {
  constexpr std::size_t kMaxNodes = 256;
  std::set<ValueId> reached{node.outputs[0]};
  const auto nodes = graph.nodes();
  const auto first = static_cast<std::size_t>(&node - nodes.data()) + 1;
  for (std::size_t i = first; i < std::min(nodes.size(), first + kMaxNodes); ++i) {
    const Node& next = nodes[i];
    if (std::ranges::none_of(next.inputs, [&](ValueId input) { return reached.contains(input); })) continue;
    if (const Ints* second = permuted_axes(&next); second != nullptr && are_inverse(axes, *second)) return true;
    const auto* reduce = std::get_if<ReduceAttrs>(&next.attrs);
    if (reduce != nullptr && next.op != Op::kForeign && reduced_before(reduce->axes, axes)) return true;
    if (has_no_order(next)) reached.insert(next.outputs[0]);
  }
  return false;
}

// The constant in the order before the permute, with as many axes as its result.
TensorView constant_before(const TensorView& constant, const Ints& axes) {
  TensorView result = constant;
  const std::size_t missing = axes.size() - constant.sizes.size();
  result.sizes.assign(axes.size(), 1);
  result.strides.assign(axes.size(), 0);
  for (std::size_t i = missing; i < axes.size(); ++i) {
    result.sizes[static_cast<std::size_t>(axes[i])] = constant.sizes[i - missing];
    result.strides[static_cast<std::size_t>(axes[i])] = constant.strides[i - missing];
  }
  return result;
}

}  // namespace

Replacement lower_permutes(const Site& site) {
  if (!has_no_order(site.node)) return unchanged();
  const std::size_t rank = site.result().rank();
  std::optional<Ints> axes;
  bool spares_one = false;
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    const TensorView* constant = site.constant(i);
    if (constant != nullptr && site.node.op != Op::kCat && constant->sizes.size() <= rank) continue;
    const Ints* permuted = permuted_axes(site.producer(i));
    if (permuted == nullptr || permuted->size() != rank || (axes && *axes != *permuted)) return unchanged();
    axes = *permuted;
    spares_one = spares_one || site.is_only_reader(i);
  }
  if (!axes || !spares_one || !is_undone_behind(site.rewriter.source(), site.node, *axes)) return unchanged();
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    if (const TensorView* constant = site.constant(i)) {
      const bool is_one = constant->element_count() == 1;
      inputs.push_back(is_one ? site.inputs[i] : site.emitter.constant(constant_before(*constant, *axes)));
    } else {
      inputs.push_back(site.producer(i)->inputs[0]);
    }
  }
  Attrs attrs = site.node.attrs;
  if (auto* joined = std::get_if<AxisAttrs>(&attrs)) joined->axis = (*axes)[static_cast<std::size_t>(joined->axis)];
  const ValueId computed = TRY(site.emitter.emit(site.node.op, std::move(attrs), std::move(inputs)));
  return replaced_by(site.emitter.permute(computed, *axes));
}

Replacement reduce_before_permute(const Site& site) {
  const auto* given = std::get_if<ReduceAttrs>(&site.node.attrs);
  const Ints* permuted = given == nullptr ? nullptr : permuted_axes(site.producer(0));
  if (permuted == nullptr || !site.is_only_reader(0)) return unchanged();
  auto axes = reduced_before(given->axes, *permuted);
  if (!axes) return unchanged();
  ReduceAttrs attrs = *given;
  attrs.axes = *std::move(axes);
  const ValueId reduced = TRY(site.emitter.emit(site.node.op, std::move(attrs), {site.producer(0)->inputs[0]}));
  return replaced_by(site.emitter.reshape(reduced, site.result().shape));
}

}  // namespace isthmus
