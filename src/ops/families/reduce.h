// Reductions that several files of readers share.
#pragma once

#include "ops/call.h"

namespace isthmus {

// The argument "dim" as axes that are sorted and counted from the front; all of them where it is absent or empty.
Expected<Ints> axes_to_reduce(const Call& call, ValueId value, std::string_view name = "dim");
// Over no axes it is the value itself for those that leave one number as it is.
Expected<ValueId> reduce(Call& call, Op op, ValueId value, Ints axes, bool keepdim);
// The position of the greatest (kArgmax) or smallest number along an axis; a 0-d tensor counts as one of size 1.
Expected<ValueId> position(Call& call, Op op, ValueId value, std::int64_t axis, bool keepdim);
// Norms need real numbers of the given type; what they are over as in ReduceAttrs.
Expected<ValueId> vector_norm(Call& call, ValueId value, double order, Ints axes, bool keepdim);

Expected<std::vector<ValueId>> read_std(Call& call);
Expected<std::vector<ValueId>> read_var(Call& call);
Expected<std::vector<ValueId>> read_var_mean(Call& call);
Expected<std::vector<ValueId>> read_std_mean(Call& call);
Expected<std::vector<ValueId>> read_vector_norm(Call& call);
Expected<std::vector<ValueId>> read_norm(Call& call);
Expected<std::vector<ValueId>> read_matrix_norm(Call& call);
Expected<std::vector<ValueId>> read_linalg_norm(Call& call);
Expected<std::vector<ValueId>> read_cosine_similarity(Call& call);
Expected<std::vector<ValueId>> read_pairwise_distance(Call& call);
Expected<std::vector<ValueId>> read_dist(Call& call);
Expected<std::vector<ValueId>> read_cdist(Call& call);
Expected<std::vector<ValueId>> read_norm_except_dim(Call& call);
Expected<std::vector<ValueId>> read_weight_norm(Call& call);
Expected<std::vector<ValueId>> read_weight_norm_interface(Call& call);

}  // namespace isthmus
