// Writes a TOSA graph operator by operator: types, shapes, names and shared constants.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tosa/tosa.h"
#include "ir/attrs.h"
#include "targets/ethos_u/device.h"
#include "targets/ethos_u/forms/constants.h"

namespace isthmus::ethos_u {

// A tensor of the graph.
struct Operand {
  tosa::ValueIndex id = 0;
  tosa::Type type = tosa::Type::kI8;
  Ints shape;

  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
};

class TosaBuilder {
 public:
  enum class Constants : std::uint8_t {
    kWritten,
    kLeftOut,  // only operators, types and shapes are made: what limits are asked about
  };
  TosaBuilder(Device device, Constants constants) : device_(device), constants_(constants) {}

  bool writes_constants() const { return constants_ == Constants::kWritten; }
  // What is emitted from here on is named after this, and comes from there.
  void begin(std::string stem, std::string location);

  Operand input(tosa::Type type, Ints shape, std::string name);
  void output(const Operand& operand) { graph_.outputs.push_back(operand.id); }
  // The bytes are asked for only where they are written. Equal constants are one.
  Operand constant(tosa::Type type, Ints shape, const std::function<std::vector<std::byte>()>& bytes);
  Operand numbers(tosa::Type type, Ints shape, std::span<const std::int64_t> values);
  // One number, with this many axes.
  Operand number(tosa::Type type, std::int64_t value, std::int64_t rank = 1);
  tosa::ValueIndex sizes(const Ints& sizes);

  Operand emit(tosa::Op op, tosa::Fields fields, std::vector<tosa::ValueIndex> inputs, tosa::Type type, Ints shape);

  // Numbers.
  Operand binary(tosa::Op op, const Operand& a, const Operand& b, tosa::Type type = tosa::Type::kI32);
  Operand binary(tosa::Op op, const Operand& a, std::int64_t b) {
    return binary(op, a, number(a.type, b, a.rank()), a.type);
  }
  Operand mul(const Operand& a, const Operand& b, std::int32_t shift = 0);
  Operand mul(const Operand& a, std::int64_t b, std::int32_t shift = 0) {
    return mul(a, number(a.type, b, a.rank()), shift);
  }
  // To the right it rounds.
  Operand shift_right(const Operand& a, const Operand& bits);
  Operand shift_right(const Operand& a, std::int64_t bits) { return shift_right(a, number(a.type, bits, a.rank())); }
  Operand shift_left(const Operand& a, const Operand& bits) { return binary(tosa::Op::kLogicalLeftShift, a, bits); }
  Operand shift_left(const Operand& a, std::int64_t bits) { return shift_left(a, number(a.type, bits, a.rank())); }
  Operand unary(tosa::Op op, const Operand& x) { return emit(op, tosa::fields_of(op), {x.id}, x.type, x.shape); }
  Operand clamp(const Operand& x, std::int64_t min, std::int64_t max);
  Operand table(const Operand& x, const Table8& table);
  Operand table(const Operand& x, const Table16& table);

  // How quantized values become other quantized values; multipliers are one, or one for each place of the last axis.
  struct Scaling {
    std::vector<Multiplier> multipliers;
    std::int32_t from_zero = 0;
    std::int32_t to_zero = 0;
    bool from_unsigned = false;
    bool to_unsigned = false;
  };
  Operand rescale(const Operand& x, tosa::Type type, const Scaling& scaling);
  // 32 bits, the zero point removed.
  Operand widened(const Operand& x, std::int32_t zero_point);

  // Along one axis, which stays with size one.
  Operand reduce(tosa::Op op, const Operand& x, std::int64_t axis);

  // Movement. Nothing is emitted where nothing changes.
  Operand reshape(const Operand& x, Ints shape);
  // In parts where the device cannot make it at once.
  Operand transpose(const Operand& x, const Ints& perms);
  Operand slice(const Operand& x, const Ints& start, Ints size);
  Operand concat(std::span<const Operand> parts, std::int64_t axis);

  const tosa::Graph& graph() const { return graph_; }
  Device device() const { return device_; }
  tosa::Graph take() && { return std::move(graph_); }

 private:
  tosa::ValueIndex add_value(tosa::Value value);
  // Along the last axis.
  Operand extreme_of_rows(tosa::Op op, const Operand& x);
  std::string next_name(std::string_view what);

  Device device_;
  Constants constants_;
  tosa::Graph graph_;
  std::string stem_ = "v";
  std::string location_;
  std::map<std::string, tosa::ValueIndex> shared_;    // constants by type, shape and contents
  std::map<tosa::ValueIndex, Operand> columns_;       // values as rows, turned
  std::set<tosa::ValueIndex> extremes_;               // results of REDUCE_MAX and REDUCE_MIN, also reshaped
  std::map<std::string, std::uint32_t> names_taken_;  // how often
  std::set<std::string> input_names_;
};

// Numbers packed as a file holds them.
std::vector<std::byte> packed(tosa::Type type, std::span<const std::int64_t> values);

}  // namespace isthmus::ethos_u
