// What the delegate asks of quantized values: of the parameters of a value, and of those of all values of a node
// together.
#pragma once

#include <optional>

#include "base/reason.h"
#include "ir/graph.h"
#include "targets/xnnpack/forms/forms.h"

namespace isthmus::xnnpack {

// Why the delegate cannot hold a quantized value; nothing where it can.
std::optional<Reason> parameters_refusal(const Graph& graph, ValueId id);

// Why the node cannot compute with its values as they are quantized; nothing where it can, or where none is. Each of
// its values alone was accepted before.
std::optional<Reason> quantization_refusal(const Graph& graph, const Node& node, const FormRow& form);

}  // namespace isthmus::xnnpack
