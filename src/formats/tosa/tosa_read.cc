// Reads a TOSA file: names become indices, everything else is copied or refused.
#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "base/untrusted_text.h"
#include "formats/flatbuffer.h"
#include "formats/schema/tosa_generated.h"
#include "formats/tosa/tosa.h"

namespace isthmus::tosa {
namespace {

class Reader {
 public:
  explicit Reader(Blob file) : file_(std::move(file)), copier_(file_.size()) {}

  Expected<Graph> run() {
    const auto* wire = verified_root<tosa_wire::Graph>(file_, "TOSA");
    if (wire == nullptr) return bad_input("its flatbuffer is damaged or not a TOSA graph");
    const tosa_wire::Version& version = *wire->version();
    graph_.version = {version.major(), version.minor(), version.patch(), version.draft()};
    if (graph_.version.major != 1) {
      return fail(ErrorKind::kUnsupported, fmt::format("version {}.{}.{} is not supported, only 1.x", version.major(),
                                                       version.minor(), version.patch()));
    }
    const tosa_wire::Block& block = *TRY(only_block(*wire));
    for (const tosa_wire::Tensor* tensor : tables_of(block.tensors())) TRY(add(*tensor));
    for (const tosa_wire::Shape* shape : tables_of(block.shapes())) TRY(add(*shape));
    graph_.inputs = TRY(within(indices(block.inputs()), std::string("the inputs of the graph")));
    graph_.outputs = TRY(within(indices(block.outputs()), std::string("the outputs of the graph")));
    for (const tosa_wire::Operator* op : tables_of(block.operators())) {
      graph_.operators.push_back(
          TRY(within(read(*op), [&] { return fmt::format("operator {}", graph_.operators.size()); })));
    }
    TRY(verify(graph_));
    return std::move(graph_);
  }

 private:
  using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

  static Expected<const tosa_wire::Block*> only_block(const tosa_wire::Graph& wire) {
    const auto regions = tables_of(wire.regions());
    if (regions.size() != 1 || regions[0]->blocks() == nullptr || regions[0]->blocks()->size() != 1) {
      return fail(
          ErrorKind::kUnsupported,
          fmt::format("{} regions, or several blocks in a region: control flow is not supported", regions.size()));
    }
    return regions[0]->blocks()->Get(0);
  }

  // Where it lies in the file; some writers add zeros or repeat numbers behind those that count.
  Expected<Blob> data(const flatbuffers::Vector<std::uint8_t>* bytes, Type type,
                      const std::vector<std::int32_t>& shape) {
    const auto needed = byte_count(type, shape);
    if (!needed) return bad_input("its size overflows");
    const std::size_t size = bytes == nullptr ? 0 : bytes->size();
    if (size < *needed)
      return bad_input(fmt::format("{} bytes of data, but its type and shape need {}", size, *needed));
    if (bytes == nullptr) return Blob();
    TRY(copier_.take(*needed));  // not copied here, but when it is unpacked
    const auto* start = reinterpret_cast<const std::byte*>(bytes->data());
    return file_.part(static_cast<std::uint64_t>(start - file_.bytes().data()), *needed).value_or(Blob());
  }

