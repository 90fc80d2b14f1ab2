// What a device needs: stated once per device, in its description.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "formats/executorch/pte.h"
#include "ops/rewrite.h"
#include "targets/finish.h"
#include "targets/integers.h"
#include "targets/layout.h"

namespace isthmus {

// What a delegate takes: a value of the graph, or a constant of the program that only this delegate reads.
struct DelegateInput {
  std::optional<ValueId> value;
  // Of the constant:
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes = {};
  Blob bytes = {};
};

// A segment as the device's bytes.
struct LoweredSegment {
  pte::Delegate delegate;
  std::vector<DelegateInput> inputs;  // in the order of the call
  std::vector<ValueId> outputs;       // behind the inputs
  std::vector<pte::NamedData> named_data;
  std::size_t device_nodes = 0;
  std::vector<Conversion> conversions;  // the changes of order that the device makes
};

// What a delegate costs its device, as far as can be said without the device's own tools.
struct DelegateCost {
  double cycles = 0;
  double sram_bytes = 0;
};
// The part of a node: the bytes are those of all that is in memory while it runs.
struct NodeShare {
  NodeId node;
  double cycles = 0;
  double sram_bytes = 0;
};
struct SegmentCost {
  DelegateCost all;
  std::vector<NodeShare> nodes;  // those that cost something, in the order in which they run
};

// What a device demands of one of its operators, for the table of what it supports.
struct LimitText {
  std::string_view operator_name;
  std::string_view code;
  std::string_view sentence;
};

// Why no device can run a node: its numbers are complex, or its operator is unknown. Nothing for all others.
std::optional<Reason> common_refusal(const Graph& graph, const Node& node);

// What a reason says of a node: "argmax of f32[1,10]"; "embedding lookup" where rows of a constant are picked.
std::string operation_text(const Graph& graph, const Node& node);
std::string subject_of(const Graph& graph, const Node& node);

// Which of the reasons about element types it is where `fits` says which values a device computes with; not for nodes
// whose values all fit.
Reason type_reason(const Graph& graph, const Node& node, bool (*fits)(const TensorType& type));

struct TargetDesc {
  std::string_view name;
  std::string_view what;               // one line for people
  std::string_view label;              // the device as people call it: "Ethos-U55"
  std::string_view unit = "delegate";  // what its part of the model runs on: "the NPU", "the delegate"

  // The ops that have a form on the device, in the order of the op table.
  std::vector<Op> (*ops)();

  // What each composite becomes, and what these rewrites ask of the target.
  std::span<const Rewrite> legalize;
  TargetForms forms;

  // What it demands of nodes that compute on quantized values.
  IntegerRules integers;

  // Why a node cannot run on the device, decided on the form that it would have there; nothing where it can.
  std::optional<Reason> (*refusal)(const Graph& graph, const Node& node);

  // The device's bytes of a segment whose nodes it can all run. Built by the device's runtime before it is returned,
  // where this machine has it: an error names the node.
  Expected<LoweredSegment> (*lower)(const Graph& graph, const Segment& segment);

  // Whether every size must be known before anything is compiled for it.
  bool needs_fixed_sizes = false;

  // The device's operators that a node of a segment becomes, in order; null where every node becomes one.
  std::vector<std::string_view> (*operators)(const Graph& graph, const Node& node) = nullptr;

  // Its limits, in the order in which they are asked; null where forms have no table of them.
  std::vector<LimitText> (*limits)() = nullptr;

  // An estimate of what a delegate costs a target of this name; null where there is none.
  std::optional<DelegateCost> (*estimate)(std::string_view target, const Blob& delegate) = nullptr;

  // The same of a segment of a quantized graph, node by node.
  std::optional<SegmentCost> (*estimate_nodes)(std::string_view target, const Graph& graph,
                                               const Segment& segment) = nullptr;

  // What makes the device's own bytes of delegates; null where these are what lower gives.
  const FinishingStep* finish = nullptr;
  // What is said of delegates that no such step has finished; nothing where none is needed.
  std::optional<Unfinished> unfinished = std::nullopt;
};

}  // namespace isthmus
