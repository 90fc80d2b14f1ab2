// Computes what is known before the model runs.
#include <algorithm>

#include "base/bytes.h"
#include "interpret/interpreter.h"
#include "ops/folding.h"
#include "ops/table.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus {
namespace {

// A result larger than this is made only if it has no more elements than its inputs: an expanded scalar stays
// one, quantized values become weights.
constexpr std::uint64_t kMaxGrowth = std::uint64_t{1} << 20;

bool is_worth_storing(const Site& site, std::uint64_t bytes) {
  std::uint64_t available = kMaxGrowth;
  for (const ValueId input : site.inputs) {
    const TensorView& data = *site.graph().constant(input)->data;
    const std::size_t element = std::max(size_of(data.dtype), size_of(site.result().dtype));
    available = std::max(available, static_cast<std::uint64_t>(data.element_count()) * element);
  }
  return bytes <= available;
}

}  // namespace

Replacement fold_constants(const Site& site) {
  for (std::size_t i = 0; i < site.inputs.size(); ++i) {
    if (site.constant(i) == nullptr) return unchanged();
  }
  const auto bytes = multiply_sizes(element_count(site.result().shape), size_of(site.result().dtype));
  if (!bytes || !is_worth_storing(site, *bytes) ||
      !site.folding.take(folding_steps(site.rewriter.source(), site.node), *bytes))
    return unchanged();
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < site.inputs.size(); ++i) inputs.push_back(Tensor::from(*site.constant(i)));
  // What cannot be computed here (an index out of range) is left to the run, where it is an error with a place.
  const auto result = evaluate_node(site.rewriter.source(), site.node, inputs, {});
  if (!result) return unchanged();
  return std::optional(site.emitter.constant(result->view()));
}

}  // namespace isthmus
