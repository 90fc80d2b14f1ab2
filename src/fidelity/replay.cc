// Walks back to what is given, then computes forward.
#include "fidelity/replay.h"

#include <algorithm>
#include <set>

namespace isthmus::fidelity {
namespace {

constexpr std::size_t kMaxNodes = 400;

}  // namespace

std::optional<Region> region_of(const Graph& model, const Held& front, ValueId wanted) {
  Region region;
  region.wanted = wanted;
  for (const auto& [value, match] : front) region.given[match.value] = value;
  std::set<std::uint32_t> nodes;
  std::vector<ValueId> todo{wanted};
  while (!todo.empty()) {
    const ValueId id = todo.back();
    todo.pop_back();
    const Value& value = model[id];
    if (region.given.contains(id) || value.kind != ValueKind::kResult || !nodes.insert(value.index).second) continue;
    if (nodes.size() > kMaxNodes) return std::nullopt;
    for (const ValueId input : model.nodes()[value.index].inputs) todo.push_back(input);
  }
  region.nodes.assign(nodes.begin(), nodes.end());
  return region;
}

std::optional<Tensor> held_tensor(std::uint32_t value, const Match& match, const RunValues& run) {
  const auto& wanted = run.model[match.value.index];
  if (!wanted || run.program[value].size() != static_cast<std::size_t>(wanted->count())) return std::nullopt;
  Tensor tensor(DType::kF32, wanted->sizes());
  std::ranges::copy(as_in_model(run.program[value], wanted->sizes(), match.holding),
                    tensor.mutable_data<float>().begin());
  return tensor;
}

Expected<std::optional<Tensor>> replay(const Graph& model, const Region& region, const Held& front,
                                       const RunValues& run, const SymbolValues& symbols) {
  std::map<ValueId, Tensor> values;
  for (const auto& [id, value] : region.given) {
    auto tensor = held_tensor(value, front.at(value), run);
    if (!tensor) return std::optional<Tensor>();
    values[id] = *std::move(tensor);
  }
  const auto value_of = [&](ValueId id) -> const Tensor& {
    const auto found = values.find(id);
    return found != values.end() ? found->second : *run.model[id.index];
  };
  for (const std::uint32_t index : region.nodes) {
    const Node& node = model.nodes()[index];
    std::vector<Tensor> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(value_of(input));
    values[node.outputs[0]] = TRY(evaluate_node(model, node, inputs, symbols));
  }
  return std::optional(value_of(region.wanted));
}

}  // namespace isthmus::fidelity
