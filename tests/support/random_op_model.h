// Random graphs over every op of the table, drawn from the table itself: what an op is given is what its inference
// takes.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "interpret/tensor.h"
#include "ir/graph.h"
#include "ops/emitter.h"
#include "ops/op_def.h"
#include "support/random_seed.h"

namespace isthmus::test {

// Grows a graph of a few nodes from an image, a row and a list of row numbers. Ops that only a plan or a model with
// parameters of its own makes (quantize, fake_quantize, ...) are left out.
class RandomOpModel {
 public:
  explicit RandomOpModel(RandomSeed seed) : random_(seed.number), max_nodes_(seed.max_nodes), emitter_(graph_) {}

  Graph make();
  // For the graph that was made.
  std::vector<Tensor> inputs(const Graph& graph);

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  bool coin() { return below(2) == 0; }
  double some(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  // A value of the graph, or a constant that comes into it where the op takes it.
  struct Argument {
    std::optional<ValueId> value;
    Tensor constant = {};
  };

  std::optional<ValueId> grow();
  std::optional<ValueId> try_to_grow(const OpDef& row, ValueId data);
  Argument argument(Role role, ValueId data);
  TensorType type(const Argument& argument) const;
  // Of the values that have this type of elements.
  std::optional<ValueId> value_of(DType dtype);
  Argument floats(Ints sizes);
  template <class Number>
  Argument whole_numbers(DType dtype, Ints sizes);
  // A shape that has something to do with this one.
  Ints related(const Ints& sizes);

  void fill(const char* name, const Ints& sizes, std::int64_t& member);
  void fill(const char* name, const Ints& sizes, Ints& member);
  void fill(const char* name, const Ints& sizes, Dim& member);
  void fill(const char* name, const Ints& sizes, Dims& member);
  void fill(const char* name, const Ints& sizes, bool& member);
  void fill(const char* name, const Ints& sizes, double& member);
  void fill(const char* name, const Ints& sizes, DType& member);
  template <class Enumeration>
  void fill(const char* name, const Ints& sizes, Enumeration& member);
  Attrs attrs_of(Op op, const Ints& sizes);

  std::mt19937 random_;
  std::size_t max_nodes_;
  Graph graph_;
  Emitter emitter_;
  std::vector<ValueId> values_;
};

}  // namespace isthmus::test
