// The table of simplifications.
#include "transforms/simplify/rewrites.h"

namespace isthmus {

std::span<const Rewrite> simplifications() {
  static constexpr Rewrite kRewrites[] = {
      {"drop-identity", "x -> x: permute by identity, full slice, expand to its own shape, cast to its own type",
       drop_identity},
      {"drop-neutral", "x + 0, x * 1, x and true -> x", drop_neutral},
      {"fold-constants", "f(constants) -> constant", fold_constants},
      {"merge-equal", "f(x), f(x) -> f(x), once", merge_equal},
      {"merge-movement", "permute(permute(x)) -> permute(x); reshape(reshape(x)) -> reshape(x); ...", merge_movement},
      {"merge-clamps", "clamp(clamp(x)) -> clamp(x)", merge_clamps},
      {"fold-into-layer", "conv(x) * a, linear(x) + b, with numbers for channels -> other weights", fold_into_layer},
      {"pair-conversions", "dequantize(quantize(x)) of the same parameters -> fake_quantize(x), dynamic_quantize(x)",
       pair_conversions},
      {"raise-dequantize", "dequantize(reshape(x)) -> reshape(dequantize(x)); permute", raise_dequantize},
      {"raise-pins", "fake_quantize(reshape(x)) -> reshape(fake_quantize(x)); permute; twice the same -> once",
       raise_pins},
  };
  return kRewrites;
}

}  // namespace isthmus
