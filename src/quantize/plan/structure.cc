// One walk down the graph for what values are made from, one up for what is made from them.
#include "quantize/plan/structure.h"

#include <bit>
#include <tuple>
#include <type_traits>
#include <variant>

#include "targets/integers.h"

namespace isthmus {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
std::uint64_t hash_of(const T& field) {
  if constexpr (std::is_same_v<T, Dim>) {
    return field.is_fixed() ? mixed(1, static_cast<std::uint64_t>(field.value())) : 2;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(field));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(field);
  } else if constexpr (IsVector<T>::value) {
    std::uint64_t hash = field.size();
    for (const auto& part : field) hash = mixed(hash, hash_of(part));
    return hash;
  } else {
    return 0;
  }
}

std::uint64_t hash_of_attrs(const Attrs& attrs) {
  return std::visit(
      [&]<class T>(const T& known) {
        std::uint64_t hash = attrs.index();
        if constexpr (!std::is_same_v<T, ForeignAttrs>) {
          std::apply([&](const auto&... field) { ((hash = mixed(hash, hash_of(known.*field.member))), ...); },
                     T::fields());
        }
        return hash;
      },
      attrs);
}

std::uint64_t hash_of_type(const TensorType& type) {
  return mixed(static_cast<std::uint64_t>(type.dtype), hash_of(type.shape));
}

// Data that a node reads count alike wherever they stand.
std::uint64_t place_of(const Node& node, std::size_t input) { return is_data_input(node.op, input) ? 0 : input + 1; }

}  // namespace

std::vector<std::uint64_t> structure_of(const Graph& graph) {
  std::vector<std::uint64_t> made_from(graph.values().size());
  std::vector<std::uint64_t> made_of(graph.values().size(), 0);
  for (std::uint32_t i = 0; i < made_from.size(); ++i) made_from[i] = hash_of_type(graph.type(ValueId{i}));
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    made_from[graph.inputs()[i].index] = mixed(made_from[graph.inputs()[i].index], i + 1);
  }
  for (std::size_t i = 0; i < graph.states().size(); ++i) {
    std::uint64_t& of_state = made_from[graph.states()[i].value.index];
    of_state = mixed(of_state, graph.inputs().size() + i + 1);
  }
  for (const Node& node : graph.nodes()) {
    std::uint64_t hash = mixed(static_cast<std::uint64_t>(node.op), hash_of_attrs(node.attrs));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      hash += mixed(made_from[node.inputs[i].index], place_of(node, i));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      std::uint64_t& result = made_from[node.outputs[i].index];
      result = mixed(mixed(result, hash), i);
    }
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    if (const auto* id = std::get_if<ValueId>(&graph.outputs()[i].value)) made_of[id->index] += mixed(3, i);
  }
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    std::uint64_t hash = 0;
    for (const ValueId output : node.outputs) {
      hash = mixed(hash, mixed(made_from[output.index], made_of[output.index]));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      made_of[node.inputs[i].index] += mixed(hash, place_of(node, i));
    }
  }
  for (std::size_t i = 0; i < made_from.size(); ++i) made_from[i] = mixed(made_from[i], made_of[i]);
  return made_from;
}

}  // namespace isthmus
