// Resolves constants, checks the graph, defines it in the library.
#include "engines/xnnpack/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "base/check.h"
#include "engines/xnnpack/checks.h"
#include "engines/xnnpack/live.h"
#include "engines/xnnpack/nodes.h"

namespace isthmus::xnnpack {
namespace {

// With room behind it, as kernels read past the end of what they do not pack.
Blob padded_copy(const Blob& bytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(::operator new(bytes.size() + kExtraBytes, kAlignment));
  if (bytes.size() != 0) std::memcpy(memory, bytes.bytes().data(), bytes.size());
  std::memset(memory + bytes.size(), 0, kExtraBytes);
  std::shared_ptr<const void> owner(
      memory, [](const void* start) { ::operator delete (const_cast<void*>(start), std::align_val_t{64}); });
  return Blob({memory, bytes.size()}, std::move(owner));
}

std::uint64_t byte_count(const xnn::Value& value) {
  std::uint64_t count = 1;
  for (const std::uint32_t dim : value.dims) count *= dim;
  return (count * xnn::bits_of(value.datatype) + 7) / 8;
}

xnn_datatype library_type(xnn::DataType datatype) {
  switch (datatype) {
    case xnn::DataType::kF32:
      return xnn_datatype_fp32;
    case xnn::DataType::kQI8:
      return xnn_datatype_qint8;
    case xnn::DataType::kQU8:
      return xnn_datatype_quint8;
    case xnn::DataType::kQI32:
      return xnn_datatype_qint32;
    case xnn::DataType::kQCI8:
      return xnn_datatype_qcint8;
    case xnn::DataType::kQCI32:
      return xnn_datatype_qcint32;
    case xnn::DataType::kQDI8:
      return xnn_datatype_qdint8;
    case xnn::DataType::kI32:
      return xnn_datatype_int32;
    case xnn::DataType::kF16:
    case xnn::DataType::kQCI4:
    case xnn::DataType::kQBI4:
    case xnn::DataType::kQPI8:
    case xnn::DataType::kPF32:
    case xnn::DataType::kBF16:
      break;
  }
  CHECK(false, "a datatype that was refused before");
  return xnn_datatype_invalid;
}

}  // namespace

class Builder {
 public:
  Builder(const xnn::Graph& graph, const NamedDataLookup& named_data, const BuildOptions& options)
      : named_data_(named_data), options_(options), live_(std::make_unique<Runtime::Live>()) {
    live_->graph = graph;
    live_->max_bytes = options.max_bytes;
  }

  Expected<Runtime> run() {
    TRY(initialize());
    TRY(xnn::verify(graph()));
    TRY(check());
    TRY(define_values());
    if (options_.threads != nullptr) let_workers_sleep();
    for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
      TRY(within(define(graph().nodes[i]), [&] { return place(i); }));
    }
    xnn_runtime_t runtime = nullptr;
    const std::uint32_t flags = XNN_FLAG_YIELD_WORKERS | (options_.with_profile ? XNN_FLAG_BASIC_PROFILING : 0);
    const xnn_status status =
        xnn_create_runtime_v4(subgraph_.get(), nullptr, nullptr, options_.threads, flags, &runtime);
    if (status != xnn_status_success) {
      return fail(ErrorKind::kUnsupported, fmt::format("XNNPACK rejects the graph: {}", words(status)));
    }
    live_->runtime.reset(runtime);
    return Runtime(std::move(live_));
  }

 private:
  // Not only after the last node: workers that wait for the next one by spinning keep the CPU from those that have
  // work, wherever there are more threads than free CPUs.
  void let_workers_sleep() {
    for (xnn::Node& node : live_->graph.nodes) {
      if (takes_yield_flag(node.kind)) node.flags |= XNN_FLAG_YIELD_WORKERS;
    }
  }

  const xnn::Graph& graph() const { return live_->graph; }
  std::string place(std::size_t node) const {
    const std::string origin = options_.describe ? ", " + options_.describe(graph().nodes[node]) : "";
    return fmt::format("node {} ({}{}) of the XNNPACK delegate", node, xnn::name_of(graph().nodes[node].kind), origin);
  }

