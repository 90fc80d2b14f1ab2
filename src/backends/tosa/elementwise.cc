// Operators of several tensors, element by element, where sizes of 1 are repeated.
#include <fmt/format.h>

#include <algorithm>

#include "backends/tosa/arithmetic.h"
#include "backends/tosa/rows_i32.h"
#include "backends/tosa/rules.h"
#include "backends/tosa/walk.h"
#include "base/untrusted_text.h"

namespace isthmus::tosa {
namespace {

constexpr std::int64_t kMostShift = 63;

// The first `count` inputs have as many axes and fit each other and the output.
Expected<void> check_broadcast(const Site& site, std::size_t count) {
  Sizes sizes = site.inputs[0].sizes;
  for (std::size_t i = 1; i < count; ++i) {
    const Operand& input = site.inputs[i];
    TRY(want_rank(input, "an input", sizes.size()));
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == 1) sizes[axis] = input.size(axis);
      if (input.size(axis) == 1 || input.size(axis) == sizes[axis]) continue;
      return bad_input(fmt::format("inputs {} {} and {} {} differ along axis {}", shown(site.inputs[0].name),
                                   text_of(site.inputs[0]), shown(input.name), text_of(input), axis));
    }
  }
  return want_sizes(site.output, "the output", sizes);
}
Expected<void> check_two(const Site& site) { return check_broadcast(site, 2); }
Expected<void> check_three(const Site& site) { return check_broadcast(site, 3); }

std::array<Sizes, 3> strides_of_two(const Site& site) {
  return {broadcast_strides(site.inputs[0].sizes, site.output.sizes),
          broadcast_strides(site.inputs[1].sizes, site.output.sizes), strides_of(site.output.sizes)};
}

// What each operator does to two numbers. One that the standard leaves open for some numbers says which: `refuses`.
struct Add {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return wrapped<Number>(std::int64_t{a} + std::int64_t{b});
  }
};
struct Subtract {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return wrapped<Number>(std::int64_t{a} - std::int64_t{b});
  }
};
struct Larger {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return std::max(a, b);
  }
};
struct Smaller {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return std::min(a, b);
  }
};
struct BitAnd {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return static_cast<Number>(a & b);
  }
};
struct BitOr {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return static_cast<Number>(a | b);
  }
};
struct BitXor {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return static_cast<Number>(a ^ b);
  }
};
struct Divide {
  static constexpr const char* kRefusal = "a division by {}";
  template <class Number>
  static bool refuses(Number b) {
    return b == 0;
  }
  template <class Number>
  Number operator()(Number a, Number b) const {
    return wrapped<Number>(std::int64_t{a} / std::int64_t{b});
  }
};
struct Shift {
  static constexpr const char* kRefusal = "a shift by {}";
  template <class Number>
  static bool refuses(Number b) {
    return b < 0 || static_cast<std::size_t>(b) >= sizeof(Number) * 8;
  }
};
struct LeftShift : Shift {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return wrapped<Number>(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b));
  }
};
struct LogicalRightShift : Shift {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return static_cast<Number>(static_cast<std::make_unsigned_t<Number>>(a) >> b);
  }
};
struct DownShift : Shift {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return static_cast<Number>(a >> b);
  }
};
// Halves upwards.
struct RoundingShift : Shift {
  template <class Number>
  Number operator()(Number a, Number b) const {
    return b == 0 ? a : static_cast<Number>(((std::int64_t{a} >> (b - 1)) + 1) >> 1);
  }
};
struct Equal {
  template <class Number>
  std::uint8_t operator()(Number a, Number b) const {
    return a == b ? 1 : 0;
  }
};
struct Greater {
  template <class Number>
  std::uint8_t operator()(Number a, Number b) const {
    return a > b ? 1 : 0;
  }
};
struct GreaterEqual {
  template <class Number>
  std::uint8_t operator()(Number a, Number b) const {
    return a >= b ? 1 : 0;
  }
};
struct Multiply {
  std::int64_t shift = 0;
  template <class Number>
  std::int32_t operator()(Number a, Number b) const {
    const std::int64_t product = std::int64_t{a} * std::int64_t{b};
    // In two steps, since a sum before the shift might not fit.
    return wrapped<std::int32_t>(shift == 0 ? product : ((product >> (shift - 1)) + 1) >> 1);
  }
};

