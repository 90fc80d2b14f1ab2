// The names of the index family by file.
#pragma once

#include <vector>

#include "ops/call.h"
#include "ops/op_def.h"

namespace isthmus {

std::vector<Spelling> index_select_spellings();
std::vector<Spelling> gather_spellings();
std::vector<Spelling> scatter_spellings();
std::vector<Spelling> scatter_reduce_spellings();
std::vector<Spelling> fold_spellings();
// Names that mean several ops.
std::vector<Spelling> lookup_spellings();
std::vector<Spelling> advanced_index_spellings();

// Positions along an axis, in any shape and counted from either end, in place of the axis.
Expected<ValueId> pick(Emitter& emitter, ValueId value, std::int64_t axis, ValueId index);
// The elements of `source` at the positions of an axis that a 1-d index names; `mode` says what becomes of what is
// there. The source has the index's size along the axis and otherwise the sizes of `value`.
Expected<ValueId> place(Emitter& emitter, ValueId value, std::int64_t axis, ValueId index, ValueId source,
                        ScatterMode mode);
// Scatter or scatter_reduce, as the mode wants it.
Expected<ValueId> scatter(Emitter& emitter, ValueId value, std::int64_t axis, ValueId index, ValueId source,
                          ScatterMode mode);
// A list of positions with those counted from the end of an axis made others; fails where one lies outside.
Expected<Ints> normal_positions(Ints positions, Dim size);

}  // namespace isthmus
