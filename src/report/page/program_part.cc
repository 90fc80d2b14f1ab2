// A program file as a graph of the page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/page/parts.h"

namespace isthmus::page {
namespace {

std::string type_of(const anatomy::Value& value) {
  return fmt::format("{}[{}]", value.dtype, fmt::join(value.sizes, ","));
}

}  // namespace

Json program_part(const anatomy::Graph& program) {
  const auto makers = program.makers();
  Json sources = Json::array();
  std::map<std::uint32_t, std::size_t> source_of;  // by value
  for (const std::uint32_t input : program.inputs) {
    source_of.emplace(input, sources.size());
    const anatomy::Value& value = program.values[input];
    sources.push_back({{"name", value.name}, {"kind", "input"}, {"type", type_of(value)}});
  }
  std::size_t delegates = 0;
  Json nodes = Json::array();
  for (const anatomy::Node& node : program.nodes) {
    Json row{{"name", node.outputs.empty() ? node.op : program.values[node.outputs[0]].name},
             {"op", node.op},
             {"kind", "op"},
             {"place", node.delegate ? Json(*node.delegate) : Json(-1)},
             {"from", Json::array()},
             {"types", Json::array()}};
    if (node.delegate) {
      delegates = std::max(delegates, *node.delegate + 1);
      row["module"] = anatomy::place_of(node);
    }
    if (!node.fields.empty()) row["call"] = node.fields;
    for (const std::uint32_t input : node.inputs) {
      if (makers[input]) {
        row["from"].push_back(*makers[input]);
      } else if (const auto source = source_of.find(input); source != source_of.end()) {
        row["from"].push_back(-1 - static_cast<std::int64_t>(source->second));
      } else if (program.values[input].is_constant) {
        row["constants"].push_back({{"name", program.values[input].name}, {"type", type_of(program.values[input])}});
      }
    }
    for (const std::uint32_t output : node.outputs) row["types"].push_back(type_of(program.values[output]));
    nodes.push_back(std::move(row));
  }
  Json outputs = Json::array();
  for (const std::uint32_t output : program.outputs) {
    outputs.push_back({{"name", fmt::format("output_{}", outputs.size())},
                       {"kind", "output"},
                       {"type", type_of(program.values[output])},
                       {"from", makers[output] ? Json(*makers[output]) : Json(nullptr)}});
  }
  Json segments = Json::array();
  for (std::size_t i = 0; i < delegates; ++i) segments.push_back(fmt::format("delegate {}", i));
  return {{"segments", std::move(segments)},
          {"sources", std::move(sources)},
          {"outputs", std::move(outputs)},
          {"nodes", std::move(nodes)}};
}

}  // namespace isthmus::page
