// What the XNNPACK delegate needs.
#include "targets/xnnpack/desc.h"

#include "targets/xnnpack/forms/forms.h"
#include "targets/xnnpack/integers/integer_kernels.h"

namespace isthmus::xnnpack {
namespace {

constexpr DType kStorage[] = {DType::kI8};

constexpr SharingRow kSharing[] = {
    {QFlow::kMovesData, Sharing::kMustEqual, "moves bytes and cannot rescale them"},
    {QFlow::kJoinsInputs, Sharing::kMustEqual, "joins bytes of one scale"},
    {QFlow::kNarrowsRange, Sharing::kMustEqual, "compares quantized values of one scale"},
    {QFlow::kPins, Sharing::kMustEqual, "has parameters of the archive"},
};

// What lies outside is only asserted by the library, or not even that.
constexpr RatioLimit kRatios[] = {
    {Op::kAdd, RatioOf::kEachInput, 0x1p-10, 0x1p8, false, "its multipliers have 21 bits"},
    {Op::kSub, RatioOf::kEachInput, 0x1p-10, 0x1p8, false, "its multipliers have 21 bits"},
    {Op::kMul, RatioOf::kProduct, 0x1p-16, 0x1p8, false, "its product is scaled by less than 256"},
    {Op::kRescale, RatioOf::kEachInput, 0x1p-8, 0x1p7, true, "its multiplier has 8 bits before and behind the point"},
    {Op::kLeakyRelu, RatioOf::kEachInput, 0x1p-8, 0x1p7, true, "its multiplier has 8 bits before and behind the point"},
    // A negative slope loses one quantized value.
    {Op::kLeakyRelu, RatioOf::kSlopedInput, 0x1p-8, 127, true, "its multiplier has 8 bits before and behind the point"},
    {Op::kConv2d, RatioOf::kProduct, 0, 0x1p8, false, "its sums are scaled by less than 256"},
    {Op::kConvTranspose2d, RatioOf::kProduct, 0, 0x1p8, false, "its sums are scaled by less than 256"},
    {Op::kLinear, RatioOf::kProduct, 0, 0x1p8, false, "its sums are scaled by less than 256"},
};

// Sums are int32. The kernels for VNNI convert the scaled sum to int32 before they add the zero point, which wraps
// around near the ends; those for other CPUs saturate. One bit is for that addition and for rounding in f32.
constexpr std::string_view kSumsBecause = "its sums, and what they are scaled to, stay within 32 bits";
constexpr SumLimit kSums[] = {
    {Op::kConv2d, 0x1p31 - 1, 0x1p30, kSumsBecause},
    {Op::kConvTranspose2d, 0x1p31 - 1, 0x1p30, kSumsBecause},
    {Op::kLinear, 0x1p31 - 1, 0x1p30, kSumsBecause},
};

}  // namespace

const TargetDesc& desc() {
  static const TargetDesc desc{
      .name = "xnnpack",
      .what = "CPUs, through ExecuTorch's XNNPACK delegate",
      .label = "XNNPACK",
      .ops = ops_with_forms,
      .legalize = legalizations(),
      .forms = {.max_rank = kMaxRank,
                .max_cat_inputs = kMaxCatInputs,
                .has_form = [](Op op) { return find_form(op) != nullptr; },
                .needs_other_form = needs_other_form},
      .integers =
          {
              .kernels = &integer_kernels(),
              .has_float = true,
              .storage = kStorage,
              .sharing = kSharing,
              .ratios = kRatios,
              .sums = kSums,
              .pins = {},
              .has_rescale = true,
              .refusal = quantized_refusal,
              .quantizes_rows = has_row_form,
              .takes_bounds = takes_bounds,
          },
      .refusal = refusal,
      .lower = lower,
  };
  return desc;
}

}  // namespace isthmus::xnnpack
