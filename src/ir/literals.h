// How the text form writes numbers, strings and origins; shared by its printer and its parser.
#pragma once

#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/expected.h"
#include "base/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// Reads a string that `quoted` wrote at the front of `rest` and removes it.
Expected<std::string> take_quoted(std::string_view& rest);

// Shortest text that reads back to the same number, always with a '.', an exponent or a word.
std::string float_text(double value);
std::string float_text(float value);

// "[1.0,2.5]" or, of a 0-d tensor, "1.0"; empty where the text form writes a hash instead.
std::string inline_text(const TensorView& tensor);
Expected<TensorView> tensor_from_inline(DType dtype, const std::vector<std::int64_t>& sizes, std::string_view text);

std::string origin_text(const Origin& origin);
// The same in brackets behind a blank, to follow the name of a node in messages; nothing where nothing is known.
std::string origin_suffix(const Origin& origin);
Expected<Origin> origin_from_text(std::string_view text);
// "conv2d %x (module, file.py:3)": a node in messages; a foreign one by its operator's name.
std::string node_text(const Graph& graph, const Node& node);

// Words that the text form gives a meaning of its own, so no symbol may be called so.
bool is_reserved_word(std::string_view word);
bool is_symbol_name(std::string_view name);

}  // namespace isthmus
