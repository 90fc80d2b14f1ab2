// Rows about states.
#include "report/states.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/rows.h"

namespace isthmus {

std::vector<StateRow> states_of(const Graph& graph) {
  std::vector<StateRow> rows;
  for (const GraphState& state : graph.states()) {
    const Value& value = graph[state.value];
    StateRow row{
        state.initial.fqn.empty() ? value.name : state.initial.fqn, std::string(name_of(value.type.dtype)), {}};
    row.bytes = size_of(value.type.dtype);
    for (const Dim dim : value.type.shape) {
      row.shape.push_back(dim.is_fixed() ? dim.value() : 0);
      row.bytes *= static_cast<std::uint64_t>(row.shape.back());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<StateRow> states_of(const pte::Plan& plan) {
  std::vector<StateRow> rows;
  for (const pte::Value& value : plan.values) {
    const auto* tensor = std::get_if<pte::Tensor>(&value);
    if (tensor == nullptr || !tensor->is_state()) continue;
    rows.push_back({tensor->name.empty() ? fmt::format("state_{}", rows.size()) : tensor->name,
                    std::string(name_of(tensor->dtype)),
                    {tensor->sizes.begin(), tensor->sizes.end()},
                    pte::byte_count(*tensor).value_or(0)});
  }
  return rows;
}

std::string to_text(const StateRow& row) {
  return fmt::format("{}  {}[{}]  {}", row.name, row.dtype, fmt::join(row.shape, ","), human_bytes(row.bytes));
}

std::uint64_t bytes_of(const std::vector<StateRow>& rows) {
  std::uint64_t sum = 0;
  for (const StateRow& row : rows) sum += row.bytes;
  return sum;
}

}  // namespace isthmus
