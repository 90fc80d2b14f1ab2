// The op table: every family of this folder, and lookups in it.
#pragma once

#include <span>
#include <string_view>

#include "ops/op_def.h"

namespace isthmus {

// In the order of ir/ops.def. Every op but foreign has exactly one.
const OpDef& def(Op op);
// What an input is for: the last role repeats. A parameter where the op has no inputs.
Role role_of(Op op, std::size_t input);
// The axis of channels in data and results of this rank. Only for ops that have one.
std::size_t channel_axis(Op op, std::size_t rank);
std::span<const Family> families();

struct SpellingMatch {
  const Spelling* spelling = nullptr;  // nothing: the name is unknown
  bool is_in_place = false;            // it writes its result to its first input
};
// "aten.relu_.default" -> the row of "aten.relu", in place.
SpellingMatch find_spelling(std::string_view target);

}  // namespace isthmus
