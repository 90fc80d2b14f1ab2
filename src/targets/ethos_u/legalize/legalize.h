// The rewrites that express composites by what the devices have, a file per family, and what several of them need.
#pragma once

#include <span>

#include "base/reason.h"
#include "ops/rewrite.h"
#include "targets/ethos_u/device.h"

namespace isthmus::ethos_u {

// What each composite becomes on a device.
std::span<const Rewrite> legalizations(Device device);

// Convolutions and products.
Replacement convolution_forms(const Site& site, Device device);
Replacement transposed_convolution_forms(const Site& site, Device device);
Replacement matmul_of_batches(const Site& site, Device device);

// Pools.
Replacement pool_forms(const Site& site, Device device);

// Norms and reductions.
Replacement norm_forms(const Site& site, Device device);
Replacement softmax_over_last(const Site& site, Device device);
Replacement running_sum(const Site& site, Device device);
Replacement sum_in_parts(const Site& site, Device device);

// Axes: as many for each operand, and none that a reduction drops.
Replacement equal_ranks(const Site& site, Device device);
Replacement kept_axes(const Site& site, Device device);

// Functions of two numbers, constants, choices, indices.
Replacement quotient(const Site& site, Device device);
Replacement power(const Site& site, Device device);
Replacement prelu_by_slope(const Site& site, Device device);
Replacement finite_constants(const Site& site, Device device);
Replacement choice_by_products(const Site& site, Device device);
Replacement narrow_index(const Site& site, Device device);

// Why the device would not take the node, still in float, with int8 values; nothing where it would.
std::optional<Reason> refusal_of(const Site& site, Device device);
// Whether all sizes of the node's values are fixed: what rewrites for these devices look at.
bool is_static(const Graph& graph, const Node& node);

}  // namespace isthmus::ethos_u
