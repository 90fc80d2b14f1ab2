// RESCALE: the only operator that brings numbers to another scale.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/untrusted_text.h"
#include "targets/tosa/arithmetic.h"
#include "targets/tosa/kernels/rescale_rows.h"
#include "targets/tosa/parallel.h"
#include "targets/tosa/rules.h"

namespace isthmus::tosa {
namespace {

// Bits of an operand, read as they stand or as a number without a sign.
std::int64_t zero_point(const Operand& operand, bool is_unsigned) {
  const std::int64_t value = operand.at(0);
  if (!is_unsigned || value >= 0) return value;
  return value + (std::int64_t{1} << bits_of(operand.type));
}

Expected<void> check_zero_point(const Operand& operand, std::string_view what, bool is_unsigned) {
  constexpr std::int64_t kMiddle = 32768;
  TRY(want_constant(operand, what));
  const std::int64_t value = zero_point(operand, is_unsigned);
  if (operand.type == Type::kI16 && is_unsigned && value == kMiddle) return want_sizes(operand, what, {1});
  return want_zero_point(operand, what);
}

// What stands against these flags; empty where nothing does.
std::string_view refusal(const Rescale& fields, Type in, Type out) {
  const bool is_wide = in == Type::kI32 || in == Type::kI48 || out == Type::kI32;
  if (fields.input_unsigned && fields.output_unsigned) return "not both sides can be unsigned";
  if (is_wide && (fields.input_unsigned || fields.output_unsigned)) {
    return "neither side can be unsigned where one has 32 or 48 bits";
  }
  if (fields.scale32 && in == Type::kI48) return "numbers of 48 bits have no multiplier of 32";
  if (fields.rounding == Rounding::kUnknown) return "it does not say how to round";
  if (fields.rounding == Rounding::kDouble && !fields.scale32) return "double rounding needs a multiplier of 32 bits";
  return {};
}

Expected<void> check_rescale(const Site& site) {
  const auto& fields = site.fields<Rescale>();
  const Operand& input = site.inputs[0];
  const Operand& multiplier = site.inputs[1];
  const Operand& shift = site.inputs[2];
  if (const auto why = refusal(fields, input.type, site.output.type); !why.empty()) return bad_input(std::string(why));
  TRY(want_sizes(site.output, "the output", input.sizes));
  if (fields.per_channel && input.rank() == 0) return bad_input("a tensor without axes has no channels");
  const std::int64_t channels = fields.per_channel ? input.sizes.back() : 1;
  TRY(want_sizes(multiplier, "the multiplier", {channels}));
  TRY(want_sizes(shift, "the shift", {channels}));
  TRY(want_constant(multiplier, "the multiplier"));
  TRY(want_constant(shift, "the shift"));
  if (multiplier.type != (fields.scale32 ? Type::kI32 : Type::kI16)) {
    return bad_input(fmt::format("the multiplier {} is {}", shown(multiplier.name), text_of(multiplier)));
  }
  for (std::int64_t i = 0; i < channels; ++i) {
    if (multiplier.at(i) < 0) return bad_input(fmt::format("multiplier {} is {}", i, multiplier.at(i)));
    if (shift.at(i) < 2 || shift.at(i) > 62)
      return bad_input(fmt::format("shift {} is {}, not from 2 to 62", i, shift.at(i)));
  }
  TRY(check_zero_point(site.inputs[3], "the zero point of the input", fields.input_unsigned));
  return check_zero_point(site.inputs[4], "the zero point of the output", fields.output_unsigned);
}

// Numbers of an operand that is signed in the file, as they are meant.
template <class Use>
auto with_meant_number(Type type, bool is_unsigned, Use use) {
  return with_number(type, [&]<class Number>(Number) {
    if constexpr (std::is_same_v<Number, std::int8_t> || std::is_same_v<Number, std::int16_t>) {
      if (is_unsigned) return use(std::make_unsigned_t<Number>{});
    }
    return use(Number{});
  });
}

Scale scale_of(const Site& site, std::int64_t channel) {
  return {static_cast<std::int32_t>(site.inputs[1].at(channel)), static_cast<std::int32_t>(site.inputs[2].at(channel))};
}

// Whether some number of the type, less the zero point, has no result.
template <class In>
bool can_be_undefined(const Site& site, std::int64_t zero) {
  using Limits = std::numeric_limits<In>;
  const bool is_wide = sizeof(In) == 8;  // which stands for 48 bits
  const std::int64_t min = is_wide ? -(std::int64_t{1} << 47) : static_cast<std::int64_t>(Limits::min()) - zero;
  const std::int64_t max = is_wide ? (std::int64_t{1} << 47) - 1 : static_cast<std::int64_t>(Limits::max()) - zero;
  const bool scale32 = site.fields<Rescale>().scale32;
  for (std::int64_t i = 0; i < site.inputs[1].count; ++i) {
    const auto [multiplier, shift] = scale_of(site, i);
    if (!is_scaled(min, multiplier, shift, scale32) || !is_scaled(max, multiplier, shift, scale32)) return true;
  }
  return false;
}

// Hardware may give anything for such a number, so a graph that makes one is wrong.
template <class In>
Expected<void> check_defined(const Site& site, const In* in, std::int64_t zero) {
  const bool scale32 = site.fields<Rescale>().scale32;
  for (std::int64_t i = 0; i < site.output.count; ++i) {
    const auto [multiplier, shift] = scale_of(site, i % site.inputs[1].count);
    const std::int64_t value = in[i] - zero;
    if (is_scaled(value, multiplier, shift, scale32)) continue;
    return bad_input(fmt::format("element {} is {}, and TOSA leaves its product with {} / 2^{} undefined: {}", i, value,
                                 multiplier, shift,
                                 scale32 ? fmt::format("it takes numbers below 2^{}", shift - 1)
                                         : std::string("the result has more than 32 bits")));
  }
  return {};
}

template <class In, class Out>
Kernel plain_scaled(const SharedSite& site) {
  const auto& fields = site->fields<Rescale>();
  const std::int64_t input_zero = zero_point(site->inputs[3], fields.input_unsigned);
  const std::int64_t output_zero = zero_point(site->inputs[4], fields.output_unsigned);
  const std::int64_t channels = site->inputs[1].count;
  return {[=, rounding = fields.rounding](const Call& call) -> Expected<void> {
    const In* in = call.input<In>(0);
    Out* out = call.result<Out>();
    TRY(check_defined(*site, in, input_zero));
    for (std::int64_t i = 0; i < site->output.count; ++i) {
      const auto [multiplier, shift] = scale_of(*site, i % channels);
      const std::int64_t value = in[i] - input_zero;
      out[i] = saturated<Out>(rounding == Rounding::kInexact
                                  ? scaled_in_float(value, multiplier, shift, output_zero)
                                  : scaled(value, multiplier, shift, rounding == Rounding::kDouble) + output_zero);
    }
    return {};
  }};
}
Expected<Kernel> plain_rescale(const SharedSite& site, Resources&) {
  const auto& fields = site->fields<Rescale>();
  return with_meant_number(site->inputs[0].type, fields.input_unsigned, [&]<class In>(In) {
    return with_meant_number(site->output.type, fields.output_unsigned,
                             [&]<class Out>(Out) { return plain_scaled<In, Out>(site); });
  });
}

// Multipliers and shifts of as many elements as come at once: those of all channels, again and again.
struct Pattern {
  std::vector<std::int32_t> multiplier, shift;
  std::int64_t length = 0;  // a multiple of the channels
};
constexpr std::int64_t kAtOnce = 256;
static_assert(kAtOnce % kRescaleBlock == 0);

Pattern pattern_of(const Site& site) {
  const std::int64_t channels = site.inputs[1].count;
  Pattern pattern;
  pattern.length = channels < kAtOnce ? kAtOnce / channels * channels : channels;
  for (std::int64_t i = 0; i < pattern.length; ++i) {
    const auto [multiplier, shift] = scale_of(site, i % channels);
    pattern.multiplier.push_back(multiplier);
    pattern.shift.push_back(shift);
  }
  // A block may begin at the last element.
  pattern.multiplier.resize(pattern.multiplier.size() + kRescaleBlock, 0);
  pattern.shift.resize(pattern.shift.size() + kRescaleBlock, 2);
  return pattern;
}

template <class In, class Out>
void rescale_narrow(const RescaleBlock& scale, const In* in, std::int64_t zero, std::int64_t count, Out* out) {
  std::array<std::int32_t, kAtOnce> values{};
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(in[i] - zero);
  const std::size_t whole = (static_cast<std::size_t>(count) + kRescaleBlock - 1) / kRescaleBlock * kRescaleBlock;
  std::array<std::int32_t, kAtOnce> results;
  rescale_block(scale, values.data(), whole, results.data());
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(results[static_cast<std::size_t>(i)]);
}
// Of 48 bits: there are no such products in vectors.
template <class Out>
void rescale_wide(const RescaleBlock& scale, const std::int64_t* in, std::int64_t count, Out* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = saturated<Out>(scaled(in[i], scale.multiplier[i], scale.shift[i]) + scale.zero);
  }
}

template <class In, class Out>
Expected<Kernel> fast_scaled(const SharedSite& site, Resources& resources) {
  const auto& fields = site->fields<Rescale>();
  TRY(resources.take(static_cast<std::uint64_t>(site->inputs[1].count + kAtOnce) * 2 * sizeof(std::int32_t)));
  const auto pattern = std::make_shared<const Pattern>(pattern_of(*site));
  const std::int64_t input_zero = zero_point(site->inputs[3], fields.input_unsigned);
  const std::int64_t output_zero = zero_point(site->inputs[4], fields.output_unsigned);
  const std::size_t parts = resources.parts;
  const bool is_checked = can_be_undefined<In>(*site, input_zero);
  return Kernel{[=](const Call& call) -> Expected<void> {
    if (is_checked) TRY(check_defined(*site, call.input<In>(0), input_zero));
    const std::int64_t rows = (site->output.count + pattern->length - 1) / pattern->length;
    in_parts(call.threads, parts, rows, [&](std::size_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t first = row * pattern->length;
        const std::int64_t count = std::min(pattern->length, site->output.count - first);
        for (std::int64_t i = 0; i < count; i += kAtOnce) {
          const RescaleBlock scale{pattern->multiplier.data() + i, pattern->shift.data() + i, output_zero,
                                   std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max()};
          const In* in = call.input<In>(0) + first + i;
          Out* out = call.result<Out>() + first + i;
          const std::int64_t length = std::min(kAtOnce, count - i);
          if constexpr (sizeof(In) == 8) {
            rescale_wide(scale, in, length, out);
          } else {
            rescale_narrow(scale, in, input_zero, length, out);
          }
        }
      }
    });
    return {};
  }};
}
Expected<Kernel> fast_rescale(const SharedSite& site, Resources& resources) {
  const auto& fields = site->fields<Rescale>();
  if (fields.rounding != Rounding::kSingle) return plain_rescale(site, resources);
  return with_meant_number(site->inputs[0].type, fields.input_unsigned, [&]<class In>(In) {
    return with_meant_number(site->output.type, fields.output_unsigned,
                             [&]<class Out>(Out) { return fast_scaled<In, Out>(site, resources); });
  });
}

constexpr Rule kScaleRules[] = {
    {.op = Op::kRescale,
     .types = "i8/i16/i32 i16/i32 i8 =0 i8/i16/i32 > =4 | i48 i16 i8 =0 i8/i16/i32 > =4",
     .check = check_rescale,
     .plain = plain_rescale,
     .fast = fast_rescale},
};

}  // namespace

std::span<const Rule> scale_rules() { return kScaleRules; }

}  // namespace isthmus::tosa
