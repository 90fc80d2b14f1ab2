// Small graphs written as text, canonicalized and computed, for tests of the op table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpret/tensor.h"

namespace isthmus::test {

// The lines between "graph" and "return", canonicalized, with values numbered; the last line is the list of results.
// Where that fails, the error; where a call stays foreign, the reason.
std::string canonical(std::string_view inputs, std::string_view call, std::string_view results = "%y");

// What the graph of that text computes.
std::vector<Tensor> computed(std::string_view inputs, std::string_view call, const std::vector<Tensor>& values,
                             std::string_view results = "%y");

template <class Number>
Tensor tensor(std::vector<std::int64_t> sizes, const std::vector<Number>& numbers,
              DType dtype = ElementType<Number>::kDType) {
  Tensor result(dtype, std::move(sizes));
  CHECK(numbers.size() == static_cast<std::size_t>(result.count()), "a test gives as many numbers as there are");
  std::copy(numbers.begin(), numbers.end(), result.template mutable_data<Number>().begin());
  return result;
}
inline Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& numbers) {
  return tensor<float>(std::move(sizes), numbers);
}

template <class Number>
std::vector<Number> numbers(const Tensor& tensor) {
  const auto data = tensor.data<Number>();
  return {data.begin(), data.end()};
}

}  // namespace isthmus::test
