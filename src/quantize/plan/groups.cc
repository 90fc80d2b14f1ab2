// Union-find over values, the dearest ties first.
#include "quantize/plan/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/portable_math.h"
#include "base/union_find.h"
#include "ir/literals.h"
#include "ops/table.h"
#include "quantize/plan/elements.h"
#include "quantize/plan/structure.h"

namespace isthmus {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

double width(Range range) { return range.max - range.min; }
Range hull(Range a, Range b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

struct Edge {
  Tie tie;
  ValueId input, result;
  std::uint64_t bytes = 0;
  double ratio = 0;  // log2 of the wider own range over the narrower
  double width = 0;  // of the input's own range
  bool is_fused = false;
  bool computes = false;  // the op makes new numbers and shares all the same: a rescale must not clip what it reads
};

// The width of the range that a reader outside of a group wants one of its values to have.
struct Need {
  double width = kUnlimited;
  ValueId value{};
};
Need least(Need a, Need b) { return a.width <= b.width ? a : b; }

// The least of those who read values of a group through rescales to others.
class RescaleNeeds {
 public:
  void add(Need need, std::uint32_t target) {
    if (target != target_ && need.width < least_.width) {
      besides_ = least_;
      target_ = target;
    } else if (target != target_) {
      besides_ = least(besides_, need);
    }
    if (target == target_) least_ = least(least_, need);
  }
  // Without those that rescale to this group.
  Need besides(std::uint32_t target) const { return target == target_ ? besides_ : least_; }

 private:
  Need least_;
  std::uint32_t target_ = std::numeric_limits<std::uint32_t>::max();  // the group that it is rescaled to
  Need besides_;                                                      // the least of all that go elsewhere
};

// What a group must know to say whether it may grow.
struct State {
  Range range;  // of all members that count
  Need narrowest;
  std::optional<ValueId> pin;  // a member whose parameters are those of all
  DType storage = DType::kI8;
};

class Solver {
 public:
  Solver(const GroupingInput& input, Ranges& ranges)
      : in_(input),
        graph_(input.graph),
        ranges_(ranges),
        is_quantized_(quantized_values(graph_, input.precision, input.config)),
        structure_(structure_of(graph_)) {}

  Expected<Grouping> run() {
    TRY(find_edges());
    TRY(find_readers());
    // A value that is rescaled is read by that rescale, from outside of the group that it is rescaled to.
    bool has_changed = true;
    for (int round = 0; has_changed && round < kMaxRounds; ++round) {
      join_all();
      has_changed = false;
      for (const Refused& cut : cuts_) {
        const std::uint32_t value = edges_[cut.edge].input.index;
        if (!is_read_outside_[value] && !is_rescaled_[value] && !is_made_in_float(edges_[cut.edge].input)) {
          is_rescaled_[value] = true;
          has_changed = true;
        }
      }
    }
    is_rescaled_.assign(is_rescaled_.size(), false);
    for (int round = 0; round < kMaxRounds && take_back_cuts(); ++round) {
    }
    return result();
  }

 private:
  static constexpr int kMaxRounds = 16;
  // Two pins that differ, or one that cannot hold what others need.
  struct Clash {
    ValueId pin;
    std::optional<ValueId> other;
    Range wanted;
  };
  struct Refused {
    std::size_t edge;
    CutCause cause;
    Need need{};       // of whom precision is about
    double whole = 0;  // the width of the range of both groups together
    std::optional<Clash> clash = {};
  };

  bool is_made_in_float(ValueId id) const { return !is_made_quantized(graph_, in_.precision, in_.config, id); }
  // The value before a fused clamp or a pin is never seen, so its numbers do not count.
  bool counts(ValueId id) const { return !is_hidden_[id.index]; }

  Expected<void> find_edges() {
    std::vector<bool> shares;
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      shares.push_back(in_.precision[n] == Precision::kQuantized &&
                       must_share(in_.target.integers, graph_.nodes()[n].op));
    }
    is_hidden_ = values_before_pins(graph_, in_.pins, shares);
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (!shares[n]) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId value = node.inputs[i];
        if (!is_data_input(node.op, i)) continue;
        if (graph_.constant(value) != nullptr) {
          constant_ties_.push_back({NodeId{n}, i});
          continue;
        }
        Edge edge{{NodeId{n}, i}, value, node.outputs[0], elements_of(graph_, value), 0, 0, in_.is_fused[n]};
        edge.computes = shares_what_it_computes(node.op);
        if (edge.is_fused && !is_made_in_float(value)) {
          is_hidden_[value.index] = true;
        } else {
          edge.is_fused = false;
          const double a = is_hidden_[value.index] ? 0 : width(TRY(ranges_.own(value)));
          const double b = is_hidden_[edge.result.index] ? 0 : width(TRY(ranges_.own(edge.result)));
          edge.ratio = a > 0 && b > 0 ? std::abs(portable::log2(a / b)) : 0;
          edge.width = a;
          // What is rounded in two ways is first rounded in the one that clips less.
          if (is_hidden_[value.index] && in_.pins.contains(edge.result)) edge.ratio = -b;
        }
        edges_.push_back(edge);
      }
    }
    order_.resize(edges_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, [&](std::size_t a, std::size_t b) { return key(edges_[a]) < key(edges_[b]); });
    return {};
  }

  // Names tell apart only what nothing else does.
  using Key =
      std::tuple<bool, std::uint64_t, double, double, std::uint64_t, std::uint64_t, std::string_view, std::string_view>;
  Key key(const Edge& edge) const {
    return {!edge.is_fused,
            std::numeric_limits<std::uint64_t>::max() - edge.bytes,
            edge.ratio,
            edge.width,
            structure_[edge.result.index],
            structure_[edge.input.index],
            graph_[edge.result].name,
            graph_[edge.input].name};
  }

  Expected<void> find_readers() {
    is_read_outside_.resize(graph_.values().size(), false);
    is_rescaled_.resize(graph_.values().size(), false);
    finest_.resize(graph_.values().size(), 0);
    std::vector<std::size_t> inside(graph_.values().size(), 0);
    std::vector<std::size_t> all(graph_.values().size(), 0);
    for (const Edge& edge : edges_) ++inside[edge.input.index];
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      for (const ValueId input : graph_.nodes()[n].inputs) {
        // Who reads the float of a value that is made in float loses nothing.
        if (in_.precision[n] != Precision::kQuantized && is_made_in_float(input)) continue;
        ++all[input.index];
      }
    }
    for (const Output& output : graph_.outputs()) {
      const auto* id = std::get_if<ValueId>(&output.value);
      const bool is_quantized = in_.config.outputs != IoType::kFloat && output.kind == OutputKind::kResult;
      if (id != nullptr && (is_quantized || !is_made_in_float(*id))) ++all[id->index];
    }
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      is_read_outside_[i] = is_quantized_[i] && all[i] > inside[i];
      if (is_quantized_[i] && counts(ValueId{i})) finest_[i] = width(TRY(ranges_.own(ValueId{i})));
    }
    find_finest();
    return {};
  }

  // What was in quantized values of a wide range before a part of it was taken has lost its bits: no rescale brings
  // them back.
  void find_finest() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (in_.precision[n] != Precision::kQuantized) continue;
      if (shares_what_it_computes(node.op)) {
        // A mean is finer than what it is made of, but has to be in the same steps.
        double& finest = finest_[node.outputs[0].index];
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          if (finest > 0 && is_data_input(node.op, i)) finest = std::max(finest, finest_[node.inputs[i].index]);
        }
        continue;
      }
      if (!takes_numbers(node.op)) continue;
      double before = kUnlimited;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId input = node.inputs[i];
        if (!is_data_input(node.op, i)) continue;
        // What is not quantized yet can take any range.
        const bool is_quantized = counts(input) && !is_made_in_float(input) && graph_.constant(input) == nullptr;
        before = std::min(before, is_quantized ? finest_[input.index] : 0);
      }
      double& finest = finest_[node.outputs[0].index];
      if (finest > 0 && std::isfinite(before)) finest = std::max(finest, before);
    }
  }

  // Whether the op's results are numbers that its inputs have, and the device does not change their quantized values.
  bool takes_numbers(Op op) const {
    if (op == Op::kForeign || !must_share(in_.target.integers, op)) return false;
    const QFlow flow = def(op).flow;
    return flow == QFlow::kMovesData || flow == QFlow::kJoinsInputs || flow == QFlow::kNarrowsRange;
  }

  // Whether the op makes new numbers, which the device can only write in the steps of what it reads.
  bool shares_what_it_computes(Op op) const {
    return op != Op::kForeign && def(op).flow == QFlow::kComputes && must_share(in_.target.integers, op);
  }

  State alone(ValueId id) {
    State state;
    state.storage = in_.storage[id.index];
    if (in_.pins.contains(id)) state.pin = id;
    if (!counts(id)) return state;
    state.range = *ranges_.own(id);
    if ((is_read_outside_[id.index] || is_rescaled_[id.index]) && finest_[id.index] > 0) {
      state.narrowest = {finest_[id.index], id};
    }
    return state;
  }

  static State joined(const State& a, const State& b) {
    return {hull(a.range, b.range), least(a.narrowest, b.narrowest), a.pin ? a.pin : b.pin, a.storage};
  }

  // Of the groups as they are.
  void find_states() {
    states_.assign(graph_.values().size(), {});
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      if (!is_quantized_[i]) continue;
      State& state = states_[groups_.find(i)];
      state = groups_.find(i) == i ? alone(ValueId{i}) : joined(state, alone(ValueId{i}));
    }
    for (const Edge& edge : edges_) {
      if (!edge.computes || !counts(edge.input) || !counts(edge.result)) continue;
      State& state = states_[groups_.find(edge.result.index)];
      state.range = hull(state.range, *ranges_.own(edge.input));
    }
    // What a constant brings is there whatever happens to the other ties of its node.
    for (const Tie& tie : constant_ties_) {
      const Node& node = graph_[tie.node];
      if (!counts(node.outputs[0])) continue;
      State& state = states_[groups_.find(node.outputs[0].index)];
      state.range = hull(state.range, *ranges_.own(node.inputs[tie.input]));
    }
  }

  void join_all() {
    groups_ = UnionFind(graph_.values().size());
    find_states();
    cuts_.clear();
    for (const std::size_t i : order_) join(i);
  }

  static double bits_lost(const State& state) { return portable::log2(width(state.range) / state.narrowest.width); }
  void refuse_for_precision(std::size_t edge, const State& both) {
    cuts_.push_back({edge, CutCause::kPrecision, both.narrowest, width(both.range)});
  }

  Cut cut_of(const Refused& refused) const {
    const Edge& edge = edges_[refused.edge];
    Cut cut{edge.tie, refused.cause, 0, edge.bytes, {}};
    switch (refused.cause) {
      case CutCause::kStorage:
        cut.because = "its two sides have different bit widths";
        break;
      case CutCause::kPins:
        cut.because = described(*refused.clash);
        break;
      case CutCause::kPrecision:
      case CutCause::kRatio:
        cut.bits = portable::log2(refused.whole / refused.need.width);
        cut.because = fmt::format("readers of %{} (range {:.4g}) would lose {:.1f} bits in a group of range {:.4g}",
                                  graph_[refused.need.value].name, refused.need.width, cut.bits, refused.whole);
        break;
    }
    return cut;
  }

  // Why two groups cannot have one set of parameters, as far as pins are concerned; nothing where they can.
  std::optional<Clash> pins_clash(const State& a, const State& b) const {
    if (!a.pin && !b.pin) return std::nullopt;
    if (a.pin && b.pin) {
      if (in_.pins.at(*a.pin) == in_.pins.at(*b.pin)) return std::nullopt;
      return Clash{*a.pin, b.pin, {}};
    }
    const ValueId pinned = a.pin ? *a.pin : *b.pin;
    const Range wanted = a.pin ? b.range : a.range;
    const Range held = range_of(in_.pins.at(pinned));
    const auto step = static_cast<double>(in_.pins.at(pinned).quant.scale());
    if (wanted.min >= held.min - step && wanted.max <= held.max + step) return std::nullopt;
    return Clash{pinned, std::nullopt, wanted};
  }
  std::string described(ValueId pinned) const {
    const Quant& quant = in_.pins.at(pinned).quant;
    return fmt::format("%{} scale {} zero point {}", graph_[pinned].name, float_text(quant.scale()), quant.zero_point);
  }
  std::string described(const Clash& clash) const {
    if (clash.other) return fmt::format("the archive gives {} and {}", described(clash.pin), described(*clash.other));
    const Range held = range_of(in_.pins.at(clash.pin));
    return fmt::format("the archive gives {}, which ends at [{:.4g}, {:.4g}]; others need [{:.4g}, {:.4g}]",
                       described(clash.pin), held.min, held.max, clash.wanted.min, clash.wanted.max);
  }

  void join(std::size_t index) {
    const Edge& edge = edges_[index];
    const std::uint32_t a = groups_.find(edge.input.index);
    const std::uint32_t b = groups_.find(edge.result.index);
    if (a == b) return;
    const State both = joined(states_[a], states_[b]);
    const auto clash = pins_clash(states_[a], states_[b]);
    if (states_[a].storage != states_[b].storage) {
      cuts_.push_back({index, CutCause::kStorage});
    } else if (clash) {
      cuts_.push_back({.edge = index, .cause = CutCause::kPins, .clash = clash});
    } else if (!edge.is_fused && ranges_.is_known() && in_.target.integers.has_rescale &&
               bits_lost(both) >= bits_to_lose(in_.config, both.storage)) {
      refuse_for_precision(index, both);
    } else {
      states_[groups_.join(a, b)] = both;
    }
  }

  // Joins what is cut although no reader would lose by it, now that all groups are known: who reads through a rescale
  // needs no more than the group behind it can show. False where there is no such cut.
  bool take_back_cuts() {
    find_states();
    std::vector<RescaleNeeds> rescales(graph_.values().size());
    for (const Refused& cut : cuts_) {
      const Edge& edge = edges_[cut.edge];
      const double finest = finest_[edge.input.index];
      if (finest <= 0 || is_made_in_float(edge.input)) continue;
      const std::uint32_t target = groups_.find(edge.result.index);
      rescales[groups_.find(edge.input.index)].add({std::max(finest, width(states_[target].range)), edge.input},
                                                   target);
    }
    bool has_changed = false;
    for (const Refused& cut : std::exchange(cuts_, {})) {
      const std::uint32_t a = groups_.find(edges_[cut.edge].input.index);
      const std::uint32_t b = groups_.find(edges_[cut.edge].result.index);
      if (cut.cause != CutCause::kPrecision) {
        cuts_.push_back(cut);
        continue;
      }
      if (a == b) continue;
      const State both = joined(states_[a], states_[b]);
      const Need rescaled = least(rescales[a].besides(b), rescales[b].besides(a));
      State whole = both;
      whole.narrowest = least(both.narrowest, rescaled);
      if (const auto clash = pins_clash(states_[a], states_[b])) {
        cuts_.push_back({.edge = cut.edge, .cause = CutCause::kPins, .clash = clash});
        continue;
      }
      if (bits_lost(whole) >= bits_to_lose(in_.config, whole.storage)) {
        refuse_for_precision(cut.edge, whole);
        continue;
      }
      const std::uint32_t root = groups_.join(a, b);
      states_[root] = both;
      rescales[root] = {};
      rescales[root].add(rescaled, root);
      has_changed = true;
    }
    return has_changed;
  }

  Expected<Grouping> result() {
    Grouping grouping;
    grouping.group_of.resize(graph_.values().size());
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      if (!is_quantized_[i]) continue;
      const std::uint32_t root = groups_.find(i);
      if (root == i) {
        grouping.group_of[i] = static_cast<std::uint32_t>(grouping.groups.size());
        grouping.groups.emplace_back();
        grouping.groups.back().storage = in_.storage[i];
        grouping.groups.back().pin = states_[root].pin;
      }
      grouping.group_of[i] = grouping.group_of[root];
      const Range own = counts(ValueId{i}) ? TRY(ranges_.own(ValueId{i})) : Range{};
      grouping.groups[*grouping.group_of[i]].members.push_back({ValueId{i}, own, 0});
    }
    std::vector<bool> is_cut(edges_.size(), false);
    for (const Refused& refused : cuts_) {
      is_cut[refused.edge] = true;
      grouping.cuts.push_back(cut_of(refused));
    }
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      Group& group = grouping.groups[*grouping.group_of[edges_[i].result.index]];
      if (!is_cut[i]) {
        group.ties.push_back(edges_[i].tie);
      } else if (edges_[i].computes && counts(edges_[i].input)) {
        group.held.push_back(edges_[i].input);
      }
    }
    for (const Tie& tie : constant_ties_) {
      Group& group = grouping.groups[*grouping.group_of[graph_[tie.node].outputs[0].index]];
      const ValueId constant = graph_[tie.node].inputs[tie.input];
      group.ties.push_back(tie);
      group.members.push_back({constant, TRY(ranges_.own(constant)), 0});
    }
    for (Group& group : grouping.groups) std::ranges::sort(group.ties);
    std::ranges::sort(grouping.cuts, {}, &Cut::tie);
    return grouping;
  }

  const GroupingInput& in_;
  const Graph& graph_;
  Ranges& ranges_;
  std::vector<bool> is_quantized_;  // by value
  std::vector<std::uint64_t> structure_;
  std::vector<bool> is_hidden_;
  std::vector<bool> is_read_outside_;
  std::vector<bool> is_rescaled_;  // is read by a rescale
  std::vector<double> finest_;     // by value: the narrowest range that loses nothing of it
  std::vector<Edge> edges_;
  std::vector<Tie> constant_ties_;
  std::vector<std::size_t> order_;  // of edges_
  UnionFind groups_{0};
  std::vector<State> states_;  // by root
  std::vector<Refused> cuts_;
};

}  // namespace

