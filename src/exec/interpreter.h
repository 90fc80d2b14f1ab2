// Computes a graph with the reference kernels: the specification that everything faster is tested against.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "exec/tensor.h"
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

// What the graph returns, one entry per leaf; a leaf that is no tensor is empty. A buffer is freed after its last
// reader.
Expected<std::vector<std::optional<Tensor>>> interpret(const Graph& graph, std::span<const Tensor> inputs,
                                                       const Observer& observer = {});

}  // namespace isthmus
