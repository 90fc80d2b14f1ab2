// Rounds the weights of an output channel together, so that their errors cancel in the layer's result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quantize/improve/input_moments.h"

namespace isthmus {

// The power of the error that errors of weights make in the result: a symmetric matrix [length, length] that is
// multiplied with these errors from both sides. `corrected` has the means of inputs for which the bias makes up, and is
// empty where it makes up for nothing. What few rows say of pairs of inputs is chance in part, and counts less.
std::vector<double> error_form(const LayerMoments& moments, std::size_t group, std::span<const double> corrected);

// Starts with the quantized weights as they are, and moves one after the other by whole steps as long as the power of
// the error falls. They stay in [-most, most].
void round_together(std::span<const float> weights, double scale, std::span<const double> form, int max,
                    std::span<std::int8_t> quantized);

}  // namespace isthmus