  Expected<void> add(const flatbuffers::String* name, Value value) {
    TRY(copier_.take(sizeof(Value)));
    value.name = TRY(copier_.text(name));
    const auto index = static_cast<ValueIndex>(graph_.values.size());
    if (!index_of_name_.emplace(value.name, index).second) {
      return bad_input(fmt::format("two values have the name {}", shown(value.name)));
    }
    graph_.values.push_back(std::move(value));
    return {};
  }
  Expected<void> add(const tosa_wire::Tensor& wire) {
    return within(add_tensor(wire), [&] { return place_of("tensor", wire.name()); });
  }
  Expected<void> add_tensor(const tosa_wire::Tensor& wire) {
    if (wire.is_variable() || wire.is_unranked() || wire.data_size() != 0) {
      return fail(ErrorKind::kUnsupported, "variables, tensors of unknown rank and external data are not supported");
    }
    Value value;
    value.type = TRY(type(wire.type()));
    value.shape = TRY(copier_.numbers<std::int32_t>(wire.shape()));
    if (value.shape.size() > kMaxDimensions) return bad_input(fmt::format("{} dimensions", value.shape.size()));
    if (wire.data() != nullptr) value.data = TRY(data(wire.data(), value.type, value.shape));
    return add(wire.name(), std::move(value));
  }
  Expected<void> add(const tosa_wire::Shape& wire) {
    return within(add_shape(wire), [&] { return place_of("shape", wire.name()); });
  }
  Expected<void> add_shape(const tosa_wire::Shape& wire) {
    if (wire.rank() > std::numeric_limits<std::int32_t>::max()) return bad_input("its size overflows");
    Value value{{}, Type::kShape, {static_cast<std::int32_t>(wire.rank())}, {}};
    value.data = TRY(data(wire.data(), value.type, value.shape));
    return add(wire.name(), std::move(value));
  }
  static std::string place_of(std::string_view what, const flatbuffers::String* name) {
    return fmt::format("{} {}", what, shown(name == nullptr ? std::string_view() : name->string_view()));
  }
  static Expected<Type> type(std::uint32_t wire) {
    if (wire > static_cast<std::uint32_t>(Type::kF8E5M2)) return bad_input(fmt::format("type {}", wire));
    return static_cast<Type>(wire);
  }

  // Names are mostly shared, so that a text is hashed once and its place in the file is enough afterwards.
  Expected<ValueIndex> index(const flatbuffers::String* name) {
    if (const auto known = index_of_place_.find(name); known != index_of_place_.end()) return known->second;
    const auto found = index_of_name_.find(TRY(copier_.text(name)));
    if (found == index_of_name_.end())
      return bad_input(fmt::format("no value has the name {}", shown(name->string_view())));
    index_of_place_.emplace(name, found->second);
    return found->second;
  }
  Expected<std::vector<ValueIndex>> indices(const Strings* names) {
    std::vector<ValueIndex> result;
    if (names == nullptr) return result;
    TRY(copier_.take(names->size() * sizeof(ValueIndex)));
    for (const flatbuffers::String* name : *names) result.push_back(TRY(index(name)));
    return result;
  }

  Expected<Operator> read(const tosa_wire::Operator& wire) {
    TRY(copier_.take(sizeof(Operator)));
    Operator op;
    if (wire.op() == 0 || wire.op() > all_ops().size()) {
      return fail(ErrorKind::kUnsupported, fmt::format("an operator of the unknown number {}", wire.op()));
    }
    op.op = static_cast<Op>(wire.op());
    op.inputs = TRY(indices(wire.inputs()));
    op.outputs = TRY(indices(wire.outputs()));
    if (wire.location() != nullptr) op.location = TRY(copier_.text(wire.location()->text()));
    TRY(within(fill(op, wire), [&] { return std::string(name_of(op.op)); }));
    return op;
  }
  Expected<void> fill(Operator& op, const tosa_wire::Operator& wire) {
    if (wire.fields() == nullptr) return bad_input("it has no attributes");
    if (static_cast<std::uint32_t>(wire.fields_type()) != wire.op()) {
      return bad_input(fmt::format("its attributes are those of operator {}", static_cast<int>(wire.fields_type())));
    }
    switch (op.op) {
#define TOSA_OP(enumerator, name, fields_kind, inputs)                                   \
  case Op::enumerator:                                                                   \
    op.fields = TRY(fields(*static_cast<const tosa_wire::fields_kind*>(wire.fields()))); \
    return {};
#include "formats/tosa/tosa_ops.def"
#undef TOSA_OP
      case Op::kInvalid:
        break;
    }
    return {};
  }

  using Numbers = flatbuffers::Vector<std::int32_t>;
  Expected<std::vector<std::int32_t>> list(const Numbers* wire) { return copier_.numbers<std::int32_t>(wire); }
  Expected<std::vector<std::byte>> bytes(const flatbuffers::Vector<std::uint8_t>* wire) {
    return copier_.numbers<std::byte>(wire);
  }
  // An enum of a few numbers from 0 on.
  template <class Enum>
  static Expected<Enum> mode(std::uint32_t wire, Enum last) {
    if (wire > static_cast<std::uint32_t>(last)) return bad_input(fmt::format("a mode of the unknown number {}", wire));
    return static_cast<Enum>(wire);
  }
  static Expected<NanPropagation> nan_mode(std::uint32_t wire) { return mode(wire, NanPropagation::kIgnore); }

