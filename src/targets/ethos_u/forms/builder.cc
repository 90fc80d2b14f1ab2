// Values, names and constants.
#include "targets/ethos_u/forms/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/sha256.h"
#include "targets/ethos_u/limits.h"

namespace isthmus::ethos_u {
namespace {

const Multiplier kUnitMultiplier = *multiplier_of(1, ScaleBits::k31);

// Whether an NPU can take [rows, length] as a matrix.
bool has_countable_rows(const Ints& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return shape.back() > 1 && shape.back() <= kMaxCount && count / shape.back() <= kMaxCount;
}

std::vector<std::int32_t> narrow(const Ints& numbers) { return {numbers.begin(), numbers.end()}; }

Ints broadcast(const Ints& a, const Ints& b) {
  CHECK(a.size() == b.size(), "operands of TOSA have one rank");
  Ints result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(std::max(a[i], b[i]));
  return result;
}

std::string lower_case(std::string_view name) {
  std::string result;
  for (const char letter : name) result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

}  // namespace

std::vector<std::byte> packed(tosa::Type type, std::span<const std::int64_t> values) {
  const std::size_t bytes = tosa::bits_of(type) / 8;
  std::vector<std::byte> result;
  result.reserve(values.size() * bytes);
  for (const std::int64_t value : values) {
    for (std::size_t i = 0; i < bytes; ++i) {
      result.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
  }
  return result;
}

void TosaBuilder::begin(std::string stem, std::string location) {
  stem_ = std::move(stem);
  location_ = std::move(location);
}

std::string TosaBuilder::next_name(std::string_view what) {
  if (!writes_constants()) return {};
  std::string name = stem_ + "." + std::string(what);
  std::uint32_t& count = names_taken_[name];
  std::string numbered = count == 0 ? name : fmt::format("{}.{}", name, count + 1);
  ++count;
  // An input may have such a name.
  while (input_names_.contains(numbered)) numbered = fmt::format("{}.{}", name, ++count);
  return numbered;
}

tosa::ValueIndex TosaBuilder::add_value(tosa::Value value) {
  graph_.values.push_back(std::move(value));
  return static_cast<tosa::ValueIndex>(graph_.values.size() - 1);
}

Operand TosaBuilder::input(tosa::Type type, Ints shape, std::string name) {
  input_names_.insert(name);
  const tosa::ValueIndex id = add_value({std::move(name), type, narrow(shape), {}});
  graph_.inputs.push_back(id);
  return {id, type, std::move(shape)};
}

Operand TosaBuilder::constant(tosa::Type type, Ints shape, const std::function<std::vector<std::byte>()>& bytes) {
  tosa::Value value{{}, type, narrow(shape), {}};
  if (!writes_constants()) return {add_value(std::move(value)), type, std::move(shape)};
  value.data = Blob::owning(bytes());
  const std::string key =
      fmt::format("{} {} {}", tosa::name_of(type), fmt::join(shape, ","), sha256_hex(value.data.bytes()));
  const auto found = shared_.find(key);
  if (found != shared_.end()) return {found->second, type, std::move(shape)};
  value.name = next_name("const");
  const tosa::ValueIndex id = add_value(std::move(value));
  graph_.operators.push_back({tosa::Op::kConst, tosa::fields_of(tosa::Op::kConst), {}, {id}, location_});
  shared_.emplace(key, id);
  return {id, type, std::move(shape)};
}

Operand TosaBuilder::numbers(tosa::Type type, Ints shape, std::span<const std::int64_t> values) {
  return constant(type, std::move(shape), [&] { return packed(type, values); });
}

Operand TosaBuilder::number(tosa::Type type, std::int64_t value, std::int64_t rank) {
  return numbers(type, Ints(static_cast<std::size_t>(rank), 1), {{value}});
}

// Always with its contents: limits are asked about them.
tosa::ValueIndex TosaBuilder::sizes(const Ints& sizes) {
  const std::string key = fmt::format("shape {}", fmt::join(sizes, ","));
  const auto found = shared_.find(key);
  if (found != shared_.end()) return found->second;
  const tosa::ValueIndex id = add_value({next_name("shape"),
                                         tosa::Type::kShape,
                                         {static_cast<std::int32_t>(sizes.size())},
                                         Blob::owning(packed(tosa::Type::kShape, sizes))});
  graph_.operators.push_back({tosa::Op::kConstShape, tosa::fields_of(tosa::Op::kConstShape), {}, {id}, location_});
  shared_.emplace(key, id);
  return id;
}

Operand TosaBuilder::emit(tosa::Op op, tosa::Fields fields, std::vector<tosa::ValueIndex> inputs, tosa::Type type,
                          Ints shape) {
  const tosa::ValueIndex id = add_value({next_name(lower_case(tosa::name_of(op))), type, narrow(shape), {}});
  graph_.operators.push_back({op, std::move(fields), std::move(inputs), {id}, location_});
  return {id, type, std::move(shape)};
}

Operand TosaBuilder::binary(tosa::Op op, const Operand& a, const Operand& b, tosa::Type type) {
  return emit(op, tosa::fields_of(op), {a.id, b.id}, type, broadcast(a.shape, b.shape));
}

Operand TosaBuilder::mul(const Operand& a, const Operand& b, std::int32_t shift) {
  const Operand bits = number(tosa::Type::kI8, shift);
  return emit(tosa::Op::kMul, tosa::Nothing{}, {a.id, b.id, bits.id}, tosa::Type::kI32, broadcast(a.shape, b.shape));
}

Operand TosaBuilder::shift_right(const Operand& a, const Operand& bits) {
  return emit(tosa::Op::kArithmeticRightShift, tosa::RightShift{true}, {a.id, bits.id}, a.type,
              broadcast(a.shape, bits.shape));
}

Operand TosaBuilder::clamp(const Operand& x, std::int64_t min, std::int64_t max) {
  return emit(tosa::Op::kClamp, tosa::Clamp{packed(x.type, {{min}}), packed(x.type, {{max}})}, {x.id}, x.type, x.shape);
}

Operand TosaBuilder::table(const Operand& x, const Table8& table) {
  const Operand entries = numbers(tosa::Type::kI8, {256}, std::vector<std::int64_t>(table.begin(), table.end()));
  return emit(tosa::Op::kTable, tosa::Nothing{}, {x.id, entries.id}, tosa::Type::kI8, x.shape);
}

Operand TosaBuilder::table(const Operand& x, const Table16& table) {
  const Operand entries =
      numbers(tosa::Type::kI16, {513}, std::vector<std::int64_t>(table.entries.begin(), table.entries.end()));
  return emit(tosa::Op::kTable, tosa::Nothing{}, {x.id, entries.id}, tosa::Type::kI32, x.shape);
}

Operand TosaBuilder::rescale(const Operand& x, tosa::Type type, const Scaling& scaling) {
  // Vela fuses a RESCALE that only changes the type into the reduction, and U55 has none that makes 32 bits.
  const bool changes_type_alone =
      type == tosa::Type::kI32 && scaling.from_zero == 0 && scaling.to_zero == 0 && !scaling.from_unsigned &&
      std::ranges::all_of(scaling.multipliers, [](const Multiplier& one) { return one == kUnitMultiplier; });
  if (device_ == Device::kU55 && changes_type_alone && extremes_.contains(x.id)) {
    return emit(tosa::Op::kCast, tosa::fields_of(tosa::Op::kCast), {x.id}, type, x.shape);
  }
  const bool is_wide = x.type == tosa::Type::kI48;
  const bool is_by_channel =
      std::ranges::any_of(scaling.multipliers, [&](const Multiplier& one) { return one != scaling.multipliers[0]; });
  std::vector<std::int64_t> factors, shifts;
  for (const Multiplier& one : scaling.multipliers) {
    factors.push_back(one.multiplier);
    shifts.push_back(one.shift);
    if (!is_by_channel) break;
  }
  const Ints count{static_cast<std::int64_t>(factors.size())};
  const Operand multiplier = numbers(is_wide ? tosa::Type::kI16 : tosa::Type::kI32, count, factors);
  const Operand shift = numbers(tosa::Type::kI8, count, shifts);
  const Operand from = number(x.type, scaling.from_zero);
  const Operand to = number(type, scaling.to_zero);
  const tosa::Rescale fields{!is_wide, tosa::Rounding::kSingle, is_by_channel, scaling.from_unsigned,
                             scaling.to_unsigned};
  return emit(tosa::Op::kRescale, fields, {x.id, multiplier.id, shift.id, from.id, to.id}, type, x.shape);
}

Operand TosaBuilder::widened(const Operand& x, std::int32_t zero_point) {
  return rescale(x, tosa::Type::kI32, {{kUnitMultiplier}, zero_point});
}

// NPUs find extremes along the innermost axis one by one, and along the one before it many at once.
Operand TosaBuilder::extreme_of_rows(tosa::Op op, const Operand& x) {
  const std::int64_t length = x.shape.back();
  std::int64_t rows = 1;
  for (const std::int64_t size : x.shape) rows *= size;
  rows /= length;
  const auto [found, is_new] = columns_.try_emplace(x.id);
  if (is_new) found->second = transpose(reshape(x, {rows, length}), {1, 0});
  Ints shape = x.shape;
  shape.back() = 1;
  return reshape(reduce(op, Operand(found->second), 0), std::move(shape));
}

Operand TosaBuilder::reduce(tosa::Op op, const Operand& x, std::int64_t axis) {
  const bool is_extreme = op == tosa::Op::kReduceMax || op == tosa::Op::kReduceMin;
  if (is_extreme && device_ != Device::kTosaInt && axis == x.rank() - 1 && has_countable_rows(x.shape)) {
    return extreme_of_rows(op, x);
  }
  Ints shape = x.shape;
  shape[static_cast<std::size_t>(axis)] = 1;
  tosa::Fields fields = tosa::fields_of(op);
  const auto at = static_cast<std::int32_t>(axis);
  if (auto* plain = std::get_if<tosa::Axis>(&fields)) plain->axis = at;
  if (auto* with_nan = std::get_if<tosa::AxisNan>(&fields)) with_nan->axis = at;
  const Operand result = emit(op, std::move(fields), {x.id}, x.type, std::move(shape));
  if (is_extreme) extremes_.insert(result.id);
  return result;
}

Operand TosaBuilder::reshape(const Operand& x, Ints shape) {
  if (shape == x.shape) return x;
  const tosa::ValueIndex wanted = sizes(shape);
  const Operand result = emit(tosa::Op::kReshape, tosa::Nothing{}, {x.id, wanted}, x.type, std::move(shape));
  if (extremes_.contains(x.id)) extremes_.insert(result.id);
  return result;
}

Operand TosaBuilder::slice(const Operand& x, const Ints& start, Ints size) {
  if (size == x.shape) return x;
  const tosa::ValueIndex from = sizes(start);
  const tosa::ValueIndex count = sizes(size);
  return emit(tosa::Op::kSlice, tosa::Nothing{}, {x.id, from, count}, x.type, std::move(size));
}

Operand TosaBuilder::concat(std::span<const Operand> parts, std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Ints shape = parts[0].shape;
  std::vector<tosa::ValueIndex> inputs;
  std::int64_t total = 0;
  for (const Operand& part : parts) {
    inputs.push_back(part.id);
    total += part.shape[static_cast<std::size_t>(axis)];
  }
  shape[static_cast<std::size_t>(axis)] = total;
  return emit(tosa::Op::kConcat, tosa::Axis{static_cast<std::int32_t>(axis)}, std::move(inputs), parts[0].type,
              std::move(shape));
}

}  // namespace isthmus::ethos_u
