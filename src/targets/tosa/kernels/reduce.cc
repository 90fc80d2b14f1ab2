// Operators that go along one axis and leave one element of it: sums, extremes, all, any, the place of the maximum.
#include <algorithm>

#include "targets/tosa/arithmetic.h"
#include "targets/tosa/rules.h"

namespace isthmus::tosa {
namespace {

// A tensor as elements before the axis, along it, and behind it.
struct Extent {
  std::int64_t outer = 1;
  std::int64_t along = 1;
  std::int64_t inner = 1;
};
Extent extent_of(const Operand& operand, std::int64_t axis) {
  Extent extent;
  for (std::size_t i = 0; i < operand.rank(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    (place < axis ? extent.outer : place == axis ? extent.along : extent.inner) *= operand.size(i);
  }
  return extent;
}

std::int64_t axis_of(const Site& site) {
  if (const auto* fields = std::get_if<AxisNan>(&site.op->fields)) return fields->axis;
  return site.fields<Axis>().axis;
}

Expected<void> check_reduce(const Site& site) {
  const std::int64_t axis = axis_of(site);
  TRY(want_axis(axis, site.inputs[0]));
  std::vector<std::int64_t> sizes = site.inputs[0].sizes;
  sizes[static_cast<std::size_t>(axis)] = 1;
  return want_sizes(site.output, "the output", sizes);
}

// result = join(result, element), from the first element on.
template <class Number, class Join>
Kernel reduction(const SharedSite& site, Join join) {
  return {[extent = extent_of(site->inputs[0], axis_of(*site)), join](const Call& call) -> Expected<void> {
    const Number* in = call.input<Number>(0);
    Number* out = call.result<Number>();
    for (std::int64_t o = 0; o < extent.outer; ++o, out += extent.inner) {
      for (std::int64_t i = 0; i < extent.inner; ++i) out[i] = in[i];
      in += extent.inner;
      for (std::int64_t a = 1; a < extent.along; ++a, in += extent.inner) {
        for (std::int64_t i = 0; i < extent.inner; ++i) out[i] = join(out[i], in[i]);
      }
    }
    return {};
  }};
}

Expected<Kernel> all_kernel(const SharedSite& site, Resources&) {
  return reduction<std::uint8_t>(site, [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a & b); });
}
Expected<Kernel> any_kernel(const SharedSite& site, Resources&) {
  return reduction<std::uint8_t>(site, [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a | b); });
}
Expected<Kernel> max_kernel(const SharedSite& site, Resources&) {
  return with_number(site->output.type, [&]<class Number>(Number) {
    return reduction<Number>(site, [](Number a, Number b) { return std::max(a, b); });
  });
}
Expected<Kernel> min_kernel(const SharedSite& site, Resources&) {
  return with_number(site->output.type, [&]<class Number>(Number) {
    return reduction<Number>(site, [](Number a, Number b) { return std::min(a, b); });
  });
}
Expected<Kernel> sum_kernel(const SharedSite& site, Resources&) {
  return reduction<std::int32_t>(
      site, [](std::int32_t a, std::int32_t b) { return wrapped<std::int32_t>(std::int64_t{a} + std::int64_t{b}); });
}

Expected<void> check_arg_max(const Site& site) {
  const std::int64_t axis = axis_of(site);
  TRY(want_axis(axis, site.inputs[0]));
  std::vector<std::int64_t> sizes = site.inputs[0].sizes;
  sizes.erase(sizes.begin() + axis);
  return want_sizes(site.output, "the output", sizes);
}
// The first of equal ones.
Expected<Kernel> arg_max_kernel(const SharedSite& site, Resources&) {
  return with_number(site->inputs[0].type, [&]<class Number>(Number) {
    return Kernel{[extent = extent_of(site->inputs[0], axis_of(*site))](const Call& call) -> Expected<void> {
      const Number* in = call.input<Number>(0);
      std::int32_t* out = call.result<std::int32_t>();
      for (std::int64_t o = 0; o < extent.outer; ++o) {
        for (std::int64_t i = 0; i < extent.inner; ++i) {
          const Number* column = in + o * extent.along * extent.inner + i;
          std::int64_t best = 0;
          for (std::int64_t a = 1; a < extent.along; ++a) {
            if (column[a * extent.inner] > column[best * extent.inner]) best = a;
          }
          *out++ = static_cast<std::int32_t>(best);
        }
      }
      return {};
    }};
  });
}

constexpr Rule kReduceRules[] = {
    {.op = Op::kArgMax, .types = "i8/i16 > i32", .check = check_arg_max, .plain = arg_max_kernel},
    {.op = Op::kReduceAll, .types = "bool > bool", .check = check_reduce, .plain = all_kernel},
    {.op = Op::kReduceAny, .types = "bool > bool", .check = check_reduce, .plain = any_kernel},
    {.op = Op::kReduceMax, .types = "i8/i16/i32 > =0", .check = check_reduce, .plain = max_kernel},
    {.op = Op::kReduceMin, .types = "i8/i16/i32 > =0", .check = check_reduce, .plain = min_kernel},
    {.op = Op::kReduceSum, .types = "i32 > i32", .check = check_reduce, .plain = sum_kernel},
};

}  // namespace

std::span<const Rule> reduce_rules() { return kReduceRules; }

}  // namespace isthmus::tosa
