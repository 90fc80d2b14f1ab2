// Splits a delegate's graph into runtimes of one node each, and runs them over one memory. A node that makes quantized
// values of each row is part of every node that reads them.
#include "engines/xnnpack/tapped.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/packing.h"
#include "engines/xnnpack/builder.h"

namespace isthmus::xnnpack {
namespace {

constexpr std::uint64_t kAlignment = 64;

// Its output is its input under another shape.
bool moves_nothing(const xnn::Node& node) {
  return node.kind == xnn::NodeKind::kReshape || node.kind == xnn::NodeKind::kCopy;
}

// Made and read inside of the library alone.
bool has_scale_for_each_row(const xnn::Value& value) { return value.datatype == xnn::DataType::kQDI8; }

DType dtype_of(const xnn::Value& value) {
  if (value.datatype == xnn::DataType::kF32) return DType::kF32;
  return value.datatype == xnn::DataType::kQU8 ? DType::kU8 : DType::kI8;
}

}  // namespace

struct TappedRuntime::Live {
  struct Step {
    Runtime runtime;
    std::vector<std::uint32_t> externals;  // values by external id
    std::uint32_t output;
  };
  struct FreeMemory {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(kAlignment)); }
  };
  TappedSource made;
  std::vector<std::uint32_t> storage;  // by value: the value whose bytes it lies in
  std::vector<Step> steps;
  std::map<std::uint32_t, std::vector<std::uint32_t>> places;  // of what is tapped, by storage
  std::map<std::uint32_t, std::vector<TappedValue>> shown;     // the same, in the same order
  std::map<std::uint32_t, std::vector<std::byte>> fixed;       // constant inputs, by value
  // As last shaped:
  std::vector<Dims> input_sizes;
  std::vector<Dims> shapes;
  std::vector<std::byte*> buffers;  // by value
  std::unique_ptr<std::byte[], FreeMemory> memory;

  Expected<void> add_steps(const std::map<std::string, Blob>& named_data);
  Expected<Step> step_of(std::span<const xnn::Node* const> nodes, const NamedDataLookup& named_data) const;
  Expected<void> shape(std::span<const Tensor> inputs);
  void place();
};

TappedRuntime::TappedRuntime(std::unique_ptr<Live> live) : live_(std::move(live)) {}
TappedRuntime::TappedRuntime(TappedRuntime&&) noexcept = default;
TappedRuntime& TappedRuntime::operator=(TappedRuntime&&) noexcept = default;
TappedRuntime::~TappedRuntime() = default;

// A graph of the last of these nodes alone: what it reads and makes comes from outside; its weights, and what the nodes
// before make for it, stay inside.
Expected<TappedRuntime::Live::Step> TappedRuntime::Live::step_of(std::span<const xnn::Node* const> nodes,
                                                                 const NamedDataLookup& named_data) const {
  xnn::Graph graph;
  graph.constants.emplace_back();
  std::vector<std::uint32_t> externals;
  std::map<std::uint32_t, std::uint32_t> ids;
  const auto add = [&](std::uint32_t id, xnn::Role role) -> std::uint32_t {
    if (id == xnn::kNone) return id;
    const auto [found, is_new] = ids.try_emplace(id, static_cast<std::uint32_t>(graph.values.size()));
    if (!is_new) return found->second;
    xnn::Value value = made.graph.values[id];
    value.external_id = xnn::kNone;
    value.role = xnn::Role::kInternal;
    const auto keep = [&](std::uint32_t& constant) {
      if (constant == 0) return;
      graph.constants.push_back(made.graph.constants[constant]);
      constant = static_cast<std::uint32_t>(graph.constants.size() - 1);
    };
    if (auto* channels = std::get_if<xnn::PerChannel>(&value.quant)) keep(channels->scale_data);
    if (auto* groups = std::get_if<xnn::PerGroup>(&value.quant)) keep(groups->scale_data);
    if (value.data != 0) {
      keep(value.data);
    } else if (role != xnn::Role::kInternal) {
      value.role = role;
      value.external_id = static_cast<std::uint32_t>(externals.size());
      externals.push_back(id);
    }
    graph.values.push_back(std::move(value));
    return found->second;
  };
  for (const xnn::Node* node : nodes) {
    xnn::Node alone = *node;
    const xnn::Role role = node == nodes.back() ? xnn::Role::kOutput : xnn::Role::kInternal;
    for (std::uint32_t& input : alone.inputs) input = add(input, xnn::Role::kInput);
    for (std::uint32_t& output : alone.outputs) output = add(output, role);
    graph.nodes.push_back(std::move(alone));
  }
  graph.external_count = static_cast<std::uint32_t>(externals.size());
  return Step{TRY(xnnpack::build(graph, named_data)), std::move(externals), nodes.back()->outputs[0]};
}

