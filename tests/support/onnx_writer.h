// Small ONNX models as bytes, for tests of what reads them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace isthmus::test {

using OnnxSize = std::variant<std::int64_t, std::string>;
using OnnxAttribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

// The message of a graph, for a model or for an attribute.
class OnnxGraph {
 public:
  OnnxGraph& input(const std::string& name, std::int64_t type, const std::vector<OnnxSize>& sizes);
  OnnxGraph& output(const std::string& name);
  OnnxGraph& floats(const std::string& name, const std::vector<std::int64_t>& sizes, const std::vector<float>& values);
  OnnxGraph& integers(const std::string& name, const std::vector<std::int64_t>& sizes,
                      const std::vector<std::int64_t>& values);
  OnnxGraph& bytes(const std::string& name, std::int64_t type, const std::vector<std::int64_t>& sizes,
                   const std::string& raw);
  OnnxGraph& external(const std::string& name, const std::vector<std::int64_t>& sizes, const std::string& location);
  OnnxGraph& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs,
                  const std::vector<std::pair<std::string, OnnxAttribute>>& attributes = {},
                  const std::vector<std::pair<std::string, OnnxGraph>>& graphs = {}, const std::string& domain = {});
  OnnxGraph& sparse(const std::string& name);
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

Blob onnx_model(const OnnxGraph& graph, std::int64_t opset = 17, std::int64_t ir_version = 8);

}  // namespace isthmus::test
