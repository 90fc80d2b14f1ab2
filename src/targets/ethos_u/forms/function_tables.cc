// Tables of functions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.h"
#include "interpret/kernel.h"
#include "ir/quantized.h"
#include "targets/ethos_u/forms/constants.h"

namespace isthmus::ethos_u {
namespace {

template <class Int>
Int saturated(double number) {
  using Limits = std::numeric_limits<Int>;
  if (std::isnan(number)) return 0;
  return static_cast<Int>(
      std::clamp(std::nearbyint(number), static_cast<double>(Limits::min()), static_cast<double>(Limits::max())));
}

// entry(value) of the value at which each entry stands
template <class Entry>
Table16 table_of(Entry entry) {
  Table16 table;
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    table.entries[i] = saturated<std::int16_t>(entry(static_cast<double>(i) * 128 - 32768));
  }
  return table;
}

// By the reference kernel, in double.
Expected<std::vector<double>> function_at(Op op, const Attrs& attrs, const std::vector<double>& places,
                                          std::optional<double> other) {
  const auto count = static_cast<std::int64_t>(places.size());
  std::vector<Tensor> inputs{Tensor(DType::kF64, {count})};
  std::ranges::copy(places, inputs[0].mutable_data<double>().begin());
  if (other) {
    inputs.emplace_back(DType::kF64, std::vector<std::int64_t>{1});
    inputs[1].mutable_data<double>()[0] = *other;
  }
  const Tensor result = TRY(run_kernel(op, {inputs, attrs, DType::kF64, {count}}));
  const auto numbers = result.data<double>();
  return std::vector<double>(numbers.begin(), numbers.end());
}

// Entries in this unit, or in two of it where a slope would not fit 16 bits; gives the bits that are left out.
int fill_entries(const std::vector<double>& numbers, double unit, Table16& table) {
  const auto fill = [&](double step, double max) {
    std::int32_t steepest = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      table.entries[i] = saturated<std::int16_t>(std::clamp(numbers[i] / step, -max, max));
      if (i > 0) steepest = std::max(steepest, std::abs(table.entries[i] - table.entries[i - 1]));
    }
    return steepest;
  };
  if (fill(unit, 32768) <= 32767) return 0;
  fill(2 * unit, 16383);
  return 1;
}

// A scale is a rounded number: what lies a hair beside an integer stands for the integer, where steps are.
double place_of(double number) {
  const double whole = std::nearbyint(number);
  return std::abs(number - whole) <= std::abs(number) * 0x1p-22 ? whole : number;
}

MantissaTable make_reciprocal_table() {
  // 1 <= m / 2^30 < 2 over all of the index; 1/2 < 2^30 / m <= 1 over all of an entry.
  MantissaTable result{{}, 3 << 29, {1 << 30, 44}, 3 << 22, 24};
  result.table = table_of([](double v) { return (1 / (1.5 + v * 0x1p-16) - 0.75) * 0x1p17; });
  return result;
}
MantissaTable make_log2_table() {
  MantissaTable result{{}, 3 << 29, {1 << 30, 44}, 1 << 22, 23};
  result.table = table_of([](double v) { return (portable::log2(1.5 + v * 0x1p-16) - 0.5) * 0x1p16; });
  return result;
}
MantissaTable make_rsqrt_table() {
  // 1/2 <= m / 2^30 < 2: the index counts 3 * 2^13.
  MantissaTable result{{}, 5 << 28, *multiplier_of(0x1p-13 / 3, ScaleBits::k31), 1 << 23, 23};
  result.table = table_of([](double v) { return (1 / std::sqrt(1.25 + v * 3 * 0x1p-17) - 1) * 0x1p16; });
  return result;
}

}  // namespace

