// Operators of several tensors, element by element, where sizes of 1 are repeated.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "base/check.h"
#include "base/untrusted_text.h"
#include "targets/tosa/arithmetic.h"
#include "targets/tosa/kernels/rows_i32.h"
#include "targets/tosa/rules.h"
#include "targets/tosa/walk.h"

namespace isthmus::tosa {
namespace {

constexpr std::int64_t kMaxShift = 63;

// The inputs that are read element by element have as many axes and fit each other and the output.
Expected<void> check_elements(const Site& site) {
  const auto count = static_cast<std::size_t>(std::ranges::count(inputs_of(site.op->op), 'e'));
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

// Elements of both inputs and of the output, at equal distances.
struct Row {
  const void* a;
  const void* b;
  void* out;
  std::array<std::int64_t, 3> first;
  std::array<std::int64_t, 3> step;
  std::int64_t length;
};
// An operator on numbers of one type. What goes over the tensors does not know the type and is compiled once for all.
struct Operation {
  std::int64_t shift = 0;
  void (*compute)(std::int64_t shift, const Row& row) = nullptr;
  std::optional<std::int64_t> (*refused)(const void* numbers, std::int64_t count) = nullptr;  // may be null
  const char* refusal = nullptr;
};

template <class Compute, class Number>
void compute_numbers(std::int64_t shift, const Row& row) {
  using Out = decltype(Compute{}(Number{}, Number{1}));
  Compute compute{};
  if constexpr (requires { compute.shift; }) compute.shift = shift;
  const Number* a = static_cast<const Number*>(row.a) + row.first[0];
  const Number* b = static_cast<const Number*>(row.b) + row.first[1];
  Out* out = static_cast<Out*>(row.out) + row.first[2];
  for (std::int64_t i = 0; i < row.length; ++i) out[i] = compute(a[i * row.step[0]], b[i * row.step[1]]);
}
template <class Compute, class Number>
std::optional<std::int64_t> first_refused(const void* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Number number = static_cast<const Number*>(numbers)[i];
    if (Compute::refuses(number)) return number;
  }
  return std::nullopt;
}
template <class Compute, class Number>
Operation operation_on(std::int64_t shift) {
  Operation operation{shift, compute_numbers<Compute, Number>};
  if constexpr (requires { Compute::kRefusal; }) {
    operation.refused = first_refused<Compute, Number>;
    operation.refusal = Compute::kRefusal;
  }
  return operation;
}
// For inputs of one of these types.
template <class Compute, class... Numbers>
Operation operation_of(const Site& site, std::int64_t shift = 0) {
  Operation operation;
  with_number(site.inputs[0].type, [&]<class Number>(Number) {
    if constexpr ((std::is_same_v<Number, Numbers> || ...)) operation = operation_on<Compute, Number>(shift);
  });
  CHECK(operation.compute != nullptr, "the rule of an operator lets no other types in");
  return operation;
}

Expected<void> check_second(const Operation& operation, const void* numbers, std::int64_t count) {
  if (operation.refused == nullptr) return {};
  const auto refused = operation.refused(numbers, count);
  return refused ? bad_input(fmt::format(fmt::runtime(operation.refusal), *refused)) : Expected<void>{};
}

Kernel plain_kernel(const SharedSite& site, const Operation& operation) {
  return {[site, operation](const Call& call) -> Expected<void> {
    Row row{call.input<std::byte>(0), call.input<std::byte>(1), call.result<std::byte>(), {}, {}, 1};
    TRY(check_second(operation, row.b, site->inputs[1].count));
    walk<3>(site->output.sizes, strides_of_two(*site), [&](const auto& at) {
      row.first = at;
      operation.compute(operation.shift, row);
    });
    return {};
  }};
}
Kernel fast_kernel(const SharedSite& site, const Operation& operation) {
  return {[site, operation,
           merged = merge_axes<3>(site->output.sizes, strides_of_two(*site))](const Call& call) -> Expected<void> {
    const Row all{call.input<std::byte>(0), call.input<std::byte>(1), call.result<std::byte>(), {}, {}, 0};
    TRY(check_second(operation, all.b, site->inputs[1].count));
    walk_rows(merged, [&](const auto& at, std::int64_t length, const auto& steps) {
      operation.compute(operation.shift, {all.a, all.b, all.out, at, steps, length});
    });
    return {};
  }};
}

template <class Compute, class... Numbers>
Expected<Kernel> plain(const SharedSite& site, Resources&) {
  return plain_kernel(site, operation_of<Compute, Numbers...>(*site));
}
template <class Compute, class... Numbers>
Expected<Kernel> fast(const SharedSite& site, Resources&) {
  return fast_kernel(site, operation_of<Compute, Numbers...>(*site));
}
template <class Compute>
Expected<Kernel> plain_bits(const SharedSite& site, Resources& resources) {
  return plain<Compute, std::int8_t, std::int16_t, std::int32_t>(site, resources);
}
template <class Compute>
Expected<Kernel> fast_bits(const SharedSite& site, Resources& resources) {
  return fast<Compute, std::int8_t, std::int16_t, std::int32_t>(site, resources);
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

Operation right_shift(const Site& site) {
  using std::int16_t, std::int32_t, std::int8_t;
  return site.fields<RightShift>().round ? operation_of<RoundingShift, int8_t, int16_t, int32_t>(site)
                                         : operation_of<DownShift, int8_t, int16_t, int32_t>(site);
}
Expected<Kernel> plain_right_shift(const SharedSite& site, Resources&) {
  return plain_kernel(site, right_shift(*site));
}
Expected<Kernel> fast_right_shift(const SharedSite& site, Resources&) { return fast_kernel(site, right_shift(*site)); }

Expected<void> check_mul(const Site& site) {
  TRY(check_elements(site));
  const Operand& shift = site.inputs[2];
  TRY(want_sizes(shift, "the shift", {1}));
  TRY(want_constant(shift, "the shift"));
  const std::int64_t max = site.inputs[0].type == Type::kI32 ? kMaxShift : 0;
  if (shift.at(0) >= 0 && shift.at(0) <= max) return {};
  return bad_input(fmt::format("the shift {} is {}, but at most {} for {}", shown(shift.name), shift.at(0), max,
                               name_of(site.inputs[0].type)));
}
Operation multiplication(const Site& site) {
  return operation_of<Multiply, std::int8_t, std::int16_t, std::int32_t>(site, site.inputs[2].at(0));
}
Expected<Kernel> plain_mul(const SharedSite& site, Resources&) { return plain_kernel(site, multiplication(*site)); }
Expected<Kernel> fast_mul(const SharedSite& site, Resources& resources) {
  if (site->inputs[0].type == Type::kI32 && site->inputs[2].at(0) == 0)
    return by_rows<Arithmetic::kMul>(site, resources);
  return fast_kernel(site, multiplication(*site));
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
constexpr std::string_view kTwoBools = "bool bool > bool";
constexpr std::string_view kComparison = "i32 i32 > bool";
constexpr Rule kElementwiseRules[] = {
    {.op = Op::kAdd,
     .types = kTwoI32,
     .check = check_elements,
     .plain = plain<Add, std::int32_t>,
     .fast = by_rows<Arithmetic::kAdd>},
    {.op = Op::kArithmeticRightShift,
     .types = kTwoBits,
     .check = check_elements,
     .plain = plain_right_shift,
     .fast = fast_right_shift},
    {.op = Op::kBitwiseAnd,
     .types = kTwoBits,
     .check = check_elements,
     .plain = plain_bits<BitAnd>,
     .fast = fast_bits<BitAnd>},
    {.op = Op::kBitwiseOr,
     .types = kTwoBits,
     .check = check_elements,
     .plain = plain_bits<BitOr>,
     .fast = fast_bits<BitOr>},
    {.op = Op::kBitwiseXor,
     .types = kTwoBits,
     .check = check_elements,
     .plain = plain_bits<BitXor>,
     .fast = fast_bits<BitXor>},
    {.op = Op::kEqual,
     .types = kComparison,
     .check = check_elements,
     .plain = plain<Equal, std::int32_t>,
     .fast = fast<Equal, std::int32_t>},
    {.op = Op::kGreater,
     .types = kComparison,
     .check = check_elements,
     .plain = plain<Greater, std::int32_t>,
     .fast = fast<Greater, std::int32_t>},
    {.op = Op::kGreaterEqual,
     .types = kComparison,
     .check = check_elements,
     .plain = plain<GreaterEqual, std::int32_t>,
     .fast = fast<GreaterEqual, std::int32_t>},
    {.op = Op::kIntDiv,
     .types = kTwoI32,
     .check = check_elements,
     .plain = plain<Divide, std::int32_t>,
     .fast = fast<Divide, std::int32_t>},
    {.op = Op::kLogicalAnd,
     .types = kTwoBools,
     .check = check_elements,
     .plain = plain<BitAnd, std::uint8_t>,
     .fast = fast<BitAnd, std::uint8_t>},
    {.op = Op::kLogicalLeftShift,
     .types = kTwoBits,
     .check = check_elements,
     .plain = plain_bits<LeftShift>,
     .fast = fast_bits<LeftShift>},
    {.op = Op::kLogicalOr,
     .types = kTwoBools,
     .check = check_elements,
     .plain = plain<BitOr, std::uint8_t>,
     .fast = fast<BitOr, std::uint8_t>},
    {.op = Op::kLogicalRightShift,
     .types = kTwoBits,
     .check = check_elements,
     .plain = plain_bits<LogicalRightShift>,
     .fast = fast_bits<LogicalRightShift>},
    {.op = Op::kLogicalXor,
     .types = kTwoBools,
     .check = check_elements,
     .plain = plain<BitXor, std::uint8_t>,
     .fast = fast<BitXor, std::uint8_t>},
    {.op = Op::kMaximum,
     .types = kTwoI32,
     .check = check_elements,
     .plain = plain<Larger, std::int32_t>,
     .fast = by_rows<Arithmetic::kMax>},
    {.op = Op::kMinimum,
     .types = kTwoI32,
     .check = check_elements,
     .plain = plain<Smaller, std::int32_t>,
     .fast = by_rows<Arithmetic::kMin>},
    {.op = Op::kMul, .types = "i8/i16/i32 =0 i8 > i32", .check = check_mul, .plain = plain_mul, .fast = fast_mul},
    {.op = Op::kSelect, .types = "bool bool/i8/i16/i32 =1 > =1", .check = check_elements, .plain = select_kernel},
    {.op = Op::kSub,
     .types = kTwoI32,
     .check = check_elements,
     .plain = plain<Subtract, std::int32_t>,
     .fast = by_rows<Arithmetic::kSub>},
};

}  // namespace

std::span<const Rule> elementwise_rules() { return kElementwiseRules; }

}  // namespace isthmus::tosa
