// Quantized values that one reader of a value has for itself.
#pragma once

#include <vector>

#include "quantize/config/ranges.h"
#include "quantize/plan/plan.h"
#include "quantize/widths/widths.h"
#include "targets/target.h"

namespace isthmus {

// A reader that has no form with 16 bits, or that multiplies quantized values of two widths, or that shall not read 16
// bits, takes 8 bits of all, in the range that the value would have alone.
Expected<void> narrow_readers(const Graph& graph, const IntegerRules& rules, const ChosenWidths& widths, Ranges& ranges,
                              QuantPlan& plan);

// Constant data get parameters of their own wherever their reader does not tie them to its result. After
// `narrow_readers`, since constants are as wide as what is read beside them.
Expected<void> choose_constants(const Graph& graph, const TargetDesc& target, const std::vector<DType>& storage,
                                Ranges& ranges, QuantPlan& plan);

}  // namespace isthmus