Expected<FunctionTable> function_table(Op op, const Attrs& attrs, const TensorType& from, const TensorType& to,
                                       std::optional<double> other) {
  FunctionTable result;
  const auto in_scale = static_cast<double>(from.quant->scale());
  const auto out_scale = static_cast<double>(to.quant->scale());
  const bool is_narrow = from.dtype == DType::kI8;
  std::vector<double> places;
  if (is_narrow) {
    for (int q = -128; q < 128; ++q) places.push_back(place_of((q - from.quant->zero_point) * in_scale));
  } else {
    for (int i = 0; i < 513; ++i) places.push_back(place_of((i * 128 - 32768) * in_scale));
  }
  std::vector<double> numbers = TRY(function_at(op, attrs, places, other));
  if (is_narrow && to.dtype == DType::kI8) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double q = nearest_quantized(numbers[i], *to.quant);
      result.narrow[i] = std::isnan(q) ? static_cast<std::int8_t>(to.quant->zero_point) : saturated<std::int8_t>(q);
    }
    return result;
  }
  if (is_narrow) {
    // A quantized value q times 128 is at entry q + 256.
    std::vector<double> entries(513, 0);
    std::ranges::copy(numbers, entries.begin() + 128);
    std::fill(entries.begin(), entries.begin() + 128, numbers.front());
    std::fill(entries.begin() + 384, entries.end(), numbers.back());
    numbers = std::move(entries);
  }
  // Of 8 bits a quantized value is 128 units, so that only the last step rounds.
  const double unit = to.dtype == DType::kI8 ? out_scale / 128 : out_scale;
  for (double& number : numbers) {
    if (std::isnan(number)) number = 0;
  }
  const int bits = fill_entries(numbers, unit, result.wide);
  result.result = *multiplier_of(std::ldexp(unit / out_scale, bits), ScaleBits::k31);
  return result;
}

const MantissaTable& reciprocal_table() {
  static const MantissaTable kTable = make_reciprocal_table();
  return kTable;
}
const MantissaTable& log2_table() {
  static const MantissaTable kTable = make_log2_table();
  return kTable;
}
const MantissaTable& rsqrt_table() {
  static const MantissaTable kTable = make_rsqrt_table();
  return kTable;
}

ExpTables exp_tables(float scale, DType quantized) {
  constexpr double kOne = 0x1p30 - 0x1p15;
  const auto table_with = [](double step) {
    // Differences times 128 are 0 or more: the other half of the table is unused.
    const auto whole = [=](double v) { return std::nearbyint(kOne * portable::exp(-step * std::max(v, 0.0) / 128)); };
    return ExpTable{table_of([=](double v) { return std::floor(whole(v) * 0x1p-15); }),
                    table_of([=](double v) { return std::fmod(whole(v), 0x1p15); })};
  };
  const auto step = static_cast<double>(scale);
  return {table_with(step), table_with(256 * step), quantized == DType::kI16};
}

std::optional<NarrowSoftmax> narrow_softmax_constants(const TensorType& from, const TensorType& to) {
  constexpr std::int32_t kMaxGain = 16;  // of more, every sum of powers is too small
  const auto step = static_cast<double>(from.quant->scale());
  const auto scale = static_cast<double>(to.quant->scale());
  const auto power = [=](double v) { return (0x1p15 - 1) * portable::exp(-step * std::max(v, 0.0) / 128); };
  NarrowSoftmax result;
  result.power = table_of(power);
  result.rest = table_of([=](double v) { return (power(v) - std::nearbyint(power(v))) * 0x1p15; });
  int exponent = 0;
  std::frexp(scale * (std::numeric_limits<std::int8_t>::max() - to.quant->zero_point), &exponent);
  result.gain = std::clamp(-exponent, 0, kMaxGain);
  result.unit = *multiplier_of(1, ScaleBits::k31);
  const auto factor = multiplier_of(std::ldexp(1 / scale, -30 - result.gain), ScaleBits::k31);
  if (!factor) return std::nullopt;
  result.result = *factor;
  return result;
}

}  // namespace isthmus::ethos_u
