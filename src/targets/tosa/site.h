// An operator of a TOSA graph with all that is known of its operands before any run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/dtype.h"
#include "base/expected.h"
#include "formats/tosa/tosa.h"

namespace isthmus::tosa {

// How elements lie in memory: those of i4 take a byte, those of i48 eight.
DType memory_type(Type type);

// The C++ type of an element in memory; a bool is a byte that is 0 or 1.
template <class Use>
auto with_number(Type type, Use use) {
  switch (memory_type(type)) {
    case DType::kI16:
      return use(std::int16_t{});
    case DType::kI32:
      return use(std::int32_t{});
    case DType::kI64:
      return use(std::int64_t{});
    case DType::kBool:
      return use(std::uint8_t{});
    default:
      return use(std::int8_t{});
  }
}

struct Operand {
  std::string_view name;
  Type type = Type::kUnknown;
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1;
  const std::byte* constant = nullptr;  // its elements as they lie in memory; null if it is not constant

  std::int64_t size(std::size_t axis) const { return sizes[axis]; }
  std::size_t rank() const { return sizes.size(); }
  template <class Number>
  const Number* constants() const {
    return reinterpret_cast<const Number*>(constant);
  }
  // An element of a constant; sizes of a shape are 64 bits wide.
  std::int64_t at(std::int64_t index) const;
  std::vector<std::int64_t> values() const;
};

struct Site {
  const Operator* op = nullptr;
  std::vector<Operand> inputs;
  Operand output;

  template <class Kind>
  const Kind& fields() const {
    return std::get<Kind>(op->fields);
  }
};

// Values of a graph as operands: names and sizes, and constants as they lie in memory. Unpacked ones belong to it.
class Operands {
 public:
  // Fails where the constants that need another form in memory take more than `max_bytes`.
  static Expected<Operands> of(const Graph& graph, std::uint64_t max_bytes);

  const Operand& operator[](ValueIndex index) const { return operands_[index]; }
  Site site(const Operator& op) const;
  std::uint64_t unpacked_bytes() const { return unpacked_bytes_; }

 private:
  std::vector<Operand> operands_;
  std::vector<std::vector<std::int64_t>> unpacked_;  // of this type for its alignment
  std::uint64_t unpacked_bytes_ = 0;
};

// "CONV2D "conv1_out"", and where it came from if the file says so.
std::string place_of(const Graph& graph, const Operator& op);

}  // namespace isthmus::tosa
