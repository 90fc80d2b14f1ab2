// Inference, naming and the small conveniences of emitting.
#include "ops/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "ir/literals.h"
#include "ops/table.h"

namespace isthmus {
namespace {

// Calls `use` with a value of the C++ type that holds numbers of the element type, where there is one.
template <class Use>
bool with_number_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return use(std::uint8_t{});
    case DType::kI8:
      return use(std::int8_t{});
    case DType::kU16:
      return use(std::uint16_t{});
    case DType::kI16:
      return use(std::int16_t{});
    case DType::kU32:
      return use(std::uint32_t{});
    case DType::kI32:
      return use(std::int32_t{});
    case DType::kU64:
      return use(std::uint64_t{});
    case DType::kI64:
      return use(std::int64_t{});
    case DType::kF32:
      return use(float{});
    case DType::kF64:
      return use(double{});
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
      return false;
  }
  return false;
}

template <class Number>
std::optional<TensorView> scalar_view(Number value, DType dtype) {
  std::vector<std::byte> bytes(size_of(dtype));
  const bool is_done = with_number_type(dtype, [&]<class Element>(Element) {
    const auto element = dtype == DType::kBool ? static_cast<Element>(value != Number{}) : static_cast<Element>(value);
    std::memcpy(bytes.data(), &element, sizeof(element));
    return true;
  });
  if (!is_done) return std::nullopt;
  return TensorView{dtype, {}, {}, 0, Blob::owning(std::move(bytes))};
}

template <class Number>
TensorView tensor_view(const std::vector<Number>& numbers, DType dtype, std::vector<std::int64_t> sizes) {
  const auto bytes = std::as_bytes(std::span(numbers));
  std::vector<std::int64_t> strides = row_major_strides(sizes);
  return {dtype, std::move(sizes), std::move(strides), 0, Blob::owning({bytes.begin(), bytes.end()})};
}

}  // namespace

void Emitter::begin(Origin origin, std::string stem, bool in_float) {
  origin_ = std::move(origin);
  stem_ = std::move(stem);
  in_float_ = in_float;
}

Expected<ValueId> Emitter::emit(Op op, Attrs attrs, std::vector<ValueId> inputs) {
  const OpDef& row = def(op);
  const auto place = [&] {
    return fmt::format("{} for %{}{}", name_of(op), stem_, origin_.empty() ? "" : " (" + origin_text(origin_) + ")");
  };
  if (inputs.size() < row.required || (!row.is_variadic && inputs.size() > row.roles.size())) {
    return within(Expected<ValueId>(bad_input(fmt::format("it has {} inputs", inputs.size()))), place);
  }
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const ValueId input : inputs) types.push_back(graph_.type(input));
  TensorType type = TRY(within(row.infer({graph_.exprs(), types, attrs}), place));
  std::vector<Result> results;
  const std::string suffix = fmt::format(".{}", name_of(op));
  results.push_back({graph_.unused_name(stem_.ends_with(suffix) ? stem_ : stem_ + suffix), std::move(type)});
  const NodeId node = graph_.add_node(op, std::move(attrs), std::move(inputs), std::move(results), origin_);
  if (in_float_) graph_.keep_in_float(node);
  return graph_[node].outputs[0];
}

ValueId Emitter::constant(TensorView data) {
  return graph_.add_constant(graph_.unused_name(stem_ + ".const"), std::move(data));
}

ValueId Emitter::constant(const std::vector<float>& numbers, std::vector<std::int64_t> sizes) {
  return constant(tensor_view(numbers, DType::kF32, std::move(sizes)));
}
ValueId Emitter::constant(const std::vector<double>& numbers, std::vector<std::int64_t> sizes) {
  return constant(tensor_view(numbers, DType::kF64, std::move(sizes)));
}
ValueId Emitter::constant(const std::vector<std::int64_t>& numbers, std::vector<std::int64_t> sizes) {
  return constant(tensor_view(numbers, DType::kI64, std::move(sizes)));
}

ValueId Emitter::floats(const std::vector<double>& numbers, DType dtype, std::vector<std::int64_t> sizes) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64, "numbers of f32 or f64");
  if (dtype == DType::kF64) return constant(numbers, std::move(sizes));
  std::vector<float> narrow(numbers.size());
  std::ranges::transform(numbers, narrow.begin(), [](double number) { return static_cast<float>(number); });
  return constant(narrow, std::move(sizes));
}

ValueId Emitter::scalar(double value, DType dtype) {
  if (auto view = scalar_view(value, dtype)) return constant(std::move(*view));
  // Types without arithmetic of their own: a float of 32 bits that a cast brings there.
  const auto result = cast(constant(*scalar_view(value, DType::kF32)), dtype);
  CHECK(result.has_value(), "a scalar of an unsupported type");
  return *result;
}

ValueId Emitter::scalar(std::int64_t value, DType dtype) {
  if (auto view = scalar_view(value, dtype)) return constant(std::move(*view));
  return scalar(static_cast<double>(value), dtype);
}

ValueId Emitter::integers(const std::vector<std::int64_t>& values) {
  return constant(values, {static_cast<std::int64_t>(values.size())});
}

Expected<ValueId> Emitter::cast(ValueId value, DType dtype) {
  if (type(value).dtype == dtype) return value;
  return emit(Op::kCast, DTypeAttrs{dtype}, {value});
}

Expected<ValueId> Emitter::reshape(ValueId value, Shape wanted) {
  if (shape(value) == wanted) return value;
  return emit(Op::kReshape, ShapeAttrs{std::move(wanted)}, {value});
}

Expected<ValueId> Emitter::permute(ValueId value, std::vector<std::int64_t> axes) {
  std::vector<std::int64_t> identity(static_cast<std::size_t>(rank(value)));
  std::iota(identity.begin(), identity.end(), 0);
  if (axes == identity) return value;
  return emit(Op::kPermute, AxesAttrs{std::move(axes)}, {value});
}

Expected<ValueId> Emitter::expand(ValueId value, Shape wanted) {
  if (shape(value) == wanted) return value;
  return emit(Op::kExpand, ShapeAttrs{std::move(wanted)}, {value});
}

Expected<ValueId> Emitter::slice(ValueId value, std::int64_t axis, Dim start, Dim end, std::int64_t step) {
  if (start.is(0) && end == size(value, axis) && step == 1) return value;
  return emit(Op::kSlice, SliceAttrs{axis, start, end, step}, {value});
}

Expected<ValueId> Emitter::cat(std::vector<ValueId> values, std::int64_t axis) {
  if (values.size() == 1) return values[0];
  return emit(Op::kCat, AxisAttrs{axis}, std::move(values));
}

Expected<std::int64_t> normal_axis(std::int64_t axis, std::int64_t rank) {
  // A 0-d tensor may be addressed as if it had one axis.
  const std::int64_t axes = std::max<std::int64_t>(rank, 1);
  if (axis < -axes || axis >= axes) return bad_input(fmt::format("axis {} is out of range for rank {}", axis, rank));
  return axis < 0 ? axis + axes : axis;
}

Expected<std::vector<std::int64_t>> normal_axes(const std::vector<std::int64_t>& axes, std::int64_t rank,
                                                bool empty_means_all) {
  std::vector<std::int64_t> result;
  if (axes.empty() && empty_means_all) {
    result.resize(static_cast<std::size_t>(rank));
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  for (const std::int64_t axis : axes) {
    const std::int64_t normal = TRY(normal_axis(axis, rank));
    if (rank > 0) result.push_back(normal);
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) return bad_input("an axis occurs twice");
  return result;
}

}  // namespace isthmus
