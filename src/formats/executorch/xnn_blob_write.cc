// Writes the blob of an XNNPACK delegate.
#include <fmt/format.h>

#include "base/check.h"
#include "formats/executorch/xnn_blob.h"
#include "formats/flatbuffer.h"
#include "formats/schema/xnn_graph_generated.h"

namespace isthmus::xnn {
namespace {

using flatbuffers::Offset;

constexpr std::uint32_t kGraphOffset = 32;
constexpr std::uint16_t kHeaderLength = 30;
constexpr std::size_t kAlignment = 16;

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::vector<std::byte> run() {
    std::vector<Offset<xnn_wire::ConstantData>> constants;
    for (std::size_t i = 0; i < graph_.constants.size(); ++i) constants.push_back(write(graph_.constants[i], i == 0));
    if (constants.empty()) constants.push_back(write(Constant{}, true));
    std::vector<Offset<xnn_wire::Value>> values;
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
    for (std::uint32_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (value.role == Role::kInput) inputs.push_back(i);
      if (value.role == Role::kOutput) outputs.push_back(i);
      values.push_back(write(value, i));
    }
    std::vector<Offset<xnn_wire::Node>> nodes;
    for (const Node& node : graph_.nodes) nodes.push_back(write(node));
    const auto version = builder_.CreateString("0");
    const auto node_vector = builder_.CreateVector(nodes);
    const auto value_vector = builder_.CreateVector(values);
    const auto input_vector = builder_.CreateVector(inputs);
    const auto output_vector = builder_.CreateVector(outputs);
    const auto constant_vector = builder_.CreateVector(constants);
    builder_.Finish(xnn_wire::CreateGraph(builder_, version, node_vector, value_vector, graph_.external_count,
                                          input_vector, output_vector, 0, 0, constant_vector),
                    "XN01");
    return assemble();
  }

 private:
  std::vector<std::byte> assemble() const {
    const std::size_t size = builder_.GetSize();
    const std::size_t constants = kGraphOffset + (size + kAlignment - 1) / kAlignment * kAlignment;
    std::vector<std::byte> out(constants);
    std::memcpy(out.data() + 4, "XH00", 4);
    put<std::uint16_t>(out, 8, kHeaderLength);
    put<std::uint32_t>(out, 10, kGraphOffset);
    put<std::uint32_t>(out, 14, static_cast<std::uint32_t>(size));
    put<std::uint32_t>(out, 18, static_cast<std::uint32_t>(constants));
    put<std::uint64_t>(out, 22, inline_.size());
    std::memcpy(out.data() + kGraphOffset, builder_.GetBufferPointer(), size);
    out.insert(out.end(), inline_.begin(), inline_.end());
    return out;
  }
  // Byte by byte: the fields are not aligned.
  template <class Number>
  static void put(std::vector<std::byte>& out, std::size_t offset, Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      out[offset + i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xFF);
    }
  }

  Offset<xnn_wire::ConstantData> write(const Constant& constant, bool is_reserved) {
    if (is_reserved) return xnn_wire::CreateConstantData(builder_, 0, 0, builder_.CreateString(""));
    constexpr std::uint64_t kElsewhere = ~std::uint64_t{0};
    if (constant.key) {
      const auto key = builder_.CreateString(*constant.key);
      return xnn_wire::CreateConstantData(builder_, kElsewhere, constant.size, key);
    }
    inline_.resize((inline_.size() + kAlignment - 1) / kAlignment * kAlignment);
    const std::uint64_t offset = inline_.size();
    inline_.insert(inline_.end(), constant.bytes.bytes().begin(), constant.bytes.bytes().end());
    return xnn_wire::CreateConstantData(builder_, offset, constant.bytes.size());
  }

  Offset<xnn_wire::Value> write(const Value& value, std::uint32_t id) {
    const auto dims = builder_.CreateVector(value.dims);
    const auto tensor = xnn_wire::CreateTensor(builder_, static_cast<xnn_wire::DataType>(value.datatype),
                                               static_cast<std::uint32_t>(value.dims.size()), dims, value.data,
                                               value.external_id, static_cast<std::uint32_t>(value.role), id);
    if (std::holds_alternative<std::monostate>(value.quant)) {
      return xnn_wire::CreateValue(builder_, xnn_wire::ValueKind::Tensor, tensor.Union());
    }
    const auto [kind, quant] =
        std::visit([&](const auto& alternative) { return write_quant(alternative); }, value.quant);
    const auto quantized = xnn_wire::CreateQuantTensor(builder_, tensor, kind, quant);
    return xnn_wire::CreateValue(builder_, xnn_wire::ValueKind::QuantTensor, quantized.Union());
  }
  using WireQuant = std::pair<xnn_wire::QuantKind, Offset<void>>;
  static WireQuant write_quant(std::monostate) { return {xnn_wire::QuantKind::NONE, 0}; }
  WireQuant write_quant(const PerTensor& quant) {
    return {xnn_wire::QuantKind::PerTensorQuant,
            xnn_wire::CreatePerTensorQuant(builder_, quant.scale, quant.zero_point).Union()};
  }
  // The vector is written even where it is empty: runtimes touch it before they look at the constant.
  WireQuant write_quant(const PerChannel& quant) {
    const auto scales = builder_.CreateVector(quant.scales);
    return {xnn_wire::QuantKind::PerChannelQuant,
            xnn_wire::CreatePerChannelQuant(builder_, scales, static_cast<std::int32_t>(quant.axis), quant.scale_data,
                                            quant.scale_count)
                .Union()};
  }
  WireQuant write_quant(const PerToken& quant) {
    return {xnn_wire::QuantKind::PerTokenQuant,
            xnn_wire::CreatePerTokenQuant(builder_, static_cast<std::int32_t>(quant.inner_dims)).Union()};
  }
  WireQuant write_quant(const PerGroup& quant) {
    const auto scales = builder_.CreateVector(quant.scales);
    return {xnn_wire::QuantKind::PerGroupQuant,
            xnn_wire::CreatePerGroupQuant(builder_, scales, static_cast<std::int32_t>(quant.axis),
                                          static_cast<std::int32_t>(quant.group_size), 0, quant.scale_data,
                                          quant.scale_count)
                .Union()};
  }

