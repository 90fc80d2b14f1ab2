// Finds streams, chooses factors, moves them into weights and statistics.
#include "quantize/improve/equalize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/portable_math.h"
#include "base/union_find.h"
#include "interpret/tensor.h"
#include "ir/rewriter.h"
#include "ops/table.h"
#include "stats/range.h"

namespace isthmus {
namespace {

// A channel is never magnified by more: it may be all but dead.
constexpr double kMaxFactor = 64;
// Values with more are left alone: they have no channels to speak of.
constexpr std::size_t kMaxChannels = 16384;
// How much less noise a stream must bring to those who read it: afterwards nothing is known of how its numbers are
// spread, so that no range can be chosen that leaves out the farthest of them.
constexpr double kMinGain = 1.05;

enum class Scaling : std::uint8_t {
  kNone,    // its neighbour cannot be scaled
  kPasses,  // the result scales as its data inputs do, channel by channel
  kJoins,   // the channels of the result are those of its inputs, one input after the other
  kLayer,   // has weights that take factors of its input, and of its result
};

// Of images the second axis, of rows the last.
std::optional<std::size_t> axis_of_channels(const Graph& graph, ValueId id) {
  const std::size_t rank = graph.type(id).rank();
  if (rank == 4) return 1;
  if (rank >= 1) return rank - 1;
  return std::nullopt;
}
std::optional<std::size_t> channel_count(const Graph& graph, ValueId id) {
  const auto axis = axis_of_channels(graph, id);
  if (!axis || !graph.type(id).shape[*axis].is_fixed()) return std::nullopt;
  return static_cast<std::size_t>(graph.type(id).shape[*axis].value());
}

// An image of one pixel and its row are the same channels.
bool keeps_channels(const Graph& graph, const Node& node) {
  const Shape& from = graph.type(node.inputs[0]).shape;
  const Shape& to = graph.type(node.outputs[0]).shape;
  return from.size() == 4 && to.size() == 2 && from[0] == to[0] && from[1] == to[1] && from[2].is(1) && from[3].is(1);
}

// Whether what a layer's weights count along one of its values are the channels: linear layers count the last axis, of
// images too.
bool counts_channels(const Graph& graph, const Node& node, ValueId value) {
  return axis_of_channels(graph, value) == channel_axis(node.op, graph.type(value).rank());
}

Scaling scaling_of(const Graph& graph, const Node& node) {
  if (node.op == Op::kForeign) return Scaling::kNone;
  const OpDef& row = def(node.op);
  if (row.weight_axes) {
    if (row.weight_axes->outputs != 0) return Scaling::kNone;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Constant* constant = graph.constant(node.inputs[i]);
      if (constant == nullptr || !constant->data) return Scaling::kNone;
    }
    if (!counts_channels(graph, node, node.inputs[0]) || !counts_channels(graph, node, node.outputs[0])) {
      return Scaling::kNone;
    }
    return graph.constant(node.inputs[0]) == nullptr && !node.in_float ? Scaling::kLayer : Scaling::kNone;
  }
  if (node.op == Op::kReshape) return keeps_channels(graph, node) ? Scaling::kPasses : Scaling::kNone;
  if (row.flow == QFlow::kJoinsInputs) {
    const auto* joined = std::get_if<AxisAttrs>(&node.attrs);
    const auto axis = axis_of_channels(graph, node.outputs[0]);
    const bool has_constants =
        std::ranges::any_of(node.inputs, [&](ValueId id) { return graph.constant(id) != nullptr; });
    const bool is_of_channels = joined != nullptr && axis && joined->axis == static_cast<std::int64_t>(*axis);
    return is_of_channels && !has_constants ? Scaling::kJoins : Scaling::kNone;
  }
  if (row.is_homogeneous == nullptr || !row.is_homogeneous(node.attrs)) return Scaling::kNone;
  for (const ValueId input : node.inputs) {
    if (graph.constant(input) != nullptr) return Scaling::kNone;
    // What is broadcast has other channels.
    if (node.inputs.size() > 1 && graph.type(input).shape != graph.type(node.outputs[0]).shape) return Scaling::kNone;
  }
  return Scaling::kPasses;
}

using Factors = std::vector<double>;

// By how much a channel is magnified whose range is so much smaller than the largest: the root of the ratio, which
// leaves half of it to the weights. In steps of a part of an octave: what two CPUs measure differs in its last bits,
// and every weight would.
double factor_of(double ratio) {
  constexpr double kStepsPerOctave = 128;
  const double steps = std::nearbyint(portable::log2(ratio) / 2 * kStepsPerOctave);
  return std::min(portable::exp2(steps / kStepsPerOctave), kMaxFactor);
}

class Equalizer {
 public:
  Equalizer(const Graph& graph, const Statistics& statistics)
      : graph_(graph),
        statistics_(statistics),
        streams_(graph.values().size()),
        first_(first_channels(graph)),
        channels_(first_.back()),
        is_fixed_(first_.back(), false) {}

