// Numbers that follow from types and attributes before anything runs: the constants of forms. The steps between them
// stand in the forms.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/expected.h"
#include "ir/attrs.h"
#include "ir/op.h"
#include "ir/types.h"

namespace isthmus::ethos_u {

// A real factor as RESCALE takes it: value -> (value * multiplier + 2^(shift - 1)) >> shift.
struct Multiplier {
  std::int32_t multiplier = 0;
  std::int32_t shift = 2;  // 2..62

  std::int64_t apply(std::int64_t value) const {
    return (value * multiplier + (std::int64_t{1} << (shift - 1))) >> shift;
  }
  bool operator==(const Multiplier&) const = default;
};

// Bits of a multiplier: 31 for values of up to 32 bits, 15 for values of 48.
enum class ScaleBits : std::uint8_t { k31 = 31, k15 = 15 };

// The quantized value of a number, as bounds and pads are turned into quantized values. NaN is zero.
std::int32_t quantized_value(double number, const Quant& quant, DType dtype);

// The exponent that a quantized value stands for: a whole number where one is representable, because only those have
// powers of negative numbers.
double exponent_of(std::int64_t q, const Quant& quant);

// Nothing where the factor is too large (2^29, or 2^13 for 15 bits), negative, or no number. Factors below 2^-62 lose
// bits until they are 0.
std::optional<Multiplier> multiplier_of(double factor, ScaleBits bits);

// Two tensors of quantized values in one scale, in 32 bits: RESCALE i8 -> i32 of each side (zero point removed), then
// whatever is done with both. The unit is the larger scale / 2^19, or / 2^14 of 16 bits: what Ethos-U55 does by itself.
// Equal scales stay as they are.
struct CommonScale {
  Multiplier a;
  Multiplier b;
  double unit = 1;
};
std::optional<CommonScale> common_scale(double a, double b, DType quantized);

// TABLE of 8 bits: by quantized value + 128.
using Table8 = std::array<std::int8_t, 256>;
// TABLE of 16 bits: entry i stands at i * 128 - 32768, and between two of them is a line. Results have 7 bits more.
struct Table16 {
  std::array<std::int16_t, 513> entries{};

