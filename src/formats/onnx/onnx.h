// ONNX files as plain structs. Nothing here knows what an operator means.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/tensor.h"

namespace isthmus::onnx {

// A tensor of the file. Its bytes are a view of the file wherever the file holds them as they are.
struct Tensor {
  std::string name;
  Expected<TensorView> data = fail(ErrorKind::kBadInput, "no data");  // a type that cannot be read is an error on use
};

// A size: a number, a name, or nothing.
using Size = std::variant<std::monostate, std::int64_t, std::string>;

struct Type {
  enum class Kind : std::uint8_t { kUnknown, kTensor, kSequence, kMap, kOptional, kSparseTensor };
  Kind kind = Kind::kUnknown;
  std::int64_t element = 0;                // of a tensor: a number for `dtype_from_onnx`; 0 where the file does not say
  std::optional<std::vector<Size>> shape;  // of a tensor: nothing where not even the rank is known
};
std::string_view name_of(Type::Kind kind);

struct ValueInfo {
  std::string name;
  Type type;
};

struct Graph;
using GraphRef = std::shared_ptr<const Graph>;

// Something that no operator of a model that can be read takes as an attribute.
struct Unreadable {
  std::string what;
};

struct Attribute {
  std::string name;
  std::variant<Unreadable, double, std::int64_t, std::string, Tensor, GraphRef, std::vector<double>,
               std::vector<std::int64_t>, std::vector<std::string>>
      value;
  std::string reference;  // inside of a function: the attribute of the call that it stands for
};

struct Node {
  std::string name;
  std::string op_type;
  std::string domain;  // empty for the operators of ONNX itself
  std::string overload;
  std::vector<std::string> inputs;  // an empty name: not given
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
  std::map<std::string, std::string> metadata;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> values;
  std::vector<std::string> sparse_initializers;
};

using Opsets = std::map<std::string, std::int64_t>;  // version by domain; "" for ONNX itself

struct Function {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Attribute> defaults;  // of its attributes
  std::vector<Node> nodes;
  Opsets opsets;
};

struct Model {
  std::int64_t ir_version = 0;
  std::string producer;
  std::string producer_version;
  Opsets opsets;
  Graph graph;
  std::vector<Function> functions;
  std::map<std::string, std::string> metadata;
  std::uint64_t file_bytes = 0;
};

// By content: the fields of a model, to the last byte, and a graph among them. Reads no more than their sizes.
bool looks_like_model(const Blob& file);

// The bytes of another file, by the name that the model has for it.
using ExternalFiles = std::function<Expected<Blob>(const std::string& location)>;
// Files of a folder and what is below; each is mapped once. A name that leads elsewhere is refused.
ExternalFiles files_in(std::string folder);

Expected<Model> read_model(const Blob& file, const ExternalFiles& external);

// One tensor on its own, as test data has it.
Expected<Tensor> read_tensor(const Blob& file);

}  // namespace isthmus::onnx
