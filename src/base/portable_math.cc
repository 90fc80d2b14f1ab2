// Reductions to short intervals, and series on these.
#include "base/portable_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace isthmus::portable {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Constants as a leading part with room for a factor, and the rest.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kHalfPiRest = 0x1.1a62633145c07p-54;

// The nearest whole number of one that is smaller than 2^51; adding this leaves no bits for a fraction.
double nearest(double x) {
  constexpr double kNoFraction = 0x1.8p52;
  return (x + kNoFraction) - kNoFraction;
}

// 2^n for a normal result.
double power_of_two(std::int64_t n) { return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52); }

// x * 2^n, with one rounding even where the result is subnormal.
double scaled(double x, std::int64_t n) {
  if (n > 1023) return x * 0x1p1023 * power_of_two(std::min<std::int64_t>(n - 1023, 1023));
  if (n < -1022) return x * power_of_two(std::max<std::int64_t>(n + 1000, -1022)) * 0x1p-1000;
  return x * power_of_two(n);
}

// 1/0!, 1/1!, ...
constexpr auto kInverseFactorials = [] {
  std::array<double, 20> result{};
  double factorial = 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i > 0) factorial *= static_cast<double>(i);
    result[i] = 1 / factorial;
  }
  return result;
}();

// The sum of x^k/k! from k = first to 14, divided by x^first; |x| <= 0.35.
template <int kFirst>
double exp_series(double x) {
  double sum = kInverseFactorials[14];
  for (int k = 13; k >= kFirst; --k) sum = sum * x + kInverseFactorials[static_cast<std::size_t>(k)];
  return sum;
}

// e^(rest + low) * 2^n
double exp_of_parts(double rest, double low, double n) {
  const double power = 1 + (rest + (rest * rest * exp_series<2>(rest) + low));
  return scaled(power, static_cast<std::int64_t>(n));
}

// The sum of z^k/(2k+1) from k = 1 on: atanh(s)/s - 1 of z = s^2; z <= 0.03.
double atanh_series(double z) {
  double sum = 0;
  for (int k = 11; k >= 1; --k) sum = (sum + 1.0 / (2 * k + 1)) * z;
  return sum;
}

// x = (1 + fraction) * 2^exponent with a number between sqrt(1/2) and sqrt(2) before the power.
struct LogParts {
  double fraction;
  double exponent;
};
LogParts log_parts(double x) {
  double exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const auto steps = static_cast<std::int64_t>(bits - kSqrtHalf) >> 52;
  const double between = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(steps) << 52));
  return {between - 1, exponent + static_cast<double>(steps)};
}

// log(1 + f) is f minus this.
double log_correction(double f) {
  const double s = f / (2 + f);
  return s * (f - 2 * atanh_series(s * s));
}

bool is_log_special(double x) { return !(x > 0 && x < kInfinity); }
double log_special(double x) {
  if (x == 0) return -kInfinity;
  return x < 0 ? kNaN : x;  // infinity and NaN
}

// x less a multiple of pi/2, as a number of at most pi/4 and the rest of it; which multiple, modulo 4.
struct Angle {
  double rest;
  double low;
  unsigned quadrant;
};

