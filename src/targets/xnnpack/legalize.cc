// The table of what composites become in the delegate.
#include <algorithm>

#include "targets/xnnpack/desc.h"
#include "targets/xnnpack/forms/forms.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::xnnpack {

std::span<const Rewrite> legalizations() {
  using namespace rewrites;
  static constexpr Rewrite kRewrites[] = {
      {.name = "attention", .what = "attention -> product, softmax, product", .apply = attention_to_products},
      {.name = "layer-norm",
       .what = "layer_norm -> means over the last axis",
       .apply = layer_norm_to_means,
       .steps = Steps::kFloat},
      {.name = "group-norm",
       .what = "group_norm -> means over the image, then over the channels of a group",
       .apply = group_norm_to_means,
       .steps = Steps::kFloat},
      {.name = "variance",
       .what = "variance -> mean of squared differences",
       .apply = variance_to_means,
       .steps = Steps::kFloat},
      {.name = "reductions",
       .what = "amax, prod, cumsum, logsumexp, ... -> pools, products, sums",
       .apply = reduction_forms,
       .steps = Steps::kFloat},
      {.name = "mean",
       .what = "mean, sum -> mean over an image, or a linear layer with equal weights over the last axis",
       .apply = mean_forms},
      {.name = "selections",
       .what = "flip, steps, mirrored pads, nearest neighbours -> slices, joins, reshapes",
       .apply = selection_forms},
      {.name = "indices", .what = "constant indices and conditions -> slices, joins, reshapes", .apply = index_forms},
      {.name = "windows",
       .what = "pools with other divisors, over three axes, adaptive -> plain pools",
       .apply = window_forms},
      {.name = "samples", .what = "resize, grid_sample -> products with constant matrices", .apply = sampling_forms},
      {.name = "convolutions",
       .what = "conv3d, computed weights, col2im -> plain convolutions and products",
       .apply = convolution_forms},
      {.name = "linear-of-computed", .what = "linear with a computed weight -> matmul", .apply = linear_to_matmul},
      {.name = "silu", .what = "silu -> x * sigmoid(x)", .apply = silu_by_sigmoid},
      {.name = "unary", .what = "erf, round, ... -> decomposed", .apply = unary_forms, .steps = Steps::kFloat},
      {.name = "binary", .what = "remainder, hypot, ... -> decomposed", .apply = binary_forms, .steps = Steps::kFloat},
      {.name = "power",
       .what = "pow with a constant -> products, roots, exp(log)",
       .apply = power_forms,
       .steps = Steps::kFloat},
      {.name = "gelu", .what = "gelu by tanh -> decomposed", .apply = gelu_by_tanh, .steps = Steps::kFloat},
      {.name = "elu",
       .what = "elu with a scale -> its positive and negative part",
       .apply = elu_by_exp,
       .steps = Steps::kFloat},
      {.name = "clamp", .what = "clamp to one number -> zeros plus that number", .apply = clamp_to_one_number},
      {.name = "prelu",
       .what = "prelu -> its positive and negative part",
       .apply = prelu_by_parts,
       .steps = Steps::kFloat},
      {.name = "bool",
       .what = "cast(x > y) -> a number that is 0 or 1",
       .apply = bool_to_float,
       .steps = Steps::kFloat},
      {.name = "where",
       .what = "where(x > y, a, b) -> a or 0, plus b or 0",
       .apply = where_by_parts,
       .steps = Steps::kFloat},
      {.name = "absorb-expand", .what = "x + expand(y) -> x + y", .apply = absorb_expand},
      {.name = "expand", .what = "expand -> x * ones, x + zeros of the size", .apply = expand_by_ones},
      {.name = "merge-axes", .what = "permute of more than six axes -> one of groups of axes", .apply = merge_axes},
      {.name = "split-cat", .what = "cat of more than five -> cats of five; without empty inputs", .apply = split_cat},
      {.name = "raise-movement",
       .what = "relu(reshape(x)) -> reshape(relu(x)); the same for permute and for x + y",
       .apply = raise_movement},
      {.name = "raise-over-cat",
       .what = "cat(reshape(x), reshape(y)) -> reshape(cat(x, y)) where they drop an axis of size one",
       .apply = raise_reshape_over_cat},
      {.name = "fold-into-linear",
       .what = "linear(x * a + b) -> linear(x) with other weights",
       .apply = fold_into_linear},
      {.name = "same-ranks", .what = "x + y of different ranks -> x + reshape(y)", .apply = same_ranks},
  };
  return kRewrites;
}

// Only for its form: where the delegate cannot hold the node's floats, another form would not change that.
bool needs_other_form(const Graph& graph, const Node& node) {
  const auto fits = [&](ValueId id) {
    return is_integer(graph.type(id).dtype) || graph.type(id).dtype == DType::kBool || !value_refusal(graph, id);
  };
  return fits(node.outputs[0]) && std::ranges::all_of(node.inputs, fits) && refusal(graph, node);
}

}  // namespace isthmus::xnnpack
