// Reads a program file: the header, the flatbuffer, the segments behind it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "formats/byte_reader.h"
#include "formats/executorch/pte.h"
#include "formats/executorch/pte_types.h"
#include "formats/flatbuffer.h"
#include "formats/schema/program_generated.h"
#include "formats/versions.h"

namespace isthmus::pte {
namespace {

constexpr std::size_t kHeadBytes = 64;
constexpr std::uint32_t kShortestHeader = 24;
constexpr std::uint32_t kHeaderWithDataSize = 32;

// The two parts of a file.
struct Layout {
  Blob program;
  Blob segments;  // from the segment base on
};

Expected<Layout> find_parts(const Blob& file) {
  if (file.size() < kHeadBytes) return bad_input("not a program file: it is shorter than 64 bytes");
  const std::string_view identifier = file.text().substr(4, 4);
  if (identifier != kProgramIdentifier) {
    if (identifier.starts_with("ET")) {
      return bad_input(fmt::format("a program file of another version than {}", kProgramIdentifier));
    }
    return bad_input(fmt::format("not a program file: it does not begin with {}", kProgramIdentifier));
  }
  ByteReader header(file.bytes().subspan(kHeaderOffset));
  if (text_of(*header.take(4)) != "eh00") return Layout{aligned_for_flatbuffer(file), Blob()};
  const std::uint32_t length = *header.number<std::uint32_t>();
  if (length < kShortestHeader) return bad_input(fmt::format("its extended header has {} bytes", length));
  const std::uint64_t program_size = *header.number<std::uint64_t>();
  const std::uint64_t base = *header.number<std::uint64_t>();
  const std::uint64_t data_size = length < kHeaderWithDataSize ? 0 : *header.number<std::uint64_t>();
  const auto program = file.part(0, program_size);
  if (!program)
    return bad_input(fmt::format("truncated: the program has {} bytes, the file {}", program_size, file.size()));
  if (base == 0) return Layout{aligned_for_flatbuffer(*program), Blob()};
  if (base < program_size || base > file.size()) {
    return bad_input(
        fmt::format("segments at {} in a file of {} bytes with a program of {}", base, file.size(), program_size));
  }
  // Old writers leave the size 0.
  const auto segments = file.part(base, data_size == 0 ? file.size() - base : data_size);
  if (!segments)
    return bad_input(
        fmt::format("truncated: {} bytes of segments at {}, the file has {}", data_size, base, file.size()));
  return Layout{aligned_for_flatbuffer(*program), *segments};
}

class Reader {
 public:
  explicit Reader(Layout layout) : layout_(std::move(layout)), copier_(layout_.program.size()) {}

  Expected<Program> run() {
    wire_ = verified_root<pte_wire::Program>(layout_.program, kProgramIdentifier);
    if (wire_ == nullptr) return bad_input("its flatbuffer is damaged");
    for (const pte_wire::Segment* segment : tables_of(wire_->segments())) TRY(add_segment(*segment));
    Program program;
    for (const pte_wire::Plan* plan : tables_of(wire_->plans())) {
      program.plans.push_back(TRY(read(*plan)));
    }
    for (const pte_wire::NamedData* data : tables_of(wire_->named_data())) {
      pte::NamedData& row = program.named_data.emplace_back();
      row.key = TRY(copier_.text(data->key()));
      row.bytes = TRY(segment(data->segment()));
    }
    program.constants = TRY(within(constants(program), std::string("the constants")));
    program.initial_values = TRY(within(initial_values(program), std::string("the initial values")));
    TRY(verify(program));
    return program;
  }

 private:
  Expected<void> add_segment(const pte_wire::Segment& wire) {
    const auto part = layout_.segments.part(wire.offset(), wire.size());
    if (!part) {
      return bad_input(fmt::format("segment {} has {} bytes at {} of {}", segments_.size(), wire.size(), wire.offset(),
                                   layout_.segments.size()));
    }
    segments_.push_back(*part);
    return {};
  }
  Expected<Blob> segment(std::uint32_t index) const {
    if (index >= segments_.size()) return bad_input(fmt::format("segment {} of {}", index, segments_.size()));
    return segments_[index];
  }

