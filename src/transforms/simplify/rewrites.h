// Rewrites that make any graph smaller and no graph different: for every stage that rewrites.
#pragma once

#include "ops/rewrite.h"

namespace isthmus {

Replacement drop_identity(const Site& site);
Replacement drop_neutral(const Site& site);
Replacement fold_constants(const Site& site);
Replacement merge_equal(const Site& site);
Replacement merge_movement(const Site& site);
Replacement merge_clamps(const Site& site);
Replacement fold_into_layer(const Site& site);
Replacement pair_conversions(const Site& site);
Replacement raise_dequantize(const Site& site);
Replacement raise_pins(const Site& site);

// The rows of the above, in order.
std::span<const Rewrite> simplifications();

}  // namespace isthmus
