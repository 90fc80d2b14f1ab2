// A size or an integer argument: a number, or an expression over the symbols of its graph.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "ir/ids.h"

namespace isthmus {

class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(std::int64_t value) : value_(value) {}  // NOLINT: a number is a Dim
  constexpr explicit Dim(ExprId expr) : expr_(expr.index) {}

  constexpr bool is_fixed() const { return expr_ == kNoExpr; }
  std::int64_t value() const {
    CHECK(is_fixed(), "the value of a symbolic dimension was asked for");
    return value_;
  }
  ExprId expr() const {
    CHECK(!is_fixed(), "the expression of a fixed dimension was asked for");
    return ExprId{expr_};
  }
  constexpr bool is(std::int64_t number) const { return is_fixed() && value_ == number; }

  auto operator<=>(const Dim&) const = default;

 private:
  static constexpr std::uint32_t kNoExpr = std::numeric_limits<std::uint32_t>::max();
  std::int64_t value_ = 0;
  std::uint32_t expr_ = kNoExpr;
};

}  // namespace isthmus
