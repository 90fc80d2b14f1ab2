// The rewrites of canonicalize beside the simplifications, by file.
#pragma once

#include "ops/rewrite.h"

namespace isthmus {

Replacement take_branch(const Site& site);
Replacement fold_batch_norm(const Site& site);
Replacement expand_batch_norm(const Site& site);
Replacement matmul_to_linear(const Site& site);
Replacement fold_bias(const Site& site);
Replacement raise_gelu(const Site& site);
Replacement raise_silu(const Site& site);
Replacement raise_layer_norm(const Site& site);
Replacement fold_into_layer_norm(const Site& site);
Replacement lower_permutes(const Site& site);
Replacement reduce_before_permute(const Site& site);
Replacement raise_dynamic(const Site& site);
Replacement raise_attention(const Site& site);

}  // namespace isthmus