  static Expected<Fields> fields(const tosa_wire::Nothing&) { return Fields(Nothing{}); }
  static Expected<Fields> fields(const tosa_wire::NotRead&) {
    return fail(ErrorKind::kUnsupported, "operators of this kind are not supported");
  }
  static Expected<Fields> fields(const tosa_wire::Axis& wire) { return Fields(Axis{wire.axis()}); }
  static Expected<Fields> fields(const tosa_wire::AxisNan& wire) {
    return Fields(AxisNan{wire.axis(), TRY(nan_mode(wire.nan_mode()))});
  }
  static Expected<Fields> fields(const tosa_wire::NanMode& wire) {
    return Fields(NanMode{TRY(nan_mode(wire.nan_mode()))});
  }
  Expected<Fields> fields(const tosa_wire::AvgPool& wire) {
    AvgPool result;
    result.kernel = TRY(list(wire.kernel()));
    result.stride = TRY(list(wire.stride()));
    result.pad = TRY(list(wire.pad()));
    result.acc_type = TRY(type(wire.acc_type()));
    return Fields(std::move(result));
  }
  Expected<Fields> fields(const tosa_wire::MaxPool& wire) {
    MaxPool result;
    result.kernel = TRY(list(wire.kernel()));
    result.stride = TRY(list(wire.stride()));
    result.pad = TRY(list(wire.pad()));
    result.nan_mode = TRY(nan_mode(wire.nan_mode()));
    return Fields(std::move(result));
  }
  Expected<Fields> fields(const tosa_wire::Conv& wire) {
    Conv result;
    result.pad = TRY(list(wire.pad()));
    result.stride = TRY(list(wire.stride()));
    result.dilation = TRY(list(wire.dilation()));
    result.local_bound = wire.local_bound();
    result.acc_type = TRY(type(wire.acc_type()));
    return Fields(std::move(result));
  }
  Expected<Fields> fields(const tosa_wire::TransposeConv& wire) {
    TransposeConv result;
    result.out_pad = TRY(list(wire.out_pad()));
    result.stride = TRY(list(wire.stride()));
    result.local_bound = wire.local_bound();
    result.acc_type = TRY(type(wire.acc_type()));
    return Fields(std::move(result));
  }
  Expected<Fields> fields(const tosa_wire::Clamp& wire) {
    Clamp result;
    result.min = TRY(bytes(wire.min()));
    result.max = TRY(bytes(wire.max()));
    result.nan_mode = TRY(nan_mode(wire.nan_mode()));
    return Fields(std::move(result));
  }
  static Expected<Fields> fields(const tosa_wire::RightShift& wire) { return Fields(RightShift{wire.round()}); }
  Expected<Fields> fields(const tosa_wire::Transpose& wire) { return Fields(Transpose{TRY(list(wire.perms()))}); }
  static Expected<Fields> fields(const tosa_wire::Resize& wire) {
    return Fields(Resize{TRY(mode(wire.mode(), ResizeMode::kBilinear))});
  }
  static Expected<Fields> fields(const tosa_wire::Rescale& wire) {
    return Fields(Rescale{wire.scale32(), TRY(mode(wire.rounding_mode(), Rounding::kDouble)), wire.per_channel(),
                          wire.input_unsigned(), wire.output_unsigned()});
  }

  Blob file_;
  FlatbufferCopier copier_;
  Graph graph_;
  std::unordered_map<std::string, ValueIndex> index_of_name_;
  std::unordered_map<const flatbuffers::String*, ValueIndex> index_of_place_;
};

}  // namespace

bool looks_like_graph(const Blob& file) { return file.size() >= 8 && file.text().substr(4, 4) == "TOSA"; }

Expected<Graph> read_graph(const Blob& file) { return Reader(aligned_for_flatbuffer(file)).run(); }

}  // namespace isthmus::tosa
