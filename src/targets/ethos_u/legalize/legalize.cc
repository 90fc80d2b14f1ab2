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
      {"attention", "attention -> product, softmax, product", rewrites::attention_to_products},
      {"finite", "x + -inf -> x + a number far below: quantized values have no infinity",
       on<kDevice, finite_constants>},
      {"norms", "group_norm, batch_norm, computed weights -> layer_norm, a convolution by channel, products",
       on<kDevice, norm_forms>},
      {"softmax", "softmax over an inner axis -> over the last one", on<kDevice, softmax_over_last>},
      {"variance", "variance -> mean of squared differences", rewrites::variance_to_means},
      {"running-sum", "cumsum -> a product with ones, so that only its result is rounded", on<kDevice, running_sum>},
      {"reductions", "prod, logsumexp, vector_norm, ... -> decomposed", rewrites::reduction_forms},
      {"sums-in-parts", "a sum beside more elements than the device counts -> sums of parts, joined",
       on<kDevice, sum_in_parts>},
      {"linear-of-computed", "linear with a computed weight -> matmul", rewrites::linear_to_matmul},
      {"batches", "matmul of any rank -> of two batches of matrices", on<kDevice, matmul_of_batches>},
      {"convolutions", "groups, large strides, windows as large as the image -> plain convolutions, products",
       on<kDevice, convolution_forms>},
      {"transposed", "conv_transpose2d with groups, gaps, large strides -> a convolution with zeros between",
       on<kDevice, transposed_convolution_forms>},
      {"computed-filters", "conv3d, computed filters, col2im -> plain convolutions and products",
       rewrites::convolution_forms},
      {"pools", "windows with gaps, large strides, many images -> extremes and means of windows",
       on<kDevice, pool_forms>},
      {"windows", "pools that count otherwise, over three axes, adaptive -> plain pools", rewrites::window_forms},
      {"selections", "flip, steps, mirrored pads, nearest neighbours -> slices, joins, reshapes",
       rewrites::selection_forms},
      {"samples", "resize, grid_sample -> products with constant matrices", rewrites::sampling_forms},
      {"indices", "constant indices -> slices, joins, reshapes", rewrites::index_forms},
      {"narrow-index", "computed indices of 64 bits -> of 32", on<kDevice, narrow_index>},
      {"quotient", "x / constant -> x * (1 / constant)", on<kDevice, quotient>},
      {"power", "a number to the power of x -> exp(x * log)", on<kDevice, power>},
      {"binary", "remainder, hypot, ... -> decomposed", rewrites::binary_forms},
      {"prelu", "prelu -> leaky_relu, or its two sides", on<kDevice, prelu_by_slope>},
      {"bool", "cast(x > y) -> a number that is 0 or 1", rewrites::bool_to_float},
      {"choice", "where(x > y, a, b) -> a * truth + b * (1 - truth), where the device has no select",
       on<kDevice, choice_by_products>},
      {"absorb-expand", "x + expand(y) -> x + y", rewrites::absorb_expand},
      {"merge-axes", "permute of more than six axes -> one of groups of axes", rewrites::merge_axes},
      {"split-cat", "cat of more than 64 -> cats of 64", rewrites::split_cat},
      {"slice-first", "slice(permute(x)) -> permute(slice(x)); the same where a reshape splits an axis",
       rewrites::slice_before_movement},
      {"raise-movement", "relu(reshape(x)) -> reshape(relu(x)); the same for permute and for x + y",
       rewrites::raise_movement},
      {"raise-over-cat", "cat(reshape(x), reshape(y)) -> reshape(cat(x, y)) where they drop an axis of size one",
       rewrites::raise_reshape_over_cat},
      {"equal-ranks", "x + y of two ranks -> x + reshape(y)", any_type<kDevice, equal_ranks>},
      {"kept-axes", "a reduction whose axes vanish -> one whose axes stay, and a reshape",
       any_type<kDevice, kept_axes>},
      {"fold-into-linear", "linear(x * a + b) -> linear(x) with other weights", rewrites::fold_into_linear},
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
