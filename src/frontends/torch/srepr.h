// Symbolic sizes as PyTorch writes them: SymPy's srepr text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/exprs.h"

namespace isthmus {

// "Mul(Integer(2), Symbol('s77', positive=True, integer=True))" as an expression over declared symbols.
// What cannot be understood becomes an opaque expression with the given hint.
Dim dim_from_srepr(Exprs& exprs, std::string_view text, std::optional<std::int64_t> hint);

// The names of all symbols in such a text, in order of appearance.
std::vector<std::string> symbol_names_in_srepr(std::string_view text);

}  // namespace isthmus
