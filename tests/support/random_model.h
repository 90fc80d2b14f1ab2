// Random graphs for laws.
#pragma once

#include <random>
#include <vector>

#include "interpret/tensor.h"
#include "ir/graph.h"
#include "ops/emitter.h"

namespace isthmus::test {

// Grows a graph of ops on f32[2,c,h,w] values whose shapes it may change; constants hold moderate numbers.
class RandomModel {
 public:
  explicit RandomModel(unsigned seed) : random_(seed), emitter_(graph_) {}

  Graph make();
  // Numbers for an input of the graph.
  Tensor input(const TensorType& type);

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  float some_number() { return std::uniform_real_distribution<float>(-1.5F, 1.5F)(random_); }
  ValueId constant(std::vector<std::int64_t> sizes, bool is_positive = false);
  Ints shuffled(std::int64_t rank);
  // One more op on the value.
  ValueId grow(ValueId value);

  std::mt19937 random_;
  Graph graph_;
  Emitter emitter_;
  std::vector<ValueId> values_;
};

}  // namespace isthmus::test