  Expected<Blob> constant(std::uint32_t index, std::uint64_t size) const {
    const xnn::Constant& constant = graph().constants[index];
    Blob bytes = constant.bytes;
    if (constant.key) {
      const auto found = named_data_(*constant.key);
      if (!found) return bad_input(fmt::format("constant {} is not in the program's named data", index));
      bytes = *found;
    }
    const auto part = bytes.part(0, size);
    if (!part) return bad_input(fmt::format("constant {} has {} bytes, {} are needed", index, bytes.size(), size));
    return *part;
  }

  Expected<void> check() {
    facts_.resize(graph().values.size());
    for (std::size_t i = 0; i < graph().values.size(); ++i) {
      const xnn::Value& value = graph().values[i];
      const auto where = [&] { return fmt::format("value {} of the XNNPACK delegate", i); };
      facts_[i].scales = TRY(within(scales_of(value), where));
      TRY(within(check_value(value, facts_[i].scales), where));
    }
    for (const xnn::Node& node : graph().nodes) {
      for (const std::uint32_t output : node.outputs) facts_[output].producer = &node;
    }
    TRY(check_readers());
    for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
      TRY(within(check_node(graph(), graph().nodes[i], facts_), [&] { return place(i); }));
    }
    std::vector<Dims> shapes = declared_shapes(graph());
    live_->bytes = TRY(infer_shapes(graph(), shapes, options_.max_bytes));
    const std::vector<Dims> declared = declared_shapes(graph());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (shapes[i] != declared[i] && facts_[i].producer != nullptr) {
        return bad_input(fmt::format("value {} of the XNNPACK delegate is declared as {}, but {} gives {}", i,
                                     text_of(declared[i]), xnn::name_of(facts_[i].producer->kind), text_of(shapes[i])));
      }
    }
    return {};
  }
  // What the library would drop it counts wrongly, and aborts.
  Expected<void> check_readers() const {
    std::vector<bool> is_read(graph().values.size(), false);
    for (std::size_t i = 0; i < graph().values.size(); ++i) {
      is_read[i] = graph().values[i].role == xnn::Role::kOutput;
    }
    for (const xnn::Node& node : graph().nodes) {
      for (const std::uint32_t input : node.inputs) {
        if (input != xnn::kNone) is_read[input] = true;
      }
    }
    for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
      const auto& outputs = graph().nodes[i].outputs;
      if (std::ranges::any_of(outputs, [&](std::uint32_t output) { return is_read[output]; })) continue;
      return within(Expected<void>(bad_input("its result is never read and is not an output of the delegate")),
                    [&] { return place(i); });
    }
    return {};
  }
  Expected<std::vector<float>> scales_of(const xnn::Value& value) const {
    const auto* quant = std::get_if<xnn::PerChannel>(&value.quant);
    if (quant == nullptr) return std::vector<float>();
    if (quant->scale_data == 0) return quant->scales;
    const Blob bytes = TRY(constant(quant->scale_data, std::uint64_t{quant->scale_count} * sizeof(float)));
    std::vector<float> scales(quant->scale_count);
    if (!scales.empty()) std::memcpy(scales.data(), bytes.bytes().data(), bytes.size());
    return scales;
  }

  // Filters and biases are packed when the runtime is made; everything else is read in place.
  std::vector<bool> packed_values() const {
    std::vector<bool> is_packed(graph().values.size(), true);
    for (const xnn::Node& node : graph().nodes) {
      const bool packs = xnn::form_of(node.kind) == xnn::Form::kConv || node.kind == xnn::NodeKind::kFullyConnected;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != xnn::kNone && !(packs && i > 0)) is_packed[node.inputs[i]] = false;
      }
    }
    return is_packed;
  }

  Expected<void> define_values() {
    xnn_subgraph_t subgraph = nullptr;
    const xnn_status made = xnn_create_subgraph(graph().external_count, 0, &subgraph);
    if (made != xnn_status_success) {
      return fail(ErrorKind::kEnvironment, fmt::format("XNNPACK cannot create a graph: {}", words(made)));
    }
    subgraph_.reset(subgraph);
    const std::vector<bool> is_packed = packed_values();
    for (std::size_t i = 0; i < graph().values.size(); ++i) {
      const auto where = [&] { return fmt::format("value {} of the XNNPACK delegate", i); };
      const xnn::Value& value = graph().values[i];
      const std::byte* data = nullptr;
      if (value.data != 0) {
        Blob bytes = TRY(within(constant(value.data, byte_count(value)), where));
        const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.bytes().data()) % 16 == 0;
        live_->constants.push_back(is_packed[i] && is_aligned ? bytes : padded_copy(bytes));
        data = live_->constants.back().bytes().data();
      }
      std::uint32_t id = xnn::kNone;
      const xnn_status status = define(value, facts_[i].scales, data, id);
      if (status != xnn_status_success) {
        return fail(ErrorKind::kUnsupported,
                    fmt::format("XNNPACK rejects value {} of the delegate, {} {}: {}", i, xnn::name_of(value.datatype),
                                text_of(Dims(value.dims.begin(), value.dims.end())), words(status)));
      }
      ids_.push_back(id);
    }
    return {};
  }
  xnn_status define(const xnn::Value& value, const std::vector<float>& scales, const void* data, std::uint32_t& id) {
    const Dims dims(value.dims.begin(), value.dims.end());
    const xnn_datatype datatype = library_type(value.datatype);
    const auto flags = static_cast<std::uint32_t>(value.role);
    if (const auto* quant = std::get_if<xnn::PerTensor>(&value.quant)) {
      return xnn_define_quantized_tensor_value(subgraph_.get(), datatype, quant->zero_point, quant->scale, dims.size(),
                                               dims.data(), data, value.external_id, flags, &id);
    }
    if (const auto* quant = std::get_if<xnn::PerChannel>(&value.quant)) {
      return xnn_define_channelwise_quantized_tensor_value_v2(subgraph_.get(), datatype, 0, scales.data(), dims.size(),
                                                              quant->axis, dims.data(), data, value.external_id, flags,
                                                              &id);
    }
    if (const auto* quant = std::get_if<xnn::PerToken>(&value.quant)) {
      return xnn_define_dynamically_quantized_tensor_value(subgraph_.get(), datatype, dims.size(), quant->inner_dims,
                                                           dims.data(), value.external_id, flags, &id);
    }
    return xnn_define_tensor_value(subgraph_.get(), datatype, dims.size(), dims.data(), data, value.external_id, flags,
                                   &id);
  }

  Expected<void> define(const xnn::Node& node) {
    const auto library_ids = [this](const std::vector<std::uint32_t>& values) {
      std::vector<std::uint32_t> ids;
      for (const std::uint32_t value : values) ids.push_back(value == xnn::kNone ? XNN_INVALID_VALUE_ID : ids_[value]);
      return ids;
    };
    const std::vector<std::uint32_t> inputs = library_ids(node.inputs);
    const std::vector<std::uint32_t> outputs = library_ids(node.outputs);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const xnn_status status =
        define_node(subgraph_.get(), {node, inputs, outputs, node.bounds ? node.bounds->min : -kInfinity,
                                      node.bounds ? node.bounds->max : kInfinity});
    if (status == xnn_status_success) return {};
    return fail(ErrorKind::kUnsupported, fmt::format("XNNPACK rejects it: {}", words(status)));
  }

  const NamedDataLookup& named_data_;
  const BuildOptions& options_;
  std::unique_ptr<Runtime::Live> live_;
  std::vector<ValueFacts> facts_;
  SubgraphHandle subgraph_;
  std::vector<std::uint32_t> ids_;
};

Expected<Runtime> build(const xnn::Graph& graph, const NamedDataLookup& named_data, const BuildOptions& options) {
  return Builder(graph, named_data, options).run();
}

}  // namespace isthmus::xnnpack
