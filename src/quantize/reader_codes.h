// Codes that one reader of a value has for itself.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "quantize/plan.h"
#include "quantize/ranges.h"

namespace isthmus {

// A reader that has no form with 16 bits, or that multiplies codes of two widths, takes 8 bits of all.
void narrow_readers(const Graph& graph, const IntegerRules& rules, const std::vector<DType>& storage, QuantPlan& plan);

// Constant data get parameters of their own wherever their reader does not tie them to its result. After
// `narrow_readers`, since constants are as wide as what is read beside them.
Expected<void> choose_constants(const Graph& graph, const BackendDesc& backend, const std::vector<DType>& storage,
                                Ranges& ranges, QuantPlan& plan);

}  // namespace isthmus