Expected<void> TappedRuntime::Live::add_steps(const std::map<std::string, Blob>& named_data) {
  const NamedDataLookup lookup = [&](const std::string& key) -> std::optional<Blob> {
    const auto found = named_data.find(key);
    return found == named_data.end() ? std::nullopt : std::optional(found->second);
  };
  for (std::uint32_t i = 0; i < made.graph.values.size(); ++i) storage.push_back(i);
  std::map<std::uint32_t, const xnn::Node*> makers_of_rows;  // by value
  for (const xnn::Node& node : made.graph.nodes) {
    if (moves_nothing(node)) {
      storage[node.outputs[0]] = storage[node.inputs[0]];
    } else if (has_scale_for_each_row(made.graph.values[node.outputs[0]])) {
      makers_of_rows[node.outputs[0]] = &node;
    } else {
      std::vector<const xnn::Node*> nodes;
      for (const std::uint32_t input : node.inputs) {
        if (const auto maker = makers_of_rows.find(input); maker != makers_of_rows.end())
          nodes.push_back(maker->second);
      }
      nodes.push_back(&node);
      steps.push_back(TRY(step_of(nodes, lookup)));
    }
  }
  for (const TapPoint& point : made.points) {
    const xnn::Value& value = made.graph.values[point.value];
    if (value.data != 0 || point.order.size() != value.dims.size()) continue;
    places[storage[point.value]].push_back(point.value);
    shown[storage[point.value]].push_back({point.id, {}, point.order});
  }
  for (std::uint32_t i = 0; i < made.graph.values.size(); ++i) {
    const xnn::Value& value = made.graph.values[i];
    if (value.role != xnn::Role::kInput || !made.inputs[value.external_id]) continue;
    const Blob& bytes = *made.inputs[value.external_id];
    std::vector<std::byte>& copy = fixed[i];
    copy.resize(bytes.size() + kExtraBytes);
    std::ranges::copy(bytes.bytes(), copy.begin());
  }
  return {};
}

Expected<TappedRuntime> TappedRuntime::build(TappedSource source) {
  auto live = std::make_unique<Live>();
  live->made = std::move(source);
  std::map<std::string, Blob> named_data;
  for (const pte::NamedData& data : live->made.named_data) named_data.emplace(data.key, data.bytes);
  TRY(live->add_steps(named_data));
  return TappedRuntime(std::move(live));
}

// Gives every value its place in one memory.
void TappedRuntime::Live::place() {
  std::vector<Block> blocks(made.graph.values.size());
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const xnn::Value& value = made.graph.values[i];
    if (storage[i] != i || fixed.contains(i) || value.data != 0 || has_scale_for_each_row(value)) continue;
    std::uint64_t count = 1;
    for (const std::size_t size : shapes[i]) count *= size;
    blocks[i].size = count * size_of(dtype_of(value)) + kExtraBytes;
  }
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (made.graph.values[i].role == xnn::Role::kInput) blocks[storage[i]].touch(0);
    if (made.graph.values[i].role == xnn::Role::kOutput) blocks[storage[i]].touch(steps.size() + 1);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::uint32_t value : steps[i].externals) blocks[storage[value]].touch(i + 1);
  }
  for (Block& block : blocks) {
    if (block.size == 0) block = {};
  }
  const Packing packing = pack(blocks, kAlignment);
  memory.reset(static_cast<std::byte*>(::operator new[](packing.bytes, std::align_val_t(kAlignment))));
  std::memset(memory.get(), 0, packing.bytes);
  buffers.assign(blocks.size(), nullptr);
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const auto constant = fixed.find(storage[i]);
    buffers[i] = constant != fixed.end() ? constant->second.data() : memory.get() + packing.offsets[storage[i]];
  }
}

Expected<void> TappedRuntime::Live::shape(std::span<const Tensor> inputs) {
  std::vector<Dims> sizes;
  for (const Tensor& input : inputs) sizes.emplace_back(input.sizes().begin(), input.sizes().end());
  if (sizes == input_sizes && !shapes.empty()) return {};
  shapes = declared_shapes(made.graph);
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < made.graph.values.size(); ++i) {
    const xnn::Value& value = made.graph.values[i];
    if (value.role == xnn::Role::kInput && !made.inputs[value.external_id]) shapes[i] = sizes[next++];
  }
  TRY(infer_shapes(made.graph, shapes, kMaxRunBytes));
  for (Step& step : steps) {
    std::vector<Dims> externals;
    for (const std::uint32_t value : step.externals) externals.push_back(shapes[value]);
    TRY(step.runtime.reshape(externals));
  }
  for (auto& [at, values] : shown) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i].sizes = shapes[places.at(at)[i]];
  }
  place();
  input_sizes = std::move(sizes);
  return {};
}

Expected<std::vector<Tensor>> TappedRuntime::run(std::span<const Tensor> inputs, const Tap& tap,
                                                 const QuantizedTap& quantized_tap) {
  Live& live = *live_;
  TRY(live.shape(inputs));
  const auto show = [&](std::uint32_t storage) {
    const auto found = live.shown.find(storage);
    if (found == live.shown.end()) return;
    std::size_t count = 1;
    for (const std::size_t size : live.shapes[storage]) count *= size;
    const std::byte* start = live.buffers[storage];
    if (dtype_of(live.made.graph.values[storage]) == DType::kF32) {
      tap({reinterpret_cast<const float*>(start), count}, found->second);
    } else if (quantized_tap) {
      quantized_tap({reinterpret_cast<const std::int8_t*>(start), count}, found->second);
    }
  };
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < live.made.graph.values.size(); ++i) {
    const xnn::Value& value = live.made.graph.values[i];
    if (value.role != xnn::Role::kInput || live.made.inputs[value.external_id]) continue;
    std::ranges::copy(inputs[next++].bytes(), live.buffers[i]);
    show(i);
  }
  std::vector<std::byte*> buffers;
  for (Live::Step& step : live.steps) {
    buffers.clear();
    for (const std::uint32_t value : step.externals) buffers.push_back(live.buffers[value]);
    TRY(step.runtime.run(buffers));
    show(step.output);
  }
  std::vector<Tensor> outputs(live.made.output_count);
  for (std::uint32_t i = 0; i < live.made.graph.values.size(); ++i) {
    const xnn::Value& value = live.made.graph.values[i];
    if (value.role != xnn::Role::kOutput) continue;
    Tensor output(dtype_of(value), {live.shapes[i].begin(), live.shapes[i].end()});
    std::memcpy(output.mutable_bytes().data(), live.buffers[i], output.bytes().size());
    outputs[value.external_id - live.made.inputs.size()] = std::move(output);
  }
  return outputs;
}

}  // namespace isthmus::xnnpack