template <class Compute, class Number>
Expected<void> check_second(const Number* numbers, std::int64_t count) {
  if constexpr (requires { Compute::kRefusal; }) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (Compute::refuses(numbers[i])) return bad_input(fmt::format(fmt::runtime(Compute::kRefusal), numbers[i]));
    }
  }
  return {};
}

template <class In, class Out, class Compute>
Kernel plain_kernel(const SharedSite& site, Compute compute) {
  return {[site, compute](const Call& call) -> Expected<void> {
    const In* a = call.input<In>(0);
    const In* b = call.input<In>(1);
    TRY(check_second<Compute>(b, site->inputs[1].count));
    Out* out = call.result<Out>();
    walk<3>(site->output.sizes, strides_of_two(*site),
            [&](const auto& at) { out[at[2]] = compute(a[at[0]], b[at[1]]); });
    return {};
  }};
}
template <class In, class Out, class Compute>
Kernel fast_kernel(const SharedSite& site, Compute compute) {
  return {[site, compute,
           merged = merge_axes<3>(site->output.sizes, strides_of_two(*site))](const Call& call) -> Expected<void> {
    const In* a = call.input<In>(0);
    const In* b = call.input<In>(1);
    TRY(check_second<Compute>(b, site->inputs[1].count));
    Out* out = call.result<Out>();
    walk_rows(merged, [&](const auto& at, std::int64_t length, const auto& steps) {
      const In* x = a + at[0];
      const In* y = b + at[1];
      for (std::int64_t i = 0; i < length; ++i) out[at[2] + i] = compute(x[i * steps[0]], y[i * steps[1]]);
    });
    return {};
  }};
}

template <class Compute>
Expected<Kernel> plain(const SharedSite& site, Resources&) {
  return with_number(site->inputs[0].type, [&]<class Number>(Number) {
    return plain_kernel<Number, decltype(Compute{}(Number{}, Number{1}))>(site, Compute{});
  });
}
template <class Compute>
Expected<Kernel> fast(const SharedSite& site, Resources&) {
  return with_number(site->inputs[0].type, [&]<class Number>(Number) {
    return fast_kernel<Number, decltype(Compute{}(Number{}, Number{1}))>(site, Compute{});
  });
}
// Of 32-bit integers, by vectors.
template <Arithmetic kind>
Expected<Kernel> by_rows(const SharedSite& site, Resources&) {
  return Kernel{
      [merged = merge_axes<3>(site->output.sizes, strides_of_two(*site))](const Call& call) -> Expected<void> {
        const auto* a = call.input<std::int32_t>(0);
        const auto* b = call.input<std::int32_t>(1);
        auto* out = call.result<std::int32_t>();
        walk_rows(merged, [&](const auto& at, std::int64_t length, const auto& steps) {
          compute_row(kind, a + at[0], steps[0], b + at[1], steps[1], out + at[2], static_cast<std::size_t>(length));
        });
        return {};
      }};
}

Expected<Kernel> plain_right_shift(const SharedSite& site, Resources& resources) {
  return site->fields<RightShift>().round ? plain<RoundingShift>(site, resources) : plain<DownShift>(site, resources);
}
Expected<Kernel> fast_right_shift(const SharedSite& site, Resources& resources) {
  return site->fields<RightShift>().round ? fast<RoundingShift>(site, resources) : fast<DownShift>(site, resources);
}

Expected<void> check_mul(const Site& site) {
  TRY(check_two(site));
  const Operand& shift = site.inputs[2];
  TRY(want_sizes(shift, "the shift", {1}));
  TRY(want_constant(shift, "the shift"));
  const std::int64_t most = site.inputs[0].type == Type::kI32 ? kMostShift : 0;
  if (shift.at(0) >= 0 && shift.at(0) <= most) return {};
  return bad_input(fmt::format("the shift {} is {}, but at most {} for {}", shown(shift.name), shift.at(0), most,
                               name_of(site.inputs[0].type)));
}
Expected<Kernel> plain_mul(const SharedSite& site, Resources&) {
  return with_number(site->inputs[0].type, [&]<class Number>(Number) {
    return plain_kernel<Number, std::int32_t>(site, Multiply{site->inputs[2].at(0)});
  });
}
Expected<Kernel> fast_mul(const SharedSite& site, Resources& resources) {
  if (site->inputs[0].type == Type::kI32 && site->inputs[2].at(0) == 0)
    return by_rows<Arithmetic::kMul>(site, resources);
  return with_number(site->inputs[0].type, [&]<class Number>(Number) {
    return fast_kernel<Number, std::int32_t>(site, Multiply{site->inputs[2].at(0)});
  });
}

