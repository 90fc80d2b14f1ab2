// Every value is wide until a reader objects, then all that depends on it is narrow.
#include "quantize/widths/widths.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "base/portable_math.h"
#include "base/union_find.h"
#include "ops/table.h"
#include "quantize/config/pins.h"
#include "quantize/plan/front.h"
#include "quantize/plan/groups.h"
#include "quantize/widths/widen.h"
#include "quantize/widths/width_costs.h"

namespace isthmus {
namespace {

constexpr DType kNarrow = DType::kI8;
constexpr DType kWide = DType::kI16;

class WidthChooser {
 public:
  WidthChooser(const Graph& graph, const IntegerRules& rules, const std::vector<Precision>& precision,
               const std::vector<NodeSettings>& settings, const QuantConfig& config, Ranges& ranges,
               std::vector<bool> is_front)
      : graph_(graph),
        rules_(rules),
        precision_(precision),
        settings_(settings),
        config_(config),
        ranges_(ranges),
        is_front_(std::move(is_front)),
        sets_(graph.values().size()),
        is_narrow_(graph.values().size(), false),
        is_wanted_(graph.values().size(), false),
        reads_wide_(graph.nodes().size(), false),
        readers_for_(graph.values().size()) {}

  // `wanted` where more is to be wide than costs next to nothing.
  Expected<void> run(const Widened* wanted = nullptr) {
    join_sharing();
    limit_io();
    each_node([&](NodeId id) { object_to_result(id); });
    can_be_wide_ = is_narrow_;
    can_be_wide_.flip();
    TRY(want_joins());
    if (wanted != nullptr) want(*wanted);
    each_node([&](NodeId id) { object_to_reads(id); });
    while (!objections_.empty()) {
      const std::uint32_t set = objections_.back();
      objections_.pop_back();
      for (const std::uint32_t read : std::exchange(readers_for_[set], {})) {
        if (!is_wanted_[sets_.find(read)]) object(ValueId{read});
      }
    }
    return {};
  }
  bool is_wide(std::uint32_t value) { return !is_narrow_[sets_.find(value)]; }
  WidthChoices choices() {
    WidthChoices result;
    for (std::uint32_t v = 0; v < graph_.values().size(); ++v) {
      result.set_of.push_back(sets_.find(v));
      result.is_wide.push_back(is_wide(v));
      result.can_be_wide.push_back(can_be_wide_[sets_.find(v)]);
    }
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      const bool is_quantized = precision_[n] == Precision::kQuantized;
      result.reads_wide.push_back(is_quantized && reads_of(NodeId{n}) != WideReads::kNever &&
                                  has_wide_form(graph_.nodes()[n]));
      result.can_read_wide.push_back(is_quantized && has_wide_form(graph_.nodes()[n]));
    }
    return result;
  }
  std::set<Tie> take_narrow_reads() { return std::move(narrow_reads_); }

 private:
  bool is_data(const Node& node, std::size_t i) const {
    return is_data_input(node.op, i) && graph_.constant(node.inputs[i]) == nullptr;
  }
  void object(ValueId id) {
    const std::uint32_t set = sets_.find(id.index);
    if (is_narrow_[set]) return;
    is_narrow_[set] = true;
    objections_.push_back(set);
  }

