// The table of what composites become in the delegate.
#include <algorithm>

#include "targets/xnnpack/desc.h"
#include "targets/xnnpack/forms/forms.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::xnnpack {

std::span<const Rewrite> legalizations() {
  using namespace rewrites;
  static constexpr Rewrite kRewrites[] = {
      {"attention", "attention -> product, softmax, product", attention_to_products},
      {"layer-norm", "layer_norm -> means over the last axis", layer_norm_to_means, Steps::kFloat},
      {"group-norm", "group_norm -> means over the image, then over the channels of a group", group_norm_to_means,
       Steps::kFloat},
      {"variance", "variance -> mean of squared differences", variance_to_means, Steps::kFloat},
      {"reductions", "amax, prod, cumsum, logsumexp, ... -> pools, products, sums", reduction_forms, Steps::kFloat},
      {"mean", "mean, sum -> mean over an image, or a linear layer of equal weights over the last axis", mean_forms},
      {"selections", "flip, steps, mirrored pads, nearest neighbours -> slices, joins, reshapes", selection_forms},
      {"indices", "constant indices and conditions -> slices, joins, reshapes", index_forms},
      {"windows", "pools that count otherwise, over three axes, adaptive -> plain pools", window_forms},
      {"samples", "resize, grid_sample -> products with constant matrices", sampling_forms},
      {"convolutions", "conv3d, computed filters, col2im -> plain convolutions and products", convolution_forms},
      {"linear-of-computed", "linear with a computed weight -> matmul", linear_to_matmul},
      {"silu", "silu -> x * sigmoid(x)", silu_by_sigmoid},
      {"unary", "erf, round, ... -> decomposed", unary_forms, Steps::kFloat},
      {"binary", "remainder, hypot, ... -> decomposed", binary_forms, Steps::kFloat},
      {"power", "pow with a constant -> products, roots, exp(log)", power_forms, Steps::kFloat},
      {"gelu", "gelu by tanh -> decomposed", gelu_by_tanh, Steps::kFloat},
      {"elu", "elu with a scale -> its two sides", elu_by_exp, Steps::kFloat},
      {"clamp", "clamp to one number -> zeros, plus the number", clamp_to_one_number},
      {"prelu", "prelu -> its two sides", prelu_by_parts, Steps::kFloat},
      {"bool", "cast(x > y) -> a number that is 0 or 1", bool_to_float, Steps::kFloat},
      {"where", "where(x > y, a, b) -> a or 0, plus b or 0", where_by_parts, Steps::kFloat},
      {"absorb-expand", "x + expand(y) -> x + y", absorb_expand},
      {"expand", "expand -> x * ones, x + zeros of the size", expand_by_ones},
      {"merge-axes", "permute of more than six axes -> one of groups of axes", merge_axes},
      {"split-cat", "cat of more than five -> cats of five; without empty parts", split_cat},
      {"raise-movement", "relu(reshape(x)) -> reshape(relu(x)); the same for permute and for x + y", raise_movement},
      {"raise-over-cat", "cat(reshape(x), reshape(y)) -> reshape(cat(x, y)) where they drop an axis of size one",
       raise_reshape_over_cat},
      {"fold-into-linear", "linear(x * a + b) -> linear(x) with other weights", fold_into_linear},
      {"same-ranks", "x + y of two ranks -> x + reshape(y)", same_ranks},
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
