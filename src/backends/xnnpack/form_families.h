// The rows of the table of forms, a file per family, and what several of them ask.
#pragma once

#include <span>

#include "backends/xnnpack/forms.h"

namespace isthmus::xnnpack {

std::span<const FormRow> elementwise_forms();
std::span<const FormRow> movement_forms();
std::span<const FormRow> product_forms();
std::span<const FormRow> pool_forms();

// All inputs are ordered as the result is.
OrderDemand same_order(const Graph& graph, const Node& node);
// An image: channels last, the first input alone.
OrderDemand image_order(const Graph& graph, const Node& node);

}  // namespace isthmus::xnnpack
