// Functions of one or two numbers that the delegate lacks, by those that it has.
#include <cmath>
#include <numbers>

#include "base/portable_math.h"
#include "ops/known.h"
#include "transforms/legalize/formula.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

using std::numbers::ln10;
using std::numbers::ln2;
using std::numbers::pi;

Term square(Term x) { return x * x; }
// log(1 + exp(x)) without overflow.
Term soft_plus(Term x) { return positive_part(x) + log(1.0 + exp(-abs(x))); }
Term truncated(Term x) { return floor(positive_part(x)) + ceil(negative_part(x)); }
Term sign(Term x) { return ceil(clamp(x, 0, 1)) + floor(clamp(x, -1, 0)); }
// 1 or -1; at 0 it does not matter to those who use it.
Term side(Term x) { return 2.0 * is_positive(x) - 1.0; }

// Abramowitz and Stegun 7.1.26: within 1.5e-7.
Term error_function(Term x) {
  const Term t = 1.0 / (1.0 + 0.3275911 * abs(x));
  const Term sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return side(x) * (1.0 - sum * exp(-square(x)));
}

// Abramowitz and Stegun 4.4.49 for |z| <= 1: within 2e-8.
Term arctangent_up_to_one(Term z) {
  const Term u = square(z);
  Term sum = u * 0.0028662257 + -0.0161657367;
  for (const double next :
       {0.0429096138, -0.0752896400, 0.1065626393, -0.1420889944, 0.1999355085, -0.3333314528, 1.0}) {
    sum = sum * u + next;
  }
  return z * sum;
}
// The angle of (x, y) with both not negative.
Term angle_of(Term y, Term x) {
  const Term z = minimum(x, y) / clamp(maximum(x, y), 1e-37, std::numeric_limits<double>::infinity());
  const Term angle = arctangent_up_to_one(z);
  return angle + is_positive(y - x) * (pi / 2 - 2.0 * angle);
}
Term arctangent(Term x) {
  const Term one = x.formula->number(1, x);
  return side(x) * angle_of(abs(x), one);
}
Term arcsine(Term x) { return arctangent(x * rsqrt(clamp((1.0 - x) * (1.0 + x), 1e-37, 1))); }

template <class A>
const A& as(const Attrs& attrs) {
  return std::get<A>(attrs);
}

