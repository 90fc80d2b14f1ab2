// Polynomial arithmetic and normal forms of symbolic dimensions.
#include "ir/exprs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

namespace isthmus {
namespace {

constexpr std::size_t kMaxTerms = 64;
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxTextBytes = 4096;

std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> checked_floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

using Number = std::optional<std::int64_t>;

// Applies `f` where both are known.
template <class F>
Number both(const Number& a, const Number& b, F f) {
  return a && b ? f(*a, *b) : std::nullopt;
}

Bounds sum(const Bounds& a, const Bounds& b) {
  return {both(a.min, b.min, checked_add), both(a.max, b.max, checked_add)};
}

// Bounds of a product; only factors that are known not to be negative are understood, constants excepted.
Bounds scaled(const Bounds& a, std::int64_t factor) {
  const auto times = [&](const Number& x) { return x ? checked_multiply(*x, factor) : std::nullopt; };
  return factor >= 0 ? Bounds{times(a.min), times(a.max)} : Bounds{times(a.max), times(a.min)};
}
Bounds product_of_nonnegative(const Bounds& a, const Bounds& b) {
  if (!a.min || !b.min || *a.min < 0 || *b.min < 0) return {};
  return {both(a.min, b.min, checked_multiply), both(a.max, b.max, checked_multiply)};
}

}  // namespace

void Exprs::declare(Symbol symbol) {
  CHECK(!symbol_index_.contains(symbol.name), "symbol " + symbol.name + " is declared twice");
  symbol_index_.emplace(symbol.name, symbols_.size());
  symbols_.push_back(std::move(symbol));
}

const Symbol* Exprs::find_symbol(std::string_view name) const {
  const auto found = symbol_index_.find(name);
  return found == symbol_index_.end() ? nullptr : &symbols_[found->second];
}

Dim Exprs::symbol(std::string_view name) {
  CHECK(find_symbol(name) != nullptr, fmt::format("symbol {} is not declared", name));
  return intern_atom({AtomKind::kSymbol, std::string(name), {}, {}, std::string(name), 0});
}

Dim Exprs::opaque(std::string_view text, std::optional<std::int64_t> hint) {
  std::string kept;
  for (const char c : text.substr(0, kMaxTextBytes)) kept += (c == '"' || c == '\\' || c < ' ') ? '?' : c;
  std::string shown = hint ? fmt::format("opaque(\"{}\",{})", kept, *hint) : fmt::format("opaque(\"{}\")", kept);
  return intern_atom({AtomKind::kOpaque, std::move(kept), {}, hint, std::move(shown), 0});
}

Dim Exprs::give_up(std::string_view operation, Dim a, Dim b) {
  const auto at_export = [&](Number x, Number y) -> Number {
    if (!x || !y) return std::nullopt;
    if (operation == "add") return checked_add(*x, *y);
    if (operation == "multiply") return checked_multiply(*x, *y);
    if (operation == "floordiv") return checked_floor_divide(*x, *y);
    return std::nullopt;
  };
  return opaque(fmt::format("{}({},{})", operation, text(a), text(b)), at_export(hint(a), hint(b)));
}

Exprs::Polynomial Exprs::polynomial(Dim dim) const {
  if (!dim.is_fixed()) return exprs_[dim.expr().index];
  if (dim.is(0)) return {};
  return {Term{dim.value(), {}}};
}

// Longer products first, then by the text of their atoms: the constant term comes last.
bool Exprs::precedes(const Term& a, const Term& b) const {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size();
  return std::ranges::lexicographical_compare(
      a.atoms, b.atoms, {}, [&](auto i) -> const std::string& { return atoms_[i].text; },
      [&](auto i) -> const std::string& { return atoms_[i].text; });
}

// Sorts the terms, adds up equal ones and drops zeros; nothing on overflow or too many terms.
std::optional<Exprs::Polynomial> Exprs::collect(Polynomial terms) const {
  std::ranges::sort(terms, [&](const Term& a, const Term& b) { return precedes(a, b); });
  Polynomial result;
  for (Term& term : terms) {
    if (!result.empty() && result.back().atoms == term.atoms) {
      const auto total = checked_add(result.back().coefficient, term.coefficient);
      if (!total) return std::nullopt;
      result.back().coefficient = *total;
    } else {
      result.push_back(std::move(term));
    }
  }
  std::erase_if(result, [](const Term& term) { return term.coefficient == 0; });
  if (result.size() > kMaxTerms) return std::nullopt;
  return result;
}

std::optional<Exprs::Polynomial> Exprs::times(const Polynomial& a, const Polynomial& b) const {
  Polynomial terms;
  for (const Term& x : a) {
    for (const Term& y : b) {
      const auto coefficient = checked_multiply(x.coefficient, y.coefficient);
      if (!coefficient || x.atoms.size() + y.atoms.size() > kMaxDepth) return std::nullopt;
      Term term{*coefficient, {}};
      std::ranges::merge(
          x.atoms, y.atoms, std::back_inserter(term.atoms), {},
          [&](auto i) -> const std::string& { return atoms_[i].text; },
          [&](auto i) -> const std::string& { return atoms_[i].text; });
      terms.push_back(std::move(term));
    }
  }
  return collect(std::move(terms));
}

std::string Exprs::text_of(const Polynomial& polynomial) const {
  std::string result;
  for (const Term& term : polynomial) {
    std::string factors;
    for (const std::uint32_t atom : term.atoms) factors += (factors.empty() ? "" : "*") + atoms_[atom].text;
    if (term.coefficient >= 0 && !result.empty()) result += '+';
    if (factors.empty()) {
      result += std::to_string(term.coefficient);
    } else if (term.coefficient == -1) {
      result += "-" + factors;
    } else {
      result += (term.coefficient == 1 ? "" : std::to_string(term.coefficient) + "*") + factors;
    }
  }
  return result;
}

Dim Exprs::intern(Polynomial polynomial) {
  if (polynomial.empty()) return Dim(0);
  if (polynomial.size() == 1 && polynomial[0].atoms.empty()) return Dim(polynomial[0].coefficient);
  std::string key = text_of(polynomial);
  const auto [entry, is_new] = expr_by_text_.emplace(std::move(key), static_cast<std::uint32_t>(exprs_.size()));
  if (is_new) {
    exprs_.push_back(std::move(polynomial));
    expr_texts_.push_back(entry->first);
  }
  return Dim(ExprId{entry->second});
}

Dim Exprs::intern_atom(Atom atom) {
  for (const Dim argument : atom.arguments) {
    for (const Term& term : polynomial(argument)) {
      for (const std::uint32_t inner : term.atoms) atom.depth = std::max(atom.depth, atoms_[inner].depth + 1);
    }
  }
  if ((atom.depth > kMaxDepth || atom.text.size() > kMaxTextBytes) && atom.kind != AtomKind::kOpaque) {
    return opaque(atom.text, std::nullopt);
  }
  const auto [entry, is_new] = atom_by_text_.emplace(atom.text, static_cast<std::uint32_t>(atoms_.size()));
  if (is_new) atoms_.push_back(std::move(atom));
  return intern({Term{1, {entry->second}}});
}

Dim Exprs::add(Dim a, Dim b) {
  if (a.is_fixed() && b.is_fixed()) {
    const auto total = checked_add(a.value(), b.value());
    return total ? Dim(*total) : give_up("add", a, b);
  }
  Polynomial terms = polynomial(a);
  std::ranges::copy(polynomial(b), std::back_inserter(terms));
  auto result = collect(std::move(terms));
  return result ? intern(std::move(*result)) : give_up("add", a, b);
}

Dim Exprs::multiply(Dim a, Dim b) {
  if (a.is_fixed() && b.is_fixed()) {
    const auto total = checked_multiply(a.value(), b.value());
    return total ? Dim(*total) : give_up("multiply", a, b);
  }
  auto result = times(polynomial(a), polynomial(b));
  return result ? intern(std::move(*result)) : give_up("multiply", a, b);
}

Dim Exprs::product(std::span<const Dim> dims) {
  Dim result(1);
  for (const Dim dim : dims) result = multiply(result, dim);
  return result;
}

std::optional<Dim> Exprs::divide_exactly(Dim a, Dim b) {
  if (b.is(0)) return std::nullopt;
  const Polynomial divisor = polynomial(b);
  Polynomial rest = polynomial(a);
  Polynomial quotient;
  // Long division by the divisor's first term; exact division ends after one step per term of the quotient.
  for (std::size_t step = 0; !rest.empty(); ++step) {
    if (step > kMaxTerms) return std::nullopt;
    Term factor;
    std::vector<std::uint32_t> left = divisor.front().atoms;
    for (const std::uint32_t atom : rest.front().atoms) {
      const auto found = std::ranges::find(left, atom);
      if (found == left.end()) {
        factor.atoms.push_back(atom);
      } else {
        left.erase(found);
      }
    }
    if (!left.empty() || divisor.front().coefficient == 0) return std::nullopt;
    if (divisor.front().coefficient == -1 || rest.front().coefficient % divisor.front().coefficient != 0)
      return std::nullopt;
    factor.coefficient = rest.front().coefficient / divisor.front().coefficient;
    if (factor.coefficient == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    auto taken = times({Term{-factor.coefficient, factor.atoms}}, divisor);
    if (!taken) return std::nullopt;
    std::ranges::copy(rest, std::back_inserter(*taken));
    auto remaining = collect(std::move(*taken));
    if (!remaining) return std::nullopt;
    rest = std::move(*remaining);
    quotient.push_back(std::move(factor));
  }
  auto result = collect(std::move(quotient));
  if (!result) return std::nullopt;
  return intern(std::move(*result));
}

Dim Exprs::floor_divide(Dim a, Dim b) {
  if (a.is_fixed() && b.is_fixed()) {
    const auto quotient = checked_floor_divide(a.value(), b.value());
    return quotient ? Dim(*quotient) : give_up("floordiv", a, b);
  }
  if (b.is_fixed() && b.value() > 0) {
    const std::int64_t divisor = b.value();
    Polynomial whole;
    Polynomial rest;
    for (const Term& term : polynomial(a)) {
      const std::int64_t quotient = *checked_floor_divide(term.coefficient, divisor);
      if (quotient != 0) whole.push_back({quotient, term.atoms});
      const std::int64_t remainder = term.coefficient - quotient * divisor;
      if (remainder != 0) rest.push_back({remainder, term.atoms});
    }
    const Dim outside = intern(std::move(whole));
    const Dim inside = intern(std::move(rest));
    const Bounds range = bounds(inside);
    if (range.min && *range.min >= 0 && range.max && *range.max < divisor) return outside;
    return add(
        outside,
        intern_atom(
            {AtomKind::kFloorDiv, {}, {inside, b}, {}, fmt::format("floordiv({},{})", text(inside), divisor), 0}));
  }
  if (const auto exact = divide_exactly(a, b)) return *exact;
  return intern_atom({AtomKind::kFloorDiv, {}, {a, b}, {}, fmt::format("floordiv({},{})", text(a), text(b)), 0});
}

Dim Exprs::extremum(AtomKind kind, Dim a, Dim b) {
  if (a == b) return a;
  const Bounds difference = bounds(subtract(a, b));
  const bool a_is_larger = difference.min && *difference.min >= 0;
  const bool b_is_larger = difference.max && *difference.max <= 0;
  if (a_is_larger || b_is_larger) return (a_is_larger == (kind == AtomKind::kMax)) ? a : b;
  if (text(b) < text(a)) std::swap(a, b);
  return intern_atom(
      {kind, {}, {a, b}, {}, fmt::format("{}({},{})", kind == AtomKind::kMax ? "max" : "min", text(a), text(b)), 0});
}

std::vector<Exprs::Summand> Exprs::summands(Dim dim) const {
  std::vector<Summand> result;
  for (const Term& term : polynomial(dim)) {
    result.push_back({term.coefficient, {}});
    for (const std::uint32_t index : term.atoms) {
      result.back().factors.push_back({atoms_[index].kind, atoms_[index].name, atoms_[index].arguments});
    }
  }
  return result;
}

Expected<std::int64_t> Exprs::evaluate(Dim dim, const SymbolValues& values) const {
  return evaluate(dim, values, Opaque::kRefused);
}

Expected<std::int64_t> Exprs::evaluate(Dim dim, const SymbolValues& values, Opaque opaque) const {
  if (dim.is_fixed()) return dim.value();
  const auto overflow = [&] { return bad_input(fmt::format("{} overflows for these sizes", text(dim))); };
  std::int64_t total = 0;
  for (const Term& term : exprs_[dim.expr().index]) {
    std::int64_t product = term.coefficient;
    for (const std::uint32_t index : term.atoms) {
      const Atom& atom = atoms_[index];
      Number value;
      if (atom.kind == AtomKind::kSymbol) {
        const auto found = values.find(atom.name);
        if (found == values.end()) return bad_input(fmt::format("no value is known for symbol {}", atom.name));
        value = found->second;
      } else if (atom.kind == AtomKind::kOpaque) {
        if (opaque == Opaque::kRefused || !atom.hint) return bad_input(fmt::format("cannot evaluate {}", atom.text));
        value = atom.hint;
      } else {
        const std::int64_t x = TRY(evaluate(atom.arguments[0], values, opaque));
        const std::int64_t y = TRY(evaluate(atom.arguments[1], values, opaque));
        if (atom.kind == AtomKind::kFloorDiv) value = checked_floor_divide(x, y);
        if (atom.kind == AtomKind::kMax) value = std::max(x, y);
        if (atom.kind == AtomKind::kMin) value = std::min(x, y);
      }
      const Number next = value ? checked_multiply(product, *value) : std::nullopt;
      if (!next) return overflow();
      product = *next;
    }
    const Number next = checked_add(total, product);
    if (!next) return overflow();
    total = *next;
  }
  return total;
}

std::optional<std::int64_t> Exprs::hint(Dim dim) const {
  if (dim.is_fixed()) return dim.value();
  SymbolValues values;
  for (const Symbol& symbol : symbols_) {
    if (symbol.hint) values.emplace(symbol.name, *symbol.hint);
  }
  const auto value = evaluate(dim, values, Opaque::kAsAtExport);
  return value ? Number(*value) : std::nullopt;
}

Bounds Exprs::bounds_of(const Atom& atom) const {
  switch (atom.kind) {
    case AtomKind::kSymbol: {
      const Symbol* symbol = find_symbol(atom.name);
      return {symbol->min, symbol->max};
    }
    case AtomKind::kFloorDiv: {
      const Bounds divisor = bounds(atom.arguments[1]);
      if (!divisor.min || divisor.min != divisor.max || *divisor.min <= 0) return {};
      const Bounds dividend = bounds(atom.arguments[0]);
      return {both(dividend.min, divisor.min, checked_floor_divide),
              both(dividend.max, divisor.min, checked_floor_divide)};
    }
    case AtomKind::kMax:
    case AtomKind::kMin: {
      const Bounds a = bounds(atom.arguments[0]);
      const Bounds b = bounds(atom.arguments[1]);
      const bool is_max = atom.kind == AtomKind::kMax;
      const auto pick = [&](const Number& x, const Number& y, bool one_is_enough) -> Number {
        if (x && y) return is_max ? std::max(*x, *y) : std::min(*x, *y);
        return one_is_enough ? (x ? x : y) : std::nullopt;
      };
      return {pick(a.min, b.min, is_max), pick(a.max, b.max, !is_max)};
    }
    case AtomKind::kOpaque:
      return {};
  }
  return {};
}

Bounds Exprs::bounds(Dim dim) const {
  if (dim.is_fixed()) return {dim.value(), dim.value()};
  Bounds total{0, 0};
  for (const Term& term : exprs_[dim.expr().index]) {
    Bounds product{1, 1};
    for (const std::uint32_t index : term.atoms) {
      const Bounds factor = bounds_of(atoms_[index]);
      product = product == Bounds{1, 1} ? factor : product_of_nonnegative(product, factor);
    }
    total = sum(total, scaled(product, term.coefficient));
  }
  return total;
}

std::vector<std::string> Exprs::symbols_in(Dim dim) const {
  std::set<std::string> names;
  std::vector<Dim> open{dim};
  while (!open.empty()) {
    const Dim next = open.back();
    open.pop_back();
    for (const Term& term : polynomial(next)) {
      for (const std::uint32_t index : term.atoms) {
        const Atom& atom = atoms_[index];
        if (atom.kind == AtomKind::kSymbol) names.insert(atom.name);
        std::ranges::copy(atom.arguments, std::back_inserter(open));
      }
    }
  }
  return {names.begin(), names.end()};
}

std::string Exprs::text(Dim dim) const {
  return dim.is_fixed() ? std::to_string(dim.value()) : expr_texts_[dim.expr().index];
}

Dim Exprs::import(const Exprs& from, Dim dim, const SymbolValues& numbers) {
  if (dim.is_fixed()) return dim;
  const auto atom_here = [&](const Atom& atom) -> Dim {
    const auto argument = [&](std::size_t i) { return import(from, atom.arguments[i], numbers); };
    switch (atom.kind) {
      case AtomKind::kSymbol: {
        const auto number = numbers.find(atom.name);
        return number != numbers.end() ? Dim(number->second) : symbol(atom.name);
      }
      case AtomKind::kFloorDiv:
        return floor_divide(argument(0), argument(1));
      case AtomKind::kMax:
      case AtomKind::kMin: {
        Dim result = argument(0);
        for (std::size_t i = 1; i < atom.arguments.size(); ++i) result = extremum(atom.kind, result, argument(i));
        return result;
      }
      case AtomKind::kOpaque:
        return opaque(atom.name, atom.hint);
    }
    return Dim(0);
  };
  Dim sum = 0;
  for (const Term& term : from.polynomial(dim)) {
    Dim product = term.coefficient;
    for (const std::uint32_t atom : term.atoms) product = multiply(product, atom_here(from.atoms_[atom]));
    sum = add(sum, product);
  }
  return sum;
}

}  // namespace isthmus