bool is_made_quantized(const Graph& graph, const std::vector<Precision>& precision, const QuantConfig& config,
                       ValueId id) {
  const Value& value = graph[id];
  if (value.type.dtype != DType::kF32 || value.kind == ValueKind::kConstant) return false;
  if (value.kind == ValueKind::kInput) return config.inputs != IoType::kFloat;
  if (value.kind == ValueKind::kState) return false;  // as far as ties go: each reader can have its own parameters
  return precision[value.index] == Precision::kQuantized;
}

std::vector<bool> quantized_values(const Graph& graph, const std::vector<Precision>& precision,
                                   const QuantConfig& config) {
  std::vector<bool> result(graph.values().size(), false);
  const auto can_have = [&](ValueId id) {
    return graph.constant(id) == nullptr && graph.type(id).dtype == DType::kF32;
  };
  for (std::uint32_t i = 0; i < result.size(); ++i) result[i] = is_made_quantized(graph, precision, config, ValueId{i});
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (precision[n] != Precision::kQuantized) continue;
    const Node& node = graph.nodes()[n];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_data_input(node.op, i) && can_have(node.inputs[i])) result[node.inputs[i].index] = true;
    }
  }
  if (config.outputs == IoType::kFloat) return result;
  for (const Output& output : graph.outputs()) {
    const auto* id = std::get_if<ValueId>(&output.value);
    const bool is_result = output.kind == OutputKind::kResult;
    if (id != nullptr && is_result && can_have(*id)) result[id->index] = true;
  }
  return result;
}

Expected<Grouping> group_values(const GroupingInput& input, Ranges& ranges) { return Solver(input, ranges).run(); }

}  // namespace isthmus
