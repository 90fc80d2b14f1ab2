// Greedy by gain over cost.
#include "quantize/widths/widen.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/portable_math.h"
#include "ops/table.h"
#include "quantize/plan/elements.h"
#include "quantize/plan/front.h"
#include "quantize/plan/structure.h"
#include "quantize/widths/gain_queue.h"
#include "quantize/widths/memory_needed.h"
#include "quantize/widths/noise.h"

namespace isthmus {
namespace {

// Products of 8 bits that take as long as a byte that is read or written.
constexpr double kProductsPerByte = 64;
// A step of its own from 16 bits to 8.
constexpr double kCyclesPerByte = 0.4;
// What values may need at one time, over what they needed before; a few bytes more are never noticed.
constexpr double kMaxMemory = 1.02;
constexpr double kFreeBytes = 256;
// In dB, of all outputs together, for each percent of the model's cost.
constexpr double kMinGainPerPercent = 0.2;

// The power of noise over that of an output which needs no more precision: 60 dB, and 36 dB where it costs cycles.
constexpr double kEnough = 0x1p-20;
constexpr double kEnoughForCycles = 0x1p-12;

struct Read {
  std::uint32_t node;
  std::size_t input;
};

// A candidate is a set, by its number, or a node, by its number behind those of all sets.
class Widener {
 public:
  Widener(const Graph& graph, const std::vector<Precision>& precision, const WidthChoices& choices, Ranges& ranges,
          const NoiseModel& noise, WidthCosts& costs)
      : graph_(graph),
        choices_(choices),
        ranges_(ranges),
        noise_(noise),
        costs_(costs),
        structure_(structure_of(graph)),
        memory_(graph),
        is_wide_(choices.is_wide),
        reads_wide_(choices.reads_wide),
        members_(graph.values().size()),
        makers_(graph.values().size()),
        reads_(graph.values().size()),
        figures_(graph.values().size()),
        is_rejected_(graph.values().size() + graph.nodes().size(), false) {
    for (std::uint32_t v = 0; v < graph.values().size(); ++v) members_[choices.set_of[v]].push_back(v);
    for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      is_quantized_.push_back(precision[n] == Precision::kQuantized);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_read(node, i)) reads_[set_of(node.inputs[i])].push_back({n, i});
      }
    }
    for (const Node& node : graph.nodes()) shares_.push_back(shares(node));
  }

  Expected<double> sqnr() {
    TRY(measure());
    const GainQueue::Powers noise = noise_of_all();
    return noise.empty() ? 0 : -10 * portable::log10(std::max(std::ranges::max(noise), kEnough));
  }

  Expected<Widened> run(double share) {
    TRY(measure());
    const double all = cost_of_all();
    const double enough = costs_.is_known() ? kEnoughForCycles : kEnough;
    GainQueue queue(noise_of_all(), 100 * kMinGainPerPercent / all, enough);
    for (std::uint32_t set = 0; set < members_.size(); ++set) offer(set, queue);
    for (std::uint32_t node = 0; node < graph_.nodes().size(); ++node) offer(place_of(node), queue);
    const double max_memory = std::max(kMaxMemory * memory_.max(), memory_.max() + kFreeBytes);
    double left = share * all;
    while (const auto best = queue.best(left)) {
      const std::vector<std::uint32_t> sets = narrow_sets_of(*best);
      if (!take_memory(sets, max_memory)) {
        is_rejected_[*best] = true;
        queue.drop(*best);
        continue;
      }
      left -= queue.cost_of(*best);
      queue.take(*best);
      if (is_node(*best)) reads_wide_[node_of(*best)] = true;
      for (const std::uint32_t set : sets) {
        for (const std::uint32_t v : members_[set]) is_wide_[v] = true;
        queue.drop(set);
      }
      // For other readers of these sets, what they read costs nothing any more.
      for (const std::uint32_t set : sets) {
        for (const Read& read : reads_[set]) offer(place_of(read.node), queue);
      }
    }
    return Widened{is_wide_, reads_wide_};
  }

 private:
  // Of a set of 8 bits.
  struct Figures {
    double noise = 0;        // the power of rounding to 8 bits
    GainQueue::Powers made;  // what its rounding makes of the outputs,
    GainQueue::Powers read;  // and what rounding it for readers of 8 bits would, if it were wide
    double cost = 0;         // that 16 bits add for each writer and reader,
    double narrow_cost = 0;  // and for each reader of 8 bits more
  };

  std::uint32_t place_of(std::uint32_t node) const { return static_cast<std::uint32_t>(members_.size()) + node; }
  bool is_node(std::uint32_t candidate) const { return candidate >= members_.size(); }
  std::uint32_t node_of(std::uint32_t candidate) const {
    return candidate - static_cast<std::uint32_t>(members_.size());
  }

  std::uint32_t set_of(ValueId id) const { return choices_.set_of[id.index]; }
  bool is_real(ValueId id) const { return graph_.type(id).dtype == DType::kF32; }
  bool is_read(const Node& node, std::size_t i) const {
    return node.op != Op::kForeign && is_data_input(node.op, i) && graph_.constant(node.inputs[i]) == nullptr &&
           is_real(node.inputs[i]) && !node.outputs.empty();
  }
  double count(std::uint32_t value) const { return static_cast<double>(elements_of(graph_, ValueId{value})); }

  void add_bytes(std::uint32_t value, double bytes) {
    costs_.is_known() ? costs_.add_value(memory_, value, bytes) : memory_.add(value, bytes);
  }

  // What each set costs and makes of the outputs, and who rounds.
  Expected<void> measure() {
    constexpr double kSteps = 255;
    for (std::uint32_t v = 0; v < graph_.values().size(); ++v) {
      const Value& value = graph_.values()[v];
      if (value.kind == ValueKind::kConstant) continue;
      add_bytes(v, count(v) * (is_wide_[v] ? 2 : 1));
      if (!is_real(ValueId{v})) continue;
      const Node* maker = graph_.producer(ValueId{v});
      const bool is_rounded = maker == nullptr || (is_quantized_[value.index] && !shares_[value.index]);
      if (is_rounded) makers_[choices_.set_of[v]].push_back(v);
    }
    working_.assign(graph_.nodes().size(), 0.0);
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) add_sums_of(n);
    for (std::uint32_t set = 0; set < members_.size(); ++set) {
      Figures& figures = figures_[set];
      for (const std::uint32_t v : makers_[set].empty() ? makers_[set] : members_[set]) {
        if (ranges_.find_statistics(ValueId{v}) == nullptr) continue;
        const Range range = TRY(ranges_.own(ValueId{v}, DType::kI8));
        const double step = (range.max - range.min) / kSteps;
        figures.noise = std::max(figures.noise, step * step / 12);
      }
      figures.made = figures.read = nothing();
      for (const std::uint32_t v : makers_[set]) add(figures.made, figures.noise, noise_.of_value(ValueId{v}));
      for (const std::uint32_t v : members_[set]) figures.cost += cost_of_making(v);
      for (const Read& read : reads_[set]) {
        figures.cost += cost_of_reading(read);
        if (!is_narrow(read.node)) continue;
        add(figures.read, figures.noise, noise_.of_read(NodeId{read.node}, read.input));
        figures.narrow_cost += cost_of_narrowing(read);
      }
    }
    return {};
  }
  // What computes, but not by products alone, has its result in 32 bits first.
  void add_sums_of(std::uint32_t n) {
    const Node& node = graph_.nodes()[n];
    if (node.op == Op::kForeign || node.outputs.empty()) return;
    if (costs_.is_known()) {
      working_[n] = costs_.of(n, is_wide_).working_bytes;
      return memory_.add_while_made(node.outputs[0].index, working_[n]);
    }
    if (shares_[n] || products_of(graph_, node) != 0) return;
    memory_.add_while_made(node.outputs[0].index, 4 * count(node.outputs[0].index));
  }
  GainQueue::Powers noise_of_all() const {
    GainQueue::Powers noise = noise_.of_weights();
    for (std::uint32_t set = 0; set < members_.size(); ++set) add(noise, 1, rounding_of(set));
    return noise;
  }

  GainQueue::Powers nothing() const { return GainQueue::Powers(noise_.of_weights().size(), 0.0); }
  static void add(GainQueue::Powers& sum, double factor, const GainQueue::Powers& powers) {
    for (std::size_t o = 0; o < sum.size(); ++o) sum[o] += factor * powers[o];
  }
  const GainQueue::Powers& rounding_of(std::uint32_t set) const {
    return is_wide_[set] ? figures_[set].read : figures_[set].made;
  }

  // In cycles, where the device says what they are; else in bytes that are read and written.
  double more(std::uint32_t n, bool reads_wide, bool makes_wide) {
    return std::max(costs_.of(n, reads_wide, makes_wide).cycles - costs_.of(n, false, false).cycles, 0.0);
  }
  double cost_of_making(std::uint32_t v) {
    const Value& value = graph_.values()[v];
    if (!costs_.is_known()) return count(v);
    if (graph_.producer(ValueId{v}) == nullptr) return 0;
    return shares_[value.index] ? more(value.index, true, true) : more(value.index, false, true);
  }
  double cost_of_reading(const Read& read) {
    if (!costs_.is_known()) return count_of(read);
    return shares_[read.node] || is_narrow(read.node) ? 0 : more(read.node, true, false);
  }
  // Reading 16 bits and writing 8.
  double cost_of_narrowing(const Read& read) const {
    return (costs_.is_known() ? kCyclesPerByte : 1) * 2 * count_of(read);
  }
  double cost_of_wide_reads(std::uint32_t n) {
    return costs_.is_known() ? more(n, true, false) : products_of(graph_, graph_.nodes()[n]) / kProductsPerByte;
  }

  // Whether a node hands on the quantized values that it reads.
  bool shares(const Node& node) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_read(node, i) && set_of(node.inputs[i]) == set_of(node.outputs[0])) return true;
    }
    return false;
  }
  bool is_narrow(std::uint32_t node) const { return !reads_wide_[node] && !shares_[node]; }
  double count_of(const Read& read) const { return count(graph_.nodes()[read.node].inputs[read.input].index); }

  // The sets that a candidate changes or rounds less often.
  std::vector<std::uint32_t> sets_of(std::uint32_t candidate) const {
    if (!is_node(candidate)) return {candidate};
    std::vector<std::uint32_t> sets;
    const Node& node = graph_.nodes()[node_of(candidate)];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_read(node, i)) sets.push_back(set_of(node.inputs[i]));
    }
    std::ranges::sort(sets);
    sets.erase(std::ranges::unique(sets).begin(), sets.end());
    return sets;
  }
  std::vector<std::uint32_t> narrow_sets_of(std::uint32_t candidate) const {
    std::vector<std::uint32_t> sets = sets_of(candidate);
    std::erase_if(sets, [&](std::uint32_t set) { return is_wide_[set]; });
    return sets;
  }
  bool is_possible(std::uint32_t candidate) const {
    if (is_rejected_[candidate]) return false;
    if (is_node(candidate)) {
      const std::uint32_t node = node_of(candidate);
      if (!is_quantized_[node] || reads_wide_[node] || !choices_.can_read_wide[node]) return false;
    } else if (members_[candidate].empty() || is_wide_[candidate]) {
      return false;
    }
    const auto sets = sets_of(candidate);
    return !sets.empty() && std::ranges::all_of(sets, [&](std::uint32_t set) {
      return is_wide_[set] || (choices_.can_be_wide[set] && !makers_[set].empty());
    });
  }

  // A byte more for each writer and reader; a reader of 8 bits costs reading 16 and writing 8.
  void offer(std::uint32_t candidate, GainQueue& queue) {
    if (!is_possible(candidate)) return;
    double cost = 0;
    GainQueue::Powers less = nothing();
    for (const std::uint32_t set : sets_of(candidate)) {
      if (is_wide_[set]) continue;
      cost += figures_[set].cost + figures_[set].narrow_cost;
      add(less, 1, figures_[set].made);
      add(less, -1, figures_[set].read);
    }
    if (!is_node(candidate))
      return queue.set(candidate, cost, std::move(less), {false, min_structure(candidate), candidate});
    const std::uint32_t n = node_of(candidate);
    const Node& node = graph_.nodes()[n];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_read(node, i) || !is_narrow(n)) continue;
      const std::uint32_t set = set_of(node.inputs[i]);
      add(less, figures_[set].noise, noise_.of_read(NodeId{n}, i));
      if (!is_wide_[set]) cost -= cost_of_narrowing({n, i});
    }
    cost += cost_of_wide_reads(n);
    queue.set(candidate, cost, std::move(less), {true, structure_[node.outputs[0].index], n});
  }
  std::uint64_t min_structure(std::uint32_t set) const {
    std::uint64_t min = structure_[set];
    for (const std::uint32_t v : members_[set]) min = std::min(min, structure_[v]);
    return min;
  }
  double cost_of_all() {
    if (costs_.is_known()) return costs_.of_all(is_wide_).cycles;
    double cost = 0;
    for (std::uint32_t v = 0; v < is_wide_.size(); ++v) {
      cost += count(v) * (is_wide_[v] && graph_.values()[v].kind != ValueKind::kConstant ? 2 : 1);
    }
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (node.op == Op::kForeign || node.outputs.empty()) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_read(node, i)) cost += count(node.inputs[i].index) * (is_wide_[node.inputs[i].index] ? 2 : 1);
      }
      cost += products_of(graph_, node) / kProductsPerByte;
    }
    return cost;
  }

  // The nodes that make or read values of these sets.
  std::vector<std::uint32_t> nodes_at(const std::vector<std::uint32_t>& sets) const {
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t set : sets) {
      for (const std::uint32_t v : members_[set]) {
        if (graph_.producer(ValueId{v}) != nullptr) nodes.push_back(graph_.values()[v].index);
      }
      for (const Read& read : reads_[set]) nodes.push_back(read.node);
    }
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    return nodes;
  }

  // Whether the sets fit in 16 bits. If one alone does not, it never will.
  bool take_memory(const std::vector<std::uint32_t>& sets, double max) {
    if (std::ranges::any_of(sets, [&](std::uint32_t set) { return is_rejected_[set]; })) return false;
    const auto add_once_more = [&](double factor) {
      for (const std::uint32_t set : sets) {
        for (const std::uint32_t v : members_[set]) {
          if (graph_.values()[v].kind != ValueKind::kConstant) add_bytes(v, factor * count(v));
        }
      }
    };
    add_once_more(1);
    std::vector<bool> widened = is_wide_;
    for (const std::uint32_t set : sets) {
      for (const std::uint32_t v : members_[set]) widened[v] = true;
    }
    const std::vector<std::uint32_t> nodes = costs_.is_known() ? nodes_at(sets) : std::vector<std::uint32_t>();
    const std::vector<double> before = working_;
    const auto set_working = [&](std::uint32_t n, double bytes) {
      memory_.add_while_made(graph_.nodes()[n].outputs[0].index, bytes - working_[n]);
      working_[n] = bytes;
    };
    for (const std::uint32_t n : nodes) set_working(n, costs_.of(n, widened).working_bytes);
    if (memory_.max() <= max) return true;
    for (const std::uint32_t n : nodes) set_working(n, before[n]);
    add_once_more(-1);
    if (sets.size() == 1) is_rejected_[sets[0]] = true;
    return false;
  }

  const Graph& graph_;
  const WidthChoices& choices_;
  Ranges& ranges_;
  const NoiseModel& noise_;
  WidthCosts& costs_;
  std::vector<std::uint64_t> structure_;
  MemoryNeeded memory_;
  std::vector<bool> is_wide_;                                 // by value
  std::vector<bool> reads_wide_;                              // by node
  std::vector<bool> is_quantized_, shares_;                   // by node
  std::vector<std::vector<std::uint32_t>> members_, makers_;  // by set
  std::vector<std::vector<Read>> reads_;                      // by set
  std::vector<Figures> figures_;                              // by set
  std::vector<double> working_;                               // by node: bytes while it runs
  std::vector<bool> is_rejected_;                             // by candidate: too much memory
};

}  // namespace

Expected<double> expected_sqnr(const Graph& graph, const std::vector<Precision>& precision, const WidthChoices& choices,
                               Ranges& ranges, WidthCosts& costs) {
  const NoiseModel noise = NoiseModel::of(graph, ranges);
  return Widener(graph, precision, choices, ranges, noise, costs).sqnr();
}

Expected<Widened> widen(const Graph& graph, const std::vector<Precision>& precision, const WidthChoices& choices,
                        double share, Ranges& ranges, WidthCosts& costs) {
  const NoiseModel noise = NoiseModel::of(graph, ranges);
  return Widener(graph, precision, choices, ranges, noise, costs).run(share);
}

}  // namespace isthmus
