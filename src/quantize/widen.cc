// Greedy by gain over cost.
#include "quantize/widen.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/portable_math.h"
#include "ops/table.h"
#include "quantize/elements.h"
#include "quantize/front.h"
#include "quantize/noise.h"
#include "quantize/structure.h"

namespace isthmus {
namespace {

// So many products of 8 bits take as long as a byte that is read or written.
constexpr double kProductsPerByte = 64;
// What values may need at one time, over what they needed before; a few bytes more are never noticed.
constexpr double kMaxMemory = 1.05;
constexpr double kFreeBytes = 4096;
// In dB, of all outputs together, for each percent of the model's cost.
constexpr double kMinGainPerPercent = 0.2;

// The power of noise over that of an output which needs no more precision: 60 dB.
constexpr double kEnough = 0x1p-20;

struct Read {
  std::uint32_t node;
  std::size_t input;
};

double products_of(const Graph& graph, const Node& node) {
  const auto made = static_cast<double>(elements_of(graph, node.outputs[0]));
  const auto inner = [&](ValueId id, std::size_t axis) {
    const Shape& shape = graph.type(id).shape;
    return axis < shape.size() && shape[axis].is_fixed() ? static_cast<double>(shape[axis].value()) : 1.0;
  };
  if (has_weights(node.op)) {
    return made * static_cast<double>(elements_of(graph, node.inputs[1])) / std::max(inner(node.inputs[1], 0), 1.0);
  }
  if (def(node.op).noise != NoiseFlow::kSumsProducts) return 0;
  return made * inner(node.inputs[0], graph.type(node.inputs[0]).shape.size() - 1);
}

class Widener {
 public:
  Widener(const Graph& graph, const std::vector<Precision>& precision, const WidthChoices& choices, Ranges& ranges,
          const NoiseModel& noise)
      : graph_(graph),
        choices_(choices),
        ranges_(ranges),
        noise_(noise),
        structure_(structure_of(graph)),
        is_wide_(choices.is_wide),
        reads_wide_(choices.reads_wide),
        members_(graph.values().size()),
        makers_(graph.values().size()),
        reads_(graph.values().size()),
        noise_of_set_(graph.values().size(), 0.0),
        total_(noise.of_weights()) {
    for (std::uint32_t v = 0; v < graph.values().size(); ++v) members_[choices.set_of[v]].push_back(v);
    for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      in_codes_.push_back(precision[n] == Precision::kCodes);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_read(node, i)) reads_[set_of(node.inputs[i])].push_back({n, i});
      }
    }
  }

  Expected<Widened> run(double share) {
    TRY(measure());
    min_rate_ = 100 * kMinGainPerPercent / cost_of_all();
    double left = share * cost_of_all();
    const double memory = std::max(kMaxMemory * memory_needed(), memory_needed() + kFreeBytes);
    while (true) {
      std::optional<Candidate> best;
      for (std::uint32_t set = 0; set < members_.size(); ++set) consider({false, set}, left, best);
      for (std::uint32_t node = 0; node < graph_.nodes().size(); ++node) consider({true, node}, left, best);
      if (!best) break;
      const auto undo = std::pair(is_wide_, reads_wide_);
      const std::vector<double> after = total_after(*best);
      const double cost = cost_of(*best);
      apply(*best);
      if (memory_needed() > memory) {
        std::tie(is_wide_, reads_wide_) = undo;
        rejected_.push_back(*best);
        continue;
      }
      total_ = after;
      left -= cost;
    }
    return Widened{is_wide_, reads_wide_};
  }

 private:
  struct Candidate {
    bool is_node = false;  // a node that reads 16 bits, else a set that has them
    std::uint32_t index = 0;
    int gain = 0;  // steps of a dB for a unit of the cost
    bool operator==(const Candidate& other) const { return is_node == other.is_node && index == other.index; }
  };

  std::uint32_t set_of(ValueId id) const { return choices_.set_of[id.index]; }
  bool is_real(ValueId id) const { return graph_.type(id).dtype == DType::kF32; }
  bool is_read(const Node& node, std::size_t i) const {
    return node.op != Op::kForeign && is_data_input(node.op, i) && graph_.constant(node.inputs[i]) == nullptr &&
           is_real(node.inputs[i]) && !node.outputs.empty();
  }
  double count(std::uint32_t value) const { return static_cast<double>(elements_of(graph_, ValueId{value})); }

  // The noise of rounding to 8 bits in each set, and who rounds.
  Expected<void> measure() {
    constexpr double kSteps = 255;
    for (std::uint32_t v = 0; v < graph_.values().size(); ++v) {
      const Value& value = graph_.values()[v];
      if (value.kind == ValueKind::kConstant || !is_real(ValueId{v})) continue;
      const std::uint32_t set = choices_.set_of[v];
      const Node* maker = graph_.producer(ValueId{v});
      const bool is_rounded = maker == nullptr || (in_codes_[value.index] && !shares(*maker));
      if (is_rounded) makers_[set].push_back(v);
    }
    for (std::uint32_t set = 0; set < members_.size(); ++set) {
      for (const std::uint32_t v : makers_[set].empty() ? makers_[set] : members_[set]) {
        if (ranges_.find_statistics(ValueId{v}) == nullptr) continue;
        const Range range = TRY(ranges_.own(ValueId{v}, DType::kI8));
        const double step = (range.max - range.min) / kSteps;
        noise_of_set_[set] = std::max(noise_of_set_[set], step * step / 12);
      }
    }
    for (std::uint32_t set = 0; set < members_.size(); ++set) {
      const std::vector<double> here = noise_at_outputs(set);
      for (std::size_t o = 0; o < total_.size(); ++o) total_[o] += here[o];
    }
    return {};
  }
  // Whether a node hands on the codes that it reads.
  bool shares(const Node& node) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_read(node, i) && set_of(node.inputs[i]) == set_of(node.outputs[0])) return true;
    }
    return false;
  }

  // What the rounding of a set makes of the outputs.
  std::vector<double> noise_at_outputs(std::uint32_t set) const {
    std::vector<double> result(total_.size(), 0.0);
    const auto add = [&](const NoiseModel::Powers& powers) {
      for (std::size_t o = 0; o < result.size(); ++o) result[o] += noise_of_set_[set] * powers[o];
    };
    if (!is_wide_[set]) {
      for (const std::uint32_t v : makers_[set]) add(noise_.of_value(ValueId{v}));
      return result;
    }
    for (const Read& read : reads_[set]) {
      if (!reads_wide_[read.node] && !shares(graph_.nodes()[read.node])) {
        add(noise_.of_read(NodeId{read.node}, read.input));
      }
    }
    return result;
  }

  // The sets that a candidate changes.
  std::vector<std::uint32_t> sets_of(const Candidate& candidate) const {
    if (!candidate.is_node) return {candidate.index};
    std::vector<std::uint32_t> sets;
    const Node& node = graph_.nodes()[candidate.index];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_read(node, i)) sets.push_back(set_of(node.inputs[i]));
    }
    std::ranges::sort(sets);
    sets.erase(std::ranges::unique(sets).begin(), sets.end());
    return sets;
  }
  bool is_possible(const Candidate& candidate) const {
    if (std::ranges::find(rejected_, candidate) != rejected_.end()) return false;
    if (candidate.is_node) {
      if (!in_codes_[candidate.index] || reads_wide_[candidate.index] || !choices_.can_read_wide[candidate.index]) {
        return false;
      }
    } else if (members_[candidate.index].empty() || is_wide_[candidate.index]) {
      return false;
    }
    const auto sets = sets_of(candidate);
    return !sets.empty() && std::ranges::all_of(sets, [&](std::uint32_t set) {
      return is_wide_[set] || (choices_.can_be_wide[set] && !makers_[set].empty());
    });
  }
  void apply(const Candidate& candidate) {
    if (candidate.is_node) reads_wide_[candidate.index] = true;
    for (const std::uint32_t set : sets_of(candidate)) {
      for (const std::uint32_t v : members_[set]) is_wide_[v] = true;
    }
  }

  std::vector<double> total_after(const Candidate& candidate) {
    std::vector<double> result = total_;
    const auto sets = sets_of(candidate);
    const auto add = [&](double sign) {
      for (const std::uint32_t set : sets) {
        const auto here = noise_at_outputs(set);
        for (std::size_t o = 0; o < result.size(); ++o) result[o] += sign * here[o];
      }
    };
    add(-1);
    // Only what the candidate touches changes, and changes back.
    std::vector<bool> was_wide;
    for (const std::uint32_t set : sets) was_wide.push_back(is_wide_[set]);
    for (const std::uint32_t set : sets) is_wide_[set] = true;
    if (candidate.is_node) reads_wide_[candidate.index] = true;
    add(1);
    for (std::size_t i = 0; i < sets.size(); ++i) is_wide_[sets[i]] = was_wide[i];
    if (candidate.is_node) reads_wide_[candidate.index] = false;
    return result;
  }

  // A byte more for each writer and reader; a reader of 8 bits costs reading 16 and writing 8.
  double cost_of(const Candidate& candidate) const {
    double cost = 0;
    for (const std::uint32_t set : sets_of(candidate)) {
      if (is_wide_[set]) continue;
      for (const std::uint32_t v : members_[set]) cost += count(v);
      for (const Read& read : reads_[set]) {
        const double read_count = count(graph_.nodes()[read.node].inputs[read.input].index);
        const bool is_narrow = !reads_wide_[read.node] && !shares(graph_.nodes()[read.node]);
        const bool is_this = candidate.is_node && read.node == candidate.index;
        cost += is_narrow && !is_this ? 3 * read_count : read_count;
      }
    }
    if (candidate.is_node) cost += products_of(graph_, graph_.nodes()[candidate.index]) / kProductsPerByte;
    return cost;
  }
  double cost_of_all() const {
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

  // The most bytes that values need at one time, where all nodes run as soon as they can: what counts is how far values
  // are from the inputs, not the order of nodes.
  double memory_needed() const {
    std::vector<std::size_t> first(graph_.values().size(), 0);
    for (const Node& node : graph_.nodes()) {
      std::size_t depth = 0;
      for (const ValueId input : node.inputs) depth = std::max(depth, first[input.index]);
      for (const ValueId output : node.outputs) first[output.index] = depth + 1;
    }
    std::vector<std::size_t> last = first;
    std::vector<double> bytes(graph_.nodes().size() + 2, 0.0);
    for (const Node& node : graph_.nodes()) {
      if (node.outputs.empty()) continue;
      const std::size_t depth = first[node.outputs[0].index];
      for (const ValueId input : node.inputs) last[input.index] = std::max(last[input.index], depth);
      bytes[depth] += sums_of(node);
    }
    for (std::uint32_t v = 0; v < first.size(); ++v) {
      if (graph_.values()[v].kind == ValueKind::kConstant) continue;
      for (std::size_t depth = first[v]; depth <= last[v]; ++depth) bytes[depth] += count(v) * (is_wide_[v] ? 2 : 1);
    }
    return *std::ranges::max_element(bytes);
  }

  // What computes, but not by products alone, has its result in 32 bits first.
  double sums_of(const Node& node) const {
    const bool is_composite =
        node.op != Op::kForeign && !node.outputs.empty() && products_of(graph_, node) == 0 && !shares(node);
    return is_composite ? 4 * count(node.outputs[0].index) : 0;
  }

  // In steps that are far above the noise of float kernels.
  void consider(Candidate candidate, double left, std::optional<Candidate>& best) {
    if (!is_possible(candidate)) return;
    const double cost = cost_of(candidate);
    if (cost > left) return;
    const std::vector<double> after = total_after(candidate);
    double gain = 0;
    for (std::size_t o = 0; o < after.size(); ++o) {
      gain += 10 * portable::log10(std::max(total_[o], kEnough) / std::max(after[o], kEnough));
    }
    if (gain <= min_rate_ * cost) return;
    candidate.gain = static_cast<int>(std::lround(16 * portable::log2(gain / std::max(cost, 1.0))));
    const auto rank = [&](const Candidate& of) {
      if (of.is_node)
        return std::tuple(-of.gain, true, structure_[graph_.nodes()[of.index].outputs[0].index], of.index);
      std::uint64_t least = structure_[of.index];
      for (const std::uint32_t v : members_[of.index]) least = std::min(least, structure_[v]);
      return std::tuple(-of.gain, false, least, of.index);
    };
    if (!best || rank(candidate) < rank(*best)) best = candidate;
  }

  const Graph& graph_;
  const WidthChoices& choices_;
  Ranges& ranges_;
  const NoiseModel& noise_;
  std::vector<std::uint64_t> structure_;
  std::vector<bool> is_wide_;                                 // by value
  std::vector<bool> reads_wide_;                              // by node
  std::vector<bool> in_codes_;                                // by node
  std::vector<std::vector<std::uint32_t>> members_, makers_;  // by set
  std::vector<std::vector<Read>> reads_;                      // by set
  std::vector<double> noise_of_set_;                          // the power of rounding to 8 bits
  std::vector<double> total_;                                 // by output
  double min_rate_ = 0;
  std::vector<Candidate> rejected_;  // too much memory
};

}  // namespace

Expected<Widened> widen(const Graph& graph, const std::vector<Precision>& precision, const WidthChoices& choices,
                        double share, Ranges& ranges) {
  const NoiseModel noise = NoiseModel::of(graph, ranges);
  return Widener(graph, precision, choices, ranges, noise).run(share);
}

}  // namespace isthmus
