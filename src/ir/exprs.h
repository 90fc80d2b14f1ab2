// The graph's table of integer expressions over its symbolic dimensions.
//
// An expression is kept as a polynomial in normal form, so two expressions that are equal by the rules below are one
// table entry and compare by id. The atoms of a polynomial are symbols, floordiv, max and min of expressions, and text
// that could not be understood. floordiv by a positive constant k keeps only coefficients in [0, k); mod is written
// with floordiv. Numbers that would overflow, and expressions beyond a size limit, become opaque atoms without a value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "ir/dim.h"
#include "ir/ids.h"

namespace isthmus {

// A dimension that is known only when the model runs.
struct Symbol {
  std::string name;
  std::optional<std::int64_t> min;  // nothing: no bound is known
  std::optional<std::int64_t> max;
  std::optional<std::int64_t> hint;  // its value at export time
  bool operator==(const Symbol&) const = default;
};

// Values for symbols, by name.
using SymbolValues = std::map<std::string, std::int64_t, std::less<>>;

struct Bounds {
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
  bool operator==(const Bounds&) const = default;
};

class Exprs {
 public:
  // Declares a symbol; a second declaration of one name is our caller's mistake.
  void declare(Symbol symbol);
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const Symbol* find_symbol(std::string_view name) const;

  Dim symbol(std::string_view name);  // declared before
  Dim add(Dim a, Dim b);
  Dim subtract(Dim a, Dim b) { return add(a, multiply(b, -1)); }
  Dim multiply(Dim a, Dim b);
  Dim floor_divide(Dim a, Dim b);
  Dim modulo(Dim a, Dim b) { return subtract(a, multiply(floor_divide(a, b), b)); }
  Dim max(Dim a, Dim b) { return extremum(AtomKind::kMax, a, b); }
  Dim min(Dim a, Dim b) { return extremum(AtomKind::kMin, a, b); }
  // Text that no rule here understands; it has the hint's value at export time and no other.
  Dim opaque(std::string_view text, std::optional<std::int64_t> hint);
  Dim product(std::span<const Dim> dims);

  // a / b where b divides a as polynomials; nothing otherwise.
  std::optional<Dim> divide_exactly(Dim a, Dim b);

  // Its value for given symbols; an error names the symbol without a value, or the opaque text.
  Expected<std::int64_t> evaluate(Dim dim, const SymbolValues& values) const;
  // Its value at export time, if all of its symbols have a hint.
  std::optional<std::int64_t> hint(Dim dim) const;
  // What the symbols' bounds say about it.
  Bounds bounds(Dim dim) const;
  // The names of the symbols in it, sorted, each once.
  std::vector<std::string> symbols_in(Dim dim) const;

  // How an expression is put together: a sum of products. What it refers to stays valid until the table grows.
  enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMax, kMin, kOpaque };
  struct Factor {
    AtomKind kind;
    std::string_view name;           // of a symbol; the text of an opaque factor
    std::span<const Dim> arguments;  // of floordiv, max, min
  };
  struct Summand {
    std::int64_t coefficient = 0;
    std::vector<Factor> factors;
  };
  std::vector<Summand> summands(Dim dim) const;

  // An expression of another table as one of this table, with these symbols replaced by numbers. The others must be
  // declared here.
  Dim import(const Exprs& from, Dim dim, const SymbolValues& numbers);

  // "4*s0+floordiv(s0+1,2)": the normal form, without spaces; `parse` reads it back.
  std::string text(Dim dim) const;
  Expected<Dim> parse(std::string_view text);

 private:
  struct Atom {
    AtomKind kind;
    std::string name;                  // of a symbol; the text of an opaque atom
    std::vector<Dim> arguments;        // of floordiv, max, min
    std::optional<std::int64_t> hint;  // of an opaque atom
    std::string text;
    std::size_t depth = 0;
  };
  struct Term {
    std::int64_t coefficient = 0;
    std::vector<std::uint32_t> atoms;  // sorted by text; an atom's power is how often it stands here
  };
  using Polynomial = std::vector<Term>;  // sorted, no two terms with equal atoms, no coefficient 0

  enum class Opaque : std::uint8_t { kRefused, kAsAtExport };
  Expected<std::int64_t> evaluate(Dim dim, const SymbolValues& values, Opaque opaque) const;
  Polynomial polynomial(Dim dim) const;
  Dim intern(Polynomial polynomial);
  Dim intern_atom(Atom atom);
  Dim extremum(AtomKind kind, Dim a, Dim b);
  Dim give_up(std::string_view operation, Dim a, Dim b);
  bool precedes(const Term& a, const Term& b) const;
  std::optional<Polynomial> collect(Polynomial terms) const;
  std::optional<Polynomial> times(const Polynomial& a, const Polynomial& b) const;
  std::string text_of(const Polynomial& polynomial) const;
  Bounds bounds_of(const Atom& atom) const;

  std::vector<Symbol> symbols_;
  std::map<std::string, std::size_t, std::less<>> symbol_index_;
  std::vector<Atom> atoms_;
  std::map<std::string, std::uint32_t, std::less<>> atom_by_text_;
  std::vector<Polynomial> exprs_;
  std::vector<std::string> expr_texts_;
  std::map<std::string, std::uint32_t, std::less<>> expr_by_text_;
};

}  // namespace isthmus
