// Writes a TOSA file.
#include <fmt/format.h>

#include <map>

#include "formats/flatbuffer.h"
#include "formats/schema/tosa_generated.h"
#include "formats/tosa/tosa.h"

namespace isthmus::tosa {
namespace {

using flatbuffers::Offset;

// Below what an offset of a flatbuffer can span, with room for tables.
constexpr std::uint64_t kMaxDataBytes = std::uint64_t{1} << 30;

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::vector<std::byte> run() {
    // Tensors and shapes apart, so that a graph that is read again, with all shapes behind the tensors, gives the same.
    std::vector<Offset<tosa_wire::Tensor>> tensors;
    for (const Value& value : graph_.values) {
      if (value.type != Type::kShape) tensors.push_back(write_tensor(value));
    }
    std::vector<Offset<tosa_wire::Shape>> shapes;
    for (const Value& value : graph_.values) {
      if (value.type == Type::kShape) shapes.push_back(write_shape(value));
    }
    std::vector<Offset<tosa_wire::Operator>> operators;
    for (const Operator& op : graph_.operators) operators.push_back(write(op));
    const auto operator_list = builder_.CreateVector(operators);
    const auto tensor_list = builder_.CreateVector(tensors);
    const auto shape_list = builder_.CreateVector(shapes);
    const auto inputs = names(graph_.inputs);
    const auto outputs = names(graph_.outputs);
    const auto main = builder_.CreateSharedString("main");
    const std::vector blocks{
        tosa_wire::CreateBlock(builder_, main, operator_list, tensor_list, inputs, outputs, shape_list)};
    const auto block_list = builder_.CreateVector(blocks);
    const std::vector regions{tosa_wire::CreateRegion(builder_, main, block_list)};
    const auto region_list = builder_.CreateVector(regions);
    const Version& v = graph_.version;
    const auto version = tosa_wire::CreateVersion(builder_, v.major, v.minor, v.patch, v.is_draft);
    builder_.Finish(tosa_wire::CreateGraph(builder_, version, region_list), "TOSA");
    const auto bytes = std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize()));
    return {bytes.begin(), bytes.end()};
  }

 private:
  using Bytes = Offset<flatbuffers::Vector<std::uint8_t>>;

  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> names(const std::vector<ValueIndex>& indices) {
    std::vector<Offset<flatbuffers::String>> result;
    for (const ValueIndex index : indices) {
      result.push_back(builder_.CreateSharedString(graph_.values[index].name));
    }
    return builder_.CreateVector(result);
  }

  Bytes bytes(std::span<const std::byte> bytes) {
    constexpr std::size_t kAlignment = 8;
    builder_.ForceVectorAlignment(bytes.size(), 1, kAlignment);
    return builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  Offset<tosa_wire::Tensor> write_tensor(const Value& value) {
    const Bytes data = value.data.size() == 0 ? Bytes() : bytes(value.data.bytes());
    const auto name = builder_.CreateSharedString(value.name);
    const auto shape = builder_.CreateVector(value.shape);
    return tosa_wire::CreateTensor(builder_, name, shape, static_cast<std::uint32_t>(value.type), data);
  }
  Offset<tosa_wire::Shape> write_shape(const Value& value) {
    const Bytes data = bytes(value.data.bytes());
    const auto name = builder_.CreateSharedString(value.name);
    return tosa_wire::CreateShape(builder_, name, static_cast<std::uint32_t>(value.shape[0]), data);
  }

  Offset<tosa_wire::Operator> write(const Operator& op) {
    const Offset<void> fields =
        std::visit([&](const auto& alternative) { return write_fields(alternative); }, op.fields);
    const auto inputs = names(op.inputs);
    const auto outputs = names(op.outputs);
    Offset<tosa_wire::Location> location;
    if (!op.location.empty()) {
      const auto text = builder_.CreateSharedString(op.location);
      location = tosa_wire::CreateLocation(builder_, text);
    }
    // The tag of the union is the operator's number.
    return tosa_wire::CreateOperator(builder_, static_cast<std::uint32_t>(op.op), static_cast<tosa_wire::Fields>(op.op),
                                     fields, inputs, outputs, location);
  }

  template <class Enum>
  static std::uint32_t number(Enum value) {
    return static_cast<std::uint32_t>(value);
  }
  auto list(const std::vector<std::int32_t>& numbers) { return builder_.CreateVector(numbers); }

  Offset<void> write_fields(const Nothing&) { return tosa_wire::CreateNothing(builder_).Union(); }
  Offset<void> write_fields(const NotRead&) { return tosa_wire::CreateNotRead(builder_).Union(); }
  Offset<void> write_fields(const Axis& f) { return tosa_wire::CreateAxis(builder_, f.axis).Union(); }
  Offset<void> write_fields(const AxisNan& f) {
    return tosa_wire::CreateAxisNan(builder_, f.axis, number(f.nan_mode)).Union();
  }
  Offset<void> write_fields(const NanMode& f) { return tosa_wire::CreateNanMode(builder_, number(f.nan_mode)).Union(); }
  Offset<void> write_fields(const AvgPool& f) {
    const auto kernel = list(f.kernel);
    const auto stride = list(f.stride);
    const auto pad = list(f.pad);
    return tosa_wire::CreateAvgPool(builder_, kernel, stride, pad, number(f.acc_type)).Union();
  }
  Offset<void> write_fields(const MaxPool& f) {
    const auto kernel = list(f.kernel);
    const auto stride = list(f.stride);
    const auto pad = list(f.pad);
    return tosa_wire::CreateMaxPool(builder_, kernel, stride, pad, number(f.nan_mode)).Union();
  }
  Offset<void> write_fields(const Conv& f) {
    const auto pad = list(f.pad);
    const auto stride = list(f.stride);
    const auto dilation = list(f.dilation);
    return tosa_wire::CreateConv(builder_, pad, stride, dilation, f.local_bound, number(f.acc_type)).Union();
  }
  Offset<void> write_fields(const TransposeConv& f) {
    const auto out_pad = list(f.out_pad);
    const auto stride = list(f.stride);
    return tosa_wire::CreateTransposeConv(builder_, out_pad, stride, f.local_bound, number(f.acc_type)).Union();
  }
  Offset<void> write_fields(const Clamp& f) {
    const auto min = bytes(f.min);
    const auto max = bytes(f.max);
    return tosa_wire::CreateClamp(builder_, min, max, number(f.nan_mode)).Union();
  }
  Offset<void> write_fields(const RightShift& f) { return tosa_wire::CreateRightShift(builder_, f.round).Union(); }
  Offset<void> write_fields(const Transpose& f) {
    const auto perms = list(f.perms);
    return tosa_wire::CreateTranspose(builder_, perms).Union();
  }
  Offset<void> write_fields(const Resize& f) { return tosa_wire::CreateResize(builder_, number(f.mode)).Union(); }
  Offset<void> write_fields(const Rescale& f) {
    return tosa_wire::CreateRescale(builder_, f.scale32, number(f.rounding), f.per_channel, f.input_unsigned,
                                    f.output_unsigned)
        .Union();
  }

  const Graph& graph_;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace

Expected<std::vector<std::byte>> write_graph(const Graph& graph) {
  TRY(verify(graph));
  std::uint64_t bytes = 0;
  for (const Value& value : graph.values) bytes += value.data.size();
  if (bytes > kMaxDataBytes) {
    return fail(ErrorKind::kUnsupported, fmt::format("{} bytes of constants are more than one file can hold", bytes));
  }
  return Writer(graph).run();
}

}  // namespace isthmus::tosa
