// Reads tokens from the front of a line.
#include "ir/line_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/graph.h"
#include "ir/literals.h"

namespace isthmus {

void LineCursor::skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

bool LineCursor::at_end() {
  skip_spaces();
  return rest_.empty();
}

char LineCursor::peek() {
  skip_spaces();
  return rest_.empty() ? '\0' : rest_.front();
}

bool LineCursor::take(std::string_view token) {
  skip_spaces();
  if (!rest_.starts_with(token)) return false;
  rest_.remove_prefix(token.size());
  return true;
}

Expected<void> LineCursor::want(std::string_view token) {
  if (!take(token)) return bad_input(fmt::format("expected '{}' before '{}'", token, rest_.substr(0, 40)));
  return {};
}

Expected<std::string> LineCursor::word() {
  skip_spaces();
  std::size_t length = 0;
  while (length < rest_.size() && is_value_name(rest_.substr(length, 1))) ++length;
  if (length == 0) return bad_input(fmt::format("expected a name before '{}'", rest_.substr(0, 40)));
  std::string result(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return result;
}

Expected<std::string> LineCursor::value_name() {
  TRY(want("%"));
  std::string name = TRY(word());
  if (!is_value_name(name)) return bad_input(fmt::format("'{}...' is too long a name", name.substr(0, 40)));
  return name;
}

Expected<std::string> LineCursor::string() {
  skip_spaces();
  return take_quoted(rest_);
}

Expected<std::int64_t> LineCursor::integer() {
  skip_spaces();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc()) return bad_input(fmt::format("expected an integer before '{}'", rest_.substr(0, 40)));
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

std::string_view LineCursor::scalar() {
  skip_spaces();
  int depth = 0;
  bool is_quoted = false;
  std::size_t length = 0;
  for (; length < rest_.size(); ++length) {
    const char c = rest_[length];
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (c == '(') ++depth;
    if (depth == 0 && (c == ',' || c == ')' || c == ']' || c == ' ')) break;
    if (c == ')') --depth;
  }
  const std::string_view result = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return result;
}

Expected<std::string_view> LineCursor::until(std::string_view end) {
  const std::size_t length = rest_.find(end);
  if (length == std::string_view::npos) return bad_input(fmt::format("expected '{}'", end));
  const std::string_view result = rest_.substr(0, length);
  rest_.remove_prefix(length + end.size());
  return result;
}

}  // namespace isthmus
