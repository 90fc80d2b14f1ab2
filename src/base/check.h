// Assertions about our own code. A failed one is our bug, never the user's: it prints where and aborts.
#pragma once

#include <string_view>

namespace isthmus {

[[noreturn]] void check_failed(const char* condition, const char* file, int line, std::string_view what);

}  // namespace isthmus

#define CHECK(condition, what)                                                         \
  do {                                                                                 \
    if (!(condition)) ::isthmus::check_failed(#condition, __FILE__, __LINE__, (what)); \
  } while (false)
