// The rows of the table of forms, a file per family, and what several of them ask.
#pragma once

#include <cstdint>
#include <span>

#include "targets/xnnpack/forms/forms.h"

namespace isthmus::xnnpack {

std::span<const FormRow> elementwise_forms();
std::span<const FormRow> movement_forms();
std::span<const FormRow> product_forms();
std::span<const FormRow> pool_forms();
std::span<const FormRow> convert_forms();

// All inputs are ordered as the result is.
OrderDemand same_order(const Graph& graph, const Node& node);
// An image: channels last, the first input alone.
OrderDemand image_order(const Graph& graph, const Node& node);

// As the delegate's fields have it; `refusal` has seen that it fits.
inline std::uint32_t u32(std::int64_t number) { return static_cast<std::uint32_t>(number); }

}  // namespace isthmus::xnnpack
