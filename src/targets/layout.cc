// Searches the orders of a segment's values.
#include "targets/layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/check.h"
#include "targets/reshape_order.h"

namespace isthmus {
namespace {

// What a transpose or a reshape costs besides moving bytes, in bytes.
constexpr std::uint64_t kNodeCost = 256;
constexpr std::size_t kMaxRounds = 64;

bool is_movable(OrderRule rule) {
  return rule != OrderRule::kFixed && rule != OrderRule::kRowMajor && rule != OrderRule::kMatmul;
}

bool has_innermost(const Order& order, std::int64_t axis) { return !order.empty() && order.back() == axis; }

Order with_innermost(Order order, std::int64_t axis) {
  std::erase(order, static_cast<std::uint8_t>(axis));
  order.push_back(static_cast<std::uint8_t>(axis));
  return order;
}

bool same_without_units(const Shape& shape, const Order& a, const Order& b) {
  const auto is_unit = [&](std::uint8_t axis) { return shape[axis].is(1); };
  Order left, right;
  std::ranges::remove_copy_if(a, std::back_inserter(left), is_unit);
  std::ranges::remove_copy_if(b, std::back_inserter(right), is_unit);
  return left == right;
}

class Search {
 public:
  Search(const Graph& graph, const Segment& segment, std::span<const OrderDemand> demands)
      : graph_(graph), segment_(segment), demands_(demands) {
    const std::size_t values = graph.values().size();
    orders_.resize(values);
    is_output_.resize(values, false);
    is_free_.resize(values, false);
    bytes_.resize(values, 0);
    makers_.resize(values, kNoNode);
    readers_.resize(values);
    for (std::size_t i = 0; i < segment.inputs.size(); ++i) {
      orders_[segment.inputs[i].index] = segment.input_order(graph, i);
    }
    for (const ValueId id : segment.outputs) is_output_[id.index] = true;
    Exprs exprs = graph.exprs();
    for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
      const Node& node = graph[segment.nodes[i]];
      makers_[node.outputs[0].index] = i;
      for (std::size_t k = 0; k < demands[i].ordered_inputs; ++k) {
        readers_[node.inputs[k].index].push_back({i, k});
        if (graph.constant(node.inputs[k]) != nullptr) is_free_[node.inputs[k].index] = true;
      }
      maps_.push_back(
          demands[i].rule == OrderRule::kReshape
              ? std::optional(ReshapeOrder(exprs, graph.type(node.inputs[0]).shape, graph.type(node.outputs[0]).shape))
              : std::nullopt);
    }
    for (std::size_t i = 0; i < values; ++i) bytes_[i] = bytes_of(ValueId{static_cast<std::uint32_t>(i)});
  }

  Layout run() {
    for (std::size_t i = 0; i < segment_.nodes.size(); ++i) start(i);
    for (std::size_t round = 0; round < kMaxRounds && improve(); ++round) {
    }
    return result();
  }

 private:
  static constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);
  struct Reader {
    std::size_t node;
    std::size_t input;
  };
  using Change = std::map<std::size_t, Order>;  // new orders of results, by node

  const Node& node(std::size_t i) const { return graph_[segment_.nodes[i]]; }
  ValueId made(std::size_t i) const { return node(i).outputs[0]; }
  const Order& order(ValueId id) const { return orders_[id.index]; }

