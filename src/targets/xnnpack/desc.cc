// What the XNNPACK delegate needs.
#include "targets/xnnpack/desc.h"

#include "targets/xnnpack/forms/forms.h"
#include "targets/xnnpack/integers/integer_kernels.h"

namespace isthmus::xnnpack {
namespace {

constexpr DType kStorage[] = {DType::kI8};

constexpr SharingRow kSharing[] = {
    {.of = QFlow::kMovesData, .sharing = Sharing::kMustEqual, .because = "moves bytes and cannot rescale them"},
    {.of = QFlow::kJoinsInputs,
     .sharing = Sharing::kMustEqual,
     .because = "concatenates bytes and cannot rescale them"},
    {.of = QFlow::kNarrowsRange,
     .sharing = Sharing::kMustEqual,
     .because = "compares quantized values and cannot rescale them"},
    {.of = QFlow::kPins, .sharing = Sharing::kMustEqual, .because = "has parameters of the archive"},
};

// What lies outside is only asserted by the library, or not even that.
constexpr RatioLimit kRatios[] = {
    {.op = Op::kAdd,
     .of = RatioOf::kEachInput,
     .min = 0x1p-10,
     .max = 0x1p8,
     .because = "its multipliers have 21 bits"},
    {.op = Op::kSub,
     .of = RatioOf::kEachInput,
     .min = 0x1p-10,
     .max = 0x1p8,
     .because = "its multipliers have 21 bits"},
    {.op = Op::kMul,
     .of = RatioOf::kProduct,
     .min = 0x1p-16,
     .max = 0x1p8,
     .because = "its product is scaled by less than 256"},
    {.op = Op::kRescale,
     .of = RatioOf::kEachInput,
     .min = 0x1p-8,
     .max = 0x1p7,
     .includes_max = true,
     .because = "its multiplier has 8 bits before and behind the point"},
    {.op = Op::kLeakyRelu,
     .of = RatioOf::kEachInput,
     .min = 0x1p-8,
     .max = 0x1p7,
     .includes_max = true,
     .because = "its multiplier has 8 bits before and behind the point"},
    // A negative slope loses one quantized value.
    {.op = Op::kLeakyRelu,
     .of = RatioOf::kSlopedInput,
     .min = 0x1p-8,
     .max = 127,
     .includes_max = true,
     .because = "its multiplier has 8 bits before and behind the point"},
    {.op = Op::kConv2d,
     .of = RatioOf::kProduct,
     .min = 0,
     .max = 0x1p8,
     .because = "its sums are scaled by less than 256"},
    {.op = Op::kConvTranspose2d,
     .of = RatioOf::kProduct,
     .min = 0,
     .max = 0x1p8,
     .because = "its sums are scaled by less than 256"},
    {.op = Op::kLinear,
     .of = RatioOf::kProduct,
     .min = 0,
     .max = 0x1p8,
     .because = "its sums are scaled by less than 256"},
};

// Sums are int32. The kernels for VNNI convert the scaled sum to int32 before they add the zero point, which wraps
// around near the ends; those for other CPUs saturate. One bit is for that addition and for rounding in f32.
constexpr std::string_view kSumsBecause = "its accumulators and their scaled values stay within 32 bits";
constexpr SumLimit kSums[] = {
    {.op = Op::kConv2d, .max_sum = 0x1p31 - 1, .max_scaled = 0x1p30, .because = kSumsBecause},
    {.op = Op::kConvTranspose2d, .max_sum = 0x1p31 - 1, .max_scaled = 0x1p30, .because = kSumsBecause},
    {.op = Op::kLinear, .max_sum = 0x1p31 - 1, .max_scaled = 0x1p30, .because = kSumsBecause},
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
