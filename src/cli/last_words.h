// The error of a process that ends at once: in handlers of signals, and where there is no memory. Takes none and no
// locks.
#pragma once

#include <initializer_list>
#include <string_view>

namespace isthmus {

// Failures are JSON objects on standard output too, see --json.
void make_last_words_json();

// Removes temporary files, says the parts as one error, and ends with exit code 1.
[[noreturn]] void end_with_words(std::initializer_list<std::string_view> parts);

}  // namespace isthmus
