// Bounds of symbolic sizes, and the elements of constants.
#include "ops/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace isthmus {
namespace {

template <class Number, class Wide = std::int64_t>
std::vector<Wide> elements(std::span<const std::byte> bytes) {
  std::vector<Wide> result(bytes.size() / sizeof(Number));
  for (std::size_t i = 0; i < result.size(); ++i) {
    Number number{};
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    result[i] = static_cast<Wide>(number);
  }
  return result;
}

}  // namespace

bool surely_differ(Exprs& exprs, Dim a, Dim b) {
  if (a.is_fixed() && b.is_fixed()) return a != b;
  return surely_exceeds(exprs, a, b) || surely_exceeds(exprs, b, a);
}

bool surely_exceeds(Exprs& exprs, Dim a, Dim b) {
  if (a.is_fixed() && b.is_fixed()) return a.value() > b.value();
  const Bounds difference = exprs.bounds(exprs.subtract(a, b));
  return difference.min && *difference.min > 0;
}

Expected<void> demand_countable(const TensorType& type) {
  std::int64_t bytes = 16;
  for (const Dim dim : type.shape) {
    if (!dim.is_fixed()) continue;
    if (dim.value() < 0) return bad_input(fmt::format("a size is {}", dim.value()));
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(dim.value(), 1), &bytes)) {
      return bad_input("the result has too many elements to count");
    }
  }
  return {};
}

std::optional<Ints> known_integers(const Graph& graph, ValueId value) {
  const Constant* constant = graph.constant(value);
  if (constant == nullptr || !constant->data) return std::nullopt;
  const TensorView& view = *constant->data;
  if (view.element_count() > kMaxElements) return std::nullopt;
  const Blob blob = contiguous_bytes(view);
  switch (view.dtype) {
    case DType::kBool: {
      Ints result = elements<std::uint8_t>(blob.bytes());
      for (std::int64_t& boolean : result) boolean = boolean != 0 ? 1 : 0;
      return result;
    }
    case DType::kU8:
      return elements<std::uint8_t>(blob.bytes());
    case DType::kI8:
      return elements<std::int8_t>(blob.bytes());
    case DType::kI16:
      return elements<std::int16_t>(blob.bytes());
    case DType::kI32:
      return elements<std::int32_t>(blob.bytes());
    case DType::kI64:
      return elements<std::int64_t>(blob.bytes());
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<double>> numbers_of(const TensorView* tensor) {
  if (tensor == nullptr || (tensor->dtype != DType::kF32 && tensor->dtype != DType::kF64)) return std::nullopt;
  const Blob blob = contiguous_bytes(*tensor);
  return tensor->dtype == DType::kF32 ? elements<float, double>(blob.bytes()) : elements<double, double>(blob.bytes());
}

std::optional<Ints> fixed_sizes(const Shape& shape) {
  Ints result;
  for (const Dim dim : shape) {
    if (!dim.is_fixed()) return std::nullopt;
    result.push_back(dim.value());
  }
  return result;
}

}  // namespace isthmus