  Offset<xnn_wire::Node> write(const Node& node) {
    const Offset<void> table = write_fields(node);
    Offset<xnn_wire::Bounds> bounds = 0;
    if (node.bounds) bounds = xnn_wire::CreateBounds(builder_, node.bounds->min, node.bounds->max);
    return xnn_wire::CreateNode(builder_, static_cast<xnn_wire::NodeKind>(node.kind), table, node.debug_handle, bounds);
  }
  Offset<void> write_fields(const Node& node) {
    const std::uint32_t in = node.inputs[0];
    const std::uint32_t out = node.outputs[0];
    switch (form_of(node.kind)) {
      case Form::kUnary:
        return xnn_wire::CreateNode1x1(builder_, in, out, node.flags).Union();
      case Form::kBinary:
        return xnn_wire::CreateNode2x1(builder_, in, node.inputs[1], out, node.flags).Union();
      case Form::kConcat: {
        const auto input = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNone; };
        return xnn_wire::CreateNodeCat(builder_, std::get<ConcatFields>(node.fields).axis, in, input(1), input(2),
                                       input(3), out, node.flags, input(4))
            .Union();
      }
      case Form::kFullyConnected:
        return xnn_wire::CreateFullyConnected(builder_, in, node.inputs[1], node.inputs[2], out, node.flags).Union();
      case Form::kConv: {
        const auto& f = std::get<ConvFields>(node.fields);
        return xnn_wire::CreateNodeConv(builder_, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                        f.kernel_height, f.kernel_width, f.stride_height, f.stride_width,
                                        f.dilation_height, f.dilation_width, f.group_input_channels,
                                        f.group_output_channels, f.groups, f.adjustment_height, f.adjustment_width, in,
                                        node.inputs[1], node.inputs[2], out, node.flags)
            .Union();
      }
      case Form::kPool: {
        const auto& f = std::get<PoolFields>(node.fields);
        return xnn_wire::CreateNodePool(builder_, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                        f.pooling_height, f.pooling_width, f.stride_height, f.stride_width,
                                        f.dilation_height, f.dilation_width, in, out, node.flags)
            .Union();
      }
      case Form::kArgMaxPool: {
        const auto& f = std::get<PoolFields>(node.fields);
        return xnn_wire::CreateArgMaxPool(builder_, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                          f.pooling_height, f.pooling_width, in, out, node.outputs[1], node.flags)
            .Union();
      }
      case Form::kTranspose: {
        const auto& order = std::get<TransposeFields>(node.fields).order;
        return xnn_wire::CreateTranspose(builder_, size(order), builder_.CreateVector(order), in, out, node.flags)
            .Union();
      }
      case Form::kReshape: {
        const auto& shape = std::get<ReshapeFields>(node.fields).shape;
        return xnn_wire::CreateReshape(builder_, size(shape), builder_.CreateVector(shape), in, out, node.flags)
            .Union();
      }
      case Form::kSlice: {
        const auto& f = std::get<SliceFields>(node.fields);
        const auto offsets = builder_.CreateVector(f.offsets);
        const auto sizes = builder_.CreateVector(f.sizes);
        return xnn_wire::CreateSlice(builder_, size(f.offsets), offsets, sizes, in, out, node.flags).Union();
      }
      case Form::kPad: {
        const auto& f = std::get<PadFields>(node.fields);
        const auto before = builder_.CreateVector(f.before);
        const auto after = builder_.CreateVector(f.after);
        return xnn_wire::CreatePad(builder_, before, after, f.value, in, out, node.flags).Union();
      }
      case Form::kResizeBilinear: {
        const auto& f = std::get<ResizeFields>(node.fields);
        return xnn_wire::CreateResizeBilinear(builder_, f.height, f.width, in, out, node.flags).Union();
      }
      case Form::kLeakyRelu:
        return xnn_wire::CreateLeakyRelu(builder_, std::get<SlopeFields>(node.fields).slope, in, out, node.flags)
            .Union();
      case Form::kElu:
        return xnn_wire::CreateElu(builder_, std::get<SlopeFields>(node.fields).slope, in, out, node.flags).Union();
      case Form::kDead:
        break;
    }
    CHECK(false, "a node that `verify` refuses");
    return 0;
  }
  static std::uint32_t size(const std::vector<std::uint32_t>& list) { return static_cast<std::uint32_t>(list.size()); }

  const Graph& graph_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<std::byte> inline_;
};

}  // namespace

Expected<std::vector<std::byte>> write_blob(const Graph& graph) {
  TRY(verify(graph));
  return Writer(graph).run();
}

}  // namespace isthmus::xnn
