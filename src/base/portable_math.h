// Functions of real numbers that give the same bits on every CPU. Those of the C library do not: it has variants with
// and without fused multiply-add and chooses when the program starts, and another version of it rounds otherwise.
//
// Only +, -, *, /, sqrt and moves of bits are used, which are exact or correctly rounded everywhere. Results are within
// a few units in the last place of a double, erfc's and pow's within 1e-12 of the result. Of a float they are computed
// in double and rounded once, so that almost all are the nearest float.
#pragma once

#include <concepts>

namespace isthmus::portable {

double exp(double x);
double exp2(double x);
double expm1(double x);
double log(double x);
double log2(double x);
double log10(double x);
double log1p(double x);
double pow(double base, double exponent);
double hypot(double a, double b);

double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double atan2(double y, double x);

double sinh(double x);
double cosh(double x);
double tanh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);

double erf(double x);
double erfc(double x);

// The same of floats.
#define ISTHMUS_PORTABLE_OF_FLOAT(name)                      \
  template <std::same_as<float> Float>                       \
  Float name(Float x) {                                      \
    return static_cast<Float>(name(static_cast<double>(x))); \
  }
ISTHMUS_PORTABLE_OF_FLOAT(exp)
ISTHMUS_PORTABLE_OF_FLOAT(exp2)
ISTHMUS_PORTABLE_OF_FLOAT(expm1)
ISTHMUS_PORTABLE_OF_FLOAT(log)
ISTHMUS_PORTABLE_OF_FLOAT(log2)
ISTHMUS_PORTABLE_OF_FLOAT(log10)
ISTHMUS_PORTABLE_OF_FLOAT(log1p)
ISTHMUS_PORTABLE_OF_FLOAT(sin)
ISTHMUS_PORTABLE_OF_FLOAT(cos)
ISTHMUS_PORTABLE_OF_FLOAT(tan)
ISTHMUS_PORTABLE_OF_FLOAT(asin)
ISTHMUS_PORTABLE_OF_FLOAT(acos)
ISTHMUS_PORTABLE_OF_FLOAT(atan)
ISTHMUS_PORTABLE_OF_FLOAT(sinh)
ISTHMUS_PORTABLE_OF_FLOAT(cosh)
ISTHMUS_PORTABLE_OF_FLOAT(tanh)
ISTHMUS_PORTABLE_OF_FLOAT(asinh)
ISTHMUS_PORTABLE_OF_FLOAT(acosh)
ISTHMUS_PORTABLE_OF_FLOAT(atanh)
ISTHMUS_PORTABLE_OF_FLOAT(erf)
ISTHMUS_PORTABLE_OF_FLOAT(erfc)
#undef ISTHMUS_PORTABLE_OF_FLOAT

inline float pow(float base, float exponent) {
  return static_cast<float>(pow(static_cast<double>(base), static_cast<double>(exponent)));
}
inline float hypot(float a, float b) {
  return static_cast<float>(hypot(static_cast<double>(a), static_cast<double>(b)));
}
inline float atan2(float y, float x) {
  return static_cast<float>(atan2(static_cast<double>(y), static_cast<double>(x)));
}

}  // namespace isthmus::portable