  // The file says where each constant begins, and the tensors that use it how long it is.
  Expected<std::vector<Blob>> cut(const pte_wire::Parts& parts, const Program& program, bool is_constant) {
    const auto offsets = TRY(copier_.numbers<std::uint64_t>(parts.offsets()));
    if (offsets.size() < 2) return std::vector<Blob>(offsets.size());
    const Blob whole = TRY(segment(parts.segment()));
    constexpr std::uint64_t kUnused = ~std::uint64_t{0};
    std::vector<std::uint64_t> needed(offsets.size(), kUnused);
    for (const Plan& plan : program.plans) {
      for (const Value& value : plan.values) {
        const auto* tensor = std::get_if<Tensor>(&value);
        if (tensor == nullptr || tensor->data_index == 0 || tensor->is_constant() != is_constant) continue;
        const auto bytes = byte_count(*tensor);
        if (!bytes || tensor->data_index >= offsets.size()) continue;  // `verify` has the words for it
        std::uint64_t& need = needed[tensor->data_index];
        need = need == kUnused ? *bytes : std::max(need, *bytes);
      }
    }
    std::set<std::uint64_t> starts(offsets.begin(), offsets.end());
    starts.insert(whole.size());
    std::vector<Blob> result(1);
    for (std::size_t i = 1; i < offsets.size(); ++i) {
      if (needed[i] == kUnused && offsets[i] <= whole.size()) {
        const auto next = starts.upper_bound(offsets[i]);
        needed[i] = (next == starts.end() ? whole.size() : std::min<std::uint64_t>(*next, whole.size())) - offsets[i];
      }
      const auto part = whole.part(offsets[i], needed[i]);
      if (!part) {
        return bad_input(fmt::format("constant {} has {} bytes at {} of {}", i, needed[i], offsets[i], whole.size()));
      }
      result.push_back(*part);
    }
    return result;
  }
  Expected<std::vector<Blob>> constants(const Program& program) {
    const bool has_offsets = wire_->constants() != nullptr && wire_->constants()->offsets() != nullptr &&
                             wire_->constants()->offsets()->size() > 0;
    const auto buffers = tables_of(wire_->constant_buffers());
    if (has_offsets) {
      if (!buffers.empty()) return bad_input("they are both in the program and in a segment");
      return cut(*wire_->constants(), program, true);
    }
    std::vector<Blob> result;
    for (const pte_wire::Buffer* buffer : buffers) result.push_back(inside(buffer->bytes()));
    if (!result.empty()) result[0] = Blob();
    return result;
  }
  Expected<std::vector<Blob>> initial_values(const Program& program) {
    const auto parts = tables_of(wire_->mutable_data());
    if (parts.empty()) return std::vector<Blob>();
    if (parts.size() > 1) return fail(ErrorKind::kUnsupported, "more than one segment of them is not supported");
    return cut(*parts[0], program, false);
  }

  // A view of bytes that lie in the flatbuffer.
  Blob inside(const flatbuffers::Vector<std::uint8_t>* bytes) const {
    if (bytes == nullptr) return Blob();
    const auto* start = reinterpret_cast<const std::byte*>(bytes->data());
    const auto offset = static_cast<std::uint64_t>(start - layout_.program.bytes().data());
    return layout_.program.part(offset, bytes->size()).value_or(Blob());
  }

  Expected<std::vector<ValueIndex>> indices(const flatbuffers::Vector<std::int32_t>* wire) {
    auto result = TRY(copier_.numbers<std::int64_t>(wire));
    if (std::ranges::any_of(result, [](std::int64_t index) { return index < 0; })) return bad_input("a negative index");
    return std::vector<ValueIndex>(result.begin(), result.end());
  }
  static Expected<std::uint32_t> index(std::int32_t wire) {
    if (wire < 0) return bad_input(fmt::format("a negative index, {}", wire));
    return static_cast<std::uint32_t>(wire);
  }

