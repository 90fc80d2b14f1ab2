// The rewrites of canonicalize, by file.
#pragma once

#include "ops/rewrite.h"

namespace isthmus {

Replacement drop_identity(const Site& site);
Replacement merge_movement(const Site& site);
Replacement merge_clamps(const Site& site);
Replacement fold_constants(const Site& site);
Replacement fold_batch_norm(const Site& site);
Replacement expand_batch_norm(const Site& site);
Replacement matmul_to_linear(const Site& site);
Replacement fold_bias(const Site& site);

}  // namespace isthmus