  void join_sharing() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (precision_[n] != Precision::kQuantized || !must_share(rules_, node.op)) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_data(node, i)) sets_.join(node.inputs[i].index, node.outputs[0].index);
      }
    }
  }

  void limit_io() {
    if (config_.inputs != IoType::kFloat) {
      for (const ValueId input : graph_.inputs()) object(input);
    }
    if (config_.outputs == IoType::kFloat) return;
    for (const Output& output : graph_.outputs()) {
      const auto* id = std::get_if<ValueId>(&output.value);
      if (id != nullptr && output.kind == OutputKind::kResult) object(*id);
    }
  }

  template <class Use>
  void each_node(const Use& use) {
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      if (precision_[n] == Precision::kQuantized) use(NodeId{n});
    }
  }
  bool refuses(const Node& node, DType data, DType made) const {
    return rules_.refusal(graph_, node, QuantizedTypes(data, made)).has_value();
  }

  void object_to_result(NodeId id) {
    const Node& node = graph_[id];
    if (settings_[id.index].is_storage_given) object(node.outputs[0]);
    const bool shares = must_share(rules_, node.op);
    if (refuses(node, shares ? kWide : kNarrow, kWide)) object(node.outputs[0]);
  }

  // Joins where one input would be left with too few bits beside another, wherever they can be wide.
  Expected<void> want_joins() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      const bool is_join = precision_[n] == Precision::kQuantized && def(node.op).flow == QFlow::kJoinsInputs;
      if (!is_join || !must_share(rules_, node.op)) continue;
      const std::uint32_t set = sets_.find(node.outputs[0].index);
      if (is_narrow_[set]) continue;
      double min = std::numeric_limits<double>::infinity();
      double max = 0;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!is_data_input(node.op, i)) continue;
        const Range range = TRY(ranges_.own(node.inputs[i]));
        if (range.max > range.min) min = std::min(min, range.max - range.min);
        max = std::max(max, range.max - range.min);
      }
      if (max > 0 && portable::log2(max / min) >= kJoinBits) is_wanted_[set] = true;
    }
    return {};
  }

  void want(const Widened& wanted) {
    for (std::uint32_t v = 0; v < wanted.values.size(); ++v) {
      if (wanted.values[v] && !is_narrow_[sets_.find(v)]) is_wanted_[sets_.find(v)] = true;
    }
    reads_wide_ = wanted.nodes;
  }

  bool has_wide_form(const Node& node) const { return !refuses(node, kWide, kWide) && !refuses(node, kWide, kNarrow); }
  WideReads reads_of(NodeId id) const {
    const WideReads reads = rules_.wide_reads(graph_[id]);
    const bool is_asked = is_front_[id.index] || (reads_wide_[id.index] && reads == WideReads::kNever);
    return is_asked ? WideReads::kAlways : reads;
  }

  void object_to_reads(NodeId id) {
    const Node& node = graph_[id];
    if (must_share(rules_, node.op)) return;
    const WideReads reads = reads_of(id);
    const bool can_read = reads != WideReads::kNever && has_wide_form(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data(node, i)) continue;
      if (!can_read && is_wanted_[sets_.find(node.inputs[i].index)]) {
        narrow_reads_.insert({id, i});
      } else if (!can_read) {
        object(node.inputs[i]);
      } else if (reads == WideReads::kForWide) {
        readers_for_[sets_.find(node.outputs[0].index)].push_back(node.inputs[i].index);
      }
    }
  }

  const Graph& graph_;
  const IntegerRules& rules_;
  const std::vector<Precision>& precision_;
  const std::vector<NodeSettings>& settings_;
  const QuantConfig& config_;
  Ranges& ranges_;
  std::vector<bool> is_front_;
  UnionFind sets_;                 // of values that share parameters
  std::vector<bool> is_narrow_;    // by root
  std::vector<bool> is_wanted_;    // by root: stays wide even for readers of 8 bits
  std::vector<bool> can_be_wide_;  // by root: nothing forbids it, at a price
  std::vector<bool> reads_wide_;   // by node: although it takes longer
  std::set<Tie> narrow_reads_;
  std::vector<std::vector<std::uint32_t>> readers_for_;  // by root: what is wide only if that is
  std::vector<std::uint32_t> objections_;                // roots whose readers are still to be told
};

// As many layers from the input on as cost little.
template <class TotalOf>
Expected<std::vector<bool>> affordable(std::vector<bool> wanted, const TotalOf& total_of) {
  constexpr double kMaxCost = 1.075;  // of the memory, and of the cycles
  std::vector<bool> taken(wanted.size(), false);
  const WidthCosts::Total before = TRY(total_of(taken));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    taken[i] = true;
    const WidthCosts::Total with = TRY(total_of(taken));
    if (with.bytes <= kMaxCost * before.bytes && with.cycles <= kMaxCost * before.cycles) continue;
    taken[i] = false;
    break;
  }
  return taken;
}

