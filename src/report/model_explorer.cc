// Nodes with their namespaces, attributes and edges.
#include "report/model_explorer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/untrusted_text.h"
#include "report/json_parts.h"

namespace isthmus {
namespace {

Json attribute(std::string_view key, const std::string& value) { return {{"key", key}, {"value", harmless(value)}}; }

// "blocks.0.attn" as "blocks/0/attn".
std::string namespace_of(const anatomy::Node& node) {
  if (node.delegate) return anatomy::place_of(node);
  std::string path = harmless(node.origin.module);
  std::ranges::replace(path, '/', '_');
  std::ranges::replace(path, '.', '/');
  return path;
}

std::string type_of(const anatomy::Value& value) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : value.sizes) sizes.push_back(size < 0 ? "?" : std::to_string(size));
  return fmt::format("{}[{}]", value.dtype, fmt::join(sizes, ","));
}

class Explorer {
 public:
  explicit Explorer(const anatomy::Graph& graph) : graph_(graph), made_(graph.values.size()) {}

  Json nodes() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const std::uint32_t value = graph_.inputs[i];
      add(fmt::format("input_{}", i), graph_.values[value].name, "inputs", Json::array(), Json::array(), {&value, 1});
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) add_node(graph_.nodes[i], i);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const std::string name = fmt::format("output_{}", i);
      Json edges = Json::array();
      add_edge(graph_.outputs[i], 0, edges);
      add(name, name, "outputs", Json::array(), std::move(edges), {});
    }
    return std::move(nodes_);
  }

 private:
  struct Made {
    std::string id;
    std::size_t output = 0;
  };

  // What stands on the edges that leave a node.
  Json outputs_metadata(std::span<const std::uint32_t> values) const {
    Json rows = Json::array();
    for (const std::uint32_t value : values) {
      Json attrs = Json::array();
      attrs.push_back(attribute("__tensor_tag", graph_.values[value].name));
      attrs.push_back(attribute("tensor_shape", type_of(graph_.values[value])));
      if (const auto& quant = graph_.values[value].quant; quant && quant->axis < 0) {
        attrs.push_back(
            attribute("quantization", fmt::format("scale {}, zero point {}", quant->scale(), quant->zero_point)));
      }
      rows.push_back({{"id", std::to_string(rows.size())}, {"attrs", std::move(attrs)}});
    }
    return rows;
  }

  void add(const std::string& id, const std::string& label, const std::string& path, Json attrs, Json edges,
           std::span<const std::uint32_t> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) made_[outputs[i]] = Made{id, i};
    nodes_.push_back({{"id", id},
                      {"label", harmless(label)},
                      {"namespace", path},
                      {"attrs", std::move(attrs)},
                      {"incomingEdges", std::move(edges)},
                      {"outputsMetadata", outputs_metadata(outputs)}});
  }

  // Constants are attributes of the nodes that read them: as nodes they would hide the flow of data.
  void add_edge(std::uint32_t from, std::size_t place, Json& edges) const {
    if (!made_[from]) return;
    edges.push_back({{"sourceNodeId", made_[from]->id},
                     {"sourceNodeOutputId", std::to_string(made_[from]->output)},
                     {"targetNodeInputId", std::to_string(place)}});
  }

  void add_node(const anatomy::Node& node, std::size_t number) {
    Json attrs = Json::array();
    const auto add_attribute = [&](std::string_view key, const std::string& value) {
      if (!value.empty()) attrs.push_back(attribute(key, value));
    };
    if (!node.outputs.empty()) add_attribute("name", graph_.values[node.outputs[0]].name);
    add_attribute("source", node.origin.source);
    add_attribute("call", node.origin.call);
    add_attribute("module", node.origin.module);
    add_attribute("attributes", node.fields);
    Json edges = Json::array();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const anatomy::Value& value = graph_.values[node.inputs[i]];
      if (value.is_constant) add_attribute(fmt::format("constant {}", i), value.name + " " + type_of(value));
      add_edge(node.inputs[i], i, edges);
    }
    add(fmt::format("node_{}", number), node.op, namespace_of(node), std::move(attrs), std::move(edges), node.outputs);
  }

  const anatomy::Graph& graph_;
  std::vector<std::optional<Made>> made_;  // by value
  Json nodes_ = Json::array();
};

}  // namespace

std::string to_model_explorer(const anatomy::Graph& graph, const std::string& label) {
  const Json json{{"label", harmless(label)}, {"graphs", {{{"id", "main"}, {"nodes", Explorer(graph).nodes()}}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace isthmus
