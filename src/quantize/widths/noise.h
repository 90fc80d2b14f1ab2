// How much of the noise in each value reaches the outputs, from statistics alone.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"
#include "quantize/config/ranges.h"

namespace isthmus {

// Noise is taken to be white, and so small that it adds up in power. Every figure is a list with one number for each
// output of the model: the power that arrives there over the output's own, for noise of power 1.
class NoiseModel {
 public:
  using Powers = std::vector<double>;

  // Needs statistics.
  static NoiseModel of(const Graph& graph, Ranges& ranges);

  // Of noise in a value, through all of its readers.
  const Powers& of_value(ValueId id) const { return of_value_[id.index]; }
  // Of noise in what one node reads as one of its inputs.
  const Powers& of_read(NodeId id, std::size_t input) const { return of_read_[id.index][input]; }
  // The noise at the outputs from the rounded weights of all layers, in int8 steps.
  const Powers& of_weights() const { return of_weights_; }
  // The power of what a layer's rounded weights make of its result.
  double of_weights(NodeId id) const { return of_layer_[id.index]; }
  std::size_t outputs() const { return of_weights_.size(); }

 private:
  std::vector<Powers> of_value_;
  std::vector<std::vector<Powers>> of_read_;
  std::vector<double> of_layer_;
  Powers of_weights_;
};

}  // namespace isthmus
