// The graph inside an XNNPACK delegate: the bytes of its blob as plain structs, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"

namespace isthmus::xnn {

// How programs name delegates that hold such a graph.
inline constexpr std::string_view kBackendId = "XnnpackBackend";

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;  // no value: an absent bias, an internal value's external id
inline constexpr std::size_t kMaxDimensions = 6;
inline constexpr std::uint32_t kMaxExternals = 4096;

// Numbers as in the file.
enum class DataType : std::uint8_t {
  kF32 = 1,
  kF16 = 2,
  kQI8 = 3,
  kQU8 = 4,
  kQI32 = 5,
  kQCI8 = 6,
  kQCI32 = 7,
  kQCI4 = 8,
  kQDI8 = 9,
  kQBI4 = 10,
  kQPI8 = 11,
  kI32 = 12,
  kPF32 = 13,
  kBF16 = 14,
};
std::string_view name_of(DataType datatype);
// 4 for types that pack two numbers in a byte.
std::uint32_t bits_of(DataType datatype);

// Bytes that a value or its scales need: by a key in the program's named data, or inside the blob.
struct Constant {
  std::optional<std::string> key;
  std::uint64_t size = 0;
  Blob bytes;  // only without a key
};

struct PerTensor {
  float scale = 1;
  std::int32_t zero_point = 0;
  bool operator==(const PerTensor&) const = default;
};
// The scales stand here, or are floats in a constant.
struct PerChannel {
  std::vector<float> scales;
  std::uint32_t scale_data = 0;  // of Graph::constants; 0: they stand here
  std::uint32_t scale_count = 0;
  std::uint32_t axis = 0;
  bool operator==(const PerChannel&) const = default;
};
// A scale for each row, made while running.
struct PerToken {
  std::uint32_t inner_dims = 1;
  bool operator==(const PerToken&) const = default;
};
// A scale for every `group_size` numbers of a channel; in a constant they are bf16.
struct PerGroup {
  std::vector<float> scales;
  std::uint32_t scale_data = 0;
  std::uint32_t scale_count = 0;
  std::uint32_t axis = 0;
  std::uint32_t group_size = 0;
  bool operator==(const PerGroup&) const = default;
};
using Quant = std::variant<std::monostate, PerTensor, PerChannel, PerToken, PerGroup>;

enum class Role : std::uint8_t { kInternal = 0, kInput = 1, kOutput = 2 };

struct Value {
  DataType datatype = DataType::kF32;
  std::vector<std::uint32_t> dims;  // in the order of memory
  std::uint32_t data = 0;           // of Graph::constants; 0: not constant
  std::uint32_t external_id = kNone;
  Role role = Role::kInternal;
  Quant quant;
  bool operator==(const Value&) const = default;
};

enum class NodeKind : std::uint8_t {
  kInvalid = 0,
#define XNN_NODE(enumerator, ...) enumerator,
#include "formats/executorch/xnn_nodes.def"
#undef XNN_NODE
};
std::string_view name_of(NodeKind kind);

// Which fields a node has besides inputs, outputs and flags.
enum class Form : std::uint8_t {
  kUnary,
  kBinary,
  kConcat,
  kFullyConnected,
  kConv,
  kPool,
  kArgMaxPool,
  kTranspose,
  kReshape,
  kSlice,
  kPad,
  kResizeBilinear,
  kLeakyRelu,
  kElu,
  kDead,  // has a tag, but no runtime has it
};
Form form_of(NodeKind kind);
std::size_t input_count(NodeKind kind);

struct ConcatFields {
  std::uint32_t axis = 0;
  bool operator==(const ConcatFields&) const = default;
};
struct ConvFields {
  std::uint32_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;
  std::uint32_t kernel_height = 1, kernel_width = 1;
  std::uint32_t stride_height = 1, stride_width = 1;
  std::uint32_t dilation_height = 1, dilation_width = 1;
  std::uint32_t group_input_channels = 1, group_output_channels = 1, groups = 1;
  std::uint32_t adjustment_height = 0, adjustment_width = 0;
  bool operator==(const ConvFields&) const = default;
};
// Stride and dilation are unused by argmax pooling.
struct PoolFields {
  std::uint32_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;
  std::uint32_t pooling_height = 1, pooling_width = 1;
  std::uint32_t stride_height = 1, stride_width = 1;
  std::uint32_t dilation_height = 1, dilation_width = 1;
  bool operator==(const PoolFields&) const = default;
};
struct TransposeFields {
  std::vector<std::uint32_t> order;
  bool operator==(const TransposeFields&) const = default;
};
struct ReshapeFields {
  std::vector<std::uint32_t> shape;  // one 0 at most: inferred
  bool operator==(const ReshapeFields&) const = default;
};
struct SliceFields {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> sizes;  // 0: all from the offset on
  bool operator==(const SliceFields&) const = default;
};
struct PadFields {
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> after;
  float value = 0;
  bool operator==(const PadFields&) const = default;
};
struct ResizeFields {
  std::uint32_t height = 0, width = 0;
  bool operator==(const ResizeFields&) const = default;
};
// Of leaky_relu and elu.
struct SlopeFields {
  float slope = 0;
  bool operator==(const SlopeFields&) const = default;
};
using Fields = std::variant<std::monostate, ConcatFields, ConvFields, PoolFields, TransposeFields, ReshapeFields,
                            SliceFields, PadFields, ResizeFields, SlopeFields>;

struct Bounds {
  float min = 0;
  float max = 0;
  bool operator==(const Bounds&) const = default;
};

struct Node {
  NodeKind kind = NodeKind::kInvalid;
  // Indices of Graph::values. A convolution and a fully connected node have [input, filter, bias], the bias may be
  // kNone.
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> outputs;
  Fields fields;
  std::uint32_t flags = 0;
  std::optional<Bounds> bounds;
  std::uint32_t debug_handle = 0;
  bool operator==(const Node&) const = default;
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;  // producers before readers
  std::uint32_t external_count = 0;
  std::vector<Constant> constants;  // element 0 is reserved
};

// Whether every index, count and order in it holds. What reads and writes graphs calls it.
Expected<void> verify(const Graph& graph);

// Verifies everything that does not need the named data.
Expected<Graph> read_blob(const Blob& blob);

// Equal graphs give equal bytes.
Expected<std::vector<std::byte>> write_blob(const Graph& graph);

}  // namespace isthmus::xnn
