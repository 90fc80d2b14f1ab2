// Scales of channels, quantized values, and the bias that goes with them.
#include "quantize/apply/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "interpret/tensor.h"
#include "quantize/config/grid.h"
#include "quantize/improve/round_weights.h"
#include "targets/integers.h"

namespace isthmus {
namespace {

constexpr double kQuantMax = 127;
// Of weights that are quantized already: the one step below -127 is lost, and no other.
constexpr int kMaxSteps = 128;
// A bias uses no more than this much of an int32: the sum that is added to it needs the rest.
constexpr double kMaxBias = 0x1p30;
// So much may the products of a sum reach.
constexpr double kMaxProducts = 0x1p29;

// Weights as [groups, outer, channels, inner]. Output channel k is channel k % channels of group k / channels.
struct Channels {
  std::size_t groups = 1, outer = 1, channels = 1, inner = 1;

  Channels(const std::vector<std::int64_t>& sizes, std::int32_t axis, std::int64_t groups_of_outer)
      : groups(static_cast<std::size_t>(groups_of_outer)) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto size = static_cast<std::size_t>(sizes[i]);
      if (static_cast<std::int32_t>(i) < axis) outer *= size;
      if (static_cast<std::int32_t>(i) == axis) channels = size;
      if (static_cast<std::int32_t>(i) > axis) inner *= size;
    }
    outer /= groups;
  }
  std::size_t outputs() const { return groups * channels; }
  // Where run `o` of an output channel begins.
  std::size_t begin(std::size_t output, std::size_t o) const {
    return ((output / channels * outer + o) * channels + output % channels) * inner;
  }
  // Calls `use` with each run of numbers of a channel.
  template <class Number, class Use>
  void each_run(std::span<Number> numbers, std::size_t channel, const Use& use) const {
    for (std::size_t o = 0; o < outer; ++o) use(numbers.subspan(begin(channel, o), inner));
  }
};

std::optional<std::int32_t> weight_axis_of(const Node& node, const TensorView& weights) {
  return weight_axis(node.op, node.attrs, Shape(weights.sizes.begin(), weights.sizes.end()));
}

// A transposed convolution's weights are [inputs, outputs of a group, ...]: no axis of theirs numbers the outputs
// where there are groups.
Channels channels_of(const Node& node, const TensorView& weights) {
  if (const auto axis = weight_axis_of(node, weights)) return {weights.sizes, *axis, 1};
  return {weights.sizes, 1, std::get<ConvTransposeAttrs>(node.attrs).groups};
}

double quantized_value(double number, double scale) {
  return std::clamp(std::nearbyint(number / scale), -kQuantMax, kQuantMax);
}

double largest(const Channels& layout, std::span<const float> numbers, std::size_t channel) {
  double max = 0;
  layout.each_run(numbers, channel, [&](std::span<const float> run) {
    for (const float number : run) max = std::max(max, std::abs(static_cast<double>(number)));
  });
  return max;
}

template <class Number>
double sum_of(const Channels& layout, std::span<const Number> numbers, std::size_t channel) {
  double sum = 0;
  layout.each_run(numbers, channel, [&](std::span<const Number> run) {
    for (const Number number : run) sum += std::abs(static_cast<double>(number));
  });
  return sum;
}

// Of rounding and clipping. Eight sums side by side, which compilers turn into vectors.
double square_error(std::span<const float> numbers, float scale, float inverse) {
  constexpr std::size_t kLanes = 8;
  std::array<float, kLanes> sums{};
  const auto error = [&](float number) {
    // Rounds as nearbyint does, without a call.
    const float q = std::min(std::max((number * inverse + 0x1.8p23F) - 0x1.8p23F, -127.0F), 127.0F);
    const float rest = number - q * scale;
    return rest * rest;
  };
  std::size_t at = 0;
  for (; at + kLanes <= numbers.size(); at += kLanes) {
    const float* const lanes = numbers.data() + at;  // a check of each number would leave no vectors
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] += error(lanes[i]);
  }
  double total = 0;
  for (; at < numbers.size(); ++at) total += static_cast<double>(error(numbers[at]));
  for (const float sum : sums) total += static_cast<double>(sum);
  return total;
}

// The scale among some that clip a little whose sum of squared errors is the least.
double least_squares_scale(const Channels& layout, std::span<const float> numbers, std::size_t channel, double max) {
  constexpr int kCandidates = 20;
  constexpr double kStep = 0.0125;
  double best_scale = max / kQuantMax;
  double best_loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kCandidates; ++i) {
    const auto scale = static_cast<float>(max * (1 - kStep * i) / kQuantMax);
    const float inverse = 1 / scale;
    double loss = 0;
    layout.each_run(numbers, channel, [&](std::span<const float> run) { loss += square_error(run, scale, inverse); });
    if (loss < best_loss) {
      best_loss = loss;
      best_scale = static_cast<double>(scale);
    }
  }
  return best_scale;
}