  std::uint64_t bytes_of(ValueId id) const {
    std::uint64_t bytes = size_of(graph_.type(id).dtype);
    for (const Dim dim : graph_.type(id).shape) {
      const std::int64_t size = dim.is_fixed() ? dim.value() : graph_.exprs().hint(dim).value_or(1);
      bytes = multiply_sizes(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))).value_or(1ULL << 62);
    }
    return bytes;
  }

  // In which order the node reads input k when it makes its result in this order; nothing where it cannot make it so.
  std::optional<Order> read_order(std::size_t i, std::size_t k, const Order& result) const {
    const OrderDemand& demand = demands_[i];
    switch (demand.rule) {
      case OrderRule::kSame:
        return result;
      case OrderRule::kInnermost:
        if (!has_innermost(result, demand.axis)) return std::nullopt;
        return result;
      case OrderRule::kFixed:
        if (result != demand.order) return std::nullopt;
        return result;
      case OrderRule::kRowMajor:
        if (result != row_major(result.size())) return std::nullopt;
        return row_major(graph_.type(node(i).inputs[k]).rank());
      case OrderRule::kPermute: {
        const Ints& axes = std::get<AxesAttrs>(node(i).attrs).axes;
        Order read;
        for (const std::uint8_t axis : result) read.push_back(static_cast<std::uint8_t>(axes[axis]));
        return read;
      }
      case OrderRule::kReshape:
        return maps_[i]->to_input(result);
      case OrderRule::kMatmul: {
        const Order plain = row_major(result.size());
        if (result != plain) return std::nullopt;
        // The second input either way round: so that its innermost axis can stay where it is.
        const ValueId input = node(i).inputs[k];
        const bool is_turned = k == 1 && !is_free_[input.index] && has_innermost(order(input), std::ssize(plain) - 2);
        if (!is_turned) return plain;
        return with_innermost(plain, std::ssize(plain) - 2);
      }
    }
    return std::nullopt;
  }
  // In which order the node makes its result when it reads input k in this order, if it can do that.
  std::optional<Order> result_order(std::size_t i, const Order& read) const {
    const OrderDemand& demand = demands_[i];
    switch (demand.rule) {
      case OrderRule::kSame:
        return read;
      case OrderRule::kInnermost:
        return with_innermost(read, demand.axis);
      case OrderRule::kPermute: {
        const Ints& axes = std::get<AxesAttrs>(node(i).attrs).axes;
        Order result;
        for (const std::uint8_t axis : read) {
          result.push_back(static_cast<std::uint8_t>(std::ranges::find(axes, axis) - axes.begin()));
        }
        return result;
      }
      case OrderRule::kReshape:
        return maps_[i]->to_output(read);
      case OrderRule::kFixed:
        return demand.order;
      case OrderRule::kRowMajor:
      case OrderRule::kMatmul:
        return row_major(graph_.type(made(i)).rank());
    }
    return std::nullopt;
  }
  bool can_make(std::size_t i, const Order& result) const { return read_order(i, 0, result).has_value(); }

  std::uint64_t conversion_cost(ValueId id, const Order& to) const {
    if (is_free_[id.index] || order(id) == to) return 0;
    return same_without_units(graph_.type(id).shape, order(id), to) ? kNodeCost : kNodeCost + bytes_[id.index];
  }
  // The orders other than its own in which the value is read.
  std::set<Order> wanted(ValueId id) const {
    std::set<Order> orders;
    if (is_output_[id.index]) orders.insert(row_major(graph_.type(id).rank()));
    for (const Reader& reader : readers_[id.index]) {
      const Order& result = order(made(reader.node));
      const auto read = read_order(reader.node, reader.input, result);
      CHECK(read.has_value(), "a node was given a layout that it cannot produce");
      orders.insert(*read);
    }
    orders.erase(order(id));
    return orders;
  }
  std::uint64_t cost(ValueId id) const {
    if (is_free_[id.index]) return 0;
    std::uint64_t sum = 0;
    for (const Order& to : wanted(id)) sum += conversion_cost(id, to);
    return sum;
  }

  // The order that converts the fewest bytes of the node's inputs.
  void start(std::size_t i) {
    std::vector<Order> candidates;
    for (std::size_t k = 0; k < demands_[i].ordered_inputs; ++k) {
      const ValueId input = node(i).inputs[k];
      if (is_free_[input.index]) continue;
      if (auto candidate = result_order(i, order(input))) candidates.push_back(std::move(*candidate));
    }
    if (auto plain = result_order(i, row_major(graph_.type(node(i).inputs[0]).rank()))) candidates.push_back(*plain);
    std::optional<std::uint64_t> min;
    for (const Order& candidate : candidates) {
      if (!can_make(i, candidate)) continue;
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < demands_[i].ordered_inputs; ++k) {
        sum += conversion_cost(node(i).inputs[k], *read_order(i, k, candidate));
      }
      if (min && *min <= sum) continue;
      min = sum;
      orders_[made(i).index] = candidate;
    }
    CHECK(min.has_value(), "a node has no layout");
  }

  // Which neighbours follow a node to its new order.
  struct Reach {
    bool makers;
    bool readers;
  };
  Change grow(std::size_t seed, const Order& target, Reach reach) const {
    Change change{{seed, target}};
    std::vector<std::size_t> queue{seed};
    while (!queue.empty()) {
      const std::size_t i = queue.back();
      queue.pop_back();
      const Order now = change.at(i);
      if (reach.readers) {
        for (const Reader& reader : readers_[made(i).index]) {
          if (change.contains(reader.node) || !is_movable(demands_[reader.node].rule)) continue;
          if (read_order(reader.node, reader.input, order(made(reader.node))) != order(made(i))) continue;
          const auto next = result_order(reader.node, now);
          if (!next || !can_make(reader.node, *next)) continue;
          change.emplace(reader.node, *next);
          queue.push_back(reader.node);
        }
      }
      if (!reach.makers) continue;
      for (std::size_t k = 0; k < demands_[i].ordered_inputs; ++k) {
        const ValueId input = node(i).inputs[k];
        const std::size_t maker = makers_[input.index];
        if (maker == kNoNode || change.contains(maker) || !is_movable(demands_[maker].rule)) continue;
        if (read_order(i, k, order(made(i))) != order(input)) continue;
        const auto next = read_order(i, k, now);
        if (!next || !can_make(maker, *next)) continue;
        change.emplace(maker, *next);
        queue.push_back(maker);
      }
    }
    return change;
  }
  // Makes the change if it saves bytes.
  bool apply(const Change& change) {
    std::set<ValueId> touched;
    for (const auto& [i, target] : change) {
      touched.insert(made(i));
      for (std::size_t k = 0; k < demands_[i].ordered_inputs; ++k) touched.insert(node(i).inputs[k]);
    }
    const auto sum = [&] {
      std::uint64_t total = 0;
      for (const ValueId id : touched) total += cost(id);
      return total;
    };
    const std::uint64_t before = sum();
    Change old;
    for (const auto& [i, target] : change) {
      old.emplace(i, order(made(i)));
      orders_[made(i).index] = target;
    }
    if (sum() < before) return true;
    for (const auto& [i, former] : old) orders_[made(i).index] = former;
    return false;
  }
  bool try_from(std::size_t seed, const Order& target) {
    if (!is_movable(demands_[seed].rule) || target == order(made(seed)) || !can_make(seed, target)) return false;
    constexpr Reach kReaches[] = {{false, false}, {true, false}, {false, true}, {true, true}};
    return std::ranges::any_of(kReaches, [&](Reach reach) { return apply(grow(seed, target, reach)); });
  }
  bool improve() {
    bool has_improved = false;
    for (std::size_t i = 0; i < segment_.nodes.size(); ++i) {
      const ValueId id = made(i);
      for (const Order& to : wanted(id)) has_improved = try_from(i, to) || has_improved;
      for (std::size_t k = 0; k < demands_[i].ordered_inputs; ++k) {
        const ValueId input = node(i).inputs[k];
        if (is_free_[input.index] || read_order(i, k, order(id)) == order(input)) continue;
        if (const auto target = result_order(i, order(input))) has_improved = try_from(i, *target) || has_improved;
      }
    }
    return has_improved;
  }

  Layout result() const {
    Layout layout{orders_, {}, {}};
    for (std::size_t i = 0; i < segment_.nodes.size(); ++i) {
      std::vector<Order> reads;
      for (std::size_t k = 0; k < demands_[i].ordered_inputs; ++k) reads.push_back(*read_order(i, k, order(made(i))));
      layout.reads.push_back(std::move(reads));
    }
    for (std::uint32_t i = 0; i < orders_.size(); ++i) {
      if (is_free_[i]) continue;
      for (const Order& to : wanted(ValueId{i})) {
        const bool moves = !same_without_units(graph_.values()[i].type.shape, orders_[i], to);
        layout.conversions.push_back({ValueId{i}, orders_[i], to, bytes_[i], moves});
      }
    }
    return layout;
  }

  const Graph& graph_;
  const Segment& segment_;
  std::span<const OrderDemand> demands_;
  std::vector<Order> orders_;    // by value
  std::vector<bool> is_output_;  // by value
  std::vector<bool> is_free_;    // constants, by value
  std::vector<std::uint64_t> bytes_;
  std::vector<std::size_t> makers_;  // by value
  std::vector<std::vector<Reader>> readers_;
  std::vector<std::optional<ReshapeOrder>> maps_;  // by node
};

}  // namespace

Order Segment::input_order(const Graph& graph, std::size_t input) const {
  return input_orders.empty() ? row_major(graph.type(inputs[input]).rank()) : input_orders[input];
}

std::size_t Layout::transposes() const {
  return static_cast<std::size_t>(std::ranges::count_if(conversions, &Conversion::moves_data));
}

Layout choose_layout(const Graph& graph, const Segment& segment, std::span<const OrderDemand> demands) {
  return Search(graph, segment, demands).run();
}

}  // namespace isthmus
