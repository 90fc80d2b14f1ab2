// Operators of one tensor, element by element: absolute values, negation, bits, bounds, tables, other types.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/untrusted_text.h"
#include "targets/tosa/arithmetic.h"
#include "targets/tosa/rules.h"

namespace isthmus::tosa {
namespace {

constexpr std::int64_t kSmallTable = 256;  // an entry for each number of 8 bits
constexpr std::int64_t kLargeTable = 513;  // one for every 128 numbers of 16 bits, and one to end with

// A kernel that applies `compute` to each element.
template <class In, class Out, class Compute>
Kernel each(const SharedSite& site, Compute compute) {
  return {[count = site->output.count, compute](const Call& call) -> Expected<void> {
    const In* in = call.input<In>(0);
    Out* out = call.result<Out>();
    for (std::int64_t i = 0; i < count; ++i) out[i] = compute(in[i]);
    return {};
  }};
}

Expected<void> check_same(const Site& site) { return want_sizes(site.output, "the output", site.inputs[0].sizes); }

Expected<Kernel> abs_kernel(const SharedSite& site, Resources&) {
  return each<std::int32_t, std::int32_t>(
      site, [](std::int32_t x) { return wrapped<std::int32_t>(x < 0 ? -std::int64_t{x} : std::int64_t{x}); });
}

Expected<Kernel> clz_kernel(const SharedSite& site, Resources&) {
  return each<std::int32_t, std::int32_t>(
      site, [](std::int32_t x) { return std::int32_t{std::countl_zero(static_cast<std::uint32_t>(x))}; });
}

Expected<Kernel> bitwise_not_kernel(const SharedSite& site, Resources&) {
  return with_number(site->output.type, [&]<class Number>(Number) {
    return each<Number, Number>(site, [](Number x) { return static_cast<Number>(~x); });
  });
}

Expected<Kernel> logical_not_kernel(const SharedSite& site, Resources&) {
  return each<std::uint8_t, std::uint8_t>(site, [](std::uint8_t x) { return static_cast<std::uint8_t>(x == 0); });
}

Expected<void> check_negate(const Site& site) {
  TRY(check_same(site));
  TRY(want_zero_point(site.inputs[1], "the zero point of the input"));
  return want_zero_point(site.inputs[2], "the zero point of the output");
}
Expected<Kernel> negate_kernel(const SharedSite& site, Resources&) {
  // -(x - a) + b
  const std::int64_t sum = site->inputs[1].at(0) + site->inputs[2].at(0);
  return with_number(site->output.type, [&]<class Number>(Number) {
    return each<Number, Number>(site, [sum](Number x) { return saturated<Number>(sum - std::int64_t{x}); });
  });
}

template <class Number>
Number bound(const std::vector<std::byte>& bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof(Number));
  return number;
}
Expected<void> check_clamp(const Site& site) {
  TRY(check_same(site));
  const auto& fields = site.fields<Clamp>();
  const std::size_t width = size_of(memory_type(site.output.type));
  if (fields.min.size() < width || fields.max.size() < width) {
    return bad_input(fmt::format("bounds of {} and {} bytes for {}", fields.min.size(), fields.max.size(),
                                 name_of(site.output.type)));
  }
  return with_number(site.output.type, [&]<class Number>(Number) -> Expected<void> {
    const Number min = bound<Number>(fields.min);
    const Number max = bound<Number>(fields.max);
    if (max < min) return bad_input(fmt::format("its bounds are {} and {}", min, max));
    return {};
  });
}
Expected<Kernel> clamp_kernel(const SharedSite& site, Resources&) {
  const auto& fields = site->fields<Clamp>();
  return with_number(site->output.type, [&]<class Number>(Number) {
    const Number min = bound<Number>(fields.min);
    const Number max = bound<Number>(fields.max);
    return each<Number, Number>(site, [min, max](Number x) { return std::clamp(x, min, max); });
  });
}

Expected<Kernel> cast_kernel(const SharedSite& site, Resources&) {
  return with_number(site->inputs[0].type, [&]<class In>(In) {
    if (site->output.type == Type::kBool) {
      return each<In, std::uint8_t>(site, [](In x) { return static_cast<std::uint8_t>(x != 0); });
    }
    return with_number(site->output.type, [&]<class Out>(Out) {
      return each<In, Out>(site, [](In x) { return wrapped<Out>(std::int64_t{x}); });
    });
  });
}

Expected<void> check_table(const Site& site) {
  TRY(check_same(site));
  return want_sizes(site.inputs[1], "the table", {site.inputs[0].type == Type::kI8 ? kSmallTable : kLargeTable});
}
Expected<Kernel> table_kernel(const SharedSite& site, Resources&) {
  const std::int64_t count = site->output.count;
  if (site->inputs[0].type == Type::kI8) {
    return Kernel{[count](const Call& call) -> Expected<void> {
      const std::int8_t* in = call.input<std::int8_t>(0);
      const std::int8_t* table = call.input<std::int8_t>(1) + kSmallTable / 2;
      std::int8_t* out = call.result<std::int8_t>();
      for (std::int64_t i = 0; i < count; ++i) out[i] = table[in[i]];
      return {};
    }};
  }
  return Kernel{[count](const Call& call) -> Expected<void> {
    const std::int16_t* in = call.input<std::int16_t>(0);
    const std::int16_t* table = call.input<std::int16_t>(1);
    std::int32_t* out = call.result<std::int32_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t place = in[i] + 32768;
      const std::int16_t* entry = table + (place >> 7);
      // 16 bits of slope and 7 of fraction: the product and the sum have room in 32.
      out[i] = entry[0] * 128 + (entry[1] - entry[0]) * (place & 127);
    }
    return {};
  }};
}

constexpr Rule kUnaryRules[] = {
    {.op = Op::kAbs, .types = "i32 > i32", .check = check_same, .plain = abs_kernel},
    {.op = Op::kBitwiseNot, .types = "i8/i16/i32 > =0", .check = check_same, .plain = bitwise_not_kernel},
    {.op = Op::kCast,
     .types = "bool > i8/i16/i32 | i8 > bool/i16/i32 | i16 > bool/i8/i32 | i32 > bool/i8/i16",
     .check = check_same,
     .plain = cast_kernel},
    {.op = Op::kClamp, .types = "i8/i16 > =0", .check = check_clamp, .plain = clamp_kernel},
    {.op = Op::kClz, .types = "i32 > i32", .check = check_same, .plain = clz_kernel},
    {.op = Op::kLogicalNot, .types = "bool > bool", .check = check_same, .plain = logical_not_kernel},
    {.op = Op::kNegate, .types = "i8/i16/i32 =0 =0 > =0", .check = check_negate, .plain = negate_kernel},
    {.op = Op::kTable, .types = "i8 i8 > i8 | i16 i16 > i32", .check = check_table, .plain = table_kernel},
};

}  // namespace

std::span<const Rule> unary_rules() { return kUnaryRules; }

}  // namespace isthmus::tosa
