// Products of 64 bits, two at a time from each pair of lanes.
#include "targets/tosa/kernels/rescale_rows.h"

#include <algorithm>

#include "targets/tosa/arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "targets/tosa/kernels/rescale_rows.cc"  // NOLINT: this very file, once for each kind of machine
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isthmus::tosa {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
void rescale_block(const RescaleBlock& block, const std::int32_t* HWY_RESTRICT in, std::size_t count,
                   std::int32_t* HWY_RESTRICT out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t result = scaled(in[i], block.multiplier[i], block.shift[i]) + block.zero;
    out[i] = static_cast<std::int32_t>(std::clamp(result, block.min, block.max));
  }
}
#else
void rescale_block(const RescaleBlock& block, const std::int32_t* HWY_RESTRICT in, std::size_t count,
                   std::int32_t* HWY_RESTRICT out) {
  const hn::ScalableTag<std::int32_t> tag;
  const hn::Repartition<std::int64_t, decltype(tag)> wide;
  const hn::Repartition<std::uint64_t, decltype(tag)> bits;
  const auto low_half = hn::Set(bits, 0xFFFFFFFFu);
  const auto one = hn::Set(bits, 1);
  // Machines shift what is positive: products lie between -2^62 and 2^62, and this is divisible by 2^shift.
  const auto lift = hn::Set(bits, std::uint64_t{1} << 62);
  const auto zero = hn::Set(wide, block.zero);
  const auto min = hn::Set(wide, block.min);
  const auto max = hn::Set(wide, block.max);
  const auto scale = [&](auto product, auto shift) HWY_ATTR {
    const auto round = hn::Shl(one, hn::Sub(shift, one));
    const auto raised = hn::Add(hn::Add(hn::BitCast(bits, product), lift), round);
    const auto shifted = hn::Sub(hn::Shr(raised, shift), hn::Shr(lift, shift));
    return hn::BitCast(bits, hn::Min(hn::Max(hn::Add(hn::BitCast(wide, shifted), zero), min), max));
  };
  for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
    const auto value = hn::LoadU(tag, in + i);
    const auto multiplier = hn::LoadU(tag, block.multiplier + i);
    const auto shift = hn::BitCast(bits, hn::LoadU(tag, block.shift + i));
    const auto odd_value = hn::BitCast(tag, hn::ShiftRight<32>(hn::BitCast(bits, value)));
    const auto odd_multiplier = hn::BitCast(tag, hn::ShiftRight<32>(hn::BitCast(bits, multiplier)));
    const auto even = scale(hn::MulEven(value, multiplier), hn::And(shift, low_half));
    const auto odd = scale(hn::MulEven(odd_value, odd_multiplier), hn::ShiftRight<32>(shift));
    const auto both = hn::Or(hn::And(even, low_half), hn::ShiftLeft<32>(odd));
    hn::StoreU(hn::BitCast(tag, both), tag, out + i);
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace isthmus::tosa
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isthmus::tosa {
namespace {
HWY_EXPORT(rescale_block);
}  // namespace

void rescale_block(const RescaleBlock& block, const std::int32_t* in, std::size_t count, std::int32_t* out) {
  HWY_DYNAMIC_DISPATCH(rescale_block)(block, in, count, out);
}

}  // namespace isthmus::tosa
#endif
