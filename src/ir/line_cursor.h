// One line of the text form, read from left to right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace isthmus {

class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : rest_(line) {}

  void skip_spaces();
  bool at_end();
  char peek();  // the next character behind spaces; '\0' at the end
  bool take(std::string_view token);
  Expected<void> want(std::string_view token);
  // Letters, digits, '_', '.' and non-ASCII bytes.
  Expected<std::string> word();
  Expected<std::string> value_name();  // behind a '%'
  Expected<std::string> string();
  Expected<std::int64_t> integer();
  // Everything up to a ',', ')' or ']' that closes what was open before, or to a space.
  std::string_view scalar();
  // The text up to `end`, which is removed as well.
  Expected<std::string_view> until(std::string_view end);
  std::string_view rest() const { return rest_; }
  void drop_rest() { rest_ = {}; }

 private:
  std::string_view rest_;
};

}  // namespace isthmus