// Of weights that are quantized already, as an archive that is quantized has them. Where they need less than half of
// the quantized values, steps are finer by a whole factor: the weights are as exact, and a bias loses less.
std::optional<double> weight_grid(std::span<const float> numbers) {
  const auto grid = grid_of(numbers, kMaxSteps);
  if (!grid) return std::nullopt;
  double max = 0;
  for (const float number : numbers) max = std::max(max, std::abs(static_cast<double>(number)));
  const double steps = std::round(max / static_cast<double>(*grid));
  return static_cast<double>(*grid) / std::max(std::floor(kQuantMax / steps), 1.0);
}
std::optional<double> own_grid(const Channels& layout, std::span<const float> numbers, std::size_t channel) {
  std::vector<float> all;
  layout.each_run(numbers, channel, [&](std::span<const float> run) { all.insert(all.end(), run.begin(), run.end()); });
  return weight_grid(all);
}

// No farther than the result can show beside the products: the rest would cost weights their steps.
void bound_offsets(const Channels& layout, std::span<const float> numbers, float input_scale,
                   const LayerOptions& options, std::span<float> offsets) {
  if (options.sums == nullptr || options.result_scale == 0) return;
  for (std::size_t c = 0; c < offsets.size(); ++c) {
    const double rounded = largest(layout, numbers, c) / kQuantMax * static_cast<double>(layout.outer * layout.inner);
    const double products =
        kMaxInputDifference * static_cast<double>(input_scale) * (sum_of(layout, numbers, c) + rounded);
    const double max = products + 512 * static_cast<double>(options.result_scale);
    offsets[c] = static_cast<float>(std::clamp(static_cast<double>(offsets[c]), -max, max));
  }
}

std::vector<float> scales_of(const Channels& layout, std::span<const float> numbers, std::span<const float> bias,
                             float input_scale, const LayerOptions& options) {
  std::vector<double> scales(layout.outputs());
  double max = 0;
  for (std::size_t c = 0; c < layout.outputs(); ++c) {
    const double own = largest(layout, numbers, c);
    max = std::max(max, own);
    scales[c] = own / kQuantMax;
    const auto grid = options.per_channel ? own_grid(layout, numbers, c) : std::nullopt;
    if (grid) {
      scales[c] = *grid;
    } else if (options.per_channel && options.least_squares && own > 0) {
      scales[c] = least_squares_scale(layout, numbers, c, own);
    }
  }
  // A channel without weights has a scale like the others.
  double usual = max > 0 ? max / kQuantMax : 1;
  if (!options.per_channel) usual = weight_grid(numbers).value_or(usual);
  std::vector<float> result;
  for (std::size_t c = 0; c < layout.outputs(); ++c) {
    double scale = options.per_channel && scales[c] > 0 ? scales[c] : usual;
    if (options.sums != nullptr) {
      // Half of an int32's half is for products; rounding adds a step to each at most.
      const std::size_t first = options.per_channel ? c : 0;
      const std::size_t last = options.per_channel ? c + 1 : layout.outputs();
      const auto rounded = static_cast<double>(layout.outer * layout.inner);
      const double steps = std::max(kMaxProducts / kMaxInputDifference - rounded, 1.0);
      for (std::size_t k = first; k < last; ++k) scale = std::max(scale, sum_of(layout, numbers, k) / steps);
    }
    if (!bias.empty()) {
      const std::size_t first = options.per_channel ? c : 0;
      const std::size_t last = options.per_channel ? c + 1 : bias.size();
      for (std::size_t k = first; k < last; ++k) {
        const double needed = std::abs(static_cast<double>(bias[k])) / (static_cast<double>(input_scale) * kMaxBias);
        scale = std::max(scale, needed);
      }
    }
    result.push_back(static_cast<float>(std::max(scale, kMinScale)));
  }
  if (!options.per_channel) result.resize(1);
  return result;
}

// Neighbours in an image are much alike, so that errors of neighbouring weights of one sign add up. Rounds some weights
// of each window the other way, those that lie between two quantized values first, as long as that lowers the power of
// the error in the result: of the errors themselves, and of their sum, each with its share.
void balance(std::span<const float> numbers, double scale, std::span<std::int8_t> quantized) {
  constexpr double kAlike = 0.25;  // the correlation of neighbours, with care
  const auto error = [&](std::size_t i) { return quantized[i] - static_cast<double>(numbers[i]) / scale; };
  double sum = 0;
  for (std::size_t i = 0; i < quantized.size(); ++i) sum += error(i);
  for (std::size_t flips = 0; flips < quantized.size(); ++flips) {
    const int step = sum > 0 ? -1 : 1;
    std::size_t best = 0;
    for (std::size_t i = 1; i < quantized.size(); ++i) {
      if (step * error(i) < step * error(best)) best = i;
    }
    const double own = 1 + 2 * step * error(best);
    const bool pays = (1 - kAlike) * own + kAlike * (1 - 2 * std::abs(sum)) < 0;
    if (!pays || std::abs(quantized[best] + step) > static_cast<int>(kQuantMax)) return;
    quantized[best] = static_cast<std::int8_t>(quantized[best] + step);
    sum += step;
  }
}