struct UnaryRow {
  Op op;
  Term (*form)(Term x, const Attrs& attrs);
};
constexpr UnaryRow kUnary[] = {
    {Op::kSign, [](Term x, const Attrs&) { return sign(x); }},
    {Op::kExp2, [](Term x, const Attrs&) { return exp(x * ln2); }},
    {Op::kExpm1, [](Term x, const Attrs&) { return exp(x) - 1.0; }},
    {Op::kLog2, [](Term x, const Attrs&) { return log(x) * (1 / ln2); }},
    {Op::kLog10, [](Term x, const Attrs&) { return log(x) * (1 / ln10); }},
    {Op::kLog1p, [](Term x, const Attrs&) { return log(x + 1.0); }},
    {Op::kReciprocal, [](Term x, const Attrs&) { return 1.0 / x; }},
    {Op::kTan, [](Term x, const Attrs&) { return sin(x) / cos(x); }},
    {Op::kAsin, [](Term x, const Attrs&) { return arcsine(x); }},
    {Op::kAcos, [](Term x, const Attrs&) { return pi / 2 - arcsine(x); }},
    {Op::kAtan, [](Term x, const Attrs&) { return arctangent(x); }},
    {Op::kSinh, [](Term x, const Attrs&) { return 0.5 * (exp(x) - exp(-x)); }},
    {Op::kCosh, [](Term x, const Attrs&) { return 0.5 * (exp(x) + exp(-x)); }},
    {Op::kAsinh, [](Term x, const Attrs&) { return side(x) * log(abs(x) + sqrt(square(x) + 1.0)); }},
    {Op::kAcosh, [](Term x, const Attrs&) { return log(x + sqrt((x - 1.0) * (x + 1.0))); }},
    {Op::kAtanh, [](Term x, const Attrs&) { return 0.5 * log((1.0 + x) / (1.0 - x)); }},
    {Op::kErf, [](Term x, const Attrs&) { return error_function(x); }},
    {Op::kErfc, [](Term x, const Attrs&) { return 1.0 - error_function(x); }},
    // Adding 1.5 * 2^23 leaves no room for a fraction: the sum is rounded to even as a tie should be.
    {Op::kRound,
     [](Term x, const Attrs&) {
       const Term small = clamp(x, -0x1p22, 0x1p22);
       return (small + 0x1.8p23 - 0x1.8p23) + (x - small);
     }},
    {Op::kTrunc, [](Term x, const Attrs&) { return truncated(x); }},
    {Op::kHardsigmoid, [](Term x, const Attrs&) { return clamp(x * (1.0 / 6) + 0.5, 0, 1); }},
    {Op::kMish, [](Term x, const Attrs&) { return x * tanh(soft_plus(x)); }},
    {Op::kLogSigmoid, [](Term x, const Attrs&) { return -soft_plus(-x); }},
    {Op::kSoftplus,
     [](Term x, const Attrs& attrs) {
       const auto& [beta, threshold] = as<SoftplusAttrs>(attrs);
       const Term scaled = beta == 1 ? x : x * beta;
       const Term soft = beta == 1 ? soft_plus(scaled) : soft_plus(scaled) * (1 / beta);
       // Beyond the threshold it is x itself; where that is large, the two are the same number.
       return threshold >= 20 ? soft : soft + is_positive(scaled - threshold) * (x - soft);
     }},
    {Op::kSoftshrink,
     [](Term x, const Attrs& attrs) {
       const double lambda = as<LambdaAttrs>(attrs).lambda;
       return x - clamp(x, -lambda, lambda);
     }},
    {Op::kHardshrink,
     [](Term x, const Attrs& attrs) { return x * is_positive(abs(x) - as<LambdaAttrs>(attrs).lambda); }},
};

struct BinaryRow {
  Op op;
  Term (*form)(Term a, Term b);
};
constexpr BinaryRow kBinary[] = {
    {Op::kFloorDiv, [](Term a, Term b) { return floor(a / b); }},
    {Op::kTruncDiv, [](Term a, Term b) { return truncated(a / b); }},
    {Op::kRemainder, [](Term a, Term b) { return a - b * floor(a / b); }},
    {Op::kFmod, [](Term a, Term b) { return a - b * truncated(a / b); }},
    {Op::kFmin, [](Term a, Term b) { return minimum(a, b); }},
    {Op::kFmax, [](Term a, Term b) { return maximum(a, b); }},
    {Op::kHypot, [](Term a, Term b) { return sqrt(square(a) + square(b)); }},
    {Op::kLogaddexp, [](Term a, Term b) { return maximum(a, b) + log(1.0 + exp(-abs(a - b))); }},
    {Op::kAtan2,
     [](Term y, Term x) {
       const Term angle = angle_of(abs(y), abs(x));
       return side(y) * (angle + is_positive(-x) * (pi - 2.0 * angle));
     }},
};

// x to a whole power, by squaring.
Term whole_power(Term x, int exponent) {
  if (exponent < 0) return 1.0 / whole_power(x, -exponent);
  if (exponent == 1) return x;
  const Term half = whole_power(x, exponent / 2);
  return exponent % 2 == 0 ? half * half : half * half * x;
}

std::optional<double> only_number(const TensorView* constant) {
  const auto numbers = numbers_of(constant);
  if (!numbers || numbers->size() != 1) return std::nullopt;
  return numbers->front();
}

bool has_equal_shapes(const Site& site) {
  return site.graph().type(site.inputs[0]).rank() >= site.graph().type(site.inputs[1]).rank();
}

}  // namespace

