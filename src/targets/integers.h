// What a device demands of nodes that compute on quantized values. Planner and proof read it, each for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "base/reason.h"
#include "interpret/integer.h"
#include "ir/graph.h"
#include "ops/op_def.h"

namespace isthmus {

// Whether a node can change parameters between its data inputs and its result.
enum class Sharing : std::uint8_t {
  kFree,       // each has its own
  kMustEqual,  // all have the same
};

// A row matches a trait or one op; the op's row wins. Without a row it is kFree.
struct SharingRow {
  std::variant<QFlow, Op> of;
  Sharing sharing;
  std::string_view because;  // "moves bytes and cannot rescale them"
};

// Which scales a limit compares with the result's.
enum class RatioOf : std::uint8_t {
  kEachInput,    // each data input's own
  kSlopedInput,  // the same times the node's slope, without sign
  kProduct,      // the product of those of all data inputs and weights, for each channel
};

// min <= ratio < max, or <= max; the ratio in f32, products first, as devices compute it.
struct RatioLimit {
  Op op;
  RatioOf of;
  double min;
  double max;
  bool includes_max = false;
  std::string_view because;  // "XNNPACK's add shifts by at most ..."
};

// How far sums of products of quantized values and their bias may go, whatever the quantized values of the input, and
// how far when they are multiplied by the ratio of scales to give the result's quantized values. Beyond it the kernels
// of different CPUs wrap around differently.
struct SumLimit {
  Op op;
  double max_sum;
  double max_scaled;
  std::string_view because;
};

// Parameters that a device or the user refuses to negotiate, for one side of an op.
enum class Side : std::uint8_t { kInput, kResult };
struct PinRow {
  Op op;
  Side side;
  double min;
  double max;
  std::string_view because;
};

// The types of a node's quantized values.
struct QuantizedTypes {
  QuantizedTypes(DType of_all)
      : data(of_all), result(of_all) {}  // NOLINT(google-explicit-constructor): mostly they are one
  QuantizedTypes(DType of_data, DType of_result) : data(of_data), result(of_result) {}

  DType data;
  DType result;
};

// When a node reads int16 values as well as those of 8.
enum class WideReads : std::uint8_t {
  kNever,    // it would take longer: it multiplies them
  kForWide,  // where its result has 16 bits too
  kAlways,   // it computes in 32 bits whatever it reads
};

// What a node costs a device.
struct NodeCost {
  double cycles = 0;
  double working_bytes = 0;  // of memory beside its inputs and its result, while it runs
};

struct IntegerRules {
  const IntegerKernels* kernels = nullptr;  // what it computes of them, bit for bit
  // Nodes without an integer form run in float in the same delegate; else they stay on the host.
  bool has_float = false;
  std::span<const DType> storage;  // of activations: the default first
  std::span<const SharingRow> sharing;
  std::span<const RatioLimit> ratios;
  std::span<const SumLimit> sums;
  std::span<const PinRow> pins;
  bool has_rescale = false;  // so that a "must" may be met by a rescale on one edge
  // Why the node, still in float, has no form with quantized values of these types; nothing where it has one.
  std::optional<Reason> (*refusal)(const Graph& graph, const Node& node, QuantizedTypes types) = nullptr;
  // Null where the device has one width of quantized values.
  WideReads (*wide_reads)(const Node& node) = nullptr;
  // What the node, still in float, costs with quantized values of these types; null where nothing is known of it.
  NodeCost (*cost)(const Graph& graph, const Node& node, QuantizedTypes types) = nullptr;
  // Whether the node has a form that takes and makes floats, with quantized weights: the device gives each row of its
  // input parameters of its own. Null where it has none at all.
  bool (*quantizes_rows)(const Graph& graph, const Node& node) = nullptr;
  // Whether a clamp that alone reads the node's result can be part of it.
  bool (*takes_bounds)(const Node& node) = nullptr;
};

// The row that counts for an op, null where it is free.
const SharingRow* sharing_of(const IntegerRules& rules, Op op);

// The row that counts for an op, null where its sums cannot be too large.
const SumLimit* sum_limit_of(const IntegerRules& rules, Op op);

// Whether its data inputs and its result have one set of parameters.
bool must_share(const IntegerRules& rules, Op op);

// Which inputs of a node are data that are quantized as activations are: indices, conditions, weights, biases and
// parameters are not.
bool is_data_input(Op op, std::size_t input);

// Whether the op does nothing but pick elements of its data by indices.
bool picks_elements(Op op);

// The axis of a node's weight along which each slice may have a scale of its own: that of the result's channels.
// Nothing where the weight has one scale: its op knows no channels, or groups of several channels share its axes.
std::optional<std::int32_t> weight_axis(Op op, const Attrs& attrs, const Shape& weight);

// The scale of a bias is derived, never chosen: the product in f32, rounded once.
inline float bias_scale(float input, float weight) { return input * weight; }

}  // namespace isthmus
