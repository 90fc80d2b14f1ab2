// The numbers that the elements of a program's values stand for, as far as the program says so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interpret/tensor.h"
#include "program/anatomy/anatomy.h"

namespace isthmus::fidelity {

struct Reading {
  double scale = 1;
  bool has_scale = true;  // else the numbers are known up to a factor: TOSA graphs name no scales
  std::int64_t zero_point = 0;
  bool has_zero_point = true;  // else up to a sum as well
};

// By value of the program.
std::vector<Reading> readings(const anatomy::Graph& program);

// What an element stands for.
inline float number_of(double element, const Reading& reading) {
  return static_cast<float>((element - static_cast<double>(reading.zero_point)) * reading.scale);
}

// Fails to give numbers, which is an empty list, for element types that are not numbers.
std::vector<float> numbers_of(const Tensor& tensor, const Reading& reading);

}  // namespace isthmus::fidelity
