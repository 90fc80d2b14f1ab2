#include "support/onnx_writer.h"

#include <cstring>
#include <protozero/pbf_writer.hpp>

namespace isthmus::test {
namespace {

std::string tensor(const std::string& name, std::int64_t type, const std::vector<std::int64_t>& sizes,
                   const std::string& raw) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_packed_int64(1, sizes.begin(), sizes.end());
  writer.add_int32(2, static_cast<std::int32_t>(type));
  writer.add_string(8, name);
  writer.add_bytes(9, raw);
  return message;
}

template <class Number>
std::string raw_bytes(const std::vector<Number>& values) {
  std::string raw(values.size() * sizeof(Number), '\0');
  if (!raw.empty()) std::memcpy(raw.data(), values.data(), raw.size());
  return raw;
}

std::string value_info(const std::string& name, std::int64_t type, const std::vector<OnnxSize>& sizes, bool has_type) {
  std::string shape;
  protozero::pbf_writer shape_writer(shape);
  for (const OnnxSize& size : sizes) {
    std::string dim;
    protozero::pbf_writer dim_writer(dim);
    if (const auto* number = std::get_if<std::int64_t>(&size)) {
      dim_writer.add_int64(1, *number);
    } else {
      dim_writer.add_string(2, std::get<std::string>(size));
    }
    shape_writer.add_message(1, dim);
  }
  std::string tensor_type;
  protozero::pbf_writer tensor_writer(tensor_type);
  tensor_writer.add_int32(1, static_cast<std::int32_t>(type));
  tensor_writer.add_message(2, shape);
  std::string type_proto;
  protozero::pbf_writer(type_proto).add_message(1, tensor_type);
  std::string info;
  protozero::pbf_writer writer(info);
  writer.add_string(1, name);
  if (has_type) writer.add_message(2, type_proto);
  return info;
}

}  // namespace

OnnxGraph& OnnxGraph::input(const std::string& name, std::int64_t type, const std::vector<OnnxSize>& sizes) {
  protozero::pbf_writer(message_).add_message(11, value_info(name, type, sizes, true));
  return *this;
}
OnnxGraph& OnnxGraph::output(const std::string& name) {
  protozero::pbf_writer(message_).add_message(12, value_info(name, 0, {}, false));
  return *this;
}
OnnxGraph& OnnxGraph::floats(const std::string& name, const std::vector<std::int64_t>& sizes,
                             const std::vector<float>& values) {
  return bytes(name, 1, sizes, raw_bytes(values));
}
OnnxGraph& OnnxGraph::integers(const std::string& name, const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& values) {
  return bytes(name, 7, sizes, raw_bytes(values));
}
OnnxGraph& OnnxGraph::bytes(const std::string& name, std::int64_t type, const std::vector<std::int64_t>& sizes,
                            const std::string& raw) {
  protozero::pbf_writer(message_).add_message(5, tensor(name, type, sizes, raw));
  return *this;
}
OnnxGraph& OnnxGraph::external(const std::string& name, const std::vector<std::int64_t>& sizes,
                               const std::string& location) {
  std::string entry;
  protozero::pbf_writer entry_writer(entry);
  entry_writer.add_string(1, "location");
  entry_writer.add_string(2, location);
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_packed_int64(1, sizes.begin(), sizes.end());
  writer.add_int32(2, 1);
  writer.add_string(8, name);
  writer.add_message(13, entry);
  writer.add_int32(14, 1);
  protozero::pbf_writer(message_).add_message(5, message);
  return *this;
}
OnnxGraph& OnnxGraph::sparse(const std::string& name) {
  std::string message;
  protozero::pbf_writer(message).add_message(1, tensor(name, 1, {0}, ""));
  protozero::pbf_writer(message_).add_message(15, message);
  return *this;
}

OnnxGraph& OnnxGraph::node(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs,
                           const std::vector<std::pair<std::string, OnnxAttribute>>& attributes,
                           const std::vector<std::pair<std::string, OnnxGraph>>& graphs, const std::string& domain) {
  std::string message;
  protozero::pbf_writer writer(message);
  for (const std::string& name : inputs) writer.add_string(1, name);
  for (const std::string& name : outputs) writer.add_string(2, name);
  writer.add_string(4, op);
  for (const auto& [name, value] : attributes) {
    std::string attribute;
    protozero::pbf_writer fields(attribute);
    fields.add_string(1, name);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      fields.add_int64(3, *integer);
      fields.add_int32(20, 2);
    } else if (const auto* number = std::get_if<double>(&value)) {
      fields.add_float(2, static_cast<float>(*number));
      fields.add_int32(20, 1);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      fields.add_string(4, *text);
      fields.add_int32(20, 3);
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      fields.add_packed_int64(8, integers->begin(), integers->end());
      fields.add_int32(20, 7);
    } else {
      for (const double item : std::get<std::vector<double>>(value)) fields.add_float(7, static_cast<float>(item));
      fields.add_int32(20, 6);
    }
    writer.add_message(5, attribute);
  }
  for (const auto& [name, graph] : graphs) {
    std::string attribute;
    protozero::pbf_writer fields(attribute);
    fields.add_string(1, name);
    fields.add_message(6, graph.message());
    fields.add_int32(20, 5);
    writer.add_message(5, attribute);
  }
  if (!domain.empty()) writer.add_string(7, domain);
  protozero::pbf_writer(message_).add_message(1, message);
  return *this;
}

Blob onnx_model(const OnnxGraph& graph, std::int64_t opset, std::int64_t ir_version) {
  std::string set;
  protozero::pbf_writer set_writer(set);
  set_writer.add_string(1, "");
  set_writer.add_int64(2, opset);
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_int64(1, ir_version);
  writer.add_message(7, graph.message());
  writer.add_message(8, set);
  std::vector<std::byte> bytes(message.size());
  std::memcpy(bytes.data(), message.data(), message.size());
  return Blob::owning(std::move(bytes));
}

}  // namespace isthmus::test