Replacement silu_by_sigmoid(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kSilu) return unchanged();
  Formula formula(site.emitter);
  const Term x = formula.of(site.inputs[0]);
  return replaced_by(formula.result(x * sigmoid(x)));
}

Replacement unary_forms(const Site& site) {
  if (!is_float(site) || site.inputs.empty() || site.graph().type(site.inputs[0]).dtype != DType::kF32) {
    return unchanged();
  }
  for (const UnaryRow& row : kUnary) {
    if (row.op != site.node.op) continue;
    Formula formula(site.emitter);
    return replaced_by(formula.result(row.form(formula.of(site.inputs[0]), site.node.attrs)));
  }
  return unchanged();
}

Replacement binary_forms(const Site& site) {
  if (!is_float(site) || site.inputs.size() != 2) return unchanged();
  for (const BinaryRow& row : kBinary) {
    if (row.op != site.node.op) continue;
    Formula formula(site.emitter);
    return replaced_by(formula.result(row.form(formula.of(site.inputs[0]), formula.of(site.inputs[1]))));
  }
  return unchanged();
}

Replacement power_forms(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kPow) return unchanged();
  constexpr double kMaxWhole = 32;
  Formula formula(site.emitter);
  if (const auto base = only_number(site.constant(0)); base && *base > 0) {
    return replaced_by(formula.result(exp(formula.of(site.inputs[1]) * portable::log(*base))));
  }
  const auto exponent = only_number(site.constant(1));
  if (!exponent || !has_equal_shapes(site)) return unchanged();
  const Term x = formula.of(site.inputs[0]);
  if (*exponent == 0.5) return replaced_by(formula.result(sqrt(x)));
  if (*exponent == -0.5) return replaced_by(formula.result(rsqrt(x)));
  if (*exponent == 0 || !std::isfinite(*exponent)) return unchanged();
  if (*exponent == std::floor(*exponent)) {
    if (std::abs(*exponent) > kMaxWhole) return unchanged();
    return replaced_by(formula.result(whole_power(x, static_cast<int>(*exponent))));
  }
  return replaced_by(formula.result(exp(log(x) * *exponent)));
}

Replacement gelu_by_tanh(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kGelu || !site.attrs<GeluAttrs>().tanh) return unchanged();
  Formula formula(site.emitter);
  const Term x = formula.of(site.inputs[0]);
  const Term inner = x * (1.0 + square(x) * 0.044715) * std::sqrt(2 / pi);
  return replaced_by(formula.result(x * (0.5 * tanh(inner) + 0.5)));
}

Replacement elu_by_exp(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kElu) return unchanged();
  const auto& attrs = site.attrs<EluAttrs>();
  if (attrs.scale == 1 && attrs.input_scale == 1 && attrs.alpha > 0) return unchanged();
  Formula formula(site.emitter);
  const Term x = formula.of(site.inputs[0]);
  const Term below = exp(negative_part(x) * attrs.input_scale) - 1.0;
  return replaced_by(formula.result(positive_part(x) * attrs.scale + below * (attrs.alpha * attrs.scale)));
}

// A clamp whose upper bound is not above the lower one gives the upper one.
Replacement clamp_to_one_number(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kClamp) return unchanged();
  const auto& attrs = site.attrs<ClampAttrs>();
  if (!(static_cast<float>(attrs.min) >= static_cast<float>(attrs.max)) || !std::isfinite(attrs.max))
    return unchanged();
  Formula formula(site.emitter);
  return replaced_by(formula.result(floor(clamp(formula.of(site.inputs[0]), 0, 0.5)) + attrs.max));
}

Replacement prelu_by_parts(const Site& site) {
  if (!is_float(site) || site.node.op != Op::kPrelu) return unchanged();
  Formula formula(site.emitter);
  const Term x = formula.of(site.inputs[0]);
  return replaced_by(formula.result(positive_part(x) + formula.of(site.inputs[1]) * negative_part(x)));
}

}  // namespace isthmus::rewrites
