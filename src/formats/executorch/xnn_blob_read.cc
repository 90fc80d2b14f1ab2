// Reads the blob of an XNNPACK delegate: a header, a flatbuffer, the constants behind it.
#include <fmt/format.h>

#include <unordered_map>

#include "formats/byte_reader.h"
#include "formats/executorch/xnn_blob.h"
#include "formats/flatbuffer.h"
#include "formats/schema/xnn_graph_generated.h"

namespace isthmus::xnn {
namespace {

constexpr std::size_t kHeaderBytes = 30;

struct Layout {
  Blob graph;
  Blob constants;
};

Expected<Layout> find_parts(const Blob& blob) {
  if (blob.size() < 8) return bad_input(fmt::format("{} bytes are too few for a graph", blob.size()));
  if (blob.text().substr(4, 4) != "XH00") return Layout{aligned_for_flatbuffer(blob), Blob()};
  if (blob.size() < kHeaderBytes) return bad_input("its header is truncated");
  ByteReader header(blob.bytes().subspan(10));
  const std::uint32_t graph_offset = *header.number<std::uint32_t>();
  const std::uint32_t graph_size = *header.number<std::uint32_t>();
  const std::uint32_t constants_offset = *header.number<std::uint32_t>();
  const std::uint64_t constants_size = *header.number<std::uint64_t>();
  const auto graph = blob.part(graph_offset, graph_size);
  const auto constants = blob.part(constants_offset, constants_size);
  if (!graph || !constants) return bad_input("the graph or its constants are outside of the file");
  if (std::uint64_t{graph_offset} + graph_size > constants_offset) return bad_input("the constants overlap the graph");
  return Layout{aligned_for_flatbuffer(*graph), *constants};
}

class Reader {
 public:
  explicit Reader(Layout layout) : layout_(std::move(layout)), copier_(layout_.graph.size()) {}

  Expected<Graph> run() {
    const auto* wire = verified_root<xnn_wire::Graph>(layout_.graph, "XN01");
    if (wire == nullptr) wire = verified_root<xnn_wire::Graph>(layout_.graph, "XN00");
    if (wire == nullptr) return bad_input("its flatbuffer is damaged, or not a graph of XNNPACK");
    if (wire->values() == nullptr || wire->nodes() == nullptr) return bad_input("a graph without values or nodes");
    graph_.external_count = wire->external_count();
    for (const xnn_wire::ConstantData* constant : tables_of(wire->constant_data())) {
      TRY(within(read(*constant), [&] { return fmt::format("constant {}", graph_.constants.size()); }));
    }
    for (const xnn_wire::Value* value : tables_of(wire->values())) {
      TRY(within(read(*value), [&] { return fmt::format("value {}", graph_.values.size()); }));
    }
    for (const xnn_wire::Node* node : tables_of(wire->nodes())) {
      graph_.nodes.push_back(TRY(within(read(*node), [&] { return fmt::format("node {}", graph_.nodes.size()); })));
    }
    TRY(verify(graph_));
    return std::move(graph_);
  }

 private:
  Expected<void> read(const xnn_wire::ConstantData& wire) {
    Constant constant;
    constant.size = wire.size();
    if (wire.key() != nullptr) {
      constant.key = TRY(copier_.text(wire.key()));
    } else if (!graph_.constants.empty()) {
      const auto bytes = layout_.constants.part(wire.offset(), wire.size());
      if (!bytes)
        return bad_input(fmt::format("{} bytes at {} of {}", wire.size(), wire.offset(), layout_.constants.size()));
      constant.bytes = *bytes;
    }
    if (graph_.constants.empty()) constant = {};  // the reserved one
    graph_.constants.push_back(std::move(constant));
    return {};
  }

