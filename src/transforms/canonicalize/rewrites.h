// The rewrites of canonicalize beside the simplifications, by file.
#pragma once

#include "ops/rewrite.h"

namespace isthmus {

Replacement take_branch(const Site& site);
Replacement fold_batch_norm(const Site& site);
Replacement expand_batch_norm(const Site& site);
Replacement matmul_to_linear(const Site& site);
Replacement fold_bias(const Site& site);

}  // namespace isthmus
