// Writes a program file: the flatbuffer, the extended header inside of it, the segments behind it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "base/check.h"
#include "formats/executorch/pte.h"
#include "formats/executorch/pte_types.h"
#include "formats/flatbuffer.h"
#include "formats/schema/program_generated.h"
#include "formats/versions.h"

namespace isthmus::pte {
namespace {

using flatbuffers::Offset;

constexpr std::uint64_t kConstantAlignment = 16;
constexpr std::size_t kHeaderBytes = 32;

std::uint64_t round_up(std::uint64_t size, std::uint64_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

void append_aligned(LargeBytes& out, std::span<const std::byte> bytes, std::uint64_t alignment) {
  out.resize(round_up(out.size(), alignment));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// The segments in their order, as parts that are put together at the end.
class Segments {
 public:
  explicit Segments(std::uint64_t alignment) : alignment_(alignment) {}

  std::uint32_t add(Blob blob) {
    const std::uint64_t offset = blob.size() == 0 ? end_ : round_up(end_, alignment_);
    rows_.push_back({blob.size() == 0 ? 0 : offset, std::move(blob)});
    if (rows_.back().blob.size() != 0) end_ = offset + rows_.back().blob.size();
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }
  // The segment with the same bytes, if there is one.
  std::uint32_t add_once(const Blob& blob) {
    const auto [place, is_new] = by_bytes_.try_emplace(blob.text(), 0u);
    if (is_new) place->second = add(blob);
    return place->second;
  }

  std::uint64_t size() const { return end_; }
  void append_to(LargeBytes& out) const {
    const std::size_t base = out.size();
    for (const Row& row : rows_) {
      if (row.blob.size() == 0) continue;
      out.resize(base + row.offset);
      out.insert(out.end(), row.blob.bytes().begin(), row.blob.bytes().end());
    }
  }
  Offset<flatbuffers::Vector<Offset<pte_wire::Segment>>> write(flatbuffers::FlatBufferBuilder& builder) const {
    std::vector<Offset<pte_wire::Segment>> tables;
    for (const Row& row : rows_) tables.push_back(pte_wire::CreateSegment(builder, row.offset, row.blob.size()));
    return builder.CreateVector(tables);
  }

 private:
  struct Row {
    std::uint64_t offset;
    Blob blob;
  };
  std::uint64_t alignment_;
  std::uint64_t end_ = 0;
  std::vector<Row> rows_;
  std::unordered_map<std::string_view, std::uint32_t> by_bytes_;
};

// Constants one after another, equal ones once, and where each begins.
struct Packed {
  std::vector<std::uint64_t> offsets;
  LargeBytes bytes;
};

bool is_zero(const Blob& blob) {
  return std::ranges::all_of(blob.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

// Most states begin with zeros: all of these are stored as the longest of them.
std::vector<Blob> with_shared_zeros(std::vector<Blob> blobs) {
  const auto is_longer = [](const Blob& a, const Blob& b) { return a.size() < b.size(); };
  std::vector<Blob*> zeros;
  for (std::size_t i = 1; i < blobs.size(); ++i) {
    if (is_zero(blobs[i])) zeros.push_back(&blobs[i]);
  }
  if (zeros.empty()) return blobs;
  const Blob longest = **std::ranges::max_element(zeros, is_longer, [](const Blob* blob) { return *blob; });
  for (Blob* blob : zeros) *blob = longest;
  return blobs;
}

Packed pack(const std::vector<Blob>& blobs) {
  Packed packed;
  packed.offsets.push_back(0);  // the reserved one; also where there is no constant at all
  std::unordered_map<std::string_view, std::uint64_t> by_bytes;
  for (std::size_t i = 1; i < blobs.size(); ++i) {
    const auto [place, is_new] = by_bytes.try_emplace(blobs[i].text(), 0u);
    if (is_new) {
      append_aligned(packed.bytes, blobs[i].bytes(), kConstantAlignment);
      place->second = packed.bytes.size() - blobs[i].size();
    }
    packed.offsets.push_back(place->second);
  }
  return packed;
}

class Writer {
 public:
  Writer(const Program& program, const WriteOptions& options)
      : program_(program), alignment_(options.segment_alignment), segments_(options.segment_alignment) {}

  LargeBytes run() {
    // The segments come first, as the tables name them: constants, initial values, delegates, named data.
    Packed constants = pack(program_.constants);
    const std::uint32_t constant_segment = segments_.add(Blob::owning_block(std::move(constants.bytes)));
    const auto parts = builder_.CreateVector(constants.offsets);
    const auto constant_parts = pte_wire::CreateParts(builder_, constant_segment, parts);
    Offset<flatbuffers::Vector<Offset<pte_wire::Parts>>> mutable_data = 0;
    if (program_.initial_values.size() > 1) {
      Packed initial = pack(with_shared_zeros(program_.initial_values));
      const std::uint32_t segment = segments_.add(Blob::owning_block(std::move(initial.bytes)));
      const std::vector tables{pte_wire::CreateParts(builder_, segment, builder_.CreateVector(initial.offsets))};
      mutable_data = builder_.CreateVector(tables);
    }
    const auto plans = write_all<pte_wire::Plan>(program_.plans);
    Offset<flatbuffers::Vector<Offset<pte_wire::NamedData>>> named_data = 0;
    if (!program_.named_data.empty()) named_data = write_all<pte_wire::NamedData>(program_.named_data);
    std::vector<Offset<pte_wire::InlineBlob>> inline_blobs;
    if (has_empty_blob_) {
      builder_.ForceVectorAlignment(0, 1, 16);
      inline_blobs.push_back(pte_wire::CreateInlineBlob(builder_, builder_.CreateVector(std::vector<std::uint8_t>())));
    }
    const auto blobs = builder_.CreateVector(inline_blobs);
    const auto buffers = builder_.CreateVector(std::vector<Offset<pte_wire::Buffer>>());
    const auto segments = segments_.write(builder_);
    builder_.Finish(
        pte_wire::CreateProgram(builder_, 0, plans, buffers, blobs, segments, constant_parts, mutable_data, named_data),
        kProgramIdentifier);
    return assemble();
  }

 private:
  LargeBytes assemble() const {
    const auto* start = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
    LargeBytes out(start, start + builder_.GetSize());
    if (segments_.size() == 0) return out;
    // A multiple of every alignment inside the flatbuffer, so that what follows keeps it.
    out.insert(out.begin() + kHeaderOffset, kHeaderBytes, std::byte{0});
    put<std::uint32_t>(out, 0, get_root(out) + static_cast<std::uint32_t>(kHeaderBytes));
    const std::uint64_t program_size = out.size();
    const std::uint64_t base = round_up(program_size, alignment_);
    std::memcpy(out.data() + kHeaderOffset, "eh00", 4);
    put<std::uint32_t>(out, kHeaderOffset + 4, kHeaderBytes);
    put<std::uint64_t>(out, kHeaderOffset + 8, program_size);
    put<std::uint64_t>(out, kHeaderOffset + 16, base);
    put<std::uint64_t>(out, kHeaderOffset + 24, segments_.size());
    out.reserve(base + segments_.size());
    out.resize(base);
    segments_.append_to(out);
    return out;
  }
  template <class Number>
  static void put(LargeBytes& out, std::size_t offset, Number number) {
    flatbuffers::WriteScalar(out.data() + offset, number);
  }
  static std::uint32_t get_root(const LargeBytes& out) { return flatbuffers::ReadScalar<std::uint32_t>(out.data()); }

  template <class Table, class Item>
  Offset<flatbuffers::Vector<Offset<Table>>> write_all(const std::vector<Item>& items) {
    std::vector<Offset<Table>> tables;
    for (const Item& item : items) tables.push_back(write(item));
    return builder_.CreateVector(tables);
  }
  Offset<flatbuffers::Vector<std::int32_t>> write_indices(const std::vector<std::uint32_t>& indices) {
    return builder_.CreateVector(std::vector<std::int32_t>(indices.begin(), indices.end()));
  }

  Offset<pte_wire::NamedData> write(const NamedData& data) {
    const auto key = builder_.CreateString(data.key);
    return pte_wire::CreateNamedData(builder_, key, segments_.add_once(data.bytes));
  }

  Offset<pte_wire::Plan> write(const Plan& plan) {
    const auto name = builder_.CreateString(plan.name);
    const auto inputs_text = builder_.CreateString(plan.container_inputs);
    const auto outputs_text = builder_.CreateString(plan.container_outputs);
    const auto container = pte_wire::CreateContainer(builder_, inputs_text, outputs_text);
    const auto values = write_all<pte_wire::Value>(plan.values);
    const auto inputs = write_indices(plan.inputs);
    const auto outputs = write_indices(plan.outputs);
    const auto chains = write_all<pte_wire::Chain>(plan.chains);
    const auto operators = write_all<pte_wire::Operator>(plan.operators);
    const auto delegates = write_all<pte_wire::Delegate>(plan.delegates);
    const auto buffers = builder_.CreateVector(plan.buffer_sizes);
    return pte_wire::CreatePlan(builder_, name, container, values, inputs, outputs, chains, operators, delegates,
                                buffers);
  }

  Offset<pte_wire::Operator> write(const Operator& op) {
    const auto name = builder_.CreateString(op.name);
    return pte_wire::CreateOperator(builder_, name, builder_.CreateString(op.overload));
  }

  Offset<pte_wire::Delegate> write(const Delegate& delegate) {
    const auto id = builder_.CreateString(delegate.id);
    // Empty data stay in the program, in its only inline blob.
    const bool is_empty = delegate.blob.size() == 0;
    has_empty_blob_ = has_empty_blob_ || is_empty;
    const auto blob = is_empty ? pte_wire::CreateBlobReference(builder_, pte_wire::BlobPlace::Inline, 0)
                               : pte_wire::CreateBlobReference(builder_, pte_wire::BlobPlace::Segment,
                                                               segments_.add_once(delegate.blob));
    return pte_wire::CreateDelegate(builder_, id, blob, write_all<pte_wire::CompileSpec>(delegate.compile_specs));
  }
  Offset<pte_wire::CompileSpec> write(const CompileSpec& spec) {
    const auto key = builder_.CreateString(spec.key);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(spec.value.data());
    return pte_wire::CreateCompileSpec(builder_, key, builder_.CreateVector(bytes, spec.value.size()));
  }

  Offset<pte_wire::Chain> write(const Chain& chain) {
    const auto none = builder_.CreateVector(std::vector<std::int32_t>());
    const auto none_either = builder_.CreateVector(std::vector<std::int32_t>());
    return pte_wire::CreateChain(builder_, none, none_either, write_all<pte_wire::Instruction>(chain.instructions));
  }
  Offset<pte_wire::Instruction> write(const Instruction& instruction) {
    return std::visit([this](const auto& call) { return write_call(call); }, instruction);
  }
  Offset<pte_wire::Instruction> write_call(const KernelCall& call) {
    const auto table =
        pte_wire::CreateKernelCall(builder_, static_cast<std::int32_t>(call.operator_index), write_indices(call.args));
    return pte_wire::CreateInstruction(builder_, pte_wire::InstructionKind::KernelCall, table.Union());
  }
  Offset<pte_wire::Instruction> write_call(const DelegateCall& call) {
    const auto table = pte_wire::CreateDelegateCall(builder_, static_cast<std::int32_t>(call.delegate_index),
                                                    write_indices(call.args));
    return pte_wire::CreateInstruction(builder_, pte_wire::InstructionKind::DelegateCall, table.Union());
  }
  Offset<pte_wire::Instruction> write_call(const MoveCall& call) {
    const auto table =
        pte_wire::CreateMoveCall(builder_, static_cast<std::int32_t>(call.from), static_cast<std::int32_t>(call.to));
    return pte_wire::CreateInstruction(builder_, pte_wire::InstructionKind::MoveCall, table.Union());
  }
  Offset<pte_wire::Instruction> write_call(const JumpFalseCall& call) {
    const auto table = pte_wire::CreateJumpFalseCall(builder_, static_cast<std::int32_t>(call.condition),
                                                     static_cast<std::int32_t>(call.destination));
    return pte_wire::CreateInstruction(builder_, pte_wire::InstructionKind::JumpFalseCall, table.Union());
  }
  Offset<pte_wire::Instruction> write_call(const FreeCall& call) {
    const auto table = pte_wire::CreateFreeCall(builder_, static_cast<std::int32_t>(call.value));
    return pte_wire::CreateInstruction(builder_, pte_wire::InstructionKind::FreeCall, table.Union());
  }

  Offset<pte_wire::Value> write(const Value& value) {
    return std::visit([this](const auto& alternative) { return write_value(alternative); }, value);
  }
  template <class Table>
  Offset<pte_wire::Value> write_table(pte_wire::ValueKind kind, Offset<Table> table) {
    return pte_wire::CreateValue(builder_, kind, table.Union());
  }
  Offset<pte_wire::Value> write_value(None) {
    return write_table(pte_wire::ValueKind::Null, pte_wire::CreateNull(builder_));
  }
  Offset<pte_wire::Value> write_value(std::int64_t value) {
    return write_table(pte_wire::ValueKind::Int, pte_wire::CreateInt(builder_, value));
  }
  Offset<pte_wire::Value> write_value(bool value) {
    return write_table(pte_wire::ValueKind::Bool, pte_wire::CreateBool(builder_, value));
  }
  Offset<pte_wire::Value> write_value(double value) {
    return write_table(pte_wire::ValueKind::Double, pte_wire::CreateDouble(builder_, value));
  }
  Offset<pte_wire::Value> write_value(const std::string& value) {
    return write_table(pte_wire::ValueKind::String, pte_wire::CreateString(builder_, builder_.CreateString(value)));
  }
  Offset<pte_wire::Value> write_value(const IntList& list) {
    const auto items = builder_.CreateVector(std::vector<std::int64_t>(list.items.begin(), list.items.end()));
    return write_table(pte_wire::ValueKind::IntList, pte_wire::CreateIntList(builder_, items));
  }
  Offset<pte_wire::Value> write_value(const DoubleList& list) {
    return write_table(pte_wire::ValueKind::DoubleList,
                       pte_wire::CreateDoubleList(builder_, builder_.CreateVector(list.items)));
  }
  Offset<pte_wire::Value> write_value(const BoolList& list) {
    const auto items = builder_.CreateVector(std::vector<std::uint8_t>(list.items.begin(), list.items.end()));
    return write_table(pte_wire::ValueKind::BoolList, pte_wire::CreateBoolList(builder_, items));
  }
  Offset<pte_wire::Value> write_value(const TensorList& list) {
    return write_table(pte_wire::ValueKind::TensorList,
                       pte_wire::CreateTensorList(builder_, write_indices(list.items)));
  }
  Offset<pte_wire::Value> write_value(const OptionalTensorList& list) {
    std::vector<std::int32_t> items;
    for (const auto item : list.items) items.push_back(item ? static_cast<std::int32_t>(*item) : -1);
    return write_table(pte_wire::ValueKind::OptionalTensorList,
                       pte_wire::CreateOptionalTensorList(builder_, builder_.CreateVector(items)));
  }
  Offset<pte_wire::Value> write_value(const Tensor& tensor) {
    const auto type = scalar_type_of(tensor.dtype);
    CHECK(type.has_value(), "an element type that was checked before");
    const auto sizes = builder_.CreateVector(tensor.sizes);
    const auto order = builder_.CreateVector(tensor.dim_order);
    Offset<pte_wire::Allocation> allocation = 0;
    if (tensor.allocation) {
      allocation = pte_wire::CreateAllocation(builder_, tensor.allocation->memory_id,
                                              static_cast<std::uint32_t>(tensor.allocation->offset),
                                              static_cast<std::uint32_t>(tensor.allocation->offset >> 32));
    }
    Offset<pte_wire::TensorExtra> extra = 0;
    if (!tensor.name.empty()) {
      const auto name = builder_.CreateString(tensor.name);
      extra = pte_wire::CreateTensorExtra(builder_, 0, name);
    }
    const auto dynamism = static_cast<pte_wire::Dynamism>(tensor.dynamism);
    return write_table(pte_wire::ValueKind::Tensor,
                       pte_wire::CreateTensor(builder_, *type, 0, sizes, order, tensor.requires_grad, tensor.data_index,
                                              allocation, 0, dynamism, extra));
  }

  const Program& program_;
  std::uint64_t alignment_;
  Segments segments_;
  flatbuffers::FlatBufferBuilder builder_;
  bool has_empty_blob_ = false;
};

// A flatbuffer counts in 31 bits, and the builder aborts where that does not suffice.
Expected<void> check_size(const Program& program) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
  std::uint64_t bytes = 0;
  for (const Plan& plan : program.plans) {
    bytes += plan.values.size() * 160 + plan.container_inputs.size() + plan.container_outputs.size();
    for (const Value& value : plan.values) {
      if (const auto* list = std::get_if<IntList>(&value)) bytes += list->items.size() * 8;
      if (const auto* list = std::get_if<DoubleList>(&value)) bytes += list->items.size() * 8;
      if (const auto* list = std::get_if<BoolList>(&value)) bytes += list->items.size();
      if (const auto* list = std::get_if<TensorList>(&value)) bytes += list->items.size() * 4;
      if (const auto* list = std::get_if<OptionalTensorList>(&value)) bytes += list->items.size() * 4;
      if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
      if (const auto* tensor = std::get_if<Tensor>(&value)) bytes += tensor->name.size();
      if (const auto* tensor = std::get_if<Tensor>(&value); tensor != nullptr && !scalar_type_of(tensor->dtype)) {
        return bad_input(fmt::format("a program file has no element type {}", name_of(tensor->dtype)));
      }
    }
    for (const Chain& chain : plan.chains) {
      for (const Instruction& instruction : chain.instructions) {
        bytes += 64;
        if (const auto* call = std::get_if<KernelCall>(&instruction)) bytes += call->args.size() * 4;
        if (const auto* call = std::get_if<DelegateCall>(&instruction)) bytes += call->args.size() * 4;
      }
    }
    for (const Delegate& delegate : plan.delegates) {
      bytes += 128 + delegate.id.size();
      for (const CompileSpec& spec : delegate.compile_specs) bytes += 32 + spec.key.size() + spec.value.size();
    }
  }
  for (const NamedData& data : program.named_data) bytes += data.key.size() + 64;
  if (bytes > kMaxBytes) return fail(ErrorKind::kUnsupported, "the program itself is too large for its format");
  return {};
}

}  // namespace

Expected<LargeBytes> write_program(const Program& program, const WriteOptions& options) {
  if (!std::has_single_bit(options.segment_alignment) || options.segment_alignment < kConstantAlignment) {
    return bad_input(fmt::format("segments aligned to {}", options.segment_alignment));
  }
  TRY(verify(program));
  TRY(check_size(program));
  return Writer(program, options).run();
}

}  // namespace isthmus::pte
