// The values of a program while it is built.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "ir/graph.h"
#include "targets/layout.h"

namespace isthmus::host {

// Whether a constant without data is an error, or one whose data is not asked for yet.
enum class ConstantData : std::uint8_t { kNeeded, kOptional };

class ProgramValues {
 public:
  ProgramValues(const Graph& graph, pte::Program& program, ConstantData data)
      : graph_(graph), exprs_(graph.exprs()), program_(program), data_(data) {}

  // In which order the program's value lies in memory: row-major where nothing else is said before it is made.
  void set_order(ValueId id, Order order) { orders_[id] = std::move(order); }
  Order order(ValueId id) const;

  // The program's value for a value of the graph; made when first asked for.
  Expected<pte::ValueIndex> tensor(ValueId id);
  // The program's value for a state, with its initial value.
  Expected<pte::ValueIndex> state(const GraphState& state);
  // A tensor with memory that is not a value of the graph.
  Expected<pte::ValueIndex> scratch(const TensorType& type) { return scratch(type, row_major(type.rank())); }
  Expected<pte::ValueIndex> scratch(const TensorType& type, const Order& order);
  pte::ValueIndex constant(DType dtype, const std::vector<std::int64_t>& sizes, const Blob& bytes);
  pte::ValueIndex none() { return add(pte::None{}); }
  pte::ValueIndex integer(std::int64_t number) { return add(number); }
  pte::ValueIndex real(double number) { return add(number); }
  pte::ValueIndex boolean(bool flag) { return add(flag); }
  pte::ValueIndex text(std::string text) { return add(std::move(text)); }
  pte::ValueIndex integers(const std::vector<std::int64_t>& numbers);
  pte::ValueIndex integers_of(std::vector<pte::ValueIndex> items) { return add(pte::IntList{std::move(items)}); }
  pte::ValueIndex reals(std::vector<double> numbers) { return add(pte::DoubleList{std::move(numbers)}); }
  pte::ValueIndex optional_tensors(std::vector<std::optional<pte::ValueIndex>> items) {
    return add(pte::OptionalTensorList{std::move(items)});
  }
  pte::ValueIndex tensors(std::vector<pte::ValueIndex> items) { return add(pte::TensorList{std::move(items)}); }

  const Graph& graph() const { return graph_; }
  // The graph's expressions, and those of scratch tensors.
  Exprs& exprs() { return exprs_; }

 private:
  pte::ValueIndex add(pte::Value value);

  const Graph& graph_;
  Exprs exprs_;
  pte::Program& program_;
  ConstantData data_;
  std::map<ValueId, pte::ValueIndex> by_id_;
  std::map<ValueId, Order> orders_;
};

}  // namespace isthmus::host
