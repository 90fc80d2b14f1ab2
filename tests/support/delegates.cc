// Builds a delegate's graph, reshapes it to its inputs and runs it once.
#include "support/delegates.h"

#include <cstring>

#include "engines/xnnpack/builder.h"

namespace isthmus::test {
namespace {

std::optional<Blob> no_data(const std::string&) { return std::nullopt; }

DType dtype_of(xnn::DataType datatype) {
  switch (datatype) {
    case xnn::DataType::kQI8:
      return DType::kI8;
    case xnn::DataType::kQU8:
      return DType::kU8;
    case xnn::DataType::kI32:
      return DType::kI32;
    default:
      return DType::kF32;
  }
}

}  // namespace

Expected<std::vector<Tensor>> run_delegate(const xnn::Graph& graph, const std::vector<Tensor>& inputs) {
  auto runtime = TRY(xnnpack::build(graph, no_data));
  std::vector<xnnpack::Dims> shapes(runtime.externals().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes[i].assign(inputs[i].sizes().begin(), inputs[i].sizes().end());
  shapes = TRY(runtime.reshape(shapes));
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> buffers;
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Tensor tensor = i < inputs.size() ? inputs[i]
                                      : Tensor(dtype_of(runtime.externals()[i].datatype),
                                               std::vector<std::int64_t>(shapes[i].begin(), shapes[i].end()));
    memory.emplace_back(tensor.bytes().begin(), tensor.bytes().end());
    memory.back().resize(tensor.bytes().size() + xnnpack::kExtraBytes);
    buffers.push_back(memory.back().data());
    if (i >= inputs.size()) outputs.push_back(std::move(tensor));
  }
  TRY(runtime.run(buffers));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::memcpy(outputs[i].mutable_bytes().data(), buffers[inputs.size() + i], outputs[i].bytes().size());
  }
  return outputs;
}

}  // namespace isthmus::test
