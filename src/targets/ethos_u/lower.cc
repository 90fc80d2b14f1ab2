// Walks a segment, chooses the order of axes in memory, and writes the operators of each node.
#include "targets/ethos_u/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/literals.h"
#include "ops/known.h"
#include "targets/ethos_u/cost.h"
#include "targets/ethos_u/forms/forms.h"
#include "targets/ethos_u/limits.h"

namespace isthmus::ethos_u {
namespace {

std::string place_of(const Graph& graph, const Node& node) {
  return fmt::format("{} %{}{}", name_of(node.op), graph[node.outputs[0]].name, origin_suffix(node.origin));
}

class SegmentLowering {
 public:
  // `parts` of the rows of each node.
  SegmentLowering(const Graph& graph, const Segment& segment, Device device, const std::vector<std::int64_t>& parts)
      : graph_(graph),
        segment_(segment),
        device_(device),
        parts_(parts),
        builder_(device, TosaBuilder::Constants::kWritten) {}

  Expected<LoweredGraph> run() {
    const std::vector<OrderDemand> demands = choose_orders();
    for (std::size_t i = 0; i < segment_.inputs.size(); ++i) {
      const ValueId id = segment_.inputs[i];
      const Order order = segment_.input_order(graph_, i);
      made_[{id.index, order}] = builder_.input(tosa_type(graph_.type(id).dtype), sizes(id, order), graph_[id].name);
    }
    for (std::size_t i = 0; i < segment_.nodes.size(); ++i) {
      const Node& node = graph_[segment_.nodes[i]];
      TRY(within(lower_node(i, demands[i]), [&] { return place_of(graph_, node); }));
    }
    add_outputs();
    return LoweredGraph{std::move(builder_).take(), std::move(origins_), std::move(layout_.conversions)};
  }

 private:
  using Key = std::pair<std::uint32_t, Order>;

  // Some limits are about places of axes. A node that would not keep them in the order that is best for all has the
  // model's own, in which the device was asked about it.
  std::vector<OrderDemand> choose_orders() {
    std::vector<OrderDemand> demands;
    for (const NodeId id : segment_.nodes) {
      const FormRow* row = find_form(graph_[id].op);
      CHECK(row != nullptr, "a node without a form was given to the device");
      demands.push_back(row->order(graph_, graph_[id]));
    }
    for (bool is_done = false; !is_done;) {
      layout_ = choose_layout(graph_, segment_, demands);
      is_done = true;
      for (std::size_t i = 0; i < demands.size(); ++i) {
        const Node& node = graph_[segment_.nodes[i]];
        if (demands[i].rule != OrderRule::kSame || keeps_limits(i)) continue;
        demands[i] = {OrderRule::kFixed, demands[i].ordered_inputs, 0, row_major(graph_.type(node.outputs[0]).rank())};
        is_done = false;
      }
    }
    return demands;
  }
  bool keeps_limits(std::size_t position) const {
    const Node& node = graph_[segment_.nodes[position]];
    const Order& order = layout_.orders[node.outputs[0].index];
    if (std::ranges::is_sorted(order)) return true;
    const Forms found = forms(graph_, node, DType::kI8, device_, layout_.reads[position], order);
    return found &&
           std::ranges::none_of(*found, [&](const TosaForm& form) { return refusal(form, device_).has_value(); });
  }

  Ints sizes(ValueId id, const Order& order) const {
    Ints result;
    for (const std::uint8_t axis : order) result.push_back(graph_.type(id).shape[axis].value());
    return result;
  }

  // The value in this order, turned where that is not done yet.
  Expected<Operand> in_order(ValueId id, const Order& order) {
    const Key key{id.index, order};
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    if (const Constant* constant = graph_.constant(id)) {
      if (!constant->data) return bad_input(fmt::format("constant %{} has no data", graph_[id].name));
      TensorView view = *constant->data;
      for (std::size_t i = 0; i < order.size(); ++i) {
        view.sizes[i] = constant->data->sizes[order[i]];
        view.strides[i] = constant->data->strides[order[i]];
      }
      const tosa::Type type = tosa_type(graph_.type(id).dtype);
      return made_[key] = builder_.constant(type, sizes(id, order), [&] {
        const Blob bytes = contiguous_bytes(view);
        return std::vector<std::byte>(bytes.bytes().begin(), bytes.bytes().end());
      });
    }
    const Order& from = layout_.orders[id.index];
    const Operand source = made_.at({id.index, from});
    Ints perms;
    for (const std::uint8_t axis : order) perms.push_back(std::ranges::find(from, axis) - from.begin());
    const auto moves = [&] {
      Ints moved;
      std::ranges::copy_if(perms, std::back_inserter(moved),
                           [&](auto place) { return source.shape[static_cast<std::size_t>(place)] != 1; });
      return !std::ranges::is_sorted(moved);
    };
    builder_.begin(graph_[id].name, {});
    return made_[key] = moves() ? builder_.transpose(source, perms) : builder_.reshape(source, sizes(id, order));
  }

