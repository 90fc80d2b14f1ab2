// Subgraphs of straight-line regions become part of the program.
#pragma once

#include "base/expected.h"
#include "formats/torch/pt2.h"

namespace isthmus {

// The target that chooses between the results of two branches, by the names of its arguments `pred`, `if_true` and
// `if_false`.
inline constexpr const char* kBranchTarget = "torch.ops.higher_order.cond";

// A region that only changes how its operators run (autocast that is off, no_grad) is inlined. Both branches of a
// condition are, each with its result; a node chooses between them for each result. Loops are refused.
Expected<pt2::Program> inline_regions(pt2::Program program);
bool has_regions(const pt2::Program& program);

}  // namespace isthmus
