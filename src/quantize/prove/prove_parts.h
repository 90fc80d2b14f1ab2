// What both halves of the proof use: the demands of the device, and the comparison with the model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus::proof {

// A type whose elements can be quantized. The wide ones are symmetric: their zero point is 0.
struct QuantizedType {
  DType dtype;
  std::int64_t min;
  std::int64_t max;
  bool is_symmetric;
};
// Null where elements of the type are never quantized values.
const QuantizedType* quantized_type(DType dtype);

inline bool is_quantized(const Graph& graph, ValueId id) { return graph.type(id).quant.has_value(); }

// Which sides of a conversion are quantized.
struct ConversionRow {
  Op op;
  bool from_quantized;
  bool to_quantized;
  std::string_view demand;
};
// Null where the op is none.
const ConversionRow* conversion(Op op);
// Quantize, dequantize and rescale whose parameters stand in the types. With parameters of their own they are nodes
// like others.
bool is_conversion(const Node& node);

// "%a has i8 scale 0.05 zp 3", "%b is f32[1,4]"
std::string described(const Graph& graph, ValueId id);

tl::unexpected<Error> broken(const Graph& graph, const Node& node, std::string_view demand, std::string_view found);

}  // namespace isthmus::proof
