// Text from files: is it UTF-8, and how may it be shown.
#pragma once

#include <string>
#include <string_view>

namespace isthmus {

bool is_utf8(std::string_view text);

// In quotes and on one line. Whatever a terminal might obey (controls, marks that turn the direction of text, bytes
// that are not UTF-8) is written as \xHH a byte, a quote or a backslash behind a backslash: the text can be read back.
std::string in_quotes(std::string_view text, char quote = '"');

// For messages: the same, cut where it is long.
std::string shown(std::string_view text);

// The same text with a question mark for each character that `in_quotes` would escape; line feeds, quotes and
// backslashes stay.
std::string harmless(std::string_view text);

}  // namespace isthmus
