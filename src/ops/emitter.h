// Appends ops of the table to a graph, with types inferred and names derived from the user's.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/tensor.h"
#include "ir/graph.h"

namespace isthmus {

using Values = std::vector<ValueId>;

class Emitter {
 public:
  explicit Emitter(Graph& graph) : graph_(graph) {}

  // Nodes emitted from here on come from this place and are named after this value; `in_float` as Node has it.
  void begin(Origin origin, std::string stem, bool in_float = false);

  Graph& graph() { return graph_; }
  Exprs& exprs() { return graph_.exprs(); }
  // By value: emitting moves the graph's own.
  TensorType type(ValueId id) const { return graph_.type(id); }
  Shape shape(ValueId id) const { return graph_.type(id).shape; }
  std::int64_t rank(ValueId id) const { return static_cast<std::int64_t>(graph_.type(id).rank()); }
  Dim size(ValueId id, std::int64_t axis) const { return graph_.type(id).shape[static_cast<std::size_t>(axis)]; }

  // The one result of the new node. Fails, naming op and origin, where the op's rules are broken.
  Expected<ValueId> emit(Op op, Attrs attrs, std::vector<ValueId> inputs);

  // Constants. A scalar is 0-d; the number must fit the type or is rounded as C++ does it.
  ValueId constant(TensorView data);
  // In row-major order, of the numbers' own type: f32, f64 or i64.
  ValueId constant(const std::vector<float>& numbers, std::vector<std::int64_t> sizes);
  ValueId constant(const std::vector<double>& numbers, std::vector<std::int64_t> sizes);
  ValueId constant(const std::vector<std::int64_t>& numbers, std::vector<std::int64_t> sizes);
  // The same of f32 or f64.
  ValueId floats(const std::vector<double>& numbers, DType dtype, std::vector<std::int64_t> sizes);
  ValueId scalar(double value, DType dtype);
  ValueId scalar(std::int64_t value, DType dtype);
  ValueId integers(const std::vector<std::int64_t>& values);  // 1-d, i64

  // Each of these is nothing but its argument where there is nothing to do.
  Expected<ValueId> cast(ValueId value, DType dtype);
  Expected<ValueId> reshape(ValueId value, Shape shape);
  Expected<ValueId> permute(ValueId value, std::vector<std::int64_t> axes);
  Expected<ValueId> expand(ValueId value, Shape shape);
  // Elements start, start + step, ... below end of an axis; the axis is not negative and the bounds lie inside.
  Expected<ValueId> slice(ValueId value, std::int64_t axis, Dim start, Dim end, std::int64_t step = 1);
  Expected<ValueId> cat(std::vector<ValueId> values, std::int64_t axis);
  Expected<ValueId> binary(Op op, ValueId a, ValueId b) { return emit(op, NoAttrs{}, {a, b}); }
  Expected<ValueId> unary(Op op, ValueId a) { return emit(op, NoAttrs{}, {a}); }

  const Origin& origin() const { return origin_; }

 private:
  Graph& graph_;
  Origin origin_;
  std::string stem_ = "v";
  bool in_float_ = false;
};

// An axis counted from the end made one counted from the front; fails where there is none such.
Expected<std::int64_t> normal_axis(std::int64_t axis, std::int64_t rank);
// The same for a list; sorted, each axis once. All axes for an empty list where `empty_means_all`.
Expected<std::vector<std::int64_t>> normal_axes(const std::vector<std::int64_t>& axes, std::int64_t rank,
                                                bool empty_means_all);

}  // namespace isthmus
