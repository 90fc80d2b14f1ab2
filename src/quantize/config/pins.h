// Parameters that the model itself asks for: those of an archive that PyTorch has quantized.
//
// They stand in its fake_quantize nodes, which make of every number the nearest one that has a quantized value. The
// result of such a node is a value like others with fixed parameters; what only such nodes read, over movers and
// clamps, has no reader before it is rounded. A dynamic_quantize asks for parameters that are chosen as the model runs:
// layers behind it quantize each row where the device has that, and are like any other where it has not. Scales for
// each channel of an activation are for no device.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/diag.h"
#include "ir/graph.h"
#include "stats/range.h"
#include "targets/target.h"

namespace isthmus {

// Fixed parameters.
struct Pin {
  Quant quant;
  DType storage = DType::kI8;
  bool operator==(const Pin&) const = default;
};
using Pins = std::map<ValueId, Pin>;

// By result of a fake_quantize.
Pins pins_of(const Graph& graph);
// From the first quantized value to the last.
Range range_of(const Pin& pin);

// Whether the graph has any of these.
bool is_quantized_by_archive(const Graph& graph);

// The graph with pins that the device can hold: unsigned values become signed, fewer values than the type has become a
// clamp. Those that it cannot hold are gone, with a warning that has the reason and what would help.
Expected<Graph> settle_pins(const Graph& graph, const TargetDesc& target, Diagnostics& diagnostics);

// The graph with pins as what they are in float: a quantize and a dequantize, whose parameters stand in types. Others
// are gone.
Expected<Graph> with_conversions(const Graph& graph);

// The graph with other parameters in some of its pins.
Graph with_pins(const Graph& graph, const Pins& changed);

// By value: whether all who read it are pins, or sharing nodes whose results only pins read, so that nothing sees its
// numbers. `shares` by node.
std::vector<bool> values_before_pins(const Graph& graph, const Pins& pins, const std::vector<bool>& shares);

// Whether the op's results are numbers that it reads, as those of movers, joins and clamps are.
bool passes_values_through(Op op);

// What the archive says of the values around its pins.
struct PinnedFlow {
  bool has_pins = false;
  bool has_rows = false;
  std::vector<bool> is_given;                 // by value: a pin, or what movers, joins and clamps make of pins
  std::vector<bool> is_taken;                 // by value: all its readers are pins, or movers, joins and clamps before
  std::vector<std::optional<DType>> storage;  // by value: the quantized values of the pins that give or take it
  std::vector<bool> is_in_rows;               // by value: parameters are chosen as the model runs, over movers
};
PinnedFlow pinned_flow(const Graph& graph);

}  // namespace isthmus
