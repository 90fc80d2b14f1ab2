// Constants as they lie in memory: those that are packed otherwise in the file are unpacked.
#include "targets/tosa/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/untrusted_text.h"

namespace isthmus::tosa {
namespace {

// Whether the bytes of the file can be used where they are.
bool is_ready(const Value& value) {
  if (value.type == Type::kI4 || value.type == Type::kI48) return false;
  const auto bytes = value.data.bytes();
  if (value.type == Type::kBool) {
    return std::ranges::all_of(bytes, [](std::byte b) { return std::to_integer<int>(b) <= 1; });
  }
  const std::size_t element = value.type == Type::kShape ? sizeof(std::int64_t) : size_of(memory_type(value.type));
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % element == 0;
}

void unpack_i4(std::span<const std::byte> from, std::int64_t count, std::int8_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int both = std::to_integer<int>(from[static_cast<std::size_t>(i / 2)]);
    const int bits = (i % 2 == 0 ? both : both >> 4) & 0xF;
    to[i] = static_cast<std::int8_t>(bits >= 8 ? bits - 16 : bits);
  }
}

void unpack_i48(std::span<const std::byte> from, std::int64_t count, std::int64_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    for (std::size_t b = 0; b < 6; ++b) {
      bits |= std::to_integer<std::uint64_t>(from[static_cast<std::size_t>(i) * 6 + b]) << (16 + 8 * b);
    }
    to[i] = static_cast<std::int64_t>(bits) >> 16;
  }
}

void unpack(const Value& value, std::int64_t count, std::int64_t* to) {
  const auto from = value.data.bytes();
  auto* bytes = reinterpret_cast<std::int8_t*>(to);
  if (value.type == Type::kI4) {
    unpack_i4(from, count, bytes);
  } else if (value.type == Type::kI48) {
    unpack_i48(from, count, to);
  } else {
    std::memcpy(to, from.data(), from.size());
    if (value.type == Type::kBool) {
      for (std::int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
    }
  }
}

}  // namespace

DType memory_type(Type type) {
  switch (type) {
    case Type::kBool:
      return DType::kBool;
    case Type::kI16:
      return DType::kI16;
    case Type::kI32:
      return DType::kI32;
    case Type::kI48:
    case Type::kShape:
      return DType::kI64;
    case Type::kF32:
      return DType::kF32;
    case Type::kF16:
      return DType::kF16;
    case Type::kBF16:
      return DType::kBF16;
    case Type::kF8E4M3:
      return DType::kF8E4M3FN;
    case Type::kF8E5M2:
      return DType::kF8E5M2;
    case Type::kI4:
    case Type::kI8:
    case Type::kUnknown:
      break;
  }
  return DType::kI8;
}

std::int64_t Operand::at(std::int64_t index) const {
  CHECK(constant != nullptr && index >= 0 && index < count, "an element that is not known");
  return with_number(type, [&]<class Number>(Number) { return static_cast<std::int64_t>(constants<Number>()[index]); });
}

std::vector<std::int64_t> Operand::values() const {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(at(i));
  return result;
}

Expected<Operands> Operands::of(const Graph& graph, std::uint64_t max_bytes) {
  static constexpr std::int64_t kNoSizes = 0;  // where a shape has none, `constant` still points somewhere
  Operands result;
  for (const Value& value : graph.values) {
    Operand& operand = result.operands_.emplace_back();
    operand.name = value.name;
    operand.type = value.type;
    operand.sizes.assign(value.shape.begin(), value.shape.end());
    for (const std::int64_t size : operand.sizes) operand.count *= size;
    if (value.data.size() == 0) {
      if (value.type == Type::kShape) operand.constant = reinterpret_cast<const std::byte*>(&kNoSizes);
      continue;
    }
    if (is_ready(value)) {
      operand.constant = value.data.bytes().data();
      continue;
    }
    const std::uint64_t bytes = static_cast<std::uint64_t>(operand.count) * size_of(memory_type(value.type));
    result.unpacked_bytes_ += bytes;
    if (result.unpacked_bytes_ > max_bytes) {
      return fail(ErrorKind::kUnsupported, fmt::format("its constants take more than {} bytes", max_bytes));
    }
    auto& memory = result.unpacked_.emplace_back((bytes + 7) / 8);
    unpack(value, operand.count, memory.data());
    operand.constant = reinterpret_cast<const std::byte*>(memory.data());
  }
  return result;
}

Site Operands::site(const Operator& op) const {
  Site site{&op, {}, operands_[op.outputs[0]]};
  for (const ValueIndex index : op.inputs) site.inputs.push_back(operands_[index]);
  return site;
}

std::string place_of(const Graph& graph, const Operator& op) {
  std::string place = fmt::format("{} {}", name_of(op.op), shown(graph.values[op.outputs[0]].name));
  if (!op.location.empty()) place += fmt::format(" ({})", shown(op.location));
  return place;
}

}  // namespace isthmus::tosa
