// One walk over the quantized graph with all samples at once.
#include "quantize/improve/correct_biases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "interpret/float_inputs.h"
#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "interpret/quantized_types.h"
#include "ir/quantized.h"
#include "ir/readers.h"
#include "ops/table.h"

namespace isthmus {
namespace {

// Sums over a channel of any number of tensors.
struct ChannelMeans {
  std::vector<double> sums;
  std::vector<bool> has_zeros;
  double count = 0;

  void add(const Tensor& tensor, const std::optional<Quant>& quant, ChannelAxis axis) {
    const auto rank = static_cast<std::size_t>(tensor.rank());
    const std::size_t at = axis == ChannelAxis::kLast ? rank - 1 : 1;
    std::size_t inner = 1;
    for (std::size_t i = at + 1; i < rank; ++i) inner *= static_cast<std::size_t>(tensor.sizes()[i]);
    const auto channels = static_cast<std::size_t>(tensor.sizes()[at]);
    sums.resize(channels, 0);
    has_zeros.resize(channels, false);
    if (channels == 0) return;
    const double scale = quant ? static_cast<double>(quant->scale()) : 1;
    const double zero_point = quant ? quant->zero_point : 0;
    dispatch(tensor.dtype(), [&]<class Number>(Number) {
      const auto numbers = tensor.data<Number>();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double number = (static_cast<double>(numbers[i]) - zero_point) * scale;
        sums[i / inner % channels] += number;
        if (number == 0) has_zeros[i / inner % channels] = true;
      }
    });
    count += static_cast<double>(tensor.count()) / static_cast<double>(channels);
  }
  double mean(std::size_t channel) const { return count > 0 ? sums[channel] / count : 0; }
};

constexpr std::size_t kBias = 2;

// Layers whose bias can be moved.
bool is_layer(const Graph& graph, const Node& node) {
  return node.inputs.size() > kBias && is_quantized(graph, node) && def(node.op).channels != ChannelAxis::kNone &&
         def(node.op).roles.size() > kBias && def(node.op).roles[kBias] == Role::kBias &&
         graph.constant(node.inputs[kBias]) != nullptr && graph.constant(node.inputs[kBias])->data;
}

// By no more than `most`.
TensorView moved(const Tensor& bias, const std::optional<Quant>& quant, const std::vector<double>& by, double max) {
  Tensor result(bias.dtype(), bias.sizes());
  for (std::size_t c = 0; c < by.size(); ++c) {
    if (!quant) {
      result.mutable_data<float>()[c] = bias.data<float>()[c] + static_cast<float>(by[c]);
      continue;
    }
    const auto scale = static_cast<double>(quant->scales[quant->scales.size() == 1 ? 0 : c]);
    const double q =
        static_cast<double>(bias.data<std::int32_t>()[c]) + std::nearbyint(std::clamp(by[c], -max, max) / scale);
    constexpr double kMax = 0x1p30;  // the sum that is added to it needs the rest
    result.mutable_data<std::int32_t>()[c] = static_cast<std::int32_t>(std::clamp(q, -kMax, kMax));
  }
  return result.view();
}

class Corrector {
 public:
  Corrector(const Graph& model, Quantized& quantized, const TargetDesc& target,
            std::span<const std::vector<Tensor>> samples)
      : model_(model), quantized_(quantized), kernels_(*target.integers.kernels), samples_(samples) {}

  Expected<void> run() {
    find_clamps();
    TRY(measure_model());
    TRY(start());
    for (std::size_t n = 0; n < graph().nodes().size(); ++n) {
      const Node node = graph().nodes()[n];
      std::vector<Tensor> results = TRY(computed(node));
      if (is_layer(graph(), node) && TRY(correct(node, results))) results = TRY(computed(node));
      for (std::size_t s = 0; s < samples_.size(); ++s) {
        values_[s][node.outputs[0].index] = std::move(results[s]);
        for (const ValueId input : node.inputs) {
          if (last_reader_[input.index] == n && graph().constant(input) == nullptr) values_[s].erase(input.index);
        }
      }
    }
    return {};
  }

 private:
  Graph& graph() { return quantized_.graph; }

  // Where nothing but a clamp reads a result, quantized values beyond it may be saturated: what counts is behind the
  // clamp.
  void find_clamps() {
    const std::vector<std::size_t> readers = reader_counts(graph());
    for (std::uint32_t n = 0; n < graph().nodes().size(); ++n) {
      const Node& node = graph().nodes()[n];
      const bool is_alone = std::holds_alternative<ClampAttrs>(node.attrs) && readers[node.inputs[0].index] == 1;
      if (is_alone) clamps_[node.inputs[0]] = NodeId{n};
    }
  }
  ValueId seen_of(const Node& layer) {
    const auto clamp = clamps_.find(layer.outputs[0]);
    return clamp == clamps_.end() ? layer.outputs[0] : graph()[clamp->second].outputs[0];
  }

  // What the layer itself makes, of the model's own values.
  ValueId before_clamp(ValueId id) const {
    const Node* maker = model_.producer(id);
    return maker != nullptr && std::holds_alternative<ClampAttrs>(maker->attrs) ? maker->inputs[0] : id;
  }