// The places of one input in a filter of images: what lies behind the axes of outputs and inputs. Neighbours in a
// signal may as well be opposites.
std::size_t window_of(const TensorView& weights, const Channels& layout) {
  std::size_t size = 1;
  std::size_t sides = 0;
  for (std::size_t i = 2; i < weights.sizes.size(); ++i) {
    size *= static_cast<std::size_t>(weights.sizes[i]);
    sides += weights.sizes[i] > 1 ? 1 : 0;
  }
  return layout.groups * layout.outer == 1 && sides > 1 ? size : 1;
}

TensorView view_of(DType dtype, std::vector<std::int64_t> sizes, std::vector<std::byte> bytes) {
  std::vector<std::int64_t> strides = row_major_strides(sizes);
  return {dtype, std::move(sizes), std::move(strides), 0, Blob::owning(std::move(bytes))};
}

// What the result of a channel gains on average because its weights were rounded.
double gained(const Node& node, const Channels& layout, std::span<const float> numbers,
              std::span<const std::int8_t> quantized, float scale, std::size_t channel,
              const std::vector<double>& means) {
  const auto* conv = std::get_if<ConvAttrs>(&node.attrs);
  const std::size_t groups = conv == nullptr ? 1 : static_cast<std::size_t>(conv->groups);
  const std::size_t inputs = means.size() / groups;
  if (inputs == 0 || layout.inner % inputs != 0) return 0;
  const std::size_t window = layout.inner / inputs;
  const std::size_t first_input = channel / std::max<std::size_t>(layout.channels / groups, 1) * inputs;
  double sum = 0;
  for (std::size_t i = 0; i < layout.inner; ++i) {
    const std::size_t at = channel * layout.inner + i;
    const double error = static_cast<double>(scale) * quantized[at] - static_cast<double>(numbers[at]);
    sum += error * means[first_input + i / window];
  }
  return sum;
}

// Rounds the weights of output channels so that their errors cancel. The channels of a group come one after the other.
class JointRounding {
 public:
  JointRounding(const LayerOptions& options, std::size_t channels) : options_(options), channels_(channels) {}

  void round(std::span<const float> weights, double scale, std::size_t channel, bool is_corrected,
             std::span<std::int8_t> quantized) {
    const LayerMoments& moments = *options_.moments;
    const std::size_t group = channel / (channels_ / moments.groups);
    if (group != group_) forms_ = {};
    group_ = group;
    std::vector<double>& form = forms_[is_corrected ? 1 : 0];
    if (form.empty()) {
      std::vector<double> corrected;
      if (is_corrected) {
        const std::vector<double>& means = *options_.input_means;
        const std::size_t window = moments.groups * moments.length / means.size();
        for (std::size_t i = 0; i < moments.length; ++i) {
          corrected.push_back(means[(group * moments.length + i) / window]);
        }
      }
      form = error_form(moments, group, corrected);
    }
    round_together(weights, scale, form, static_cast<int>(kQuantMax), quantized);
  }

 private:
  const LayerOptions& options_;
  std::size_t channels_;
  std::size_t group_ = 0;
  std::array<std::vector<double>, 2> forms_;  // of channels whose bias makes up for nothing, and of others
};

// Whether the moments are those of such weights.
bool has_moments(const Channels& layout, const LayerOptions& options) {
  if (options.moments == nullptr || layout.groups * layout.outer != 1) return false;
  const LayerMoments& moments = *options.moments;
  if (moments.length != layout.inner || moments.groups == 0 || layout.channels % moments.groups != 0) return false;
  return !options.input_means ||
         (!options.input_means->empty() && moments.groups * moments.length % options.input_means->size() == 0);
}

}  // namespace

Magnitudes magnitudes_of(const Node& node, const TensorView& weights) {
  const Tensor data = Tensor::from(weights);
  const Channels layout = channels_of(node, weights);
  Magnitudes result{std::vector<double>(layout.outputs()), static_cast<double>(layout.outer * layout.inner)};
  dispatch(data.dtype(), [&]<class Number>(Number) {
    for (std::size_t c = 0; c < layout.outputs(); ++c) result.sums[c] = sum_of(layout, data.data<Number>(), c);
  });
  return result;
}