  Expected<void> read(const xnn_wire::Value& wire) {
    TRY(copier_.take(sizeof(Value)));
    const xnn_wire::QuantTensor* quantized = wire.value_as_QuantTensor();
    const xnn_wire::Tensor* tensor = quantized != nullptr ? quantized->tensor() : wire.value_as_Tensor();
    if (tensor == nullptr) return bad_input("it is not a tensor");
    Value value;
    if (tensor->datatype() < xnn_wire::DataType::F32 || tensor->datatype() > xnn_wire::DataType::BF16) {
      return bad_input(fmt::format("datatype {}", static_cast<int>(tensor->datatype())));
    }
    value.datatype = static_cast<DataType>(tensor->datatype());
    value.dims = TRY(copier_.numbers<std::uint32_t>(tensor->dims()));
    if (value.dims.size() != tensor->rank()) {
      return bad_input(fmt::format("{} dimensions, but {} sizes", tensor->rank(), value.dims.size()));
    }
    value.data = tensor->data();
    value.external_id = tensor->external_id();
    if (tensor->flags() > 2) return bad_input(fmt::format("flags {}", tensor->flags()));
    value.role = static_cast<Role>(tensor->flags());
    if (quantized != nullptr) value.quant = TRY(read_quant(*quantized));
    const auto index = static_cast<std::uint32_t>(graph_.values.size());
    if (tensor->id() == kNone || !index_of_id_.emplace(tensor->id(), index).second) {
      return bad_input(fmt::format("id {} is taken", tensor->id()));
    }
    graph_.values.push_back(std::move(value));
    return {};
  }

  Expected<Quant> read_quant(const xnn_wire::QuantTensor& wire) {
    if (const auto* quant = wire.quant_as_PerTensorQuant()) {
      return Quant(PerTensor{quant->scale(), quant->zero_point()});
    }
    if (const auto* quant = wire.quant_as_PerTokenQuant()) {
      if (quant->inner_dims() < 0) return bad_input("a negative number of inner dimensions");
      return Quant(PerToken{static_cast<std::uint32_t>(quant->inner_dims())});
    }
    if (const auto* quant = wire.quant_as_PerChannelQuant()) {
      PerChannel result{TRY(copier_.numbers<float>(quant->scale())), quant->scale_data(), quant->scale_count(), 0};
      result.axis = TRY(axis(quant->axis()));
      if (result.scale_data == 0) result.scale_count = static_cast<std::uint32_t>(result.scales.size());
      return Quant(std::move(result));
    }
    if (const auto* quant = wire.quant_as_PerGroupQuant()) {
      PerGroup result{TRY(copier_.numbers<float>(quant->scale())), quant->scale_data(), quant->scale_count(), 0, 0};
      result.axis = TRY(axis(quant->axis()));
      if (quant->group_size() <= 0) return bad_input(fmt::format("groups of {}", quant->group_size()));
      result.group_size = static_cast<std::uint32_t>(quant->group_size());
      if (result.scale_data == 0) result.scale_count = static_cast<std::uint32_t>(result.scales.size());
      return Quant(std::move(result));
    }
    return bad_input("quantized with unknown parameters");
  }
  static Expected<std::uint32_t> axis(std::int32_t wire) {
    if (wire < 0) return bad_input(fmt::format("axis {}", wire));
    return static_cast<std::uint32_t>(wire);
  }

  // What no value has as its id becomes an index that `verify` refuses.
  std::uint32_t value(std::uint32_t id) const {
    const auto found = index_of_id_.find(id);
    return found == index_of_id_.end() ? kNone - 1 : found->second;
  }
  std::uint32_t optional_value(std::uint32_t id) const { return id == kNone ? kNone : value(id); }

  Expected<Node> read(const xnn_wire::Node& wire) {
    TRY(copier_.take(sizeof(Node)));
    Node node;
    node.debug_handle = wire.debug_handle();
    if (wire.bounds() != nullptr) node.bounds = Bounds{wire.bounds()->min(), wire.bounds()->max()};
    switch (static_cast<NodeKind>(wire.kind_type())) {
#define XNN_NODE(enumerator, name, table, form)                         \
  case NodeKind::enumerator:                                            \
    node.kind = NodeKind::enumerator;                                   \
    if (wire.kind() == nullptr) break;                                  \
    TRY(fill(node, *static_cast<const xnn_wire::table*>(wire.kind()))); \
    return node;
#include "formats/executorch/xnn_nodes.def"
#undef XNN_NODE
      case NodeKind::kInvalid:
        break;
    }
    return fail(ErrorKind::kUnsupported,
                fmt::format("a node of the unknown kind {}", static_cast<int>(wire.kind_type())));
  }

