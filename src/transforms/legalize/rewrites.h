// Rewrites that no target owns: composites become what the target has forms for. A file per family, and what several
// of them need.
#pragma once

#include <optional>
#include <span>

#include "ops/rewrite.h"

namespace isthmus::rewrites {

// Ranks, expanding, joining.
Replacement same_ranks(const Site& site);
Replacement absorb_expand(const Site& site);
Replacement expand_by_ones(const Site& site);
Replacement merge_axes(const Site& site);
Replacement split_cat(const Site& site);

// What makes the graph smaller for this target.
Replacement raise_movement(const Site& site);
Replacement raise_reshape_over_cat(const Site& site);
Replacement slice_before_movement(const Site& site);
Replacement slice_before_rows(const Site& site);
Replacement fold_into_linear(const Site& site);

// What moves numbers to places that are known now.
Replacement selection_forms(const Site& site);
Replacement index_forms(const Site& site);

// Windows, images and convolutions.
Replacement window_forms(const Site& site);
Replacement sampling_forms(const Site& site);
Replacement convolution_forms(const Site& site);

// Sums, other reductions, and norms.
Replacement mean_forms(const Site& site);
Replacement reduction_forms(const Site& site);
Replacement variance_to_means(const Site& site);
Replacement layer_norm_to_means(const Site& site);
Replacement group_norm_to_means(const Site& site);

// Products.
Replacement attention_to_products(const Site& site);
Replacement linear_to_matmul(const Site& site);

// Functions of one and two numbers.
Replacement silu_by_sigmoid(const Site& site);
Replacement unary_forms(const Site& site);
Replacement binary_forms(const Site& site);
Replacement power_forms(const Site& site);
Replacement gelu_by_tanh(const Site& site);
Replacement elu_by_exp(const Site& site);
Replacement clamp_to_one_number(const Site& site);
Replacement prelu_by_parts(const Site& site);

// Comparisons and choices.
Replacement bool_to_float(const Site& site);
Replacement where_by_parts(const Site& site);

// Rewrites of a family: one row an op. A form that cannot be had is nothing.
struct OpForm {
  Op op;
  Replacement (*form)(const Site&);
};
// The form of the node's op, where there is one and the target does not take the node as it is.
Replacement formed(const Site& site, std::span<const OpForm> forms);

// Whether the result is f32, the type in which rewrites for targets compute.
bool is_float(const Site& site);
// A constant number that broadcasts against any tensor of the rank.
ValueId number(Emitter& emitter, double value, std::size_t rank);
// x op number
Expected<ValueId> with_number(Emitter& emitter, Op op, ValueId x, double value);
// The product of the axes' sizes; nothing where one of them is not fixed, or nothing is left.
std::optional<std::int64_t> count_of(const Shape& shape, const Ints& axes);
// The reduced axes, whose sizes are fixed, as the height of images that are one pixel wide; the others as their batch
// and channels.
Expected<ValueId> image_of_reduced(Emitter& emitter, ValueId x, const Ints& axes);
// The sum over the last axis, times a factor, plus a number; the axis stays with size one. Its size must be fixed.
Expected<ValueId> sum_last(Emitter& emitter, ValueId x, double factor, double plus = 0);
// The mean over axes whose sizes are fixed; they stay with size one.
Expected<ValueId> mean_keeping(Emitter& emitter, ValueId x, const Ints& axes);

}  // namespace isthmus::rewrites