  Expected<void> measure_model() {
    std::map<ValueId, ChannelAxis> wanted;
    for (const Node& node : graph().nodes()) {
      if (!is_layer(graph(), node)) continue;
      const auto& source = quantized_.source[seen_of(node).index];
      if (!source) continue;
      for (const ValueId id : {*source, before_clamp(*source)}) wanted[id] = def(node.op).channels;
    }
    StateValues states = TRY(initial_states(model_));
    for (const std::vector<Tensor>& sample : samples_) {
      states_.push_back(states);
      const auto measure = [&](ValueId id, const Tensor& tensor) {
        const auto found = wanted.find(id);
        if (found != wanted.end()) model_means_[id].add(tensor, std::nullopt, found->second);
      };
      TRY(interpret(model_, sample, measure, &states));
    }
    return {};
  }

  Expected<void> start() {
    last_reader_.resize(graph().values().size(), 0);
    for (std::size_t n = 0; n < graph().nodes().size(); ++n) {
      for (const ValueId input : graph().nodes()[n].inputs) last_reader_[input.index] = n;
    }
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      const std::vector<Tensor> sample = quantized_inputs(graph(), samples_[s]);
      symbols_.push_back(TRY(bind_symbols(graph(), sample)));
      auto& values = values_.emplace_back();
      for (std::size_t i = 0; i < sample.size(); ++i) values[graph().inputs()[i].index] = sample[i];
      for (std::size_t i = 0; i < graph().states().size(); ++i) {
        const ValueId state = graph().states()[i].value;
        const auto& quant = graph().type(state).quant;
        values[state.index] = quant ? quantized_tensor(states_[s][i], graph().type(state)) : states_[s][i];
      }
    }
    return {};
  }

  Expected<std::vector<Tensor>> computed(const Node& node) {
    const IntegerNode run = TRY(prepare_integer_node(graph(), node, kernels_));
    std::vector<Tensor> results;
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      std::vector<Tensor> inputs;
      for (const ValueId input : node.inputs) {
        const Constant* constant = graph().constant(input);
        inputs.push_back(constant != nullptr ? Tensor::from(*constant->data) : values_[s].at(input.index));
      }
      results.push_back(TRY(run(inputs, symbols_[s])));
    }
    return results;
  }

  // False where there is nothing to correct.
  Expected<bool> correct(const Node& node, const std::vector<Tensor>& results) {
    const ValueId seen = seen_of(node);
    const auto& source = quantized_.source[seen.index];
    const auto wanted = source ? model_means_.find(*source) : model_means_.end();
    if (wanted == model_means_.end()) return false;
    IntegerNode clamp;
    if (seen != node.outputs[0]) {
      clamp = TRY(prepare_integer_node(graph(), graph()[clamps_.at(node.outputs[0])], kernels_));
    }
    ChannelMeans found;
    for (std::size_t s = 0; s < results.size(); ++s) {
      const Tensor result = clamp ? TRY(clamp({&results[s], 1}, symbols_[s])) : results[s];
      found.add(result, graph().type(seen).quant, def(node.op).channels);
    }
    std::vector<double> by;
    for (std::size_t c = 0; c < found.sums.size(); ++c) by.push_back(wanted->second.mean(c) - found.mean(c));
    const ValueId bias = node.inputs[kBias];
    const Tensor old = Tensor::from(*graph().constant(bias)->data);
    keep_zeros(old, model_means_.at(before_clamp(*source)), by);
    if (static_cast<std::size_t>(old.count()) != by.size() ||
        !std::ranges::all_of(by, [](double x) { return std::isfinite(x); })) {
      return false;
    }
    // What the result's quantized values reach from end to end: a mean that is farther off is none that a bias can
    // mend.
    const TensorType& type = graph().type(node.outputs[0]);
    double max = 0;
    if (type.quant) {
      const QuantizedRange limits = quantized_range(type.dtype);
      max = static_cast<double>(type.quant->scale()) * (limits.max - limits.min);
    }
    graph().set_constant(bias, moved(old, graph().type(bias).quant, by, max));
    return true;
  }

  // Where a channel without a bias makes zeros it makes no error there: see makes_zeros.
  static void keep_zeros(const Tensor& bias, const ChannelMeans& made, std::vector<double>& by) {
    dispatch(bias.dtype(), [&]<class Number>(Number) {
      const auto numbers = bias.data<Number>();
      for (std::size_t c = 0; c < std::min(by.size(), numbers.size()); ++c) {
        if (numbers[c] == Number{} && made.has_zeros[c]) by[c] = 0;
      }
    });
  }

  const Graph& model_;
  Quantized& quantized_;
  const IntegerKernels& kernels_;
  std::span<const std::vector<Tensor>> samples_;
  std::map<ValueId, NodeId> clamps_;  // by the one value that they read, if nothing else does
  std::map<ValueId, ChannelMeans> model_means_;
  std::vector<std::size_t> last_reader_;
  std::vector<StateValues> states_;  // by sample: what the model in float has there before it
  std::vector<SymbolValues> symbols_;
  std::vector<std::map<std::uint32_t, Tensor>> values_;  // by sample
};

}  // namespace

Expected<void> correct_biases(const Graph& model, Quantized& quantized, const TargetDesc& target,
                              std::span<const std::vector<Tensor>> samples) {
  if (samples.empty()) return {};
  return Corrector(model, quantized, target, samples).run();
}

}  // namespace isthmus
