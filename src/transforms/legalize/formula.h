// Arithmetic on values of a graph, written as arithmetic: for forms that are formulas.
#pragma once

#include <limits>
#include <optional>

#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {

class Formula;

// A value of a formula. Operators emit ops; the first failure is kept by the formula and ends it.
struct Term {
  Formula* formula;
  ValueId id;
};

class Formula {
 public:
  explicit Formula(Emitter& emitter) : emitter_(emitter) {}

  Term of(ValueId id) { return {this, id}; }
  Term number(double value, Term like) {
    return {this, rewrites::number(emitter_, value, emitter_.shape(like.id).size())};
  }
  Term emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
    const ValueId first = inputs[0];
    if (error_) return {this, first};
    Expected<ValueId> made = emitter_.emit(op, std::move(attrs), std::move(inputs));
    if (made) return {this, *made};
    error_ = std::move(made).error();
    return {this, first};
  }
  Expected<ValueId> result(Term term) {
    if (error_) return tl::unexpected<Error>(std::move(*error_));
    return term.id;
  }

 private:
  Emitter& emitter_;
  std::optional<Error> error_;
};

inline Term binary(Op op, Term a, Term b) { return a.formula->emit(op, NoAttrs{}, {a.id, b.id}); }
inline Term unary(Op op, Term x) { return x.formula->emit(op, NoAttrs{}, {x.id}); }

inline Term operator+(Term a, Term b) { return binary(Op::kAdd, a, b); }
inline Term operator-(Term a, Term b) { return binary(Op::kSub, a, b); }
inline Term operator*(Term a, Term b) { return binary(Op::kMul, a, b); }
inline Term operator/(Term a, Term b) { return binary(Op::kDiv, a, b); }
inline Term operator+(Term a, double b) { return a + a.formula->number(b, a); }
inline Term operator-(Term a, double b) { return a - a.formula->number(b, a); }
inline Term operator*(Term a, double b) { return a * a.formula->number(b, a); }
inline Term operator+(double a, Term b) { return b + a; }
inline Term operator*(double a, Term b) { return b * a; }
inline Term operator-(double a, Term b) { return b.formula->number(a, b) - b; }
inline Term operator/(double a, Term b) { return b.formula->number(a, b) / b; }
inline Term operator-(Term x) { return unary(Op::kNeg, x); }

inline Term exp(Term x) { return unary(Op::kExp, x); }
inline Term log(Term x) { return unary(Op::kLog, x); }
inline Term sqrt(Term x) { return unary(Op::kSqrt, x); }
inline Term rsqrt(Term x) { return unary(Op::kRsqrt, x); }
inline Term floor(Term x) { return unary(Op::kFloor, x); }
inline Term ceil(Term x) { return unary(Op::kCeil, x); }
inline Term abs(Term x) { return unary(Op::kAbs, x); }
inline Term sin(Term x) { return unary(Op::kSin, x); }
inline Term cos(Term x) { return unary(Op::kCos, x); }
inline Term tanh(Term x) { return unary(Op::kTanh, x); }
inline Term sigmoid(Term x) { return unary(Op::kSigmoid, x); }
inline Term minimum(Term a, Term b) { return binary(Op::kMinimum, a, b); }
inline Term maximum(Term a, Term b) { return binary(Op::kMaximum, a, b); }
inline Term clamp(Term x, double min, double max) { return x.formula->emit(Op::kClamp, ClampAttrs{min, max}, {x.id}); }
inline Term positive_part(Term x) { return clamp(x, 0, std::numeric_limits<double>::infinity()); }
inline Term negative_part(Term x) { return clamp(x, -std::numeric_limits<double>::infinity(), 0); }
// 1 where x > 0, else 0.
inline Term is_positive(Term x) { return ceil(clamp(x, 0, 1)); }

}  // namespace isthmus::rewrites
