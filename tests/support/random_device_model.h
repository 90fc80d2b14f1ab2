// Random float graphs over all ops that the devices behind TOSA have forms for.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "interpret/tensor.h"
#include "ir/graph.h"
#include "ops/emitter.h"
#include "support/random_seed.h"

namespace isthmus::test {

// Grows a graph of a few nodes from an image, a sequence of tokens and a list of row numbers. Numbers stay finite.
class RandomDeviceModel {
 public:
  explicit RandomDeviceModel(RandomSeed seed) : random_(seed.number), max_nodes_(seed.max_nodes), emitter_(graph_) {}

  Graph make();
  // For the graph that was made.
  std::vector<Tensor> inputs(const Graph& graph);

 private:
  // Nothing where the op has no use for such a value.
  using Grown = std::optional<ValueId>;
  struct Family {
    std::size_t weight;
    Grown (RandomDeviceModel::*grow)(ValueId value);
  };
  static const std::vector<Family>& families();

  std::int64_t up_to(std::int64_t max) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(max));
  }
  std::int64_t below(std::int64_t end) { return up_to(end) - 1; }
  bool coin() { return below(2) == 0; }
  double some(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }

  Ints sizes(ValueId value) const;
  std::int64_t axis_of(ValueId value) { return below(static_cast<std::int64_t>(sizes(value).size())); }
  ValueId floats(Ints sizes, double size = 1.5);
  ValueId bools(Ints sizes);
  Grown emit(Op op, Attrs attrs, std::vector<ValueId> inputs);
  // Of the same shape as the value, or of one that spreads to it.
  ValueId partner(ValueId value);
  ValueId boolean(ValueId value);
  ValueId positive(ValueId value);

  Grown conv(ValueId value);
  Grown conv_of_row(ValueId value);
  Grown transposed_conv(ValueId value);
  Grown linear(ValueId value);
  Grown matmul(ValueId value);
  Grown attention(ValueId value);
  Grown max_pool(ValueId value);
  Grown avg_pool(ValueId value);
  Grown adaptive_pool(ValueId value);
  Grown resize(ValueId value);
  Grown norm(ValueId value);
  Grown softmax(ValueId value);
  Grown unary(ValueId value);
  Grown positive_unary(ValueId value);
  Grown clamp(ValueId value);
  Grown power(ValueId value);
  Grown binary(ValueId value);
  Grown quotient(ValueId value);
  Grown choice(ValueId value);
  Grown bool_as_number(ValueId value);
  Grown reduction(ValueId value);
  Grown composed_reduction(ValueId value);
  Grown permute(ValueId value);
  Grown reshape(ValueId value);
  Grown slice(ValueId value);
  Grown flip(ValueId value);
  Grown pad(ValueId value);
  Grown expand(ValueId value);
  Grown pick(ValueId value);
  Grown look_up(ValueId value);
  Grown cat(ValueId value);

  std::mt19937 random_;
  std::size_t max_nodes_;
  Graph graph_;
  Emitter emitter_;
  ValueId rows_;
  std::vector<ValueId> values_;
};

}  // namespace isthmus::test
