// Walks a segment and builds the delegate's graph from the rows of the table of forms.
#include "targets/xnnpack/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/sha256.h"
#include "engines/xnnpack/builder.h"
#include "ir/literals.h"
#include "targets/debug_handle.h"
#include "targets/xnnpack/desc.h"
#include "targets/xnnpack/forms/forms.h"

namespace isthmus::xnnpack {
namespace {

// The constant with its axes in another order, as bytes.
Blob stored_bytes(const TensorView& data, const Order& order) {
  TensorView turned = data;
  for (std::size_t i = 0; i < order.size(); ++i) {
    turned.sizes[i] = data.sizes[order[i]];
    turned.strides[i] = data.strides[order[i]];
  }
  return contiguous_bytes(turned);
}

// What the quantized values of weights or of a bias mean, with the axis of their scales where it is stored. The scales
// stand in the delegate itself: as named data each would be a segment of the file with a name that is longer than most
// of them.
void set_quant(xnn::Value& value, const Quant& quant, DType dtype, const Order& order,
               std::optional<std::int64_t> groups) {
  const bool is_bias = dtype == DType::kI32;
  if (quant.axis < 0) {
    value.datatype = is_bias ? xnn::DataType::kQI32 : xnn::DataType::kQI8;
    value.quant = xnn::PerTensor{quant.scale(), quant.zero_point};
    return;
  }
  value.datatype = is_bias ? xnn::DataType::kQCI32 : xnn::DataType::kQCI8;
  xnn::PerChannel params;
  // The axis of groups was put before all others, and becomes one with that of channels. Scales along the inputs are
  // scales of groups, of one channel each.
  const bool is_of_groups = groups && *groups > 1 && quant.axis == 0;
  const std::int64_t repeats = is_of_groups ? 1 : groups.value_or(1);
  params.axis = is_of_groups ? 0
                : groups     ? Lowering::place(order, quant.axis + 1) - 1
                             : Lowering::place(order, quant.axis);
  for (std::int64_t i = 0; i < repeats; ++i) {
    params.scales.insert(params.scales.end(), quant.scales.begin(), quant.scales.end());
  }
  params.scale_count = static_cast<std::uint32_t>(params.scales.size());
  value.quant = std::move(params);
}

}  // namespace

Lowering::Lowering(const Graph& graph, const Segment& segment, const Layout& layout)
    : graph_(graph), segment_(segment), layout_(layout) {
  result_.graph.constants.emplace_back();
}

std::uint32_t Lowering::place(const Order& order, std::int64_t axis) {
  return static_cast<std::uint32_t>(std::ranges::find(order, static_cast<std::uint8_t>(axis)) - order.begin());
}

std::vector<std::uint32_t> Lowering::dims_or(ValueId id, const Order& order, std::uint32_t symbolic) const {
  std::vector<std::uint32_t> result;
  for (const std::uint8_t axis : order) {
    const Dim dim = graph_.type(id).shape[axis];
    result.push_back(dim.is_fixed() ? static_cast<std::uint32_t>(dim.value()) : symbolic);
  }
  return result;
}

std::vector<std::uint32_t> Lowering::dims(ValueId id, const Order& order) const {
  std::vector<std::uint32_t> result;
  for (const std::uint8_t axis : order) {
    // `refusal` lets no size pass that has no bound.
    result.push_back(static_cast<std::uint32_t>(graph_.exprs().bounds(graph_.type(id).shape[axis]).max.value()));
  }
  return result;
}

const Order& Lowering::result_order() const { return layout_.orders[graph_[segment_.nodes[at_]].outputs[0].index]; }

std::uint32_t Lowering::add_value(ValueId id, const Order& order) {
  xnn::Value value;
  value.dims = dims(id, order);
  if (const std::optional<Quant>& quant = graph_.type(id).quant) {
    value.datatype = graph_.type(id).dtype == DType::kU8 ? xnn::DataType::kQU8 : xnn::DataType::kQI8;
    value.quant = xnn::PerTensor{quant->scale(), quant->zero_point};
  }
  result_.graph.values.push_back(std::move(value));
  return static_cast<std::uint32_t>(result_.graph.values.size() - 1);
}

std::uint32_t Lowering::add_constant_input(ValueId id, const Order& order) {
  const std::uint32_t value = add_value(id, order);
  result_.graph.values[value].role = xnn::Role::kInput;
  external_inputs_.push_back(value);
  const std::vector<std::uint32_t>& sizes = result_.graph.values[value].dims;
  result_.inputs.push_back({std::nullopt, graph_.type(id).dtype, std::vector<std::int64_t>(sizes.begin(), sizes.end()),
                            stored_bytes(*graph_.constant(id)->data, order)});
  return value;
}

std::uint32_t Lowering::in_order(ValueId id, const Order& order) {
  const Key key{id.index, order};
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  if (graph_.constant(id) != nullptr) return ids_[key] = add_constant_input(id, order);
  const Order& from = layout_.orders[id.index];
  const std::uint32_t source = ids_.at({id.index, from});
  const std::uint32_t result = add_value(id, order);
  const auto conversion = std::ranges::find_if(
      layout_.conversions, [&](const Conversion& row) { return row.value == id && row.to == order; });
  CHECK(conversion != layout_.conversions.end(), "a change of order that the layout does not list");
  xnn::Node node;
  node.inputs = {source};
  node.outputs = {result};
  if (conversion->moves_data) {
    xnn::TransposeFields fields;
    for (const std::uint8_t axis : order) fields.order.push_back(place(from, axis));
    node.kind = xnn::NodeKind::kTranspose;
    node.fields = std::move(fields);
  } else {
    node.kind = xnn::NodeKind::kReshape;
    node.fields = xnn::ReshapeFields{dims_or(id, order, 0)};
  }
  append(std::move(node));
  return ids_[key] = result;
}

std::uint32_t Lowering::input(std::size_t i) {
  return in_order(graph_[segment_.nodes[at_]].inputs[i], layout_.reads[at_][i]);
}

std::uint32_t Lowering::quantized_rows(std::uint32_t floats) {
  if (const auto found = quantized_rows_.find(floats); found != quantized_rows_.end()) return found->second;
  xnn::Value value;
  value.datatype = xnn::DataType::kQDI8;
  value.dims = result_.graph.values[floats].dims;
  value.quant = xnn::PerToken{1};
  result_.graph.values.push_back(std::move(value));
  const auto quantized = static_cast<std::uint32_t>(result_.graph.values.size() - 1);
  append({xnn::NodeKind::kConvert, {floats}, {quantized}, {}, 0, {}, 0});
  return quantized_rows_[floats] = quantized;
}

std::uint32_t Lowering::result() {
  // A fused clamp makes the result in the node's stead.
  const std::size_t maker = fused_clamp_[at_].value_or(at_);
  const ValueId id = graph_[segment_.nodes[maker]].outputs[0];
  const std::uint32_t value = add_value(id, layout_.orders[id.index]);
  ids_[{id.index, layout_.orders[id.index]}] = value;
  return value;
}

void Lowering::forward(std::uint32_t id) {
  const ValueId result = graph_[segment_.nodes[at_]].outputs[0];
  ids_[{result.index, result_order()}] = id;
}

std::uint32_t Lowering::weights(std::size_t i, const Order& order, std::vector<std::uint32_t> dims,
                                std::optional<std::int64_t> groups) {
  const ValueId id = graph_[segment_.nodes[at_]].inputs[i];
  TensorView data = *graph_.constant(id)->data;
  if (groups) {
    data.sizes[0] /= *groups;
    data.strides.insert(data.strides.begin(), data.strides[0] * data.sizes[0]);
    data.sizes.insert(data.sizes.begin(), *groups);
  }
  const Blob bytes = stored_bytes(data, order);
  const std::string key = sha256_hex(bytes.bytes());
  auto [found, is_new] = constants_.try_emplace(key, static_cast<std::uint32_t>(result_.graph.constants.size()));
  if (is_new) {
    result_.graph.constants.push_back({key, bytes.size(), {}});
    result_.named_data.push_back({key, bytes});
  }
  xnn::Value value;
  value.dims = std::move(dims);
  value.data = found->second;
  if (const std::optional<Quant>& quant = graph_.type(id).quant)
    set_quant(value, *quant, graph_.type(id).dtype, order, groups);
  result_.graph.values.push_back(std::move(value));
  return static_cast<std::uint32_t>(result_.graph.values.size() - 1);
}

void Lowering::append(xnn::Node node) {
  node.debug_handle = debug_handle(segment_.nodes[at_]);
  result_.graph.nodes.push_back(std::move(node));
}

// A clamp that alone reads the result of a node with bounds, in the order in which it was made.
void Lowering::find_fusions() {
  fused_clamp_.resize(segment_.nodes.size());
  is_fused_.resize(segment_.nodes.size(), false);
  std::map<ValueId, std::size_t> makers;
  std::map<ValueId, std::size_t> readers;
  for (std::size_t i = 0; i < segment_.nodes.size(); ++i) {
    makers[graph_[segment_.nodes[i]].outputs[0]] = i;
    for (const ValueId input : graph_[segment_.nodes[i]].inputs) ++readers[input];
  }
  for (const ValueId output : segment_.outputs) ++readers[output];
  for (std::size_t i = 0; i < segment_.nodes.size(); ++i) {
    const Node& node = graph_[segment_.nodes[i]];
    if (node.op != Op::kClamp) continue;
    const auto maker = makers.find(node.inputs[0]);
    if (maker == makers.end() || readers[node.inputs[0]] != 1 ||
        layout_.reads[i][0] != layout_.orders[node.inputs[0].index] ||
        !find_form(graph_[segment_.nodes[maker->second]].op)->has_bounds) {
      continue;
    }
    fused_clamp_[maker->second] = i;
    is_fused_[i] = true;
  }
}

Expected<void> Lowering::lower_node(std::size_t position) {
  if (is_fused_[position]) return {};
  at_ = position;
  const Node& node = graph_[segment_.nodes[position]];
  for (const ValueId input : node.inputs) {
    const Constant* constant = graph_.constant(input);
    if (constant != nullptr && !constant->data) {
      return within(Expected<void>(bad_input(fmt::format("constant %{} has no data", graph_[input].name))),
                    node_text(graph_, node));
    }
  }
  find_form(node.op)->lower(*this, node);
  if (fused_clamp_[position]) {
    const auto& clamp = std::get<ClampAttrs>(graph_[segment_.nodes[*fused_clamp_[position]]].attrs);
    result_.graph.nodes.back().bounds = xnn::Bounds{static_cast<float>(clamp.min), static_cast<float>(clamp.max)};
  }
  return {};
}

// Every output has a value of its own that is not an input: where it has not, it is copied.
Expected<void> Lowering::add_outputs() {
  std::set<std::uint32_t> taken(external_inputs_.begin(), external_inputs_.end());
  for (const ValueId id : segment_.outputs) {
    const Order order = row_major(graph_.type(id).rank());
    std::uint32_t value = in_order(id, order);
    if (!taken.insert(value).second) {
      const std::uint32_t copy = add_value(id, order);
      xnn::Node node;
      node.kind = xnn::NodeKind::kCopy;
      node.inputs = {value};
      node.outputs = {copy};
      append(std::move(node));
      value = copy;
    }
    result_.graph.values[value].role = xnn::Role::kOutput;
    // Where axes of size one were dropped or moved, the bytes are the same and the caller's shape counts.
    result_.graph.values[value].dims = dims(id, order);
    external_outputs_.push_back(value);
    result_.outputs.push_back(id);
  }
  return {};
}

void Lowering::number_externals() {
  std::uint32_t next = 0;
  for (const std::uint32_t value : external_inputs_) result_.graph.values[value].external_id = next++;
  for (const std::uint32_t value : external_outputs_) result_.graph.values[value].external_id = next++;
  result_.graph.external_count = next;
}

Expected<Translation> Lowering::run() {
  for (std::size_t i = 0; i < segment_.inputs.size(); ++i) {
    const ValueId id = segment_.inputs[i];
    const Order order = segment_.input_order(graph_, i);
    const std::uint32_t value = add_value(id, order);
    result_.graph.values[value].role = xnn::Role::kInput;
    ids_[{id.index, order}] = value;
    external_inputs_.push_back(value);
    result_.inputs.push_back({id});
  }
  find_fusions();
  for (std::size_t i = 0; i < segment_.nodes.size(); ++i) TRY(lower_node(i));
  TRY(add_outputs());
  number_externals();
  for (const auto& [key, id] : ids_) {
    if (layout_.orders[key.first] == key.second) result_.ids.emplace(ValueId{key.first}, id);
  }
  return std::move(result_);
}

Layout layout_of(const Graph& graph, const Segment& segment) {
  std::vector<OrderDemand> demands;
  for (const NodeId id : segment.nodes) demands.push_back(find_form(graph[id].op)->order(graph, graph[id]));
  return choose_layout(graph, segment, demands);
}

Expected<LoweredSegment> lower(const Graph& graph, const Segment& segment) {
  Layout layout = layout_of(graph, segment);
  Translation made = TRY(Lowering(graph, segment, layout).run());
  std::unordered_map<std::string_view, Blob> by_key;
  for (const pte::NamedData& data : made.named_data) by_key.emplace(data.key, data.bytes);
  const auto named_data = [&](const std::string& key) -> std::optional<Blob> {
    const auto found = by_key.find(key);
    return found == by_key.end() ? std::nullopt : std::optional(found->second);
  };
  BuildOptions options;
  options.describe = [&](const xnn::Node& node) {
    return node_text(graph, graph[node_with_handle(node.debug_handle)]);
  };
  TRY(build(made.graph, named_data, options));
  LoweredSegment lowered;
  lowered.delegate = {std::string(xnn::kBackendId), Blob::owning(TRY(xnn::write_blob(made.graph))), {}};
  lowered.inputs = std::move(made.inputs);
  lowered.outputs = std::move(made.outputs);
  lowered.named_data = std::move(made.named_data);
  lowered.device_nodes = made.graph.nodes.size();
  lowered.conversions = std::move(layout.conversions);
  return lowered;
}

}  // namespace isthmus::xnnpack
