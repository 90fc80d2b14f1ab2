// What is known of quantized values and conversions, and how the proof names what it found.
#include "quantize/prove/prove_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/literals.h"

namespace isthmus::proof {
namespace {

constexpr QuantizedType kQuantizedTypes[] = {
    {.dtype = DType::kI8, .min = -128, .max = 127, .is_symmetric = false},
    {.dtype = DType::kU8, .min = 0, .max = 255, .is_symmetric = false},
    {.dtype = DType::kI16, .min = -32768, .max = 32767, .is_symmetric = true},
    {.dtype = DType::kI32,
     .min = std::numeric_limits<std::int32_t>::min(),
     .max = std::numeric_limits<std::int32_t>::max(),
     .is_symmetric = true},
};

constexpr ConversionRow kConversions[] = {
    {.op = Op::kQuantize, .from_quantized = false, .to_quantized = true, .demand = "quantizes floats"},
    {.op = Op::kDequantize, .from_quantized = true, .to_quantized = false, .demand = "dequantizes"},
    {.op = Op::kRescale, .from_quantized = true, .to_quantized = true, .demand = "requantizes"},
};

}  // namespace

const QuantizedType* quantized_type(DType dtype) {
  const auto row = std::ranges::find(kQuantizedTypes, dtype, &QuantizedType::dtype);
  return row == std::end(kQuantizedTypes) ? nullptr : row;
}

const ConversionRow* conversion(Op op) {
  const auto row = std::ranges::find(kConversions, op, &ConversionRow::op);
  return row == std::end(kConversions) ? nullptr : row;
}
bool is_conversion(const Node& node) {
  return node.inputs.size() == 1 && node.outputs.size() == 1 && conversion(node.op) != nullptr;
}

std::string described(const Graph& graph, ValueId id) {
  const TensorType& type = graph.type(id);
  if (!type.quant) return typed_name(graph, id);
  std::string scales;
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(kShown, type.quant->scales.size()); ++i) {
    scales += (i == 0 ? "" : ",") + float_text(type.quant->scales[i]);
  }
  if (type.quant->scales.size() > kShown) scales += fmt::format(",... {} in all", type.quant->scales.size());
  const std::string axis = type.quant->axis < 0 ? "" : fmt::format("axis {} ", type.quant->axis);
  return fmt::format("%{} has {} {}scale {} zp {}", graph[id].name, name_of(type.dtype), axis, scales,
                     type.quant->zero_point);
}

tl::unexpected<Error> broken(const Graph& graph, const Node& node, std::string_view demand, std::string_view found) {
  return bad_input(fmt::format("{}: {}: {}", node_text(graph, node), demand, found));
}

}  // namespace isthmus::proof