  Expected<void> fill(Node& node, const xnn_wire::Node1x1& wire) const {
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::Node2x1& wire) const {
    return link(node, {value(wire.input1()), value(wire.input2())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::NodeCat& wire) const {
    node.fields = ConcatFields{wire.axis()};
    std::vector<std::uint32_t> inputs;
    const std::uint32_t ids[] = {wire.input1(), wire.input2(), wire.input3(), wire.input4(), wire.input5()};
    for (std::size_t i = 0; i < input_count(node.kind); ++i) inputs.push_back(value(ids[i]));
    return link(node, std::move(inputs), {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::FullyConnected& wire) const {
    return link(node, {value(wire.input()), value(wire.filter()), optional_value(wire.bias())}, {value(wire.output())},
                wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::NodeConv& wire) const {
    node.fields = ConvFields{wire.padding_top(),    wire.padding_right(),        wire.padding_bottom(),
                             wire.padding_left(),   wire.kernel_height(),        wire.kernel_width(),
                             wire.stride_height(),  wire.stride_width(),         wire.dilation_height(),
                             wire.dilation_width(), wire.group_input_channels(), wire.group_output_channels(),
                             wire.groups(),         wire.adjustment_height(),    wire.adjustment_width()};
    return link(node, {value(wire.input()), value(wire.filter()), optional_value(wire.bias())}, {value(wire.output())},
                wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::NodePool& wire) const {
    node.fields = PoolFields{wire.padding_top(),     wire.padding_right(), wire.padding_bottom(), wire.padding_left(),
                             wire.pooling_height(),  wire.pooling_width(), wire.stride_height(),  wire.stride_width(),
                             wire.dilation_height(), wire.dilation_width()};
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::ArgMaxPool& wire) const {
    node.fields = PoolFields{wire.padding_top(),  wire.padding_right(),  wire.padding_bottom(),
                             wire.padding_left(), wire.pooling_height(), wire.pooling_width()};
    return link(node, {value(wire.input())}, {value(wire.output_value()), value(wire.output_index())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::Transpose& wire) {
    node.fields = TransposeFields{TRY(list(wire.order(), wire.rank()))};
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::Reshape& wire) {
    node.fields = ReshapeFields{TRY(list(wire.shape(), wire.rank()))};
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::Slice& wire) {
    SliceFields fields{TRY(list(wire.offsets(), wire.rank())), {}};
    fields.sizes = TRY(list(wire.sizes(), wire.rank()));
    node.fields = std::move(fields);
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::Pad& wire) {
    const std::uint32_t rank = wire.before() == nullptr ? 0 : wire.before()->size();
    PadFields fields{TRY(list(wire.before(), rank)), {}, wire.value()};
    fields.after = TRY(list(wire.after(), rank));
    node.fields = std::move(fields);
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::ResizeBilinear& wire) const {
    node.fields = ResizeFields{wire.height(), wire.width()};
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::LeakyRelu& wire) const {
    node.fields = SlopeFields{wire.slope()};
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  Expected<void> fill(Node& node, const xnn_wire::Elu& wire) const {
    node.fields = SlopeFields{wire.alpha()};
    return link(node, {value(wire.input())}, {value(wire.output())}, wire.flags());
  }
  static Expected<void> fill(Node&, const xnn_wire::Attention&) { return {}; }

  static Expected<void> link(Node& node, std::vector<std::uint32_t> inputs, std::vector<std::uint32_t> outputs,
                             std::uint32_t flags) {
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.flags = flags;
    return {};
  }
  Expected<std::vector<std::uint32_t>> list(const flatbuffers::Vector<std::uint32_t>* wire, std::uint32_t rank) {
    auto result = TRY(copier_.numbers<std::uint32_t>(wire));
    if (result.size() != rank || rank > kMaxDimensions) {
      return bad_input(fmt::format("a list of {} values for {} dimensions", result.size(), rank));
    }
    return result;
  }

  Layout layout_;
  FlatbufferCopier copier_;
  Graph graph_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_of_id_;
};

}  // namespace

Expected<Graph> read_blob(const Blob& blob) { return Reader(TRY(find_parts(blob))).run(); }

}  // namespace isthmus::xnn
