// Text from files: is it UTF-8, and how may it be shown in a message.
#pragma once

#include <string>
#include <string_view>

namespace isthmus {

bool is_utf8(std::string_view text);

// In double quotes, control characters escaped, cut where it is long: fit for a terminal whatever the file says.
std::string quoted(std::string_view text);

// The same text with a question mark for every control character but the line feed.
std::string harmless(std::string_view text);

}  // namespace isthmus
