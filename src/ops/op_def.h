// What an op is: stated once per op, in the table that the files of this folder make up.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "ir/attrs.h"
#include "ir/exprs.h"
#include "ir/op.h"
#include "ir/types.h"

namespace isthmus {

class Call;

// How values flow through an op. This says what the op *is*; what a device *needs* is in targets/.
enum class QFlow : std::uint8_t {
  kComputes,      // new numbers: inputs and outputs have parameters of their own
  kMovesData,     // the same numbers elsewhere: the output shares with the data input
  kJoinsInputs,   // several tensors become one: every data input shares with the output (cat, where)
  kNarrowsRange,  // a subset of the input's numbers (clamp, max_pool): sharing is always legal
  kFixedRange,    // output range known before calibration (sigmoid, tanh, softmax)
  kPins,          // the same numbers, quantized as the model itself asks for
  kPinsAsItRuns,  // the same, with parameters that are chosen as the model runs
};
std::string_view name_of(QFlow flow);

// What an input is for. A bias is an int32 that is derived from input and weight; an index is never quantized.
enum class Role : std::uint8_t { kData, kWeight, kBias, kIndex, kCondition, kParameter };

// The types of the inputs, and the attributes, of a node whose result is to be known.
struct InferContext {
  Exprs& exprs;
  std::span<const TensorType> inputs;
  const Attrs& attrs;

  template <class A>
  const A& as() const {
    return std::get<A>(attrs);
  }
};
// The type of the result. It checks all that the op demands of its inputs and attributes; the message of a failure says
// what was found and what was expected, its place is added by the caller.
using Infer = Expected<TensorType> (*)(const InferContext&);

// Reads a call of a frontend: its arguments, defaults included, become ops of the table in the call's graph.
// Returns one value for each result of the call. A failure of kind kUnsupported leaves the call foreign.
using Reader = Expected<std::vector<ValueId>> (*)(Call&);

enum class Aliasing : std::uint8_t {
  kFresh,  // the result is new memory
  kView,   // the result shows the memory of the first input: writing to one writes to the other
  kSelf,   // the first input itself where there is nothing to do, else new memory
};

// A name by which a frontend calls something. Without an overload ("aten.permute") it covers every overload that has
// no row of its own. In-place names (a trailing '_') and copying ones ("_copy") have no rows: they are the name
// without.
struct Spelling {
  std::string_view name;
  Reader reader;
  Aliasing aliasing = Aliasing::kFresh;
};

// Which axis of an op's data inputs and of its result is that of channels, which may differ much in range.
enum class ChannelAxis : std::uint8_t {
  kNone,
  kSecond,    // of images
  kLast,      // of rows
  kOfJoining  // the axis along which it joins, of the inputs alone
};

// What becomes of noise in a data input: its power in the result over that in the input.
enum class NoiseFlow : std::uint8_t {
  kOfVariance,    // as of the numbers themselves: variance over variance
  kAdds,          // all of it
  kMultiplies,    // the power of the other input
  kSumsProducts,  // that, as often as the result sums products
  kSums,          // as often as the result sums numbers
  kAverages,      // one part of it
  kShares,        // the power of the result: rows that sum to 1
};

// Which axes of a layer's weight number the channels of its result and of its input. With groups an axis numbers those
// of one group: conv the inputs, a transposed conv the outputs.
struct WeightAxes {
  std::int32_t outputs;
  std::int32_t inputs;
};

// Whether an op is a function of one real number, which a device may look up in a table.
enum class RealFunction : std::uint8_t {
  kNone,
  kSmooth,  // numbers between two entries of a table lie between their results
  kSteps,   // it jumps: only a table with an entry for each number is right
};

struct FixedRange {
  double min;
  double max;
};

struct OpDef {
  Op op;
  QFlow flow;
  std::vector<Role> roles;   // of the inputs in order
  std::size_t required = 1;  // number of inputs that are always there; the others are optional from the right
  bool is_variadic = false;  // the last role repeats
  Infer infer;
  std::vector<Spelling> spellings = {};  // names that mean just this op
  std::optional<FixedRange> range = {};  // kFixedRange only
  ChannelAxis channels = ChannelAxis::kNone;
  NoiseFlow noise = NoiseFlow::kOfVariance;
  bool is_elementwise = false;  // each number of the result comes from the numbers in the same place of the inputs
  RealFunction function = RealFunction::kNone;
  bool broadcasts = false;  // inputs of smaller shapes repeat along the axes that they lack
  // Whether the result scales as the data inputs do: f(a x) = a f(x) for positive a, also where each channel of an
  // image or of rows has an a of its own. Null: not for every a.
  bool (*is_homogeneous)(const Attrs& attrs) = nullptr;
  std::optional<WeightAxes> weight_axes = {};  // of layers: inputs are data, weight and bias
};

// A row whose result scales as its data do, whatever its attributes.
inline OpDef homogeneous(OpDef row) {
  row.is_homogeneous = [](const Attrs&) { return true; };
  return row;
}

// One family of ops, and the names that mean several ops of the table.
struct Family {
  std::string_view name;
  std::span<const OpDef> ops;
  std::span<const Spelling> compounds;
};

}  // namespace isthmus