// 2/pi, 64 bits each, behind the point.
constexpr std::array<std::uint64_t, 20> kTwoOverPi{
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

// 64 bits of 2/pi from this bit behind the point on; those before the point are 0.
std::uint64_t two_over_pi_bits(int first) {
  if (first <= -64) return 0;
  if (first < 0) return kTwoOverPi[0] >> -first;
  const auto word = static_cast<std::size_t>(first / 64);
  const int shift = first % 64;
  if (shift == 0) return kTwoOverPi[word];
  return (kTwoOverPi[word] << shift) | (kTwoOverPi[word + 1] >> (64 - shift));
}

// Of a large number, which is whole * 2^exponent: whole * (2/pi) * 2^exponent modulo 4, in integers. Bits of 2/pi that
// only give multiples of 4 are left out; 192 bits of it follow.
Angle large_angle(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(std::abs(x));
  const int exponent = static_cast<int>(bits >> 52) - 1075;
  const std::uint64_t whole = (bits & 0xfffffffffffff) | (std::uint64_t{1} << 52);
  // The first bit weighs 2^1 after the shift by the exponent.
  const int first = exponent - 2;
  std::uint64_t high = two_over_pi_bits(first);
  const std::uint64_t middle = two_over_pi_bits(first + 64);
  const std::uint64_t low = two_over_pi_bits(first + 128);
  __extension__ using Wide = unsigned __int128;
  const Wide low_product = static_cast<Wide>(low) * whole;
  const Wide middle_product = static_cast<Wide>(middle) * whole + (low_product >> 64);
  high = high * whole + static_cast<std::uint64_t>(middle_product >> 64);  // what overflows is a multiple of 4
  auto next = static_cast<std::uint64_t>(middle_product);
  // Two bits of quadrant, then a fraction of it; the nearest multiple instead of the one below.
  auto quadrant = static_cast<unsigned>(high >> 62);
  const bool is_above = ((high >> 61) & 1) != 0;
  high = (high << 2) | (next >> 62);
  next <<= 2;
  double sign = 1;
  if (is_above) {
    ++quadrant;
    high = ~high;
    next = ~next;
    sign = -1;
  }
  const double fraction = static_cast<double>(high) * 0x1p-64 + static_cast<double>(next) * 0x1p-128;
  const bool is_negative = x < 0;
  const double rest = fraction * kHalfPi * sign;
  return {is_negative ? -rest : rest, 0, (is_negative ? 0U - quadrant : quadrant) & 3};
}

Angle angle_of(double x) {
  if (std::abs(x) > 0x1p20) return large_angle(x);
  // Products with the first two parts are exact.
  constexpr double kPart1 = 0x1.921fb544p+0;
  constexpr double kPart2 = 0x1.0b4611a6p-34;
  constexpr double kPart3 = 0x1.3198a2e037073p-69;
  const double n = nearest(x * (2 / std::numbers::pi));
  const double first = x - n * kPart1;
  const double second = n * kPart2;
  const double sum = first - second;
  const double low = ((first - sum) - second) - n * kPart3;
  const double rest = sum + low;
  return {rest, (sum - rest) + low, static_cast<unsigned>(static_cast<std::int64_t>(n)) & 3};
}

// Of at most pi/4.
double sin_series(double x, double low) {
  const double z = x * x;
  double sum = 0;
  for (std::size_t k = 17; k >= 3; k -= 2)
    sum = (k % 4 == 1 ? kInverseFactorials[k] : -kInverseFactorials[k]) + sum * z;
  return x + (x * z * sum + low * (1 - z / 2));
}
double cos_series(double x, double low) {
  const double z = x * x;
  double sum = 0;
  for (std::size_t k = 18; k >= 4; k -= 2)
    sum = (k % 4 == 0 ? kInverseFactorials[k] : -kInverseFactorials[k]) + sum * z;
  const double half = z / 2;
  const double max = 1 - half;
  return max + (((1 - max) - half) + (z * z * sum - x * low));
}

double sin_of(const Angle& angle) {
  const double size = angle.quadrant % 2 == 0 ? sin_series(angle.rest, angle.low) : cos_series(angle.rest, angle.low);
  return angle.quadrant < 2 ? size : -size;
}

// Of at most tan(pi/12).
double atan_series(double x) {
  const double z = x * x;
  double sum = 0;
  for (int k = 14; k >= 1; --k) sum = ((k % 2 == 0 ? 1.0 : -1.0) / (2 * k + 1) + sum) * z;
  return x + x * sum;
}

// erf by its derivatives at the nearest multiple of 1/8. Beyond 6 it is 1.
constexpr double kErfStep = 0.125;
constexpr std::size_t kErfTerms = 14;
struct ErfRow {
  double value;
  std::array<double, kErfTerms> terms;  // of (x - center)^1, ^2, ...
};

// 2/sqrt(pi) e^(-x^2) times the sum of 2^n x^(2n+1) / (1 * 3 * ... (2n+1)), in which nothing cancels.
double erf_sum(double x) {
  double term = x;
  double sum = 0;
  for (int n = 0; n < 200; ++n) {
    sum += term;
    term *= 2 * x * x / (2 * n + 3);
  }
  return 2 * std::numbers::inv_sqrtpi * exp(-x * x) * sum;
}

std::array<ErfRow, 50> make_erf_rows() {
  std::array<ErfRow, 50> rows{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double center = static_cast<double>(i) * kErfStep;
    rows[i].value = erf_sum(center);
    // The derivative g has g' = -2 x g, which gives its terms one from the two before.
    double before = 0;
    double here = 2 * std::numbers::inv_sqrtpi * exp(-center * center);
    for (std::size_t k = 0; k < kErfTerms; ++k) {
      rows[i].terms[k] = here / static_cast<double>(k + 1);
      const double next = -2 * (center * here + before) / static_cast<double>(k + 1);
      before = here;
      here = next;
    }
  }
  return rows;
}

// Of an integer that is small enough for its bits to be multiplied one by one.
double whole_power(double base, double exponent) {
  auto left = static_cast<std::uint32_t>(std::abs(exponent));
  double result = 1;
  for (double square = base; left > 0; left >>= 1, square *= square) {
    if ((left & 1) != 0) result *= square;
  }
  return exponent < 0 ? 1 / result : result;
}

}  // namespace