Expected<Kernel> select_kernel(const SharedSite& site, Resources&) {
  std::array<Sizes, 4> strides;
  for (std::size_t i = 0; i < 3; ++i) strides[i] = broadcast_strides(site->inputs[i].sizes, site->output.sizes);
  strides[3] = strides_of(site->output.sizes);
  return with_number(site->output.type, [&]<class Number>(Number) {
    return Kernel{[site, strides](const Call& call) -> Expected<void> {
      const std::uint8_t* condition = call.input<std::uint8_t>(0);
      const Number* a = call.input<Number>(1);
      const Number* b = call.input<Number>(2);
      Number* out = call.result<Number>();
      walk<4>(site->output.sizes, strides,
              [&](const auto& at) { out[at[3]] = condition[at[0]] != 0 ? a[at[1]] : b[at[2]]; });
      return {};
    }};
  });
}

constexpr std::string_view kTwoI32 = "i32 i32 > i32";
constexpr std::string_view kTwoBits = "i8/i16/i32 =0 > =0";
constexpr std::string_view kTwoTruths = "bool bool > bool";
constexpr std::string_view kComparison = "i32 i32 > bool";
constexpr Rule kRules[] = {
    {.op = Op::kAdd, .types = kTwoI32, .check = check_two, .plain = plain<Add>, .fast = by_rows<Arithmetic::kAdd>},
    {.op = Op::kArithmeticRightShift,
     .types = kTwoBits,
     .check = check_two,
     .plain = plain_right_shift,
     .fast = fast_right_shift},
    {.op = Op::kBitwiseAnd, .types = kTwoBits, .check = check_two, .plain = plain<BitAnd>, .fast = fast<BitAnd>},
    {.op = Op::kBitwiseOr, .types = kTwoBits, .check = check_two, .plain = plain<BitOr>, .fast = fast<BitOr>},
    {.op = Op::kBitwiseXor, .types = kTwoBits, .check = check_two, .plain = plain<BitXor>, .fast = fast<BitXor>},
    {.op = Op::kEqual, .types = kComparison, .check = check_two, .plain = plain<Equal>, .fast = fast<Equal>},
    {.op = Op::kGreater, .types = kComparison, .check = check_two, .plain = plain<Greater>, .fast = fast<Greater>},
    {.op = Op::kGreaterEqual,
     .types = kComparison,
     .check = check_two,
     .plain = plain<GreaterEqual>,
     .fast = fast<GreaterEqual>},
    {.op = Op::kIntDiv, .types = kTwoI32, .check = check_two, .plain = plain<Divide>, .fast = fast<Divide>},
    {.op = Op::kLogicalAnd, .types = kTwoTruths, .check = check_two, .plain = plain<BitAnd>, .fast = fast<BitAnd>},
    {.op = Op::kLogicalLeftShift,
     .types = kTwoBits,
     .check = check_two,
     .plain = plain<LeftShift>,
     .fast = fast<LeftShift>},
    {.op = Op::kLogicalOr, .types = kTwoTruths, .check = check_two, .plain = plain<BitOr>, .fast = fast<BitOr>},
    {.op = Op::kLogicalRightShift,
     .types = kTwoBits,
     .check = check_two,
     .plain = plain<LogicalRightShift>,
     .fast = fast<LogicalRightShift>},
    {.op = Op::kLogicalXor, .types = kTwoTruths, .check = check_two, .plain = plain<BitXor>, .fast = fast<BitXor>},
    {.op = Op::kMaximum,
     .types = kTwoI32,
     .check = check_two,
     .plain = plain<Larger>,
     .fast = by_rows<Arithmetic::kMax>},
    {.op = Op::kMinimum,
     .types = kTwoI32,
     .check = check_two,
     .plain = plain<Smaller>,
     .fast = by_rows<Arithmetic::kMin>},
    {.op = Op::kMul, .types = "i8/i16/i32 =0 i8 > i32", .check = check_mul, .plain = plain_mul, .fast = fast_mul},
    {.op = Op::kSelect, .types = "bool bool/i8/i16/i32 =1 > =1", .check = check_three, .plain = select_kernel},
    {.op = Op::kSub, .types = kTwoI32, .check = check_two, .plain = plain<Subtract>, .fast = by_rows<Arithmetic::kSub>},
};

}  // namespace

std::span<const Rule> elementwise_rules() { return kRules; }

}  // namespace isthmus::tosa