  std::int32_t operator()(std::int32_t value) const {
    const std::size_t at = static_cast<std::uint32_t>(value + 32768);
    const std::int32_t left = entries[at >> 7];
    const std::int32_t slope = entries[(at >> 7) + 1] - left;
    return left * 128 + slope * static_cast<std::int32_t>(at & 127);
  }
};

// A function of one quantized value. Which of the tables there is follows from the types:
//   i8  -> i8: TABLE.
//   i16 -> any: TABLE of 16 bits, RESCALE of its results.
//   i8  -> i16: RESCALE by 128 to i16, without zero points, so that each quantized value meets an entry; then as
//   before.
struct FunctionTable {
  Table8 narrow{};
  Table16 wide;
  Multiplier result;  // of the wide table's results in 16 bits
};
// The op's function from quantized values of the first type to those of the second. `other` is the second
// operand of an op that has two.
Expected<FunctionTable> function_table(Op op, const Attrs& attrs, const TensorType& from, const TensorType& to,
                                       std::optional<double> other = std::nullopt);

// Functions of a mantissa m, a positive number of 32 bits shifted left until it is at least 2^30 (2^29 for the root).
// The index is RESCALE(m - center, index) to i16, the function (TABLE's result + offset) * 2^-fraction.
struct MantissaTable {
  Table16 table;
  std::int32_t center = 0;
  Multiplier index;
  std::int32_t offset = 0;
  std::int32_t fraction = 0;
};
const MantissaTable& reciprocal_table();  // 2^30 / m, in 24 bits of fraction; 1 at most
const MantissaTable& log2_table();        // log2(m / 2^30), in 23 bits of fraction
const MantissaTable& rsqrt_table();       // sqrt(2^30 / m), in 23 bits of fraction

// exp(-scale * difference) of differences of quantized values, in 30 bits of fraction and a little less than that, so
// that 1 fits: high * 2^15 + low. Differences are 0..255, times 128 for TABLE, whose results are shifted right by 7.
struct ExpTable {
  Table16 high;
  Table16 low;
};
struct ExpTables {
  ExpTable fine;
  ExpTable coarse;  // of 16 bits only: of 256 times the differences
  bool is_wide = false;
};
ExpTables exp_tables(float scale, DType quantized);

struct SoftmaxConstants {
  ExpTables exp;
  Multiplier result;  // of probabilities in 30 bits of fraction
};
std::optional<SoftmaxConstants> softmax_constants(const TensorType& from, const TensorType& to);

// From 8 bits to 8 bits.
struct NarrowSoftmax {
  Table16 power;          // exp of differences times 128, in 15 bits of fraction
  Table16 rest;           // what rounding left of it, in 30 bits
  std::int32_t gain = 0;  // bits that probabilities may have more, because none is larger
  Multiplier unit;
  Multiplier result;  // of probabilities in 30 + gain bits of fraction
};
std::optional<NarrowSoftmax> narrow_softmax_constants(const TensorType& from, const TensorType& to);

// Of a quotient of quantized values in 24 - product_shift bits of fraction.
struct QuotientConstants {
  std::int32_t product_shift = 0;
  Multiplier result;
};
std::optional<QuotientConstants> quotient_constants(const TensorType& a, const TensorType& b, const TensorType& to);

// MUL with a shift: (a * factor + 2^(shift - 1)) >> shift.
struct ShiftedFactor {
  std::int32_t factor = 1;
  std::int32_t shift = 0;
};
// With 30 bits, or fewer where the factor is so small that MUL could not shift far enough.
ShiftedFactor shifted_factor(double factor);
struct LogSoftmaxConstants {
  ExpTables exp;
  ShiftedFactor difference;      // differences of quantized values to the common unit
  ShiftedFactor log2;            // logarithms in 23 bits of fraction to the common unit
  std::int32_t log2_of_one = 0;  // log2 of exp(0) in 23 bits of fraction
  Multiplier result;             // of the common unit
};
std::optional<LogSoftmaxConstants> log_softmax_constants(const TensorType& from, const TensorType& to);

// Rows of more numbers are added up in parts of equal length: each part first, then the sums of the parts.
inline constexpr std::int64_t kMaxAdded = 32768;
// The fewest such parts of a row; nothing where there are none, or more than 256.
std::optional<std::int64_t> row_parts(std::int64_t count);

struct LayerNormConstants {
  std::int64_t parts = 1;             // of a row
  std::int32_t times = 1;             // P: factor on differences to the mean
  std::optional<ShiftedFactor> mean;  // P / C, of sums; nothing where P is C, the count of numbers in a row
  std::int32_t square_shift = 0;      // p, even: of the sums of squares of parts
  std::int32_t max_shift = 31;        // the largest n: more would lose the epsilon
  std::int32_t eps = 0;               // of 31 bits
  std::int32_t eps_shift = 0;         // at n: eps >> (eps_shift - 2n)
  std::int32_t product_shift = 0;     // k
  std::int32_t exponent = 0;          // k - 33 - p / 2
  std::vector<std::int32_t> weight;   // one, or one for each number of a row
  std::int32_t weight_shift = 0;
  std::vector<std::int32_t> bias;  // one, or one for each number of a row
  Multiplier result;
};
// Weight and bias may be empty. Nothing where the numbers leave 32 bits, or the row has no parts.
std::optional<LayerNormConstants> layer_norm_constants(const TensorType& from, const TensorType& to, std::int64_t count,
                                                       double eps, std::span<const float> weight,
                                                       std::span<const float> bias);

// To 8 bits, of rows that are short enough for sums of squares in 32 bits; norm_short.cc says what they are.
struct ShortNormConstants {
  std::int32_t gain = 1;            // of values of 8 bits, before all else
  ShiftedFactor mean;               // P / C, of sums
  std::int32_t coarse = 0;          // k: bits that the coarse differences leave out
  std::int32_t doubt = 0;           // what rounding may have left out of their squares
  std::int32_t max_up = 15;         // the largest j: more would lose the epsilon
  std::int32_t eps = 0;             // at j = max_up
  std::int32_t unit_bits = 0;       // u
  std::vector<std::int8_t> weight;  // of each place, with the bias in its units, and the factor of both;
  std::vector<std::int64_t> bias;   // or nothing,
  std::vector<Multiplier> result;   // and one factor for all
};
inline constexpr std::int32_t kMeanBits = 6;  // P = 2^6: bits behind the point of differences to the mean
// Nothing where the row is too long, or the numbers leave their bits.
std::optional<ShortNormConstants> short_norm_constants(const TensorType& from, const TensorType& to, std::int64_t count,
                                                       double eps, std::span<const float> weight,
                                                       std::span<const float> bias);

// Along one axis: the place o of the result is at (o * d + offset) / n of the input.
struct ResizeAxis {
  std::int64_t n = 2;
  std::int64_t d = 2;
  std::int64_t offset = 0;
  std::int64_t border = 0;
};
// Nothing where RESIZE does not compute it: cubic, or a ratio that is not that of the sizes.
std::optional<ResizeAxis> resize_axis(const ResizeAttrs& attrs, std::size_t axis, std::int64_t from, std::int64_t to);

}  // namespace isthmus::ethos_u
