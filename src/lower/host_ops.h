// The ops that ExecuTorch's host kernels compute: by which names, and with which arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "lower/host_calls.h"
#include "lower/program_values.h"

namespace isthmus {

struct HostOp;

// A node of the host while its calls are written.
class HostNode {
 public:
  using Index = pte::ValueIndex;

  // Where the row widens, f16 and bf16 are f32 to the writer of the calls: inputs are converted, and so is the result
  // by close(). Inputs are row-major unless the row keeps the order of axes.
  HostNode(const Graph& graph, const Node& node, const HostOp& row, ProgramValues& values, HostCalls& calls);

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
  bool is_within(std::size_t input, double least, double most) const;

  // Arguments. An input that the node has not is none.
  Expected<Index> input(std::size_t i);
  // An input as elements of this type: converted by a call where it has others.
  Expected<Index> input_as(std::size_t i, DType dtype);
  Expected<Index> result();
  Index none() { return values_.none(); }
  Index integer(std::int64_t number) { return values_.integer(number); }
  Index real(double number) { return values_.real(number); }
  Index truth(bool flag) { return values_.truth(flag); }
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
  HostCalls& calls_;
  std::vector<TensorType> types_;
  TensorType result_type_;
  std::vector<std::optional<Index>> converted_inputs_;
  std::optional<Index> wide_result_;
};

// Writes the calls that compute a node. Fails where the kernel cannot do what the node asks.
using WriteCalls = Expected<void> (*)(HostNode& node);

// The element types that a kernel takes.
enum class HostTypes : std::uint8_t {
  kBytes,    // all: it only moves them
  kNumbers,  // but unsigned ones of more than 8 bits, and floats of less than 16
  kNoBool,   // of those, all but bool
};

struct HostOp {
  Op op;
  std::string_view kernel;  // the one that makes the result; empty where that depends on the node
  WriteCalls write;
  HostTypes types = HostTypes::kNumbers;
  bool knows_codes = false;  // others would take codes for numbers
  bool keeps_order = false;  // element by element in memory, whatever the order of axes: one input, one result
  bool widens = false;       // its kernels round sums or factors of f16 and bf16 to these: it computes with f32 instead
};

// Whether this node's result lies as its input does.
bool keeps_order(const HostOp& row, const Node& node);

// Every op of the table for which ExecuTorch has kernels.
std::span<const HostOp> host_ops();
// Null where there are none.
const HostOp* find_host_op(Op op);

// Writes the calls of a row for a node of its op.
Expected<void> write_host_calls(const HostOp& row, const Graph& graph, const Node& node, ProgramValues& values,
                                HostCalls& calls);

// The files of this table, by family of ops.
std::span<const HostOp> host_elementwise_ops();
std::span<const HostOp> host_division_ops();
std::span<const HostOp> host_movement_ops();
std::span<const HostOp> host_index_ops();
std::span<const HostOp> host_reduce_ops();
std::span<const HostOp> host_layer_ops();
std::span<const HostOp> host_product_ops();
std::span<const HostOp> host_type_ops();

// The calls of the row's kernel with the inputs and nothing else.
Expected<void> write_inputs(HostNode& node);

}  // namespace isthmus
