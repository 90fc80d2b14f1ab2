// What is known of each node kind and datatype, and the rules that every graph must keep.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "formats/executorch/xnn_blob.h"

namespace isthmus::xnn {
namespace {

struct NodeRow {
  std::string_view name;
  Form form;
};
constexpr NodeRow kNodes[] = {
#define XNN_NODE(enumerator, name, table, form) {name, Form::form},
#include "formats/executorch/xnn_nodes.def"
#undef XNN_NODE
};

const NodeRow& row_of(NodeKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  CHECK(index >= 1 && index <= std::size(kNodes), "an unknown kind of node");
  return kNodes[index - 1];
}

struct Arity {
  std::size_t inputs;
  std::size_t outputs;
  std::size_t fields;  // index of the alternative of Fields
};

template <class T, std::size_t index = 0>
constexpr std::size_t alternative() {
  if constexpr (std::is_same_v<std::variant_alternative_t<index, Fields>, T>) {
    return index;
  } else {
    return alternative<T, index + 1>();
  }
}

Arity arity_of(NodeKind kind) {
  switch (form_of(kind)) {
    case Form::kUnary:
      return {1, 1, 0};
    case Form::kBinary:
      return {2, 1, 0};
    case Form::kConcat: {
      const std::size_t inputs = kind == NodeKind::kConcat2   ? 2
                                 : kind == NodeKind::kConcat3 ? 3
                                 : kind == NodeKind::kConcat4 ? 4
                                                              : 5;
      return {inputs, 1, alternative<ConcatFields>()};
    }
    case Form::kFullyConnected:
      return {3, 1, 0};
    case Form::kConv:
      return {3, 1, alternative<ConvFields>()};
    case Form::kPool:
      return {1, 1, alternative<PoolFields>()};
    case Form::kArgMaxPool:
      return {1, 2, alternative<PoolFields>()};
    case Form::kTranspose:
      return {1, 1, alternative<TransposeFields>()};
    case Form::kReshape:
      return {1, 1, alternative<ReshapeFields>()};
    case Form::kSlice:
      return {1, 1, alternative<SliceFields>()};
    case Form::kPad:
      return {1, 1, alternative<PadFields>()};
    case Form::kResizeBilinear:
      return {1, 1, alternative<ResizeFields>()};
    case Form::kLeakyRelu:
    case Form::kElu:
      return {1, 1, alternative<SlopeFields>()};
    case Form::kDead:
      return {0, 0, 0};
  }
  return {0, 0, 0};
}

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}

