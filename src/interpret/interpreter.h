// Computes a graph with the reference kernels: the specification that everything faster is tested against.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// Values of the graph's symbols, from the shapes of its inputs. Checks number, type, rank, sizes and bounds; an error
// names the input and both shapes.
Expected<SymbolValues> bind_symbols(const Graph& graph, std::span<const Tensor> inputs);
// The same for inputs of which only the types are there; all of their sizes are numbers.
Expected<SymbolValues> bind_symbols(const Graph& graph, std::span<const TensorType> inputs);

// The result of one node whose inputs are known.
Expected<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                               const SymbolValues& symbols);

// Called with every value as soon as it is computed.
using Observer = std::function<void(ValueId, const Tensor&)>;

// What a graph keeps from one run to the next: a tensor for each of its states, in their order.
using StateValues = std::vector<Tensor>;
// What the first run begins with. Fails where an initial value has no data.
Expected<StateValues> initial_states(const Graph& graph);

// What the graph returns, one entry per leaf; a leaf that is not a tensor is empty. A buffer is freed after its last
// reader. The run reads `states` and leaves the new ones there; without them it begins with the initial ones and what
// it writes is lost. A failed run leaves them as they were.
Expected<std::vector<std::optional<Tensor>>> interpret(const Graph& graph, std::span<const Tensor> inputs,
                                                       const Observer& observer = {}, StateValues* states = nullptr);

}  // namespace isthmus