  Expected<Equalized> run() {
    find_streams();
    choose_factors();
    Equalized result;
    result.streams = scaled_.size();
    result.statistics = statistics_;
    if (scaled_.empty()) {
      result.graph = graph_;
      return result;
    }
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      scale_statistics(ValueId{i}, result.statistics);
      if (auto factors = factors_of(ValueId{i})) result.factors.emplace(graph_.values()[i].name, *std::move(factors));
    }
    result.graph = rewritten();
    return result;
  }

 private:
  // By value: the number of its first channel among those of all values, and at the end how many there are.
  static std::vector<std::uint32_t> first_channels(const Graph& graph) {
    std::vector<std::uint32_t> first{0};
    for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
      const bool is_counted =
          graph.values()[i].kind != ValueKind::kConstant && graph.type(ValueId{i}).dtype == DType::kF32;
      const std::size_t count = is_counted ? channel_count(graph, ValueId{i}).value_or(0) : 0;
      first.push_back(first.back() + static_cast<std::uint32_t>(count <= kMaxChannels ? count : 0));
    }
    return first;
  }
  std::size_t count_of(ValueId id) const { return first_[id.index + 1] - first_[id.index]; }

  void fix(ValueId id) {
    for (std::uint32_t c = first_[id.index]; c < first_[id.index + 1]; ++c) is_fixed_[c] = true;
  }
  // The channels of one value are those of another from this one on.
  void tie(ValueId from, std::size_t channel, ValueId to) {
    if (count_of(from) == 0 || channel + count_of(from) > count_of(to)) {
      fix(from);
      fix(to);
      return;
    }
    streams_.join(from.index, to.index);
    for (std::uint32_t c = 0; c < count_of(from); ++c) {
      channels_.join(first_[from.index] + c, first_[to.index] + static_cast<std::uint32_t>(channel) + c);
    }
  }

  void find_streams() {
    for (const ValueId input : graph_.inputs()) fix(input);
    for (const GraphState& state : graph_.states()) fix(state.value);
    for (const Output& output : graph_.outputs()) {
      if (const auto* id = std::get_if<ValueId>(&output.value)) fix(*id);
    }
    for (const Node& node : graph_.nodes()) {
      switch (scaling_of(graph_, node)) {
        case Scaling::kLayer:
          break;
        case Scaling::kPasses:
          for (const ValueId input : node.inputs) tie(input, 0, node.outputs[0]);
          break;
        case Scaling::kJoins: {
          std::size_t channel = 0;
          for (const ValueId input : node.inputs) {
            tie(input, channel, node.outputs[0]);
            channel += count_of(input);
          }
          break;
        }
        case Scaling::kNone:
          for (const ValueId input : node.inputs) fix(input);
          for (const ValueId output : node.outputs) fix(output);
          break;
      }
    }
    for (std::uint32_t i = 0; i < is_fixed_.size(); ++i) {
      if (is_fixed_[i]) is_fixed_[channels_.find(i)] = true;
    }
  }

  const ChannelStatistics* channels_of(ValueId id) const {
    const auto found = statistics_.values.find(graph_[id].name);
    if (found == statistics_.values.end()) return nullptr;
    const auto axis = axis_of_channels(graph_, id);
    const auto channels = found->second.channels.find(static_cast<std::uint32_t>(axis.value_or(0)));
    return channels == found->second.channels.end() ? nullptr : &channels->second;
  }

  // A channel that is fixed keeps its numbers, and the others of its stream are compared with it.
  void choose_factors() {
    std::vector<double> widest(is_fixed_.size(), 0);  // by channel, of those that are tied
    std::map<std::uint32_t, double> largest;          // by stream
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      const ChannelStatistics* channels = channels_of(ValueId{i});
      if (channels == nullptr || count_of(ValueId{i}) == 0 || channels->min.size() != count_of(ValueId{i})) continue;
      for (std::size_t c = 0; c < channels->min.size(); ++c) {
        const double own =
            std::max(std::abs(static_cast<double>(channels->min[c])), std::abs(static_cast<double>(channels->max[c])));
        double& max = widest[channels_.find(first_[i] + static_cast<std::uint32_t>(c))];
        max = std::max(max, own);
        double& of_stream = largest[streams_.find(i)];
        of_stream = std::max(of_stream, own);
      }
    }
    factors_.assign(is_fixed_.size(), 1);
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      const auto found = largest.find(streams_.find(i));
      if (found == largest.end() || !(found->second > 0) || !std::isfinite(found->second)) continue;
      for (std::uint32_t c = first_[i]; c < first_[i + 1]; ++c) {
        const std::uint32_t root = channels_.find(c);
        if (is_fixed_[root] || !(widest[root] > 0)) continue;
        factors_[c] = factor_of(found->second / widest[root]);
        scaled_.insert(found->first);
      }
    }
    keep_worthy();
  }

  // Noise of a reader: the square of the step of its input, by how much each channel weighs.
  struct Noise {
    double before = 0;
    double after = 0;
  };
  void keep_worthy() {
    std::map<std::uint32_t, Noise> noise;
    for (const Node& node : graph_.nodes()) {
      if (scaling_of(graph_, node) != Scaling::kLayer) continue;
      const auto factors = factors_of(node.inputs[0]);
      const ChannelStatistics* channels = channels_of(node.inputs[0]);
      if (!factors || channels == nullptr || channels->min.size() != factors->size()) continue;
      const Range range = range_of(statistics_.values.at(graph_[node.inputs[0]].name));
      double min = 0;
      double max = 0;
      for (std::size_t c = 0; c < factors->size(); ++c) {
        min = std::min(min, static_cast<double>(channels->min[c]) * (*factors)[c]);
        max = std::max(max, static_cast<double>(channels->max[c]) * (*factors)[c]);
      }
      const double step_before = range.max - range.min;
      const double step_after = max - min;
      const std::vector<double> weights = channel_weights(node, factors->size());
      Noise& sum = noise[streams_.find(node.inputs[0].index)];
      for (std::size_t c = 0; c < factors->size(); ++c) {
        sum.before += weights[c] * step_before * step_before;
        sum.after += weights[c] * step_after * step_after / ((*factors)[c] * (*factors)[c]);
      }
    }
    std::erase_if(scaled_, [&](std::uint32_t stream) {
      const auto found = noise.find(stream);
      return found == noise.end() || !(found->second.before > kMinGain * found->second.after);
    });
  }

  // The sum of squared weights that read each channel.
  std::vector<double> channel_weights(const Node& node, std::size_t channels) const {
    std::vector<double> sums(channels, 0);
    const Tensor data = Tensor::from(*graph_.constant(node.inputs[1])->data);
    each_weight(node, data, [&](std::size_t, std::size_t channel, std::size_t at) {
      const auto weight = static_cast<double>(data.data<float>()[at]);
      if (channel < channels) sums[channel] += weight * weight;
    });
    return sums;
  }

  // Calls `use` with output, input channel and place of each weight: [outputs, inputs of a group, window] of a
  // convolution, [outputs, inputs] of a linear layer, [outputs] of a bias.
  template <class Use>
  static void each_weight(const Node& node, const Tensor& data, const Use& use) {
    const auto* conv = std::get_if<ConvAttrs>(&node.attrs);
    const auto outputs = static_cast<std::size_t>(data.size(0));
    const std::size_t groups = conv == nullptr ? 1 : static_cast<std::size_t>(conv->groups);
    const std::size_t inputs = data.rank() > 1 ? static_cast<std::size_t>(data.size(1)) : 1;
    const std::size_t window = outputs * inputs == 0 ? 0 : static_cast<std::size_t>(data.count()) / (outputs * inputs);
    std::size_t at = 0;
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t first = o / std::max<std::size_t>(outputs / groups, 1) * inputs;
      for (std::size_t k = 0; k < inputs; ++k) {
        for (std::size_t w = 0; w < window; ++w, ++at) use(o, first + k, at);
      }
    }
  }

  // Nothing where it stays as it is.
  std::optional<Factors> factors_of(ValueId id) {
    if (count_of(id) == 0 || !scaled_.contains(streams_.find(id.index))) return std::nullopt;
    return Factors(factors_.begin() + first_[id.index], factors_.begin() + first_[id.index + 1]);
  }

  void scale_statistics(ValueId id, Statistics& statistics) {
    const auto factors = factors_of(id);
    const auto found = statistics.values.find(graph_[id].name);
    if (!factors || found == statistics.values.end()) return;
    ValueStatistics& value = found->second;
    const auto axis = static_cast<std::uint32_t>(axis_of_channels(graph_, id).value_or(0));
    const auto channels = value.channels.find(axis);
    float min = 0;
    float max = 0;
    double squares_before = 0;
    double squares_after = 0;
    const auto square_of = [&](std::size_t c) {
      const auto magnitude = static_cast<double>(std::max(-channels->second.min[c], channels->second.max[c]));
      return magnitude * magnitude;
    };
    if (channels != value.channels.end() && channels->second.min.size() == factors->size()) {
      double sum = 0;
      for (std::size_t c = 0; c < factors->size(); ++c) {
        const auto factor = static_cast<float>((*factors)[c]);
        squares_before += square_of(c);
        channels->second.min[c] *= factor;
        channels->second.max[c] *= factor;
        const double scaled = channels->second.sum[c].value() * (*factors)[c];
        channels->second.sum[c] = ExactSum(scaled);
        sum += scaled;
        squares_after += square_of(c);
        min = std::min(min, channels->second.min[c]);
        max = std::max(max, channels->second.max[c]);
      }
      value.moments.sum = ExactSum(sum);
    } else {
      // Nothing is known of its channels: no number can be larger than the largest factor makes it.
      const auto factor = static_cast<float>(*std::ranges::max_element(*factors));
      min = value.moments.min * (value.moments.min < 0 ? factor : 1);
      max = value.moments.max * (value.moments.max > 0 ? factor : 1);
    }
    value.moments.min = min;
    value.moments.max = max;
    // Channels have much the same share of their extremes.
    if (squares_before > 0) {
      value.moments.sum_of_squares = ExactSum(value.moments.sum_of_squares.value() * (squares_after / squares_before));
    }
    // How numbers are spread between the ends is no longer known.
    value.histogram = {};
    value.samples = 0;
  }

  Graph rewritten() {
    Rewriter rewriter(graph_);
    for (const Node& node : graph_.nodes()) {
      const bool is_layer = scaling_of(graph_, node) == Scaling::kLayer;
      const auto of_input = is_layer ? factors_of(node.inputs[0]) : std::nullopt;
      const auto of_result = is_layer ? factors_of(node.outputs[0]) : std::nullopt;
      if (!of_input && !of_result) {
        rewriter.copy(node);
        continue;
      }
      std::vector<ValueId> inputs = rewriter.map(node.inputs);
      inputs[1] = scaled_constant(rewriter.graph(), node, 1, of_input, of_result);
      if (node.inputs.size() > 2) inputs[2] = scaled_constant(rewriter.graph(), node, 2, std::nullopt, of_result);
      Graph& out = rewriter.graph();
      const ValueId result = node.outputs[0];
      const NodeId made = out.add_node(node.op, node.attrs, std::move(inputs),
                                       {{graph_[result].name, graph_.type(result)}}, node.origin);
      rewriter.replace(result, out[made].outputs[0]);
    }
    return without_dead_code(std::move(rewriter).finish());
  }

  ValueId scaled_constant(Graph& out, const Node& node, std::size_t i, const std::optional<Factors>& of_input,
                          const std::optional<Factors>& of_result) {
    const Value& value = graph_[node.inputs[i]];
    const Constant& constant = *graph_.constant(node.inputs[i]);
    const Tensor data = Tensor::from(*constant.data);
    Tensor scaled(DType::kF32, data.sizes());
    const auto from = data.data<float>();
    const auto to = scaled.mutable_data<float>();
    each_weight(node, data, [&](std::size_t output, std::size_t input, std::size_t at) {
      double factor = !of_result ? 1 : (*of_result)[output];
      if (of_input) factor /= (*of_input)[input];
      to[at] = static_cast<float>(static_cast<double>(from[at]) * factor);
    });
    return out.add_constant(out.unused_name(value.name + ".equalized"), scaled.view(), constant.fqn);
  }

  const Graph& graph_;
  const Statistics& statistics_;
  UnionFind streams_;                 // of values
  std::vector<std::uint32_t> first_;  // by value: its first channel
  UnionFind channels_;                // those that are scaled alike
  std::vector<bool> is_fixed_;        // by channel; of roots, whether any that is tied to it is
  std::vector<double> factors_;       // by channel
  std::set<std::uint32_t> scaled_;    // streams, by their roots
};

}  // namespace

Expected<Equalized> equalize(const Graph& graph, const Statistics& statistics) {
  return Equalizer(graph, statistics).run();
}

}  // namespace isthmus
