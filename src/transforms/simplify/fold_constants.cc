// Computes what is known before the model runs.
#include <algorithm>

#include "base/bytes.h"
#include "interpret/interpreter.h"
#include "ops/table.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus {
namespace {

// A result larger than this is made only if it has no more elements than its inputs: an expanded scalar stays
// one, quantized values become weights.
constexpr std::uint64_t kMaxGrowth = std::uint64_t{1} << 20;

std::uint64_t element_count(const Shape& shape, std::size_t first_axis = 0) {
  std::uint64_t count = 1;
  for (std::size_t axis = first_axis; axis < shape.size(); ++axis) {
    const auto size = shape[axis].is_fixed() ? static_cast<std::uint64_t>(shape[axis].value()) : ~std::uint64_t{0};
    count = multiply_sizes(count, size).value_or(~std::uint64_t{0});
  }
  return count;
}

bool is_worth_storing(const Site& site, std::uint64_t bytes) {
  std::uint64_t available = kMaxGrowth;
  for (const ValueId input : site.inputs) {
    const TensorView& data = *site.graph().constant(input)->data;
    const std::size_t element = std::max(size_of(data.dtype), size_of(site.result().dtype));
    available = std::max(available, static_cast<std::uint64_t>(data.element_count()) * element);
  }
  return bytes <= available;
}

// How many numbers of its inputs make one of its result, where these are more than its inputs have in all.
std::uint64_t terms(const Site& site) {
  const OpDef& row = def(site.node.op);
  const auto shape = [&](std::size_t i) { return site.graph().type(site.inputs[i]).shape; };
  if (row.weight_axes) {
    const Shape weight = shape(1);
    const auto axis = static_cast<std::size_t>(row.weight_axes->outputs);
    const auto outputs = axis < weight.size() && weight[axis].is_fixed() ? weight[axis].value() : 1;
    return element_count(weight) / static_cast<std::uint64_t>(std::max<std::int64_t>(outputs, 1));
  }
  if (row.flow == QFlow::kComputes && !row.is_elementwise && site.inputs.size() > 1) {  // products
    std::uint64_t longest = 1;
    for (std::size_t i = 0; i < site.inputs.size(); ++i) {
      for (const Dim dim : shape(i)) longest = std::max(longest, element_count({dim}));
    }
    return longest;
  }
  if (row.channels == ChannelAxis::kSecond) return element_count(shape(0), std::min<std::size_t>(2, shape(0).size()));
  return 1;
}

// An upper bound of what the kernel does.
std::uint64_t steps_of(const Site& site) {
  auto steps = multiply_sizes(element_count(site.result().shape), terms(site));
  for (const ValueId input : site.inputs) {
    if (steps) steps = add_sizes(*steps, element_count(site.graph().type(input).shape));
  }
  return steps.value_or(~std::uint64_t{0});
}

}  // namespace

Replacement fold_constants(const Site& site) {
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    if (site.constant(i) == nullptr) return unchanged();
  }
  const auto bytes = multiply_sizes(element_count(site.result().shape), size_of(site.result().dtype));
  if (!bytes || !is_worth_storing(site, *bytes) || !site.folding.take(steps_of(site), *bytes)) return unchanged();
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < site.inputs.size(); ++i) inputs.push_back(Tensor::from(*site.constant(i)));
  // What cannot be computed here (an index out of range) is left to the run, where it is an error with a place.
  const auto result = evaluate_node(site.rewriter.source(), site.node, inputs, {});
  if (!result) return unchanged();
  return std::optional(site.emitter.constant(result->view()));
}

}  // namespace isthmus