// What is wide may make wide what it is computed from, so that all of it together can cost more than its parts: as
// much again, and no more.
bool costs_within(const WidthCosts::Total& with, const WidthCosts::Total& before, double share) {
  return with.cycles <= (1 + 2 * share) * before.cycles;
}

}  // namespace

std::vector<DType> asked_widths(const Graph& graph, const std::vector<NodeSettings>& settings,
                                const QuantConfig& config) {
  std::vector<DType> widths(graph.values().size(), config.storage);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const ValueId output : graph.nodes()[n].outputs) widths[output.index] = settings[n].storage;
  }
  const PinnedFlow pinned = pinned_flow(graph);
  for (const ValueId input : graph.inputs()) {
    widths[input.index] = pinned.storage[input.index].value_or(config.storage);
  }
  for (const GraphState& state : graph.states()) {
    widths[state.value.index] = pinned.storage[state.value.index].value_or(config.storage);
  }
  return widths;
}

Expected<ChosenWidths> choose_widths(const Graph& graph, const TargetDesc& target,
                                     const std::vector<Precision>& precision, const std::vector<NodeSettings>& settings,
                                     const QuantConfig& config, Ranges& ranges) {
  ChosenWidths widths{asked_widths(graph, settings, config), {}};
  if (!config.wide || config.storage != kNarrow || target.integers.wide_reads == nullptr) return widths;
  const auto run_with = [&](const std::vector<bool>& is_front, const Widened* wanted) -> Expected<WidthChooser> {
    WidthChooser chooser(graph, target.integers, precision, settings, config, ranges, is_front);
    TRY(chooser.run(wanted));
    return chooser;
  };
  WidthCosts costs(graph, target.integers, precision);
  std::vector<bool> is_front = front_layers(graph, config.inputs == IoType::kFloat ? config.front : 0);
  const auto finish = [&](WidthChooser chooser) {
    for (std::uint32_t i = 0; i < widths.of_value.size(); ++i) {
      if (chooser.is_wide(i)) widths.of_value[i] = kWide;
    }
    widths.narrow_reads = chooser.take_narrow_reads();
    return widths;
  };
  if (costs.is_known() && ranges.is_known()) {
    // Where the device says what they cost, the first layers are chosen like all others, unless noise grows so much on
    // its way to the outputs that it says nothing of single values: then what is read first counts most.
    constexpr double kUnknown = 0;
    const std::vector<bool> none(is_front.size(), false);
    WidthChooser chooser = TRY(run_with(none, nullptr));
    if (TRY(expected_sqnr(graph, precision, chooser.choices(), ranges, costs)) < kUnknown) {
      const auto total_of = [&](const std::vector<bool>& of) -> Expected<WidthCosts::Total> {
        return costs.of_all(TRY(run_with(of, nullptr)).choices().is_wide);
      };
      return finish(TRY(run_with(TRY(affordable(std::move(is_front), total_of)), nullptr)));
    }
    is_front = none;
  }
  WidthChooser chooser = TRY(run_with(is_front, nullptr));
  if (config.widen == 0 || !ranges.is_known()) return finish(std::move(chooser));
  constexpr int kHalvings = 4;
  const WidthChoices choices = chooser.choices();
  double share = config.widen;
  for (int i = 0; i < kHalvings; ++i, share /= 2) {
    const Widened wanted = TRY(widen(graph, precision, choices, share, ranges, costs));
    WidthChooser wider = TRY(run_with(is_front, &wanted));
    if (!costs.is_known() ||
        costs_within(costs.of_all(wider.choices().is_wide), costs.of_all(choices.is_wide), config.widen))
      return finish(std::move(wider));
  }
  return finish(std::move(chooser));
}

}  // namespace isthmus
