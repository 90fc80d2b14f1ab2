// Small program files and delegates' graphs, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "formats/executorch/pte.h"
#include "formats/executorch/xnn_blob.h"
#include "interpret/tensor.h"

namespace isthmus::test {

// One plan, put together call by call. Each tensor has a place of its own in memory 1.
class ProgramBuilder {
 public:
  ProgramBuilder();

  pte::ValueIndex tensor(std::vector<std::int32_t> sizes, DType dtype = DType::kF32,
                         pte::Dynamism dynamism = pte::Dynamism::kStatic);
  pte::ValueIndex constant(const Tensor& tensor);
  pte::ValueIndex value(pte::Value value);
  // A list with values of its own.
  pte::ValueIndex ints(const std::vector<std::int64_t>& numbers);
  pte::ValueIndex input(pte::ValueIndex index);
  pte::ValueIndex output(pte::ValueIndex index);

  // "aten::add.out"
  void call(const std::string& name, std::vector<pte::ValueIndex> args);
  void call_delegate(const xnn::Graph& graph, std::vector<pte::ValueIndex> args);
  void add(pte::Instruction instruction);

  pte::Plan& plan() { return program.plans.front(); }
  Blob file() const;

  pte::Program program;
};

// y = x + 1 in float[3]: one call, one constant.
ProgramBuilder plus_one();

// Values and nodes of a delegate's graph.
class GraphBuilder {
 public:
  std::uint32_t input(std::vector<std::uint32_t> dims, xnn::DataType datatype = xnn::DataType::kF32,
                      xnn::Quant quant = {});
  std::uint32_t output(std::vector<std::uint32_t> dims, xnn::DataType datatype = xnn::DataType::kF32,
                       xnn::Quant quant = {});
  std::uint32_t internal(std::vector<std::uint32_t> dims, xnn::DataType datatype = xnn::DataType::kF32,
                         xnn::Quant quant = {});
  // Inside the blob.
  std::uint32_t constant(std::vector<std::uint32_t> dims, std::vector<std::byte> bytes,
                         xnn::DataType datatype = xnn::DataType::kF32, xnn::Quant quant = {});
  std::uint32_t floats(std::vector<std::uint32_t> dims, const std::vector<float>& numbers);
  xnn::Node& node(xnn::NodeKind kind, std::vector<std::uint32_t> inputs, std::vector<std::uint32_t> outputs,
                  xnn::Fields fields = {});

  xnn::Graph graph;

 private:
  std::uint32_t value(std::vector<std::uint32_t> dims, xnn::DataType datatype, xnn::Quant quant, xnn::Role role);
};

// A graph of one float node of each kind that there is.
std::vector<xnn::NodeKind> node_kinds();
xnn::Graph one_node(xnn::NodeKind kind);

Blob blob_of(const xnn::Graph& graph);

// The file with one number, text or list of numbers replaced; it must occur exactly once.
Blob replaced(const Blob& file, const std::string& from, const std::string& to);
template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}
// As flatbuffers store it: the count first.
template <class Number>
std::string vector_bytes(const std::vector<Number>& numbers) {
  return bytes_of(std::vector<std::uint32_t>{static_cast<std::uint32_t>(numbers.size())}) + bytes_of(numbers);
}

}  // namespace isthmus::test
