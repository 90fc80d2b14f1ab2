// Union-find over values, the dearest ties first.
#include "quantize/plan/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/portable_math.h"
#include "base/union_find.h"
#include "quantize/plan/pin_clash.h"
#include "quantize/plan/quantized_values.h"
#include "quantize/plan/reader_needs.h"

namespace isthmus {
namespace {

// What a group must know to say whether it may grow.
struct GroupState {
  Range range;  // of all members that count
  Need narrowest;
  std::optional<ValueId> pin;  // a member whose parameters are those of all
  DType storage = DType::kI8;
};

GroupState joined(const GroupState& a, const GroupState& b) {
  return {hull_of(a.range, b.range), narrower(a.narrowest, b.narrowest), a.pin ? a.pin : b.pin, a.storage};
}
double bits_lost(const GroupState& state) { return portable::log2(state.range.width() / state.narrowest.width); }

// A tie that is not kept, and what its cut will say.
struct RefusedTie {
  std::size_t edge;
  CutCause cause;
  Need need{};       // of whom precision is about
  double whole = 0;  // the width of the range of both groups together
  std::optional<PinClash> clash = {};
};

class Solver {
 public:
  Solver(const GroupingInput& input, Ranges& ranges, std::vector<bool> is_quantized, Ties ties, ReaderNeeds needs)
      : in_(input),
        graph_(input.graph),
        ranges_(ranges),
        is_quantized_(std::move(is_quantized)),
        ties_(std::move(ties)),
        needs_(std::move(needs)),
        is_rescaled_(graph_.values().size(), false) {}

