// Movements that several readers need, and the names of the movement family by file.
#pragma once

#include <vector>

#include "ops/call.h"
#include "ops/op_def.h"

namespace isthmus {

std::vector<Spelling> reshape_spellings();
std::vector<Spelling> permute_spellings();
std::vector<Spelling> expand_spellings();
std::vector<Spelling> slice_spellings();
std::vector<Spelling> flip_spellings();
// Names that mean several ops.
std::vector<Spelling> repeat_spellings();
std::vector<Spelling> split_spellings();
std::vector<Spelling> rearrange_spellings();
std::vector<Spelling> diagonal_spellings();
std::vector<Spelling> window_spellings();

// The shape with axis `axis` replaced by some others, or by none.
Shape with_axis(const Shape& shape, std::int64_t axis, const Shape& others);
// A new axis of size 1 at `axis`.
Expected<ValueId> unsqueeze(Emitter& emitter, ValueId value, std::int64_t axis);
// Swaps two axes; a 0-d tensor stays what it is.
Expected<ValueId> transpose(Emitter& emitter, ValueId value, std::int64_t a, std::int64_t b);
// Every step-th of `count` elements from `start`, in the one form that such a slice has.
Expected<ValueId> strided_slice(Emitter& emitter, ValueId value, std::int64_t axis, Dim start, Dim count,
                                std::int64_t step);
// One position of an axis, without the axis. A negative index counts from the end.
Expected<ValueId> select(Emitter& emitter, ValueId value, std::int64_t axis, Dim index);
// The bounds of value[start:end] along an axis as Python reads them.
struct Range {
  Dim start;
  Dim end;
};
Range python_range(Exprs& exprs, Dim size, Dim start, Dim end);
// Positions of an axis, known now and inside of it; a slice where they are evenly spaced.
Expected<ValueId> select_positions(Emitter& emitter, ValueId value, std::int64_t axis, const Ints& positions);
// The axis becomes two: how often a window fits, and the elements of each window.
Expected<ValueId> windows(Emitter& emitter, ValueId value, std::int64_t axis, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation);
// The diagonal of the last two axes, which must have fixed sizes, as the last axis.
Expected<ValueId> diagonal_of_last(Emitter& emitter, ValueId value, std::int64_t offset);
// Two axes moved to the end, in this order; and the order of axes that undoes it.
struct Moved {
  ValueId value;
  Ints back;
};
Expected<Moved> to_the_end(Emitter& emitter, ValueId value, std::int64_t a, std::int64_t b);
// A constant of bools [rows, columns] that is true where `column - row` lies in [least, most].
Expected<ValueId> band_mask(Emitter& emitter, Dim rows, Dim columns, std::int64_t min, std::int64_t max);

}  // namespace isthmus