double exp(double x) {
  if (x > 710) return x * kInfinity;
  if (x < -746) return 0;
  if (std::isnan(x)) return x;
  const double n = nearest(x * std::numbers::log2e);
  const double high = x - n * kLn2High;
  const double product = n * kLn2Low;
  const double rest = high - product;
  return exp_of_parts(rest, (high - rest) - product, n);
}

double exp2(double x) {
  if (x > 1025) return x * kInfinity;
  if (x < -1076) return 0;
  if (std::isnan(x)) return x;
  const double n = nearest(x);
  return exp_of_parts((x - n) * std::numbers::ln2, 0, n);
}

double expm1(double x) {
  if (std::abs(x) > 0.35) return exp(x) - 1;
  if (std::isnan(x) || x == 0) return x;
  return x + x * x * exp_series<2>(x);
}

double log(double x) {
  if (is_log_special(x)) return log_special(x);
  const auto [f, e] = log_parts(x);
  return e * kLn2High - ((log_correction(f) - e * kLn2Low) - f);
}

double log2(double x) {
  if (is_log_special(x)) return log_special(x);
  const auto [f, e] = log_parts(x);
  return e + (f - log_correction(f)) * std::numbers::log2e;
}

double log10(double x) {
  if (is_log_special(x)) return log_special(x);
  // Powers of ten are asked for most often and should come out whole.
  const double whole = nearest(log(x) * std::numbers::log10e);
  const double rest = log(x / whole_power(10, whole)) * std::numbers::log10e;
  return std::isfinite(rest) && std::abs(whole) < 300 ? whole + rest : log(x) * std::numbers::log10e;
}

double log1p(double x) {
  const double one_more = 1 + x;
  if (one_more == 1 || !(one_more > 0) || one_more == kInfinity) return one_more == 1 ? x : log(one_more);
  // What was rounded off in the sum cancels.
  return log(one_more) * (x / (one_more - 1));
}

double pow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (std::isnan(base) || std::isnan(exponent)) return kNaN;
  const double size = std::abs(base);
  if (std::isinf(exponent)) {
    if (size == 1) return 1;
    return (size > 1) == (exponent > 0) ? kInfinity : 0;
  }
  const bool is_whole = std::trunc(exponent) == exponent;
  const bool is_odd = is_whole && std::fmod(exponent, 2) != 0;
  const double sign = is_odd && std::signbit(base) ? -1 : 1;
  if (size == 0 || size == kInfinity) return sign * ((size == 0) == (exponent < 0) ? kInfinity : 0);
  if (base < 0 && !is_whole) return kNaN;
  if (is_whole && std::abs(exponent) <= 64) {
    const double result = whole_power(base, exponent);
    // What overflows on the way to a reciprocal may still have one.
    if (std::isfinite(result) && result != 0) return result;
  }
  if (exponent == 0.5) return std::sqrt(base);
  return sign * exp(exponent * log(size));
}

double hypot(double a, double b) {
  if (std::isinf(a) || std::isinf(b)) return kInfinity;
  const double max = std::max(std::abs(a), std::abs(b));
  if (std::isnan(a) || std::isnan(b) || max == 0) return std::abs(a) + std::abs(b);
  if (max > 0x1p-400 && max < 0x1p400) return std::sqrt(a * a + b * b);
  return max * std::sqrt((a / max) * (a / max) + (b / max) * (b / max));
}

double sin(double x) {
  if (!std::isfinite(x)) return kNaN;
  if (x == 0) return x;
  return sin_of(angle_of(x));
}

double cos(double x) {
  if (!std::isfinite(x)) return kNaN;
  Angle angle = angle_of(x);
  angle.quadrant = (angle.quadrant + 1) & 3;
  return sin_of(angle);
}

