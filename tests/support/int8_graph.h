// Small graphs that compute on quantized values, and the same in plain floats, for tests of what runs them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <random>
#include <vector>

#include "formats/executorch/xnn_blob.h"
#include "interpret/tensor.h"
#include "ir/graph.h"
#include "support/compile.h"

namespace isthmus::test {

inline Quant quant(float scale, std::int32_t zero_point) { return {{scale}, zero_point, -1}; }
// One scale for each channel.
enum class Scales : std::uint8_t { kOne, kEach };

// A graph, value by value.
class Int8Graph {
 public:
  // The first size may be symbolic, from 1 to 8.
  ValueId input(std::vector<std::int64_t> sizes, Quant quant, bool has_batch = false);
  ValueId float_input(std::vector<std::int64_t> sizes, bool has_batch = false);
  // Random quantized values.
  ValueId constant(std::vector<std::int64_t> sizes, Quant quant);
  ValueId floats(std::vector<std::int64_t> sizes);
  // Random weights; with several scales, they stand along this axis.
  ValueId weight(std::vector<std::int64_t> sizes, Scales scales, std::int32_t axis = 0);
  // For this many channels of a node that reads these.
  ValueId bias(ValueId input, ValueId weight, std::int64_t channels);

  ValueId node(Op op, Attrs attrs, std::vector<ValueId> inputs, Quant quant);
  ValueId float_node(Op op, Attrs attrs, std::vector<ValueId> inputs);

  Dim size(ValueId id, std::size_t axis) const { return graph_.type(id).shape[axis]; }
  const Quant& quant_of(ValueId id) const { return *graph_.type(id).quant; }
  Graph finish(const std::vector<ValueId>& results) &&;

 private:
  Shape shape(const std::vector<std::int64_t>& sizes, bool has_batch);
  ValueId add(Op op, Attrs attrs, std::vector<ValueId> inputs, DType dtype, std::optional<Quant> quant);
  std::string name();

  Graph graph_;
  std::mt19937 random_{11};
  int count_ = 0;
};

// The graph with numbers in place of quantized values; they keep to what the quantized values can say.
Graph in_floats(const Graph& graph);

Tensor dequantized(const Tensor& quantized, const Quant& quant);

// Random inputs: all quantized values, or numbers between -2 and 2.
std::vector<Tensor> random_inputs(const Graph& graph, std::int64_t batch);

// The largest difference to what the floats give, in steps of the output's quantized values; for an output in floats,
// in units of `step`.
double steps_apart(const Graph& graph, const std::vector<Tensor>& inputs,
                   const std::vector<std::optional<Tensor>>& found, double step);

// Compiles the graph as it is.
Expected<Program> compile_graph(Graph graph);

// The graph inside the only delegate of a program.
xnn::Graph delegate_of(const Program& program);

}  // namespace isthmus::test
