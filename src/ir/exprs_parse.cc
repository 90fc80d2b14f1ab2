// Reads the text form of a symbolic dimension: sums of products of integers, symbols and function calls.
#include <fmt/format.h>

#include <charconv>

#include "ir/exprs.h"

namespace isthmus {
namespace {

class ExprParser {
 public:
  ExprParser(Exprs& exprs, std::string_view text) : exprs_(exprs), text_(text), rest_(text) {}

  Expected<Dim> whole() {
    const Dim dim = TRY(sum(0));
    if (!rest_.empty()) return wrong("the end");
    return dim;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view expected) const {
    return bad_input(
        fmt::format("dimension '{}': expected {} at column {}", text_, expected, text_.size() - rest_.size() + 1));
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  static bool in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  Expected<Dim> sum(int depth) {
    if (depth > 64) return wrong("less nesting");
    Dim total = TRY(product(depth));
    while (true) {
      if (take('+')) {
        total = exprs_.add(total, TRY(product(depth)));
      } else if (!rest_.empty() && rest_.front() == '-') {
        total = exprs_.add(total, TRY(product(depth)));
      } else {
        return total;
      }
    }
  }

  Expected<Dim> product(int depth) {
    bool is_negative = false;
    if (rest_.size() > 1 && rest_[0] == '-' && !(rest_[1] >= '0' && rest_[1] <= '9')) is_negative = take('-');
    Dim total = TRY(factor(depth));
    while (take('*')) total = exprs_.multiply(total, TRY(factor(depth)));
    return is_negative ? exprs_.multiply(total, -1) : total;
  }

  Expected<std::int64_t> integer() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return wrong("a 64-bit integer");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  Expected<Dim> factor(int depth) {
    if (rest_.empty()) return wrong("a number, a symbol or a function");
    if (rest_.front() == '-' || (rest_.front() >= '0' && rest_.front() <= '9')) return Dim(TRY(integer()));
    std::size_t length = 0;
    while (length < rest_.size() && in_name(rest_[length])) ++length;
    const std::string_view name = rest_.substr(0, length);
    if (name.empty()) return wrong("a number, a symbol or a function");
    rest_.remove_prefix(length);
    if (take('(')) return call(name, depth);
    if (exprs_.find_symbol(name) == nullptr) return bad_input(fmt::format("symbol {} is not declared", name));
    return exprs_.symbol(name);
  }

  Expected<Dim> call(std::string_view name, int depth) {
    if (name == "opaque") return opaque();
    const Dim a = TRY(sum(depth + 1));
    if (!take(',')) return wrong("','");
    const Dim b = TRY(sum(depth + 1));
    if (!take(')')) return wrong("')'");
    if (name == "floordiv") return exprs_.floor_divide(a, b);
    if (name == "max") return exprs_.max(a, b);
    if (name == "min") return exprs_.min(a, b);
    return bad_input(fmt::format("dimension '{}': unknown function {}", text_, name));
  }

  Expected<Dim> opaque() {
    if (!take('"')) return wrong("'\"'");
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) return wrong("a closing '\"'");
    const std::string_view inner = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    std::optional<std::int64_t> hint;
    if (take(',')) hint = TRY(integer());
    if (!take(')')) return wrong("')'");
    return exprs_.opaque(inner, hint);
  }

  Exprs& exprs_;
  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

Expected<Dim> Exprs::parse(std::string_view text) { return ExprParser(*this, text).whole(); }

}  // namespace isthmus