  Expected<Grouping> run() {
    // A value that is rescaled is read by that rescale, from outside of the group that it is rescaled to.
    bool has_changed = true;
    for (int round = 0; has_changed && round < kMaxRounds; ++round) {
      join_all();
      has_changed = false;
      for (const RefusedTie& cut : cuts_) {
        const std::uint32_t value = ties_.edges[cut.edge].input.index;
        if (!needs_.is_read_outside[value] && !is_rescaled_[value] && !is_made_in_float(ties_.edges[cut.edge].input)) {
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

  bool is_made_in_float(ValueId id) const { return !is_made_quantized(graph_, in_.precision, in_.config, id); }
  // The value before a fused clamp or a pin is never seen, so its numbers do not count.
  bool counts(ValueId id) const { return !ties_.is_hidden[id.index]; }

  GroupState alone(ValueId id) {
    GroupState state;
    state.storage = in_.storage[id.index];
    if (in_.pins.contains(id)) state.pin = id;
    if (!counts(id)) return state;
    state.range = *ranges_.own(id);
    if ((needs_.is_read_outside[id.index] || is_rescaled_[id.index]) && needs_.finest[id.index] > 0) {
      state.narrowest = {needs_.finest[id.index], id};
    }
    return state;
  }

  // Of the groups as they are.
  void find_states() {
    states_.assign(graph_.values().size(), {});
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      if (!is_quantized_[i]) continue;
      GroupState& state = states_[groups_.find(i)];
      state = groups_.find(i) == i ? alone(ValueId{i}) : joined(state, alone(ValueId{i}));
    }
    for (const TieEdge& edge : ties_.edges) {
      if (!edge.computes || !counts(edge.input) || !counts(edge.result)) continue;
      GroupState& state = states_[groups_.find(edge.result.index)];
      state.range = hull_of(state.range, *ranges_.own(edge.input));
    }
    // What a constant brings is there whatever happens to the other ties of its node.
    for (const Tie& tie : ties_.constants) {
      const Node& node = graph_[tie.node];
      if (!counts(node.outputs[0])) continue;
      GroupState& state = states_[groups_.find(node.outputs[0].index)];
      state.range = hull_of(state.range, *ranges_.own(node.inputs[tie.input]));
    }
  }

  void join_all() {
    groups_ = UnionFind(graph_.values().size());
    find_states();
    cuts_.clear();
    for (const std::size_t i : ties_.order) join(i);
  }

  void refuse_for_precision(std::size_t edge, const GroupState& both) {
    cuts_.push_back({edge, CutCause::kPrecision, both.narrowest, both.range.width()});
  }

  Cut cut_of(const RefusedTie& refused) const {
    const TieEdge& edge = ties_.edges[refused.edge];
    Cut cut{edge.tie, refused.cause, 0, edge.bytes, {}};
    switch (refused.cause) {
      case CutCause::kStorage:
        cut.because = "its two sides have different bit widths";
        break;
      case CutCause::kPins:
        cut.because = described(*refused.clash, graph_, in_.pins);
        break;
      case CutCause::kPrecision:
      case CutCause::kRatio:
        cut.bits = portable::log2(refused.whole / refused.need.width);
        cut.because =
            fmt::format("readers of %{} (range {:.4g}) would lose {:.1f} bits by sharing a scale of range {:.4g}",
                        graph_[refused.need.value].name, refused.need.width, cut.bits, refused.whole);
        break;
    }
    return cut;
  }

  std::optional<PinClash> clash_of(const GroupState& a, const GroupState& b) const {
    return pin_clash(in_.pins, {a.pin, a.range}, {b.pin, b.range});
  }

  void join(std::size_t index) {
    const TieEdge& edge = ties_.edges[index];
    const std::uint32_t a = groups_.find(edge.input.index);
    const std::uint32_t b = groups_.find(edge.result.index);
    if (a == b) return;
    const GroupState both = joined(states_[a], states_[b]);
    const auto clash = clash_of(states_[a], states_[b]);
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
    for (const RefusedTie& cut : cuts_) {
      const TieEdge& edge = ties_.edges[cut.edge];
      const double finest = needs_.finest[edge.input.index];
      if (finest <= 0 || is_made_in_float(edge.input)) continue;
      const std::uint32_t target = groups_.find(edge.result.index);
      rescales[groups_.find(edge.input.index)].add({std::max(finest, states_[target].range.width()), edge.input},
                                                   target);
    }
    bool has_changed = false;
    for (const RefusedTie& cut : std::exchange(cuts_, {})) {
      const std::uint32_t a = groups_.find(ties_.edges[cut.edge].input.index);
      const std::uint32_t b = groups_.find(ties_.edges[cut.edge].result.index);
      if (cut.cause != CutCause::kPrecision) {
        cuts_.push_back(cut);
        continue;
      }
      if (a == b) continue;
      const GroupState both = joined(states_[a], states_[b]);
      const Need rescaled = narrower(rescales[a].besides(b), rescales[b].besides(a));
      GroupState whole = both;
      whole.narrowest = narrower(both.narrowest, rescaled);
      if (const auto clash = clash_of(states_[a], states_[b])) {
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
    std::vector<bool> is_cut(ties_.edges.size(), false);
    for (const RefusedTie& refused : cuts_) {
      is_cut[refused.edge] = true;
      grouping.cuts.push_back(cut_of(refused));
    }
    for (std::size_t i = 0; i < ties_.edges.size(); ++i) {
      Group& group = grouping.groups[*grouping.group_of[ties_.edges[i].result.index]];
      if (!is_cut[i]) {
        group.ties.push_back(ties_.edges[i].tie);
      } else if (ties_.edges[i].computes && counts(ties_.edges[i].input)) {
        group.held.push_back(ties_.edges[i].input);
      }
    }
    for (const Tie& tie : ties_.constants) {
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
  Ties ties_;
  ReaderNeeds needs_;
  std::vector<bool> is_rescaled_;  // by value: it is read by a rescale
  UnionFind groups_{0};
  std::vector<GroupState> states_;  // by root
  std::vector<RefusedTie> cuts_;
};

}  // namespace

Expected<Grouping> group_values(const GroupingInput& input, Ranges& ranges) {
  std::vector<bool> is_quantized = quantized_values(input.graph, input.precision, input.config);
  Ties ties = TRY(ties_of(input, ranges));
  ReaderNeeds needs = TRY(reader_needs(input, is_quantized, ties, ranges));
  return Solver(input, ranges, std::move(is_quantized), std::move(ties), std::move(needs)).run();
}

}  // namespace isthmus
