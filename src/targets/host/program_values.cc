// Makes values, each tensor of the graph once.
#include "targets/host/program_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/known.h"

namespace isthmus::host {

pte::ValueIndex ProgramValues::add(pte::Value value) {
  auto& values = program_.plans[0].values;
  values.push_back(std::move(value));
  return static_cast<pte::ValueIndex>(values.size() - 1);
}

Order ProgramValues::order(ValueId id) const {
  const auto found = orders_.find(id);
  return found == orders_.end() ? row_major(graph_.type(id).rank()) : found->second;
}

Expected<pte::ValueIndex> ProgramValues::tensor(ValueId id) {
  if (const auto found = by_id_.find(id); found != by_id_.end()) return found->second;
  const Value& value = graph_[id];
  if (const Constant* constant_of_graph = graph_.constant(id)) {
    if (!constant_of_graph->data && data_ == ConstantData::kOptional) {
      return by_id_[id] = constant(value.type.dtype, fixed_sizes(value.type.shape).value_or(Ints{}), Blob());
    }
    if (!constant_of_graph->data) return bad_input(fmt::format("constant %{} has no data", value.name));
    const TensorView& data = *constant_of_graph->data;
    return by_id_[id] = constant(data.dtype, data.sizes, contiguous_bytes(data));
  }
  const pte::ValueIndex made = TRY(within(scratch(value.type, order(id)), [&] { return "%" + value.name; }));
  return by_id_[id] = made;
}

Expected<pte::ValueIndex> ProgramValues::state(const GraphState& state) {
  const Value& value = graph_[state.value];
  if (!state.initial.data) return bad_input(fmt::format("state %{} has no data", value.name));
  const pte::ValueIndex made = TRY(tensor(state.value));
  auto& tensor = std::get<pte::Tensor>(program_.plans[0].values[made]);
  tensor.name = state.initial.fqn.empty() ? value.name : state.initial.fqn;
  tensor.data_index = static_cast<std::uint32_t>(program_.initial_values.size());
  program_.initial_values.push_back(contiguous_bytes(*state.initial.data));
  return made;
}

Expected<pte::ValueIndex> ProgramValues::scratch(const TensorType& type, const Order& order) {
  pte::Tensor tensor;
  tensor.dtype = type.dtype;
  tensor.dim_order = order;
  for (const Dim dim : type.shape) {
    const auto max = exprs_.bounds(dim).max;
    if (!max || *max > std::numeric_limits<std::int32_t>::max()) {
      return fail(
          ErrorKind::kUnsupported,
          fmt::format("the size {} has no upper bound; fix it with --batch, --max-batch or --shape", exprs_.text(dim)));
    }
    if (!dim.is_fixed()) tensor.dynamism = pte::Dynamism::kBounded;
    tensor.sizes.push_back(static_cast<std::int32_t>(*max));
  }
  tensor.allocation = pte::Allocation{};
  return add(std::move(tensor));
}

pte::ValueIndex ProgramValues::constant(DType dtype, const std::vector<std::int64_t>& sizes, const Blob& bytes) {
  pte::Tensor tensor;
  tensor.dtype = dtype;
  for (const std::int64_t size : sizes) {
    tensor.dim_order.push_back(static_cast<std::uint8_t>(tensor.sizes.size()));
    tensor.sizes.push_back(static_cast<std::int32_t>(size));
  }
  tensor.data_index = static_cast<std::uint32_t>(program_.constants.size());
  program_.constants.push_back(bytes);
  return add(std::move(tensor));
}

pte::ValueIndex ProgramValues::integers(const std::vector<std::int64_t>& numbers) {
  pte::IntList list;
  for (const std::int64_t number : numbers) list.items.push_back(integer(number));
  return add(std::move(list));
}

}  // namespace isthmus::host