QuantizedLayer quantize_layer(const Node& node, const TensorView& weights, const TensorView* bias, float input_scale,
                              const LayerOptions& options) {
  const Tensor data = Tensor::from(weights);
  const std::span<const float> numbers = data.data<float>();
  const Channels layout = channels_of(node, weights);
  const std::size_t outputs = layout.outputs();
  std::vector<float> offsets;
  if (bias != nullptr) {
    const Tensor bias_data = Tensor::from(*bias);
    offsets.assign(bias_data.data<float>().begin(), bias_data.data<float>().end());
  }
  bound_offsets(layout, numbers, input_scale, options, offsets);
  const std::vector<float> scales = scales_of(layout, numbers, offsets, input_scale, options);
  const auto scale_of = [&](std::size_t c) { return scales[scales.size() == 1 ? 0 : c]; };

  const bool is_joint = has_moments(layout, options);
  JointRounding joint(options, layout.channels);
  const std::size_t window = window_of(weights, layout);
  Tensor rounded(DType::kI8, weights.sizes);
  const std::span<std::int8_t> quantized = rounded.mutable_data<std::int8_t>();
  std::vector<std::byte> bias_bytes(outputs * sizeof(std::int32_t));
  std::vector<float> bias_scales;
  std::vector<std::byte> float_bytes(outputs * sizeof(float));
  for (std::size_t c = 0; c < outputs; ++c) {
    const auto scale = static_cast<double>(scale_of(c));
    for (std::size_t o = 0; o < layout.outer; ++o) {
      for (std::size_t i = 0; i < layout.inner; ++i) {
        const std::size_t at = layout.begin(c, o) + i;
        quantized[at] = static_cast<std::int8_t>(quantized_value(static_cast<double>(numbers[at]), scale));
      }
    }
    double offset = offsets.empty() ? 0 : static_cast<double>(offsets[c]);
    const bool is_corrected =
        options.input_means && layout.groups * layout.outer == 1 && !(options.keeps_zeros && offset == 0);
    if (is_joint) {
      const std::size_t at = c * layout.inner;
      joint.round(numbers.subspan(at, layout.inner), scale, c, is_corrected, quantized.subspan(at, layout.inner));
    }
    for (std::size_t at = c * layout.inner;
         !is_joint && options.least_squares && window > 1 && at < (c + 1) * layout.inner; at += window) {
      balance(numbers.subspan(at, window), scale, quantized.subspan(at, window));
    }
    if (is_corrected) {
      offset -= gained(node, layout, numbers, quantized, scale_of(c), c, *options.input_means);
    }
    const auto float_offset = static_cast<float>(offset);
    std::memcpy(float_bytes.data() + c * sizeof(float_offset), &float_offset, sizeof(float_offset));
    const float offset_scale = bias_scale(input_scale, scale_of(c));
    if (scales.size() > 1 || c == 0) bias_scales.push_back(offset_scale);
    const double q = std::nearbyint(offset / static_cast<double>(offset_scale));
    double max = 2 * kMaxBias - 1;
    if (options.sums != nullptr && options.result_scale > 0) {
      // With a bias beyond this, every sum saturates as it does with this one.
      const double shown = 512 * static_cast<double>(options.result_scale) / static_cast<double>(offset_scale);
      const double products = kMaxInputDifference * sum_of(layout, std::span<const std::int8_t>(quantized), c);
      max = std::min(std::ceil(products + shown), kMaxBias);
    }
    const auto stored = static_cast<std::int32_t>(std::clamp(q, -max, max));
    std::memcpy(bias_bytes.data() + c * sizeof(stored), &stored, sizeof(stored));
  }
  const bool has_list = scales.size() > 1 || (options.per_channel && outputs == 1);
  const std::int32_t axis = has_list ? *weight_axis_of(node, weights) : -1;
  return {rounded.view(),
          {scales, 0, axis},
          view_of(DType::kI32, {static_cast<std::int64_t>(outputs)}, std::move(bias_bytes)),
          {bias_scales, 0, has_list ? 0 : -1},
          view_of(DType::kF32, {static_cast<std::int64_t>(outputs)}, std::move(float_bytes))};
}

double trust_in_means(const Moments& moments, const ChannelStatistics& channels) {
  const auto count = static_cast<double>(channels.count);
  if (channels.count < 2 || channels.sum.empty() || moments.count == 0) return 0;
  double squares = 0;
  for (const ExactSum& sum : channels.sum) squares += sum.value() / count * (sum.value() / count);
  squares /= static_cast<double>(channels.sum.size());
  const double within = std::max(moments.sum_of_squares.value() / static_cast<double>(moments.count) - squares, 0.0);
  const double by_chance = within / (count - 1);
  constexpr double kNoticed = 1.0 / 64;  // less than this part does not matter
  if (by_chance <= kNoticed * squares) return 1;
  return std::max(1 - by_chance / squares, 0.0);
}

}  // namespace isthmus
