// A reader of the part of srepr that sizes use.
#include "frontends/torch/srepr.h"

#include <charconv>

#include "ir/literals.h"

namespace isthmus {
namespace {

constexpr std::string_view kSymbolStart = "Symbol('";
constexpr int kMaxDepth = 64;

class SreprReader {
 public:
  SreprReader(Exprs& exprs, std::string_view text) : exprs_(exprs), rest_(text) {}

  std::optional<Dim> whole() {
    auto dim = expression(0);
    skip_spaces();
    return rest_.empty() ? dim : std::nullopt;
  }

 private:
  using Operands = std::vector<Dim>;
  struct Function {
    std::string_view name;
    std::size_t min;  // operands
    std::size_t max;
    std::optional<Dim> (*apply)(Exprs&, const Operands&);
  };

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool take(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::optional<Dim> expression(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (take("Integer(")) return integer();
    if (take(kSymbolStart)) return symbol();
    for (const Function& function : kFunctions) {
      const std::string_view before = rest_;
      if (take(function.name) && take("(")) return call(function, depth);
      rest_ = before;
    }
    return std::nullopt;
  }

  std::optional<Dim> integer() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return take(")") ? std::optional(Dim(value)) : std::nullopt;
  }

  // The assumptions after the name say nothing that the ranges do not say better.
  std::optional<Dim> symbol() {
    const std::size_t end = rest_.find('\'');
    const std::size_t close = rest_.find(')');
    if (end == std::string_view::npos || close == std::string_view::npos || close < end) return std::nullopt;
    const std::string_view name = rest_.substr(0, end);
    rest_.remove_prefix(close + 1);
    if (exprs_.find_symbol(name) == nullptr) return std::nullopt;
    return exprs_.symbol(name);
  }

  std::optional<Dim> call(const Function& function, int depth) {
    Operands operands;
    do {
      const auto operand = expression(depth + 1);
      if (!operand || operands.size() >= function.max) return std::nullopt;
      operands.push_back(*operand);
    } while (take(","));
    if (!take(")") || operands.size() < function.min) return std::nullopt;
    return function.apply(exprs_, operands);
  }

  template <Dim (Exprs::*combine)(Dim, Dim)>
  static std::optional<Dim> fold(Exprs& exprs, const Operands& operands) {
    Dim result = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) result = (exprs.*combine)(result, operands[i]);
    return result;
  }

  static std::optional<Dim> power(Exprs& exprs, const Operands& operands) {
    if (!operands[1].is_fixed() || operands[1].value() < 0 || operands[1].value() > 8) return std::nullopt;
    Dim result(1);
    for (std::int64_t i = 0; i < operands[1].value(); ++i) result = exprs.multiply(result, operands[0]);
    return result;
  }

  static constexpr Function kFunctions[] = {
      {.name = "Add", .min = 1, .max = 64, .apply = fold<&Exprs::add>},
      {.name = "Mul", .min = 1, .max = 64, .apply = fold<&Exprs::multiply>},
      {.name = "Max", .min = 1, .max = 64, .apply = fold<&Exprs::max>},
      {.name = "Min", .min = 1, .max = 64, .apply = fold<&Exprs::min>},
      {.name = "FloorDiv", .min = 2, .max = 2, .apply = fold<&Exprs::floor_divide>},
      {.name = "CleanDiv", .min = 2, .max = 2, .apply = fold<&Exprs::floor_divide>},
      {.name = "PythonMod", .min = 2, .max = 2, .apply = fold<&Exprs::modulo>},
      {.name = "Mod", .min = 2, .max = 2, .apply = fold<&Exprs::modulo>},
      {.name = "Pow", .min = 2, .max = 2, .apply = power},
  };

  Exprs& exprs_;
  std::string_view rest_;
};

}  // namespace

Dim dim_from_srepr(Exprs& exprs, std::string_view text, std::optional<std::int64_t> hint) {
  const auto dim = SreprReader(exprs, text).whole();
  return dim ? *dim : exprs.opaque(text, hint);
}

std::vector<std::string> symbol_names_in_srepr(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find(kSymbolStart); at != std::string_view::npos; at = text.find(kSymbolStart, at)) {
    at += kSymbolStart.size();
    const std::size_t end = text.find('\'', at);
    if (end == std::string_view::npos) break;
    std::string name(text.substr(at, end - at));
    if (is_symbol_name(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace isthmus
