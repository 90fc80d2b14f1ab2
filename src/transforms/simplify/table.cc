// The table of simplifications.
#include "transforms/simplify/rewrites.h"

namespace isthmus {

std::span<const Rewrite> simplifications() {
  static constexpr Rewrite kRewrites[] = {
      {.name = "drop-identity",
       .what = "x -> x: permute by identity, full slice, expand to its own shape, cast to its own type",
       .apply = drop_identity},
      {.name = "drop-neutral", .what = "x + 0, x * 1, x and true -> x", .apply = drop_neutral},
      {.name = "fold-constants", .what = "f(constants) -> constant", .apply = fold_constants},
      {.name = "merge-equal", .what = "f(x), f(x) -> f(x), once", .apply = merge_equal},
      {.name = "merge-movement",
       .what = "permute(permute(x)) -> permute(x); reshape(reshape(x)) -> reshape(x); ...",
       .apply = merge_movement},
      {.name = "merge-clamps", .what = "clamp(clamp(x)) -> clamp(x)", .apply = merge_clamps},
      {.name = "fold-into-layer",
       .what = "conv(x) * a, linear(x) + b, with numbers for channels -> other weights",
       .apply = fold_into_layer},
      {.name = "pair-conversions",
       .what = "dequantize(quantize(x)) of the same parameters -> fake_quantize(x), dynamic_quantize(x)",
       .apply = pair_conversions},
      {.name = "raise-dequantize",
       .what = "dequantize(reshape(x)) -> reshape(dequantize(x)); permute",
       .apply = raise_dequantize},
      {.name = "raise-pins",
       .what = "fake_quantize(reshape(x)) -> reshape(fake_quantize(x)); permute; twice the same -> once",
       .apply = raise_pins},
  };
  return kRewrites;
}

}  // namespace isthmus
