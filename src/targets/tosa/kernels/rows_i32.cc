// Arithmetic along rows.
#include "targets/tosa/kernels/rows_i32.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/tosa/kernels/rows_i32.cc"  // NOLINT: this very file, once for each kind of machine
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isthmus::tosa {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Compute>
void row(const std::int32_t* a, std::int64_t a_step, const std::int32_t* b, std::int64_t b_step, std::int32_t* out,
         std::size_t count, Compute compute) {
  const hn::ScalableTag<std::int32_t> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto first_a = hn::Set(tag, *a);
  const auto first_b = hn::Set(tag, *b);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = a_step == 0 ? first_a : hn::LoadU(tag, a + i);
    const auto y = b_step == 0 ? first_b : hn::LoadU(tag, b + i);
    hn::StoreU(compute(x, y), tag, out + i);
  }
  const hn::CappedTag<std::int32_t, 1> one;
  for (; i < count; ++i) {
    const auto x = hn::Set(one, a_step == 0 ? *a : a[i]);
    const auto y = hn::Set(one, b_step == 0 ? *b : b[i]);
    out[i] = hn::GetLane(compute(x, y));
  }
}

void compute_row(Arithmetic kind, const std::int32_t* a, std::int64_t a_step, const std::int32_t* b,
                 std::int64_t b_step, std::int32_t* out, std::size_t count) {
  switch (kind) {
    case Arithmetic::kAdd:
      return row(a, a_step, b, b_step, out, count, [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); });
    case Arithmetic::kSub:
      return row(a, a_step, b, b_step, out, count, [](auto x, auto y) HWY_ATTR { return hn::Sub(x, y); });
    case Arithmetic::kMul:
      return row(a, a_step, b, b_step, out, count, [](auto x, auto y) HWY_ATTR { return hn::Mul(x, y); });
    case Arithmetic::kMax:
      return row(a, a_step, b, b_step, out, count, [](auto x, auto y) HWY_ATTR { return hn::Max(x, y); });
    case Arithmetic::kMin:
      return row(a, a_step, b, b_step, out, count, [](auto x, auto y) HWY_ATTR { return hn::Min(x, y); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isthmus::tosa
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isthmus::tosa {
namespace {
HWY_EXPORT(compute_row);
}  // namespace

void compute_row(Arithmetic kind, const std::int32_t* a, std::int64_t a_step, const std::int32_t* b,
                 std::int64_t b_step, std::int32_t* out, std::size_t count) {
  if (count != 0) HWY_DYNAMIC_DISPATCH(compute_row)(kind, a, a_step, b, b_step, out, count);
}

}  // namespace isthmus::tosa
#endif