double tan(double x) {
  if (!std::isfinite(x)) return kNaN;
  if (x == 0) return x;
  const Angle angle = angle_of(x);
  const double over = sin_series(angle.rest, angle.low);
  const double under = cos_series(angle.rest, angle.low);
  return angle.quadrant % 2 == 0 ? over / under : -under / over;
}

double atan(double x) {
  if (std::isnan(x)) return x;
  const double size = std::abs(x);
  const bool is_large = size > 1;
  const double small = is_large ? 1 / size : size;
  constexpr double kTanOfTwelfth = 0.2679491924311227;
  double angle = 0;
  if (small > kTanOfTwelfth) {
    angle = std::numbers::pi / 6 + atan_series((small * std::numbers::sqrt3 - 1) / (std::numbers::sqrt3 + small));
  } else {
    angle = atan_series(small);
  }
  if (is_large) angle = kHalfPi - (angle - kHalfPiRest);
  return std::copysign(angle, x);
}

double atan2(double y, double x) {
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  const bool is_behind = std::signbit(x);
  if (y == 0) return is_behind ? std::copysign(std::numbers::pi, y) : y;
  if (x == 0) return std::copysign(kHalfPi, y);
  double angle = 0;
  if (std::isinf(x)) {
    angle = std::isinf(y) ? kHalfPi / 2 : 0;
  } else {
    angle = std::isinf(y) ? kHalfPi : atan(std::abs(y) / std::abs(x));
  }
  if (is_behind) angle = std::numbers::pi - (angle - 2 * kHalfPiRest);
  return std::copysign(angle, y);
}

double asin(double x) {
  if (!(std::abs(x) <= 1)) return kNaN;
  if (std::abs(x) == 1) return std::copysign(kHalfPi, x);
  return atan(x / std::sqrt((1 - x) * (1 + x)));
}

double acos(double x) {
  if (!(std::abs(x) <= 1)) return kNaN;
  if (x > 0.5) return 2 * asin(std::sqrt((1 - x) / 2));
  return kHalfPi - (asin(x) - kHalfPiRest);
}

double sinh(double x) {
  const double size = std::abs(x);
  if (size > 709) return std::copysign(exp(size / 2) * (exp(size / 2) / 2), x);
  const double less = expm1(size);
  return std::copysign((less + less / (less + 1)) / 2, x);
}

double cosh(double x) {
  const double size = std::abs(x);
  if (size > 709) return exp(size / 2) * (exp(size / 2) / 2);
  const double power = exp(size);
  return (power + 1 / power) / 2;
}

double tanh(double x) {
  if (std::abs(x) > 20) return std::copysign(1, x);
  const double less = expm1(2 * std::abs(x));
  return std::copysign(less / (less + 2), x);
}

double asinh(double x) {
  const double size = std::abs(x);
  if (!(size < 0x1p500)) return std::isfinite(x) ? std::copysign(log(size) + std::numbers::ln2, x) : x;
  return std::copysign(log1p(size + size * size / (1 + std::sqrt(size * size + 1))), x);
}

double acosh(double x) {
  if (!(x >= 1)) return kNaN;
  if (!(x < 0x1p500)) return std::isfinite(x) ? log(x) + std::numbers::ln2 : x;
  const double more = x - 1;
  return log1p(more + std::sqrt(2 * more + more * more));
}

double atanh(double x) {
  if (!(std::abs(x) <= 1)) return kNaN;
  return std::copysign(log1p(2 * std::abs(x) / (1 - std::abs(x))) / 2, x);
}

double erf(double x) {
  static const std::array<ErfRow, 50> kRows = make_erf_rows();
  const double size = std::abs(x);
  if (!(size < 6)) return std::isnan(x) ? x : std::copysign(1, x);
  const double center = nearest(size / kErfStep);
  const ErfRow& row = kRows[static_cast<std::size_t>(center)];
  const double distance = size - center * kErfStep;
  double sum = row.terms[kErfTerms - 1];
  for (std::size_t k = kErfTerms - 1; k-- > 0;) sum = sum * distance + row.terms[k];
  return std::copysign(row.value + sum * distance, x);
}

double erfc(double x) {
  if (!(x > 2)) return 1 - erf(x);
  if (x > 27.5) return 0;
  // The continued fraction from its end.
  double below = x;
  for (int k = 100; k >= 1; --k) below = x + (k / 2.0) / below;
  // x^2 in two parts: its exponential is sensitive.
  const double high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0xffffffff00000000);
  return exp(-high * high) * exp((high - x) * (high + x)) * std::numbers::inv_sqrtpi / below;
}

}  // namespace isthmus::portable
