// The contents of a torch.export archive as plain structs, in the words of the file. Knows nothing of Graph.
//
// Opening reads the directory, the graph's JSON and the tensors' descriptions; it never touches the weights' bytes
// unless the archive stores them compressed.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/expected.h"
#include "base/tensor.h"

namespace isthmus::pt2 {

enum class MemoryFormat : std::uint8_t { kUnknown, kContiguous, kChannelsLast, kChannelsLast3d, kPreserve };
enum class Layout : std::uint8_t {
  kUnknown,
  kSparseCoo,
  kSparseCsr,
  kSparseCsc,
  kSparseBsr,
  kSparseBsc,
  kMkldnn,
  kStrided
};

// A scalar that may be symbolic: a number, an expression in SymPy's srepr text, or the name of a symbolic scalar value.
struct SymName {
  std::string name;
};
struct SymExpr {
  std::string text;                  // "Mul(Integer(2), Symbol('s77', positive=True, integer=True))"
  std::optional<std::int64_t> hint;  // the value at export time
};
using SymInt = std::variant<std::int64_t, SymExpr, SymName>;

// One argument of a node. Tensors and symbolic scalars are named, everything else is a literal.
struct None {};
struct TensorRef {
  std::string name;
};
using TensorRefs = std::vector<TensorRef>;
using OptionalTensorRefs = std::vector<std::optional<TensorRef>>;
struct SymBoolRef {
  std::string name;
};
struct SymFloatRef {
  std::string name;
};
struct Device {
  std::string type;
  std::optional<std::int64_t> index;
};
// What no reader of ours can use: custom objects, operators as values. Kept by kind, for a clear refusal.
struct Unreadable {
  std::string kind;  // the union's key: "as_custom_obj"
  std::string name;
};
struct Text {
  std::string value;
};
struct Subgraph;
using ArgumentValue =
    std::variant<None, TensorRef, TensorRefs, OptionalTensorRefs, std::vector<TensorRefs>, SymInt, std::vector<SymInt>,
                 std::vector<std::vector<std::int64_t>>, double, std::vector<double>, std::vector<std::vector<double>>,
                 SymFloatRef, std::vector<std::variant<double, SymFloatRef>>, bool, std::vector<bool>, SymBoolRef, Text,
                 std::vector<Text>, DType, MemoryFormat, Layout, Device, std::complex<double>,
                 std::shared_ptr<const Subgraph>, Unreadable>;

struct Argument {
  std::string name;
  ArgumentValue value;
};

struct TensorMeta {
  DType dtype = DType::kF32;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;
  SymInt storage_offset;
  bool requires_grad = false;
  Device device;
  Layout layout = Layout::kStrided;
};

struct Node {
  std::string target;  // as written: "torch.ops.aten.conv2d.default", "_operator.mul"
  std::vector<Argument> inputs;
  std::vector<ArgumentValue> outputs;           // TensorRef, TensorRefs, SymInt holding a SymName, SymBoolRef, ...
  std::map<std::string, std::string> metadata;  // stack_trace, nn_module_stack, torch_fn, ...
};

// What a graph computes with, whether it is the whole program or a subgraph that a node takes as an argument.
struct Body {
  std::vector<Node> nodes;  // in execution order
  std::map<std::string, TensorMeta, std::less<>> tensors;
  // Values of the symbolic scalars; a float or bool one has text only.
  std::map<std::string, SymInt, std::less<>> sym_ints;
  std::map<std::string, SymExpr, std::less<>> sym_floats;
  std::map<std::string, SymExpr, std::less<>> sym_bools;
};

struct Subgraph : Body {
  std::string name;
  std::vector<ArgumentValue> inputs;
  std::vector<ArgumentValue> outputs;
};

enum class InputKind : std::uint8_t {
  kUser,
  kParameter,
  kBuffer,
  kTensorConstant,
  kScalarConstant,
  kCustomObject,
  kToken
};
struct InputSpec {
  InputKind kind = InputKind::kUser;
  ArgumentValue value;        // the graph input: TensorRef, SymInt or a literal
  std::string name;           // kScalarConstant: the argument's name
  std::string target;         // FQN of the parameter, buffer or constant
  bool is_persistent = true;  // buffers: false means that its data is among the constants
};

enum class OutputKind : std::uint8_t {
  kUser,
  kLoss,
  kBufferMutation,
  kInputMutation,
  kParameterMutation,
  kGradient,
  kToken
};
struct OutputSpec {
  OutputKind kind = OutputKind::kUser;
  ArgumentValue value;
  std::string target;  // what a mutation changes: FQN of the buffer or parameter, name of the user input
};

struct Range {
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;  // nothing: unbounded
};

struct Program : Body {
  std::int64_t schema_major = 0;
  std::int64_t schema_minor = 0;
  std::string torch_version;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<std::pair<std::string, Range>> ranges;  // keys as written: "s77", "4*s94"; ordered by key
  std::vector<std::string> forward_arg_names;         // of the root module; empty where unknown
};

// A leaf of the example inputs, flattened in the order of the user inputs.
using ExampleLeaf = std::variant<None, TensorView, std::int64_t, double, bool, Text>;

struct Entry {
  std::string name;
  std::uint64_t size = 0;
  bool is_compressed = false;
};

class Archive {
 public:
  Program program;
  std::string layout;          // "torch 2.6 flat", "pt2 archive, pickled weights", "pt2 archive, raw weights"
  std::vector<Entry> entries;  // the zip directory, in the file's order
  std::uint64_t file_bytes = 0;
  std::map<std::string, TensorView, std::less<>> weights;    // by FQN: parameters, persistent buffers
  std::map<std::string, TensorView, std::less<>> constants;  // by FQN: other tensors, non-persistent buffers
  std::vector<ExampleLeaf> examples;                         // empty where the archive has none
  std::string examples_problem;                              // why the examples could not be read; empty if they could
};

// Reads an archive from its bytes. Every size, offset, count and nesting in it is checked. Views of the result point
// into `file` and keep it alive. Their storages may be unaligned: torch 2.6 and tools that repack an archive do not
// align them, so elements are to be copied out, never cast. Errors name the entry, and the node or tensor in it.
Expected<Archive> read_archive(const Blob& file);

// True if the bytes look like a zip archive with a .pt2's marker entries; for choosing a reader by content.
bool looks_like_archive(const Blob& file);

}  // namespace isthmus::pt2
