// A TOSA file: its bytes as plain structs, and back. One region with one block, which is all that a graph without
// control flow needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"

namespace isthmus::tosa {

// How programs name delegates that hold TOSA bytes.
inline constexpr std::string_view kBackendId = "TOSABackend";

inline constexpr std::size_t kMaxDimensions = 32;  // of a file; level 8K of the standard allows 6

// Numbers as in the file.
enum class Type : std::uint8_t {
  kUnknown = 0,
  kBool = 1,
  kI4 = 2,
  kI8 = 3,
  kI16 = 4,
  kI32 = 5,
  kI48 = 6,
  kF32 = 7,
  kF16 = 8,
  kBF16 = 9,
  kShape = 10,  // 64-bit sizes, known before any run
  kF8E4M3 = 11,
  kF8E5M2 = 12,
};
std::string_view name_of(Type type);
// Of an element in the file; 0 for a type that none has.
std::uint32_t bits_of(Type type);

enum class Rounding : std::uint8_t { kUnknown = 0, kSingle = 1, kInexact = 2, kDouble = 3 };
enum class NanPropagation : std::uint8_t { kUnknown = 0, kPropagate = 1, kIgnore = 2 };
enum class ResizeMode : std::uint8_t { kUnknown = 0, kNearest = 1, kBilinear = 2 };

enum class Op : std::uint8_t {
  kInvalid = 0,
#define TOSA_OP(enumerator, ...) enumerator,
#include "formats/tosa/tosa_ops.def"
#undef TOSA_OP
};
std::string_view name_of(Op op);
// A letter for each input, as tosa_ops.def explains.
std::string_view inputs_of(Op op);
// Whether it computes element by element, and whether it only moves elements.
inline bool is_elementwise(Op op) { return inputs_of(op).starts_with('e'); }
inline bool is_movement(Op op) { return inputs_of(op).starts_with('m'); }
// Every operator of the format, in the order of its number.
std::span<const Op> all_ops();

// What an operator has besides inputs and outputs. Pads are [top, bottom, left, right], all others [y, x].
struct Nothing {
  bool operator==(const Nothing&) const = default;
};
// Of operators that are known by name only. No graph has one.
struct NotRead {
  bool operator==(const NotRead&) const = default;
};
struct Axis {
  std::int32_t axis = 0;
  bool operator==(const Axis&) const = default;
};
struct AxisNan {
  std::int32_t axis = 0;
  NanPropagation nan_mode = NanPropagation::kPropagate;
  bool operator==(const AxisNan&) const = default;
};
struct NanMode {
  NanPropagation nan_mode = NanPropagation::kPropagate;
  bool operator==(const NanMode&) const = default;
};
struct AvgPool {
  std::vector<std::int32_t> kernel, stride, pad;
  Type acc_type = Type::kI32;
  bool operator==(const AvgPool&) const = default;
};
struct MaxPool {
  std::vector<std::int32_t> kernel, stride, pad;
  NanPropagation nan_mode = NanPropagation::kPropagate;
  bool operator==(const MaxPool&) const = default;
};
struct Conv {
  std::vector<std::int32_t> pad, stride, dilation;
  bool local_bound = false;
  Type acc_type = Type::kI32;
  bool operator==(const Conv&) const = default;
};
struct TransposeConv {
  std::vector<std::int32_t> out_pad, stride;
  bool local_bound = false;
  Type acc_type = Type::kI32;
  bool operator==(const TransposeConv&) const = default;
};
// Bounds as bytes of the tensor's type; writers may add zeros up to 8 bytes.
struct Clamp {
  std::vector<std::byte> min, max;
  NanPropagation nan_mode = NanPropagation::kPropagate;
  bool operator==(const Clamp&) const = default;
};
struct RightShift {
  bool round = false;
  bool operator==(const RightShift&) const = default;
};
struct Transpose {
  std::vector<std::int32_t> perms;
  bool operator==(const Transpose&) const = default;
};
struct Resize {
  ResizeMode mode = ResizeMode::kNearest;
  bool operator==(const Resize&) const = default;
};
struct Rescale {
  bool scale32 = true;
  Rounding rounding = Rounding::kSingle;
  bool per_channel = false;
  bool input_unsigned = false;
  bool output_unsigned = false;
  bool operator==(const Rescale&) const = default;
};
using Fields = std::variant<Nothing, NotRead, Axis, AxisNan, NanMode, AvgPool, MaxPool, Conv, TransposeConv, Clamp,
                            RightShift, Transpose, Resize, Rescale>;
// The defaults of an operator of this kind.
Fields fields_of(Op op);

// A tensor, or a shape: a list of sizes that operators take as an operand.
struct Value {
  std::string name;
  Type type = Type::kUnknown;
  std::vector<std::int32_t> shape;  // of a shape: one number, how many sizes it has
  Blob data;  // of constants: packed as in the file, just as many bytes as the type and shape need

  bool operator==(const Value& other) const;  // the same bytes, wherever they are
};
using ValueIndex = std::uint32_t;

struct Operator {
  Op op = Op::kInvalid;
  Fields fields;
  std::vector<ValueIndex> inputs;
  std::vector<ValueIndex> outputs;
  std::string location = {};  // where it came from, as the writer of the file says
  bool operator==(const Operator&) const = default;
};

struct Version {
  std::int32_t major = 1;
  std::int32_t minor = 0;
  std::int32_t patch = 0;
  bool is_draft = false;
  bool operator==(const Version&) const = default;
};

// Values that an operator CONST or CONST_SHAPE makes have data, and no others.
struct Graph {
  Version version;
  std::vector<Value> values;
  std::vector<Operator> operators;  // producers before readers
  std::vector<ValueIndex> inputs;
  std::vector<ValueIndex> outputs;
  bool operator==(const Graph&) const = default;
};

// Bytes of a constant of this type and shape; nothing if that is more than there can be.
std::optional<std::uint64_t> byte_count(Type type, std::span<const std::int32_t> shape);

// Whether names, indices, order, sizes and counts hold. What the operators demand of types and shapes is not its
// business. What reads and writes graphs calls it.
Expected<void> verify(const Graph& graph);

// The same graph with each constant once: of those that are equal, the one that is made first stays.
Graph with_shared_constants(const Graph& graph);

bool looks_like_graph(const Blob& file);

// Constants stay where the file has them.
Expected<Graph> read_graph(const Blob& file);

// Equal graphs give equal bytes. Tensors come before shapes, so values of a graph that was read keep their order.
Expected<std::vector<std::byte>> write_graph(const Graph& graph);

}  // namespace isthmus::tosa