  Expected<Plan> read(const pte_wire::Plan& wire) {
    if (wire.values() == nullptr || wire.inputs() == nullptr || wire.outputs() == nullptr || wire.chains() == nullptr ||
        wire.buffer_sizes() == nullptr || wire.delegates() == nullptr) {
      return bad_input("a plan without values, inputs, outputs, chains, delegates or buffer sizes");
    }
    Plan plan;
    plan.name = TRY(copier_.text(wire.name()));
    if (const pte_wire::Container* container = wire.container()) {
      plan.container_inputs = TRY(copier_.text(container->inputs()));
      plan.container_outputs = TRY(copier_.text(container->outputs()));
    }
    for (const pte_wire::Value* value : tables_of(wire.values())) {
      plan.values.push_back(TRY(within(read(*value), [&] { return fmt::format("value {}", plan.values.size()); })));
    }
    plan.inputs = TRY(indices(wire.inputs()));
    plan.outputs = TRY(indices(wire.outputs()));
    for (const pte_wire::Chain* chain : tables_of(wire.chains())) {
      if (chain->instructions() == nullptr) return bad_input("a chain without instructions");
      Chain& result = plan.chains.emplace_back();
      for (const pte_wire::Instruction* instruction : tables_of(chain->instructions())) {
        result.instructions.push_back(
            TRY(within(read(*instruction), [&] { return fmt::format("instruction {}", result.instructions.size()); })));
      }
    }
    for (const pte_wire::Operator* op : tables_of(wire.operators())) {
      Operator& row = plan.operators.emplace_back();
      row.name = TRY(copier_.text(op->name()));
      row.overload = TRY(copier_.text(op->overload()));
    }
    for (const pte_wire::Delegate* delegate : tables_of(wire.delegates())) {
      plan.delegates.push_back(
          TRY(within(read(*delegate), [&] { return fmt::format("delegate {}", plan.delegates.size()); })));
    }
    plan.buffer_sizes = TRY(copier_.numbers<std::int64_t>(wire.buffer_sizes()));
    for (const pte_wire::BufferDevice* device : tables_of(wire.buffer_devices())) {
      if (device->device() != pte_wire::Device::Cpu) return fail(ErrorKind::kUnsupported, "memory on another device");
    }
    return plan;
  }

  Expected<Delegate> read(const pte_wire::Delegate& wire) {
    if (wire.blob() == nullptr) return bad_input("it has no data");
    Delegate delegate;
    delegate.id = TRY(copier_.text(wire.id()));
    switch (wire.blob()->place()) {
      case pte_wire::BlobPlace::Inline: {
        const auto blobs = wire_->inline_blobs();
        if (blobs == nullptr || wire.blob()->index() >= blobs->size()) {
          return bad_input(fmt::format("inline data {} is missing", wire.blob()->index()));
        }
        delegate.blob = inside(blobs->Get(wire.blob()->index())->bytes());
        break;
      }
      case pte_wire::BlobPlace::Segment:
        delegate.blob = TRY(segment(wire.blob()->index()));
        break;
      default:
        return bad_input("its data are at an unknown location");
    }
    for (const pte_wire::CompileSpec* spec : tables_of(wire.compile_specs())) {
      if (spec->key() == nullptr || spec->value() == nullptr) return bad_input("a compile spec without key or value");
      CompileSpec& row = delegate.compile_specs.emplace_back();
      row.key = TRY(copier_.text(spec->key()));
      row.value = TRY(copier_.numbers<std::byte>(spec->value()));
    }
    return delegate;
  }

  Expected<Value> read(const pte_wire::Value& wire) {
    TRY(copier_.take(sizeof(Value)));
    if (wire.val() == nullptr && wire.val_type() != pte_wire::ValueKind::Null) return bad_input("it is missing");
    switch (wire.val_type()) {
      case pte_wire::ValueKind::Null:
        return Value(None{});
      case pte_wire::ValueKind::Int:
        return Value(wire.val_as_Int()->value());
      case pte_wire::ValueKind::Bool:
        return Value(wire.val_as_Bool()->value());
      case pte_wire::ValueKind::Double:
        return Value(wire.val_as_Double()->value());
      case pte_wire::ValueKind::String:
        return Value(TRY(copier_.text(wire.val_as_String()->value())));
      case pte_wire::ValueKind::Tensor:
        return Value(TRY(read(*wire.val_as_Tensor())));
      case pte_wire::ValueKind::IntList: {
        const auto items = TRY(copier_.numbers<std::int64_t>(wire.val_as_IntList()->items()));
        IntList list;
        for (const std::int64_t item : items) {
          if (item < 0 || item > 0xFFFFFFFF) return bad_input(fmt::format("{} is not an index", item));
          list.items.push_back(static_cast<ValueIndex>(item));
        }
        return Value(std::move(list));
      }
      case pte_wire::ValueKind::DoubleList:
        return Value(DoubleList{TRY(copier_.numbers<double>(wire.val_as_DoubleList()->items()))});
      case pte_wire::ValueKind::BoolList: {
        const auto items = TRY(copier_.numbers<std::uint8_t>(wire.val_as_BoolList()->items()));
        BoolList list;
        for (const std::uint8_t item : items) list.items.push_back(item != 0);
        return Value(std::move(list));
      }
      case pte_wire::ValueKind::TensorList:
        return Value(TensorList{TRY(indices(wire.val_as_TensorList()->items()))});
      case pte_wire::ValueKind::OptionalTensorList: {
        const auto items = TRY(copier_.numbers<std::int64_t>(wire.val_as_OptionalTensorList()->items()));
        TRY(copier_.take(items.size() * sizeof(std::optional<ValueIndex>)));
        OptionalTensorList list;
        for (const std::int64_t item : items) {
          if (item < -1) return bad_input(fmt::format("{} is not an index", item));
          list.items.push_back(item == -1 ? std::nullopt : std::optional(static_cast<ValueIndex>(item)));
        }
        return Value(std::move(list));
      }
      case pte_wire::ValueKind::NONE:
        break;
    }
    return bad_input("it is of an unknown kind");
  }

