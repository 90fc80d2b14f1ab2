// What a legalized node is in the delegate: one row an op. Nothing else here knows which ops the delegate has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/reason.h"
#include "ir/graph.h"
#include "targets/integers.h"
#include "targets/layout.h"

namespace isthmus::xnnpack {

class Lowering;

// Axes of a tensor, and inputs of one concatenation.
inline constexpr std::size_t kMaxRank = 6;
inline constexpr std::size_t kMaxCatInputs = 5;

// Which data a form takes besides floats.
enum class QuantizedForm : std::uint8_t {
  kNone,      // none
  kAlike,     // int8 values, where all of its data and its result are quantized
  kConverts,  // it quantizes, dequantizes or requantizes
};

struct FormRow {
  Op op;
  // What the form asks of the order of its values.
  OrderDemand (*order)(const Graph& graph, const Node& node);
  // Why this node has no such form, besides what all nodes are asked; null: nothing more is asked.
  std::optional<Reason> (*refusal)(const Graph& graph, const Node& node) = nullptr;
  // Appends the delegate's node.
  void (*lower)(Lowering& lowering, const Node& node);
  bool has_bounds = false;  // a following clamp may become the node's bounds
  QuantizedForm quantized = QuantizedForm::kNone;
  std::int32_t weight_axis = 0;  // of its weights: along which they may have a scale each
  // Why its quantized form is not for this node, of which the quantized values may not be known yet; null: nothing more
  // is asked.
  std::optional<Reason> (*quantization_refusal)(const Graph& graph, const Node& node) = nullptr;
  // Its data may be floats where its weights are quantized: the delegate then makes quantized values of each row while
  // it runs.
  bool quantizes_rows = false;
};

// Null where the delegate has no node kind for the op.
const FormRow* find_form(Op op);

// Every op that has a row.
std::vector<Op> ops_with_forms();

// Why the delegate cannot hold the value; nothing where it can.
std::optional<Reason> value_refusal(const Graph& graph, ValueId id);
// Why a float node could not run in the delegate on quantized values; nothing where it could.
std::optional<Reason> quantized_refusal(const Graph& graph, const Node& node, QuantizedTypes quantized);
bool takes_bounds(const Node& node);
// Whether rows of floats can be quantized dynamically, for quantized weights.
bool has_row_form(const Graph& graph, const Node& node);
// Why the node cannot run in the delegate; nothing where it can.
std::optional<Reason> refusal(const Graph& graph, const Node& node);

}  // namespace isthmus::xnnpack
