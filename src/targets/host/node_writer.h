// Nodes of the host as calls of kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "targets/host/call_writer.h"
#include "targets/host/kernel.h"
#include "targets/host/program_values.h"

namespace isthmus::host {

// A node of the host while its calls are written.
class NodeWriter {
 public:
  using Index = pte::ValueIndex;

  // Where the row widens, f16 and bf16 are f32 to the writer of the calls: inputs are converted, and so is the result
  // by close(). Inputs are row-major unless the row keeps the order of axes.
  NodeWriter(const Graph& graph, const Node& node, const WrittenOp& row, ProgramValues& values, CallWriter& calls);

  template <class A>
  const A& as() const {
    return std::get<A>(node_.attrs);
  }
  std::size_t input_count() const { return node_.inputs.size(); }
  const TensorType& type(std::size_t input) const { return types_[input]; }
  const TensorType& result_type() const { return result_type_; }
  // What is known of an input that is a constant: its only number; that no element is this one; that all lie between
  // two, which they also do where there are none. Of an input that is computed, nothing.
  std::optional<double> known_number(std::size_t input) const;
  std::optional<std::int64_t> known_integer(std::size_t input) const;
  bool is_never(std::size_t input, double number) const;
  bool is_within(std::size_t input, double min, double max) const;

  // Arguments. An input that the node has not is none.
  Expected<Index> input(std::size_t i);
  // An input as elements of this type: converted by a call where it has others.
  Expected<Index> input_as(std::size_t i, DType dtype);
  Expected<Index> result();
  Index none() { return values_.none(); }
  Index integer(std::int64_t number) { return values_.integer(number); }
  Index real(double number) { return values_.real(number); }
  Index boolean(bool flag) { return values_.boolean(flag); }
  Index text(std::string_view text) { return values_.text(std::string(text)); }
  Index integers(const Ints& numbers) { return values_.integers(numbers); }
  Index reals(const std::vector<double>& numbers) { return values_.reals(numbers); }
  Index tensors(std::vector<Index> items) { return values_.tensors(std::move(items)); }
  Index optional_tensors(std::vector<std::optional<Index>> items) { return values_.optional_tensors(std::move(items)); }
  // A number as kernels for elements of this type want it.
  Index number(double number, DType dtype);
  Expected<Index> element_type(DType dtype);
  Expected<Index> size(Dim dim) { return calls_.size(dim); }
  Expected<Index> sizes(const Shape& shape);
  Expected<Index> scratch(const TensorType& type) { return values_.scratch(type); }
  Exprs& exprs() { return values_.exprs(); }

  // A call whose result is an intermediate one, of any kernel or of the row's.
  Expected<Index> step(std::string_view kernel, std::vector<Index> args, const TensorType& type);
  Expected<Index> row_step(std::vector<Index> args, const TensorType& type) {
    return step(kernel_, std::move(args), type);
  }
  // The last call, whose result is the node's: of the row's kernel, or of another one.
  Expected<void> finish(std::vector<Index> args) { return finish(kernel_, std::move(args)); }
  Expected<void> finish(std::string_view kernel, std::vector<Index> args);
  // The same for a kernel with several results, of which `outs` names the node's.
  void finish(std::vector<Index> args, const std::vector<Index>& outs) { calls_.call(kernel_, std::move(args), outs); }
  // After the last call: what was computed as f32 becomes what the node's result is.
  Expected<void> close();

  // The arguments of a conversion.
  std::vector<Index> cast_arguments(Index value, std::size_t rank);
  // The same elements in another shape, or the value itself where it is of this shape already.
  Expected<Index> reshaped(Index value, const TensorType& from, const Shape& to);
  // What a view of this shape is asked for: one size that is not known yet follows from the others.
  Expected<Index> view_sizes(const Shape& shape);

 private:
  const Graph& graph_;
  const Node& node_;
  std::string_view kernel_;
  bool takes_any_order_;
  ProgramValues& values_;
  CallWriter& calls_;
  std::vector<TensorType> types_;
  TensorType result_type_;
  std::vector<std::optional<Index>> converted_inputs_;
  std::optional<Index> wide_result_;
};

// Whether this node's result lies as its input does.
bool keeps_order(const WrittenOp& row, const Node& node);

// Writes the calls of a row for a node of its op. Fails where the kernels cannot do what the node asks.
Expected<void> write_calls(const WrittenOp& row, const Graph& graph, const Node& node, ProgramValues& values,
                           CallWriter& calls);

}  // namespace isthmus::host
