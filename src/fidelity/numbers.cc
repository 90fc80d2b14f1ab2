// Integers minus their zero point, times their scale.
#include "fidelity/numbers.h"

#include <string>

namespace isthmus::fidelity {
namespace {

// Integers of 8 bits have zero points, and wider ones of TOSA none.
bool is_of_bytes(const std::string& dtype) { return dtype == "i8" || dtype == "u8"; }

}  // namespace

std::vector<Reading> readings(const anatomy::Graph& program) {
  std::vector<Reading> result;
  for (const anatomy::Value& value : program.values) {
    Reading reading;
    if (value.quant && value.quant->scales.size() == 1) {
      reading = {.scale = value.quant->scale(), .zero_point = value.quant->zero_point};
    } else if (!value.dtype.starts_with('f')) {
      reading.has_scale = false;
      reading.zero_point = value.zero_point.value_or(0);
      reading.has_zero_point = value.zero_point.has_value() || !is_of_bytes(value.dtype);
    }
    result.push_back(reading);
  }
  return result;
}

std::vector<float> numbers_of(const Tensor& tensor, const Reading& reading) {
  std::vector<float> result;
  if (tensor.dtype() == DType::kBool || tensor.dtype() == DType::kF16 || tensor.dtype() == DType::kBF16) return result;
  result.reserve(static_cast<std::size_t>(tensor.count()));
  dispatch(tensor.dtype(), [&]<class Number>(Number) {
    for (const Number element : tensor.data<Number>()) {
      result.push_back(number_of(static_cast<double>(element), reading));
    }
  });
  return result;
}

}  // namespace isthmus::fidelity
