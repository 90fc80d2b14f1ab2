// What the library demands of values and nodes, asked in our own words before it is called: some of its demands are
// only assertions, and an answer of it names no node.
#pragma once

#include <vector>

#include "base/expected.h"
#include "formats/executorch/xnn_blob.h"

namespace isthmus::xnnpack {

// What checks of nodes need besides the graph, by value.
struct ValueFacts {
  std::vector<float> scales;            // by channel: those of a constant have been looked up
  const xnn::Node* producer = nullptr;  // null for inputs and constants
};

// The quantized value that the library makes of a number; the lowest is that of the type.
long nearest_quantized(float number, const xnn::PerTensor& params, float lowest);

Expected<void> check_value(const xnn::Value& value, const std::vector<float>& scales);

// Datatypes, quantization parameters, their ratios, fields, flags, shapes of constants. Values were checked before.
Expected<void> check_node(const xnn::Graph& graph, const xnn::Node& node, const std::vector<ValueFacts>& facts);

}  // namespace isthmus::xnnpack
