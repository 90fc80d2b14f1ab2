// Second moments of what layers read: they tell which errors of weights cancel in the layer's result.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// Of the inputs that are multiplied with the weights of one output channel, in the order of these weights; for each
// group of a convolution.
struct LayerMoments {
  std::size_t groups = 1;
  std::size_t length = 0;  // weights of an output channel
  std::size_t rows = 0;    // how many sums of products were looked at
  // How much of the products of different inputs another sample would show again, from 0 to 1: the rest is chance, by
  // how much samples differ.
  double trust = 0;
  std::vector<double> means;     // [groups, length]
  std::vector<double> products;  // [groups, length, length]: the mean of input i times input j
};

// By the name of the layer's result.
using InputMoments = std::map<std::string, LayerMoments>;

// Runs the model in float on the reference kernels, so that the result does not depend on the CPU. Empty where that
// would take too long for the model's size. Layers with very long sums are left out.
Expected<InputMoments> input_moments(const Graph& graph, std::span<const std::vector<Tensor>> samples);

// The same of a model whose channels were equalized: by the name of a value, the factors of its channels.
InputMoments scaled(InputMoments moments, const Graph& graph,
                    const std::map<std::string, std::vector<double>>& factors);

}  // namespace isthmus