  Expected<Tensor> read(const pte_wire::Tensor& wire) {
    if (wire.sizes() == nullptr || wire.dim_order() == nullptr) return bad_input("a tensor without sizes or order");
    const auto dtype = dtype_of(wire.scalar_type());
    if (!dtype) {
      return fail(ErrorKind::kUnsupported, fmt::format("element type {}", static_cast<int>(wire.scalar_type())));
    }
    if (wire.storage_offset() != 0) return bad_input("a tensor with a storage offset");
    if (wire.layout() != 0) return fail(ErrorKind::kUnsupported, "a tensor without strides");
    Tensor tensor;
    tensor.dtype = *dtype;
    tensor.sizes = TRY(copier_.numbers<std::int32_t>(wire.sizes()));
    tensor.dim_order = TRY(copier_.numbers<std::uint8_t>(wire.dim_order()));
    tensor.requires_grad = wire.requires_grad();
    tensor.data_index = wire.data_index();
    switch (wire.dynamism()) {
      case pte_wire::Dynamism::Static:
        break;
      case pte_wire::Dynamism::Bounded:
        tensor.dynamism = Dynamism::kBounded;
        break;
      case pte_wire::Dynamism::Unbounded:
        tensor.dynamism = Dynamism::kUnbounded;
        break;
      default:
        return bad_input("a tensor of unknown shape dynamism");
    }
    if (const pte_wire::Allocation* place = wire.allocation()) {
      tensor.allocation =
          Allocation{place->memory_id(), place->offset_low() | std::uint64_t{place->offset_high()} << 32};
    }
    if (const pte_wire::TensorExtra* extra = wire.extra()) {
      if (extra->place() != pte_wire::DataPlace::Segment) {
        return fail(ErrorKind::kUnsupported, "a tensor with data in another file");
      }
      if (extra->device() != pte_wire::Device::Cpu) return fail(ErrorKind::kUnsupported, "a tensor on another device");
      tensor.name = TRY(copier_.text(extra->name()));
    }
    return tensor;
  }

  Expected<Instruction> read(const pte_wire::Instruction& wire) {
    TRY(copier_.take(sizeof(Instruction)));
    if (wire.call() == nullptr) return bad_input("it is missing");
    switch (wire.call_type()) {
      case pte_wire::InstructionKind::KernelCall: {
        const auto* call = wire.call_as_KernelCall();
        if (call->args() == nullptr) return bad_input("a call without arguments");
        return Instruction(KernelCall{TRY(index(call->operator_index())), TRY(indices(call->args()))});
      }
      case pte_wire::InstructionKind::DelegateCall: {
        const auto* call = wire.call_as_DelegateCall();
        if (call->args() == nullptr) return bad_input("a call without arguments");
        return Instruction(DelegateCall{TRY(index(call->delegate_index())), TRY(indices(call->args()))});
      }
      case pte_wire::InstructionKind::MoveCall: {
        const auto* call = wire.call_as_MoveCall();
        return Instruction(MoveCall{TRY(index(call->from())), TRY(index(call->to()))});
      }
      case pte_wire::InstructionKind::JumpFalseCall: {
        const auto* call = wire.call_as_JumpFalseCall();
        return Instruction(JumpFalseCall{TRY(index(call->condition())), TRY(index(call->destination()))});
      }
      case pte_wire::InstructionKind::FreeCall:
        return Instruction(FreeCall{TRY(index(wire.call_as_FreeCall()->value()))});
      case pte_wire::InstructionKind::NONE:
        break;
    }
    return bad_input("it is of an unknown kind");
  }

  Layout layout_;
  FlatbufferCopier copier_;
  const pte_wire::Program* wire_ = nullptr;
  std::vector<Blob> segments_;
};

}  // namespace

bool looks_like_program(const Blob& file) {
  const std::string_view text = file.text();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() >= 8 && text.substr(4, 2) == "ET" && is_digit(text[6]) && is_digit(text[7]);
}

Expected<Program> read_program(const Blob& file) { return Reader(TRY(find_parts(file))).run(); }

}  // namespace isthmus::pte
