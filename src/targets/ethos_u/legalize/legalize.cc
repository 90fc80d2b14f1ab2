// The table of what composites become. Rewrites that no device owns are in rewrites/.
#include "targets/ethos_u/legalize/legalize.h"

#include <algorithm>

#include "targets/ethos_u/desc.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::ethos_u {
namespace {

// A rewrite that depends on the device.
template <Device kDevice, Replacement (*kForm)(const Site&, Device)>
Replacement any_type(const Site& site) {
  return is_static(site.rewriter.source(), site.node) ? kForm(site, kDevice) : unchanged();
}
template <Device kDevice, Replacement (*kForm)(const Site&, Device)>
Replacement on(const Site& site) {
  return rewrites::is_float(site) ? any_type<kDevice, kForm>(site) : unchanged();
}
template <Device kDevice>
std::span<const Rewrite> rows() {
  static constexpr Rewrite kRewrites[] = {
      {.name = "attention", .what = "attention -> product, softmax, product", .apply = rewrites::attention_to_products},
      {.name = "finite",
       .what = "x + -inf -> x + a number far below: quantized values have no infinity",
       .apply = on<kDevice, finite_constants>},
      {.name = "norms",
       .what = "group_norm, batch_norm, computed weights -> layer_norm, a convolution by channel, products",
       .apply = on<kDevice, norm_forms>},
      {.name = "softmax",
       .what = "softmax over an inner axis -> over the last one",
       .apply = on<kDevice, softmax_over_last>},
      {.name = "variance", .what = "variance -> mean of squared differences", .apply = rewrites::variance_to_means},
      {.name = "running-sum",
       .what = "cumsum -> a product with ones, so that only its result is rounded",
       .apply = on<kDevice, running_sum>},
      {.name = "reductions",
       .what = "prod, logsumexp, vector_norm, ... -> decomposed",
       .apply = rewrites::reduction_forms},
      {.name = "sums-in-parts",
       .what = "a sum beside more elements than the device counts -> sums of parts, joined",
       .apply = on<kDevice, sum_in_parts>},
      {.name = "linear-of-computed",
       .what = "linear with a computed weight -> matmul",
       .apply = rewrites::linear_to_matmul},
      {.name = "batches",
       .what = "matmul of any rank -> of two batches of matrices",
       .apply = on<kDevice, matmul_of_batches>},
      {.name = "convolutions",
       .what = "groups, large strides, windows as large as the image -> plain convolutions, products",
       .apply = on<kDevice, convolution_forms>},
      {.name = "transposed",
       .what = "conv_transpose2d with groups, gaps, large strides -> a convolution with zeros between",
       .apply = on<kDevice, transposed_convolution_forms>},
      {.name = "computed-filters",
       .what = "conv3d, computed filters, col2im -> plain convolutions and products",
       .apply = rewrites::convolution_forms},
      {.name = "pools",
       .what = "windows with gaps, large strides, many images -> extremes and means of windows",
       .apply = on<kDevice, pool_forms>},
      {.name = "windows",
       .what = "pools that count otherwise, over three axes, adaptive -> plain pools",
       .apply = rewrites::window_forms},
      {.name = "selections",
       .what = "flip, steps, mirrored pads, nearest neighbours -> slices, joins, reshapes",
       .apply = rewrites::selection_forms},
      {.name = "samples",
       .what = "resize, grid_sample -> products with constant matrices",
       .apply = rewrites::sampling_forms},
      {.name = "indices", .what = "constant indices -> slices, joins, reshapes", .apply = rewrites::index_forms},
      {.name = "narrow-index", .what = "computed indices of 64 bits -> of 32", .apply = on<kDevice, narrow_index>},
      {.name = "quotient", .what = "x / constant -> x * (1 / constant)", .apply = on<kDevice, quotient>},
      {.name = "power", .what = "a number to the power of x -> exp(x * log)", .apply = on<kDevice, power>},
      {.name = "binary", .what = "remainder, hypot, ... -> decomposed", .apply = rewrites::binary_forms},
      {.name = "prelu", .what = "prelu -> leaky_relu, or its two sides", .apply = on<kDevice, prelu_by_slope>},
      {.name = "bool", .what = "cast(x > y) -> a number that is 0 or 1", .apply = rewrites::bool_to_float},
      {.name = "choice",
       .what = "where(x > y, a, b) -> a * mask + b * (1 - mask), where the device has no select",
       .apply = on<kDevice, choice_by_products>},
      {.name = "absorb-expand", .what = "x + expand(y) -> x + y", .apply = rewrites::absorb_expand},
      {.name = "merge-axes",
       .what = "permute of more than six axes -> one of groups of axes",
       .apply = rewrites::merge_axes},
      {.name = "split-cat", .what = "cat of more than 64 -> cats of 64", .apply = rewrites::split_cat},
      {.name = "slice-first",
       .what = "slice(permute(x)) -> permute(slice(x)); the same where a reshape splits an axis",
       .apply = rewrites::slice_before_movement},
      {.name = "slice-rows",
       .what = "slice(layer_norm(x)) -> layer_norm(slice(x)); the same for all that computes rows by themselves",
       .apply = rewrites::slice_before_rows},
      {.name = "raise-movement",
       .what = "relu(reshape(x)) -> reshape(relu(x)); the same for permute and for x + y",
       .apply = rewrites::raise_movement},
      {.name = "raise-over-cat",
       .what = "cat(reshape(x), reshape(y)) -> reshape(cat(x, y)) where they drop an axis of size one",
       .apply = rewrites::raise_reshape_over_cat},
      {.name = "equal-ranks", .what = "x + y of two ranks -> x + reshape(y)", .apply = any_type<kDevice, equal_ranks>},
      {.name = "kept-axes",
       .what = "a reduction whose axes vanish -> one whose axes stay, and a reshape",
       .apply = any_type<kDevice, kept_axes>},
      {.name = "fold-into-linear",
       .what = "linear(x * a + b) -> linear(x) with other weights",
       .apply = rewrites::fold_into_linear},
  };
  return kRewrites;
}

}  // namespace

std::span<const Rewrite> legalizations(Device device) {
  switch (device) {
    case Device::kTosaInt:
      return rows<Device::kTosaInt>();
    case Device::kU55:
      return rows<Device::kU55>();
    case Device::kU85:
      return rows<Device::kU85>();
  }
  return {};
}

std::optional<Reason> refusal_of(const Site& site, Device device) {
  return quantized_refusal(site.rewriter.source(), site.node, DType::kI8, device);
}

bool is_static(const Graph& graph, const Node& node) {
  const auto is_fixed = [&](ValueId id) {
    return std::ranges::all_of(graph.type(id).shape, [](Dim dim) { return dim.is_fixed() && dim.value() > 0; });
  };
  return is_fixed(node.outputs[0]) && std::ranges::all_of(node.inputs, is_fixed);
}

}  // namespace isthmus::ethos_u
