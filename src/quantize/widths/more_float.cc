// Greedy by gain over cost.
#include "quantize/widths/more_float.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/portable_math.h"
#include "base/union_find.h"
#include "ops/table.h"
#include "quantize/plan/elements.h"
#include "quantize/plan/front.h"
#include "quantize/plan/structure.h"
#include "quantize/widths/gain_queue.h"
#include "quantize/widths/noise.h"

namespace isthmus {
namespace {

// int8 products per byte read or written, and per float product, in time.
constexpr double kInt8ProductsPerByte = 4;
constexpr double kInt8ProductsPerFloatProduct = 4;
// In dB, of all outputs together, for each percent of the model's cost.
constexpr double kMinFloatGainPerPercent = 0.3;
// The power of noise over that of an output which is not worth more time: 48 dB.
constexpr double kEnoughForFloat = 0x1p-16;
// Bytes of weights may grow by this share; a few more are never noticed.
constexpr double kMaxWeights = 0.05;
constexpr double kFreeWeights = 4096;
// More nodes than that at once cost too much in any model.
constexpr std::size_t kMaxNodesAtOnce = 64;

class FloatChooser {
 public:
  FloatChooser(const Graph& graph, const TargetDesc& target, const Precisions& precisions,
               const std::vector<NodeSettings>& settings, const QuantConfig& config, Ranges& ranges,
               const NoiseModel& noise)
      : graph_(graph),
        precisions_(precisions),
        settings_(settings),
        config_(config),
        ranges_(ranges),
        noise_(noise),
        structure_(structure_of(graph)),
        now_(precisions.of_node),
        clamp_of_(graph.nodes().size()),
        readers_(graph.values().size()),
        is_output_(graph.values().size(), false),
        rounding_(graph.values().size(), 0.0),
        sets_(graph.values().size()) {
    const std::vector<bool> is_fused = fused_clamps(graph, target);
    for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      if (is_fused[n]) clamp_of_[graph[node.inputs[0]].index] = n;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_read(node, i)) readers_[node.inputs[i].index].push_back({n, i});
      }
      if (!hands_on(n)) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_read(node, i)) sets_.join(node.inputs[i].index, node.outputs[0].index);
      }
    }
    for (const Output& output : graph.outputs()) {
      if (const auto* id = std::get_if<ValueId>(&output.value)) is_output_[id->index] = true;
    }
  }

  Expected<std::vector<std::optional<Precision>>> run() {
    TRY(measure());
    double all = 0;
    GainQueue::Powers noise = nothing();
    for (std::uint32_t n = 0; n < now_.size(); ++n) {
      all += cost_of_node(n);
      add_noise_of_node(n, 1, noise);
    }
    for (std::uint32_t v = 0; v < readers_.size(); ++v) {
      all += cost_of_value(v);
      add_noise_of_value(v, 1, noise);
    }
    GainQueue queue(noise, 100 * kMinFloatGainPerPercent / all, kEnoughForFloat);
    for (std::uint32_t set = 0; set < members_.size(); ++set) offer(set, queue);
    for (std::uint32_t n = 0; n < now_.size(); ++n) offer(place_of(n), queue);
    double left = config_.widen * all;
    double weights_left = 0;
    for (std::uint32_t n = 0; n < now_.size(); ++n) weights_left += kMaxWeights * weights_of(n, now_[n]);
    weights_left = std::max(weights_left, kFreeWeights);
    while (const auto best = queue.best(left)) {
      const Change change = change_of(*best);
      double weights = 0;
      for (const auto& [n, precision] : change.nodes) weights += weights_of(n, precision) - weights_of(n, now_[n]);
      if (weights > weights_left) {
        queue.drop(*best);
        continue;
      }
      weights_left -= weights;
      left -= queue.cost_of(*best);
      queue.take(*best);
      for (const auto& [node, precision] : change.nodes) now_[node] = precision;
      renew(change, queue);
    }
    std::vector<std::optional<Precision>> result(now_.size());
    for (std::size_t n = 0; n < now_.size(); ++n) {
      if (now_[n] != precisions_.of_node[n]) result[n] = now_[n];
    }
    return result;
  }

 private:
  struct Read {
    std::uint32_t node;
    std::size_t input;
  };
  // What a candidate changes: nodes, and the values around them.
  struct Change {
    std::vector<std::pair<std::uint32_t, Precision>> nodes;
    std::vector<std::uint32_t> values;
  };

  // A candidate is a set of values, by its number, or a node, by its number behind those of all sets.
  std::uint32_t place_of(std::uint32_t node) const { return static_cast<std::uint32_t>(members_.size()) + node; }
  double count(ValueId id) const { return static_cast<double>(elements_of(graph_, id)); }
  bool is_real(ValueId id) const { return graph_.type(id).dtype == DType::kF32; }
  bool is_read(const Node& node, std::size_t i) const {
    return node.op != Op::kForeign && is_data_input(node.op, i) && graph_.constant(node.inputs[i]) == nullptr &&
           is_real(node.inputs[i]) && !node.outputs.empty();
  }
  GainQueue::Powers nothing() const { return GainQueue::Powers(noise_.outputs(), 0.0); }
  static void add(GainQueue::Powers& sum, double factor, const GainQueue::Powers& powers) {
    for (std::size_t o = 0; o < sum.size(); ++o) sum[o] += factor * powers[o];
  }

  bool is_quantized(std::uint32_t node) const { return now_[node] == Precision::kQuantized; }
  // Whether a quantized node makes no others than it reads.
  bool hands_on(std::uint32_t n) const {
    const Node& node = graph_.nodes()[n];
    if (node.op == Op::kForeign || node.outputs.empty()) return false;
    const QFlow flow = def(node.op).flow;
    return flow == QFlow::kMovesData || flow == QFlow::kNarrowsRange;
  }
  bool rounds(std::uint32_t n) const {
    return is_quantized(n) && !hands_on(n) && def(graph_.nodes()[n].op).flow != QFlow::kJoinsInputs;
  }

  Expected<void> measure() {
    constexpr double kSteps = 255;
    members_.resize(graph_.values().size());
    for (std::uint32_t v = 0; v < graph_.values().size(); ++v) {
      if (graph_.values()[v].kind == ValueKind::kConstant || !is_real(ValueId{v})) continue;
      const std::uint32_t set = sets_.find(v);
      members_[set].push_back(v);
      if (ranges_.find_statistics(ValueId{v}) == nullptr) continue;
      const Range range = TRY(ranges_.own(ValueId{v}, DType::kI8));
      const double step = (range.max - range.min) / kSteps;
      rounding_[set] = std::max(rounding_[set], step * step / 12);
    }
    return {};
  }

  // Where each row has parameters of its own. The expected maximum of a normal distribution is taken.
  double rounding_of_rows(ValueId id) {
    const ValueStatistics* statistics = ranges_.find_statistics(id);
    const double whole = rounding_[sets_.find(id.index)];
    if (statistics == nullptr || statistics->moments.count == 0) return whole;
    const Shape& shape = graph_.type(id).shape;
    const bool is_known = !shape.empty() && shape.back().is_fixed();
    const double length = is_known ? static_cast<double>(std::max<std::int64_t>(shape.back().value(), 1)) : 1.0;
    const double power = statistics->moments.sum_of_squares.value() / static_cast<double>(statistics->moments.count);
    const double range_squared = 4 * 2 * portable::log(2 * length) * power;
    return std::min(whole, range_squared / (255.0 * 255.0) / 12);
  }

  void add_noise_of_node(std::uint32_t n, double factor, GainQueue::Powers& sum) {
    if (now_[n] == Precision::kFloat) return;
    const Node& node = graph_.nodes()[n];
    if (node.op == Op::kForeign || node.outputs.empty() || !has_weights(node.op)) return;
    add(sum, factor * noise_.of_weights(NodeId{n}), noise_.of_value(node.outputs[0]));
    if (now_[n] == Precision::kRows) {
      add(sum, factor * rounding_of_rows(node.inputs[0]), noise_.of_read(NodeId{n}, 0));
    }
  }
  void add_noise_of_value(std::uint32_t v, double factor, GainQueue::Powers& sum) {
    const Value& value = graph_.values()[v];
    if (value.kind == ValueKind::kConstant || !is_real(ValueId{v})) return;
    const double rounding = factor * rounding_[sets_.find(v)];
    if (value.kind == ValueKind::kResult && is_quantized(value.index)) {
      if (rounds(value.index) && !clamp_of_[value.index]) add(sum, rounding, noise_.of_value(ValueId{v}));
      return;
    }
    for (const Read& read : readers_[v]) {
      if (is_quantized(read.node)) add(sum, rounding, noise_.of_read(NodeId{read.node}, read.input));
    }
  }

  // In bytes.
  double weights_of(std::uint32_t n, Precision precision) const {
    const Node& node = graph_.nodes()[n];
    if (node.op == Op::kForeign || !has_weights(node.op)) return 0;
    return count(node.inputs[1]) * (precision == Precision::kFloat ? 4 : 1);
  }
  double cost_of_node(std::uint32_t n) const {
    const Node& node = graph_.nodes()[n];
    if (node.op == Op::kForeign || node.outputs.empty() || !is_real(node.outputs[0])) return 0;
    const bool is_float = now_[n] == Precision::kFloat;
    double bytes = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_read(node, i)) bytes += count(node.inputs[i]);
    }
    bytes = (bytes + count(node.outputs[0])) * (is_quantized(n) ? 1 : 4);
    // Rows are read, written quantized and read once more.
    if (now_[n] == Precision::kRows) bytes += 2 * count(node.inputs[0]);
    return bytes + weights_of(n, now_[n]) +
           products_of(graph_, node) / kInt8ProductsPerByte * (is_float ? kInt8ProductsPerFloatProduct : 1);
  }
  double cost_of_value(std::uint32_t v) const {
    const Value& value = graph_.values()[v];
    if (value.kind == ValueKind::kConstant || !is_real(ValueId{v})) return 0;
    const bool is_made_quantized = value.kind == ValueKind::kResult
                                       ? is_quantized(value.index)
                                       : config_.inputs != IoType::kFloat && value.kind == ValueKind::kInput;
    const bool has_other = std::ranges::any_of(
        readers_[v], [&](const Read& read) { return is_quantized(read.node) != is_made_quantized; });
    const bool is_converted_output = is_output_[v] && is_made_quantized == (config_.outputs == IoType::kFloat);
    return has_other || is_converted_output ? 5 * count(ValueId{v}) : 0;
  }

  // The next precision of a node towards float; nothing where it is there, or has no choice.
  std::optional<Precision> next(std::uint32_t n) const {
    if (settings_[n].is_storage_given || settings_[n].fixed_range) return std::nullopt;
    if (now_[n] == Precision::kRows) return Precision::kFloat;
    if (now_[n] == Precision::kFloat) return std::nullopt;
    return precisions_.can_have_rows[n] ? Precision::kRows : Precision::kFloat;
  }
  void change(std::uint32_t n, Change& result) const {
    const auto precision = next(n);
    if (!precision) return;
    result.nodes.emplace_back(n, *precision);
    if (clamp_of_[n] && is_quantized(*clamp_of_[n])) result.nodes.emplace_back(*clamp_of_[n], Precision::kFloat);
  }
  Change change_of(std::uint32_t candidate) const {
    Change result;
    if (candidate >= members_.size()) {
      change(candidate - static_cast<std::uint32_t>(members_.size()), result);
    } else {
      for (const std::uint32_t v : members_[candidate]) {
        const Value& value = graph_.values()[v];
        if (value.kind == ValueKind::kResult && is_quantized(value.index)) change(value.index, result);
        for (const Read& read : readers_[v]) {
          if (is_quantized(read.node)) change(read.node, result);
        }
        if (result.nodes.size() > kMaxNodesAtOnce) return {};
      }
    }
    std::ranges::sort(result.nodes);
    result.nodes.erase(std::ranges::unique(result.nodes).begin(), result.nodes.end());
    for (const auto& [n, precision] : result.nodes) each_value(n, [&](std::uint32_t v) { result.values.push_back(v); });
    std::ranges::sort(result.values);
    result.values.erase(std::ranges::unique(result.values).begin(), result.values.end());
    return result;
  }
  template <class Use>
  void each_value(std::uint32_t n, const Use& use) const {
    const Node& node = graph_.nodes()[n];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_read(node, i)) use(node.inputs[i].index);
    }
    use(node.outputs[0].index);
  }

  void offer(std::uint32_t candidate, GainQueue& queue) {
    const Change change = change_of(candidate);
    if (change.nodes.empty()) return queue.drop(candidate);
    double cost = 0;
    GainQueue::Powers less = nothing();
    const auto count_all = [&](double factor) {
      for (const auto& [n, precision] : change.nodes) {
        cost -= factor * cost_of_node(n);
        add_noise_of_node(n, factor, less);
      }
      for (const std::uint32_t v : change.values) {
        cost -= factor * cost_of_value(v);
        add_noise_of_value(v, factor, less);
      }
    };
    count_all(1);
    std::vector<Precision> before;
    for (const auto& [n, precision] : change.nodes) before.push_back(std::exchange(now_[n], precision));
    count_all(-1);
    for (std::size_t i = 0; i < before.size(); ++i) now_[change.nodes[i].first] = before[i];
    const Node& first = graph_.nodes()[change.nodes[0].first];
    queue.set(candidate, cost, std::move(less),
              {candidate >= members_.size(), structure_[first.outputs[0].index], candidate});
  }

  // What a change does to others: to nodes beside the values, and to sets of values beside those nodes.
  void renew(const Change& change, GainQueue& queue) {
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t v : change.values) {
      if (graph_.values()[v].kind == ValueKind::kResult) nodes.push_back(graph_.values()[v].index);
      for (const Read& read : readers_[v]) nodes.push_back(read.node);
    }
    std::vector<std::uint32_t> candidates;
    for (const std::uint32_t n : nodes) {
      candidates.push_back(place_of(n));
      each_value(n, [&](std::uint32_t v) { candidates.push_back(sets_.find(v)); });
    }
    std::ranges::sort(candidates);
    candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
    for (const std::uint32_t candidate : candidates) offer(candidate, queue);
  }

  const Graph& graph_;
  const Precisions& precisions_;
  const std::vector<NodeSettings>& settings_;
  const QuantConfig& config_;
  Ranges& ranges_;
  const NoiseModel& noise_;
  std::vector<std::uint64_t> structure_;
  std::vector<Precision> now_;                          // by node
  std::vector<std::optional<std::uint32_t>> clamp_of_;  // by node: the clamp that is part of it
  std::vector<std::vector<Read>> readers_;              // by value
  std::vector<bool> is_output_;                         // by value
  std::vector<double> rounding_;                        // by set: the power of rounding to 8 bits
  UnionFind sets_;                                      // of values that share parameters
  std::vector<std::vector<std::uint32_t>> members_;     // by set
};

}  // namespace

Expected<std::vector<std::optional<Precision>>> more_float(const Graph& graph, const TargetDesc& target,
                                                           const Precisions& precisions,
                                                           const std::vector<NodeSettings>& settings,
                                                           const QuantConfig& config, Ranges& ranges) {
  const NoiseModel noise = NoiseModel::of(graph, ranges);
  return FloatChooser(graph, target, precisions, settings, config, ranges, noise).run();
}

}  // namespace isthmus
