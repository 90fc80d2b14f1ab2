// Doubles from constants and constants from doubles.
#include "transforms/simplify/weights.h"

#include <cstring>

namespace isthmus {
namespace {

template <class Number>
std::vector<double> read(std::span<const std::byte> bytes) {
  std::vector<double> result(bytes.size() / sizeof(Number));
  for (std::size_t i = 0; i < result.size(); ++i) {
    Number number{};
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    result[i] = static_cast<double>(number);
  }
  return result;
}

template <class Number>
std::vector<std::byte> write(const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(Number));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<Number>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(Number), &number, sizeof(Number));
  }
  return bytes;
}

}  // namespace

std::optional<std::vector<double>> numbers_of(const TensorView* tensor) {
  if (tensor == nullptr || (tensor->dtype != DType::kF32 && tensor->dtype != DType::kF64)) return std::nullopt;
  const Blob bytes = contiguous_bytes(*tensor);
  return tensor->dtype == DType::kF32 ? read<float>(bytes.bytes()) : read<double>(bytes.bytes());
}

ValueId constant_of(Emitter& emitter, const std::vector<double>& numbers, DType dtype,
                    std::vector<std::int64_t> sizes) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64, "weights are f32 or f64");
  std::vector<std::byte> bytes = dtype == DType::kF32 ? write<float>(numbers) : write<double>(numbers);
  std::vector<std::int64_t> strides = row_major_strides(sizes);
  return emitter.constant({dtype, std::move(sizes), std::move(strides), 0, Blob::owning(std::move(bytes))});
}

}  // namespace isthmus
