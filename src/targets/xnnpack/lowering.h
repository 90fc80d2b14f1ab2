// A segment on its way into the delegate's graph. Only for the files that lower.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/executorch/xnn_blob.h"
#include "targets/target.h"

namespace isthmus::xnnpack {

// A segment as the delegate's graph.
struct Translation {
  xnn::Graph graph;
  // The value that holds a value of the segment, in the order of memory in which it was made; values that hold the same
  // bytes share one. A value that only exists before a clamp that was fused has none.
  std::map<ValueId, std::uint32_t> ids;
  std::vector<DelegateInput> inputs;  // by external id
  std::vector<ValueId> outputs;       // behind the inputs
  std::vector<pte::NamedData> named_data;
};

// Gives each row of the table of forms what it needs: the ids of its inputs in the order in which it reads them, its
// result, and stored weights.
class Lowering {
 public:
  Lowering(const Graph& graph, const Segment& segment, const Layout& layout);

  Expected<Translation> run();

  const Graph& graph() const { return graph_; }

  // For the node that is lowered now:
  // Input i in the order in which the node reads it.
  std::uint32_t input(std::size_t i);
  const Order& read_order(std::size_t i) const { return layout_.reads[at_][i]; }
  const Order& result_order() const;
  // A value of floats with each row quantized by its own parameters, made once.
  std::uint32_t quantized_rows(std::uint32_t floats);
  // A new value for the node's result; its shape in the order of memory.
  std::uint32_t result();
  // The result lies where input 0 lies.
  void forward(std::uint32_t id);
  // Constant weights as they are stored: the axes of the constant in this order, then with these sizes. With groups the
  // first axis counts as two, the group and what is in it.
  std::uint32_t weights(std::size_t i, const Order& order, std::vector<std::uint32_t> dims,
                        std::optional<std::int64_t> groups = {});
  void append(xnn::Node node);

  // The place of a logical axis in memory.
  static std::uint32_t place(const Order& order, std::int64_t axis);
  // Sizes in the order of memory; a symbolic one is its upper bound.
  std::vector<std::uint32_t> dims(ValueId id, const Order& order) const;
  // The same, with `symbolic` for symbolic ones.
  std::vector<std::uint32_t> dims_or(ValueId id, const Order& order, std::uint32_t symbolic) const;

 private:
  using Key = std::pair<std::uint32_t, Order>;

  Expected<void> lower_node(std::size_t position);
  // A value of the graph in this order: its sizes, and what its quantized values mean.
  std::uint32_t add_value(ValueId id, const Order& order);
  std::uint32_t add_constant_input(ValueId id, const Order& order);
  // The value in this order, converted where that is not done yet.
  std::uint32_t in_order(ValueId id, const Order& order);
  void find_fusions();
  Expected<void> add_outputs();
  void number_externals();

  const Graph& graph_;
  const Segment& segment_;
  const Layout& layout_;
  std::map<Key, std::uint32_t> ids_;
  std::map<std::uint32_t, std::uint32_t> quantized_rows_;
  std::map<std::string, std::uint32_t> constants_;       // by key, of target_.constants
  std::vector<std::optional<std::size_t>> fused_clamp_;  // by position: the clamp that becomes the node's bounds
  std::vector<bool> is_fused_;                           // by position: this clamp
  std::vector<std::uint32_t> external_inputs_;
  std::vector<std::uint32_t> external_outputs_;
  Translation result_;
  std::size_t at_ = 0;
};

// The orders in memory that this backend's forms ask for.
Layout layout_of(const Graph& graph, const Segment& segment);

}  // namespace isthmus::xnnpack