  Expected<void> lower_node(std::size_t position, const OrderDemand& demand) {
    const Node& node = graph_[segment_.nodes[position]];
    const ValueId result = node.outputs[0];
    NodeLowering lowering{{graph_, node, DType::kI8, device_}, builder_,        {}, {},
                          layout_.orders[result.index],        parts_[position]};
    const std::size_t first = builder_.graph().operators.size();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_ordered = i < demand.ordered_inputs;
      const Constant* constant = graph_.constant(node.inputs[i]);
      if (!is_ordered && constant != nullptr) {
        if (!constant->data) return bad_input(fmt::format("constant %{} has no data", graph_[node.inputs[i]].name));
        continue;
      }
      const Order order = is_ordered ? layout_.reads[position][i] : row_major(graph_.type(node.inputs[i]).rank());
      lowering.reads.push_back(order);
      lowering.inputs.push_back(TRY(in_order(node.inputs[i], order)));
    }
    builder_.begin(graph_[result].name, node.origin.empty() ? std::string() : origin_text(node.origin));
    const Operand made = TRY(find_form(node.op)->lower(lowering));
    made_[{result.index, lowering.order}] = made;
    origins_.resize(builder_.graph().operators.size(), segment_.nodes[position]);
    for (std::size_t i = first; i < origins_.size(); ++i) {
      const tosa::Operator& op = builder_.graph().operators[i];
      if (op.inputs.empty()) continue;
      if (const auto reason = refusal(form_of(builder_.graph(), op), device_)) {
        return fail(ErrorKind::kUnsupported, text_of(*reason));
      }
    }
    return {};
  }

  // Every output has a value of its own that is not an input.
  void add_outputs() {
    std::set<tosa::ValueIndex> taken(builder_.graph().inputs.begin(), builder_.graph().inputs.end());
    for (const ValueId id : segment_.outputs) {
      Operand value = *in_order(id, row_major(graph_.type(id).rank()));
      builder_.begin(graph_[id].name, {});
      if (!taken.insert(value.id).second) value = builder_.unary(tosa::Op::kIdentity, value);
      builder_.output(value);
    }
    origins_.resize(builder_.graph().operators.size(), segment_.nodes.back());
  }

  const Graph& graph_;
  const Segment& segment_;
  Device device_;
  const std::vector<std::int64_t>& parts_;
  TosaBuilder builder_;
  Layout layout_;
  std::map<Key, Operand> made_;
  std::vector<NodeId> origins_;
};

}  // namespace

// Norms and softmax have several numbers of 32 bits for each that they read. Where these need more memory than anything
// else, they are computed in parts of their rows.
Expected<LoweredGraph> lower_graph(const Graph& graph, const Segment& segment, Device device) {
  constexpr std::int64_t kMaxParts = 8;
  constexpr double kNearPeak = 0.85;
  constexpr double kMaxCycles = 1.2;  // of what it would take otherwise
  std::vector<std::int64_t> parts(segment.nodes.size(), 1);
  LoweredGraph best = TRY(SegmentLowering(graph, segment, device, parts).run());
  const Machine* machine = usual_machine(device);
  if (machine == nullptr) return best;
  std::map<std::uint32_t, std::size_t> place_of_node;
  std::vector<bool> is_by_row;
  for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
    place_of_node[segment.nodes[i].index] = i;
    is_by_row.push_back(find_form(graph[segment.nodes[i]].op)->is_by_row);
  }
  if (std::ranges::find(is_by_row, true) == is_by_row.end()) return best;
  GraphCost cost = estimate(best.graph, *machine);
  const double max_cycles = kMaxCycles * cost.cycles;
  while (true) {
    std::vector<double> bytes(parts.size(), 0.0);
    for (std::size_t i = 0; i < best.origins.size(); ++i) {
      double& most = bytes[place_of_node.at(best.origins[i].index)];
      most = std::max(most, cost.bytes_by_operator[i]);
    }
    double others = kNearPeak * std::ranges::max(bytes);
    for (std::size_t i = 0; i < parts.size(); ++i) others = std::max(others, is_by_row[i] ? 0 : bytes[i]);
    bool has_more = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!is_by_row[i] || bytes[i] <= others || parts[i] >= kMaxParts) continue;
      parts[i] *= 2;
      has_more = true;
    }
    if (!has_more) return best;
    LoweredGraph made = TRY(SegmentLowering(graph, segment, device, parts).run());
    GraphCost after = estimate(made.graph, *machine);
    if (after.sram_bytes >= cost.sram_bytes || after.cycles > max_cycles) return best;
    best = std::move(made);
    cost = std::move(after);
  }
}

Expected<LoweredSegment> lower_segment(const Graph& graph, const Segment& segment, Device device) {
  LoweredGraph made = TRY(lower_graph(graph, segment, device));
  LoweredSegment lowered;
  lowered.delegate = {std::string(tosa::kBackendId), Blob::owning(TRY(tosa::write_graph(made.graph))), {}};
  for (const ValueId id : segment.inputs) lowered.inputs.push_back({id, {}, {}});
  lowered.outputs = segment.outputs;
  lowered.device_nodes = static_cast<std::size_t>(
      std::ranges::count_if(made.graph.operators, [](const tosa::Operator& op) { return !op.inputs.empty(); }));
  lowered.conversions = std::move(made.conversions);
  return lowered;
}

}  // namespace isthmus::ethos_u