  Expected<void> run() {
    if (graph_.external_count > kMaxExternals) return bad_input(fmt::format("{} externals", graph_.external_count));
    std::vector<bool> taken(graph_.external_count, false);
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      TRY(within(check(graph_.values[i], taken), [&] { return fmt::format("value {}", i); }));
      defined_[i] = graph_.values[i].role == Role::kInput || graph_.values[i].data != 0;
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      TRY(within(check(graph_.nodes[i]),
                 [&] { return fmt::format("node {} ({})", i, name_of(graph_.nodes[i].kind)); }));
    }
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (graph_.values[i].role == Role::kOutput && !defined_[i]) {
        return bad_input(fmt::format("value {} is an output that no node writes", i));
      }
    }
    return {};
  }

 private:
  Expected<void> check(const Value& value, std::vector<bool>& taken) const {
    if (value.dims.size() > kMaxDimensions) return bad_input(fmt::format("{} dimensions", value.dims.size()));
    std::uint64_t bits = bits_of(value.datatype);
    for (const std::uint32_t dim : value.dims) {
      const auto product = multiply_sizes(bits, dim);
      if (!product || *product > std::uint64_t{1} << 43) return bad_input("its size overflows");
      bits = *product;
    }
    if (value.data >= std::max<std::size_t>(graph_.constants.size(), 1)) {
      return bad_input(fmt::format("constant {} of {}", value.data, graph_.constants.size()));
    }
    if (value.role == Role::kInternal) {
      if (value.external_id != kNone) return bad_input("an internal value with an external id");
    } else {
      if (value.data != 0) return bad_input("a constant that is an input or output");
      if (value.external_id >= graph_.external_count) {
        return bad_input(fmt::format("external id {} of {}", value.external_id, graph_.external_count));
      }
      if (taken[value.external_id]) return bad_input(fmt::format("external id {} is taken", value.external_id));
      taken[value.external_id] = true;
    }
    return std::visit([&](const auto& quant) { return check_quant(value, quant); }, value.quant);
  }

  static Expected<void> check_quant(const Value&, std::monostate) { return {}; }
  static Expected<void> check_quant(const Value&, const PerTensor&) { return {}; }
  static Expected<void> check_quant(const Value& value, const PerToken& quant) {
    if (quant.inner_dims > value.dims.size()) {
      return bad_input(fmt::format("{} inner dimensions of {}", quant.inner_dims, value.dims.size()));
    }
    return {};
  }
  Expected<void> check_quant(const Value& value, const PerChannel& quant) const {
    TRY(check_scales(quant, 4));
    if (quant.axis >= value.dims.size()) return bad_input(fmt::format("scales along axis {}", quant.axis));
    if (quant.scale_count != value.dims[quant.axis]) {
      return bad_input(fmt::format("{} scales for {} channels", quant.scale_count, value.dims[quant.axis]));
    }
    return {};
  }
  Expected<void> check_quant(const Value& value, const PerGroup& quant) const {
    TRY(check_scales(quant, 2));
    if (quant.axis >= value.dims.size() || value.dims.size() != 2) return bad_input("groups need two dimensions");
    const std::uint64_t inner = value.dims[1 - std::min<std::uint32_t>(quant.axis, 1)];
    if (quant.group_size == 0 || inner % quant.group_size != 0 ||
        quant.scale_count != inner / quant.group_size * value.dims[quant.axis]) {
      return bad_input(fmt::format("{} scales for groups of {}", quant.scale_count, quant.group_size));
    }
    return {};
  }
  template <class Scales>
  Expected<void> check_scales(const Scales& quant, std::uint64_t bytes_each) const {
    if (quant.scale_data == 0) {
      if (quant.scales.size() != quant.scale_count)
        return bad_input("the number of scales differs from the declared one");
      return {};
    }
    if (!quant.scales.empty()) return bad_input("scales both here and in a constant");
    if (quant.scale_data >= graph_.constants.size()) {
      return bad_input(fmt::format("scales in constant {} of {}", quant.scale_data, graph_.constants.size()));
    }
    if (graph_.constants[quant.scale_data].size < quant.scale_count * bytes_each) {
      return bad_input(fmt::format("{} scales in a constant of {} bytes", quant.scale_count,
                                   graph_.constants[quant.scale_data].size));
    }
    return {};
  }

  Expected<void> check(const Node& node) {
    const Arity arity = arity_of(node.kind);
    if (arity.outputs == 0) return fail(ErrorKind::kUnsupported, "XNNPACK has no such node");
    CHECK(node.inputs.size() == arity.inputs && node.outputs.size() == arity.outputs &&
              node.fields.index() == arity.fields,
          "the number of inputs or the fields do not match the kind of node");
    const bool has_bias = form_of(node.kind) == Form::kConv || form_of(node.kind) == Form::kFullyConnected;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone && has_bias && i == 2) continue;
      if (node.inputs[i] >= graph_.values.size() || !defined_[node.inputs[i]]) {
        return bad_input(fmt::format("its input {} is value {}, which is not defined yet", i, node.inputs[i]));
      }
    }
    for (const std::uint32_t output : node.outputs) {
      if (output >= graph_.values.size())
        return bad_input(fmt::format("it writes value {}, which does not exist", output));
      if (defined_[output]) return bad_input(fmt::format("it writes value {}, which is already defined", output));
      defined_[output] = true;
    }
    return {};
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

std::string_view name_of(NodeKind kind) { return row_of(kind).name; }
Form form_of(NodeKind kind) { return row_of(kind).form; }
std::size_t input_count(NodeKind kind) { return arity_of(kind).inputs; }

std::string_view name_of(DataType datatype) {
  static constexpr std::string_view kNames[] = {"invalid", "f32",    "f16",     "qint8",  "quint8",
                                                "qint32",  "qcint8", "qcint32", "qcint4", "qdint8",
                                                "qbint4",  "qpint8", "int32",   "pf32",   "bf16"};
  return kNames[static_cast<std::size_t>(datatype)];
}

std::uint32_t bits_of(DataType datatype) {
  switch (datatype) {
    case DataType::kF32:
    case DataType::kQI32:
    case DataType::kQCI32:
    case DataType::kI32:
    case DataType::kPF32:
      return 32;
    case DataType::kF16:
    case DataType::kBF16:
      return 16;
    case DataType::kQI8:
    case DataType::kQU8:
    case DataType::kQCI8:
    case DataType::kQDI8:
    case DataType::kQPI8:
      return 8;
    case DataType::kQCI4:
    case DataType::kQBI4:
      return 4;
  }
  return 0;
}

Expected<void> verify(const Graph& graph) { return GraphVerifier(graph).run(); }

}  // namespace isthmus::xnn
