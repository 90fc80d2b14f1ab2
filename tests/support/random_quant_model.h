// Random float graphs for laws of quantization, and what calibration would know of them.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "interpret/tensor.h"
#include "ir/graph.h"
#include "ops/emitter.h"
#include "stats/statistics.h"
#include "support/random_seed.h"

namespace isthmus::test {

// How far apart the ranges of a graph's values are.
enum class Widths : std::uint8_t {
  kTame,  // layers keep the size of their numbers, so that 8 bits are enough everywhere
  kWild,  // layers multiply them by up to 2^8, or divide
};

// Grows graphs of layers, sums, products, clamps, movers and joins on [1,c,h,w]; all of it has a quantized form, but
// for some softmaxes. Several values are returned.
class RandomQuantModel {
 public:
  RandomQuantModel(RandomSeed seed, Widths widths)
      : random_(seed.number), max_nodes_(seed.max_nodes), widths_(widths), emitter_(graph_) {}

  Graph make();
  std::vector<Tensor> inputs(const Graph& graph);
  // Of every value apart, whatever the values before it are: widths from 2^-10 to 2^10, no two alike.
  Statistics made_up(const Graph& graph);

  // The same nodes in another order in which each comes behind what it reads.
  Graph with_other_order(const Graph& graph);
  // Joins, sums and products read their inputs the other way round.
  static Graph with_inputs_reversed(const Graph& graph);

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  double some(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }
  // A factor for a layer's weights.
  double gain();
  ValueId constant(std::vector<std::int64_t> sizes, double size);
  ValueId layer(ValueId value);
  ValueId clamp(ValueId value);
  ValueId mover(ValueId value);
  ValueId join(ValueId value);
  ValueId grow(ValueId value);
  // A value of this shape that is there already, if possible another one.
  ValueId partner(ValueId value);

  std::mt19937 random_;
  std::size_t max_nodes_;
  Widths widths_;
  Graph graph_;
  Emitter emitter_;
  std::vector<ValueId> values_;
};

// Calls every value by another name; the order of names is another, too.
std::string other_name(const std::string& name);
Graph renamed(const Graph& graph);
Statistics renamed(const Statistics& statistics);

// Of one run of the reference interpreter for each sample.
Statistics observed(const Graph& graph, const std::vector<std::vector<Tensor>>& samples);

}  // namespace isthmus::test
