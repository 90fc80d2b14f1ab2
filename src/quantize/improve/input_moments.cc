// Rows of inputs are gathered as the layers' sums read them.
#include "quantize/improve/input_moments.h"

#include <algorithm>
#include <optional>

#include "interpret/interpreter.h"
#include "ops/table.h"
#include "quantize/plan/front.h"

namespace isthmus {
namespace {

// Products that the reference kernels compute in about a second.
constexpr double kMaxInterpretedProducts = 0x1p29;
// Fewer samples than that say too little of others.
constexpr std::size_t kMinSamples = 4;
constexpr std::size_t kMaxLength = 1024;
// Of one layer. More say nothing new.
constexpr std::size_t kMaxRows = 4096;
constexpr std::size_t kMaxLayerProducts = std::size_t{1} << 28;

// Inputs in rows, one for each sum of products: [rows, groups, length].
class RowReader {
 public:
  RowReader(const Graph& graph, const Node& node) : conv_(std::get_if<ConvAttrs>(&node.attrs)) {
    for (const Dim dim : graph.type(node.inputs[1]).shape) weights_.push_back(static_cast<std::size_t>(dim.value()));
    length_ = 1;
    for (std::size_t i = 1; i < weights_.size(); ++i) length_ *= weights_[i];
  }
  std::size_t groups() const { return conv_ == nullptr ? 1 : static_cast<std::size_t>(conv_->groups); }
  std::size_t length() const { return length_; }

  // How many rows there are in an input.
  std::size_t prepare(const Tensor& input) {
    if (conv_ == nullptr) return length_ == 0 ? 0 : static_cast<std::size_t>(input.count()) / length_;
    places_.clear();
    std::size_t rows = static_cast<std::size_t>(input.size(0));
    for (std::size_t axis = 0; axis + 2 < weights_.size(); ++axis) {
      const std::int64_t window = conv_->dilation[axis] * (static_cast<std::int64_t>(weights_[axis + 2]) - 1) + 1;
      const std::int64_t padded =
          input.size(static_cast<std::int64_t>(axis) + 2) + conv_->padding[2 * axis] + conv_->padding[2 * axis + 1];
      const std::int64_t places = padded < window ? 0 : (padded - window) / conv_->stride[axis] + 1;
      places_.push_back(static_cast<std::size_t>(places));
      rows *= static_cast<std::size_t>(places);
    }
    return rows;
  }

  // `to` has room for all groups.
  void read(const Tensor& input, std::size_t row, std::span<double> to) const {
    const std::span<const float> numbers = input.data<float>();
    if (conv_ == nullptr) {
      std::ranges::copy(numbers.subspan(row * length_, length_), to.begin());
      return;
    }
    std::vector<std::int64_t> first(places_.size());
    for (std::size_t axis = places_.size(); axis-- > 0;) {
      const auto place = static_cast<std::int64_t>(row % places_[axis]);
      first[axis] = place * conv_->stride[axis] - conv_->padding[2 * axis];
      row /= places_[axis];
    }
    const auto channels = static_cast<std::size_t>(input.size(1));
    std::size_t window = 1;
    for (std::size_t axis = 0; axis < places_.size(); ++axis) window *= weights_[axis + 2];
    for (std::size_t w = 0; w < window; ++w) {
      std::size_t rest = w;
      std::size_t at = 0;
      std::size_t stride = 1;
      bool is_inside = true;
      for (std::size_t axis = places_.size(); axis-- > 0;) {
        const auto place = static_cast<std::int64_t>(rest % weights_[axis + 2]);
        rest /= weights_[axis + 2];
        const std::int64_t size = input.size(static_cast<std::int64_t>(axis) + 2);
        const std::int64_t x = first[axis] + place * conv_->dilation[axis];
        is_inside = is_inside && x >= 0 && x < size;
        at += is_inside ? static_cast<std::size_t>(x) * stride : 0;
        stride *= static_cast<std::size_t>(size);
      }
      for (std::size_t c = 0; c < channels; ++c) {
        to[c * window + w] = is_inside ? static_cast<double>(numbers[(row * channels + c) * stride + at]) : 0;
      }
    }
  }

 private:
  const ConvAttrs* conv_;
  std::vector<std::size_t> weights_;  // sizes
  std::size_t length_ = 1;
  std::vector<std::size_t> places_;  // of the windows, by spatial axis
};

bool is_measured(const Graph& graph, const Node& node) {
  if (node.op == Op::kForeign || !has_weights(node.op) || node.outputs.empty()) return false;
  const Constant* weights = graph.constant(node.inputs[1]);
  const bool is_known = weights != nullptr && weights->data && weights->data->dtype == DType::kF32;
  if (!is_known || graph.constant(node.inputs[0]) != nullptr) return false;
  const bool is_conv = std::holds_alternative<ConvAttrs>(node.attrs);
  const bool is_linear = def(node.op).channels == ChannelAxis::kLast && weights->data->sizes.size() == 2;
  if (!is_conv && !is_linear) return false;
  const RowReader reader(graph, node);
  return reader.length() > 1 && reader.length() <= kMaxLength;
}

class LayerSums {
 public:
  LayerSums(const Graph& graph, const Node& node) : reader_(graph, node) {
    result_.groups = reader_.groups();
    result_.length = reader_.length();
    result_.means.resize(result_.groups * result_.length, 0);
    result_.products.resize(result_.groups * result_.length * result_.length, 0);
    row_.resize(result_.groups * result_.length);
    sample_.resize(result_.products.size());
  }

  void add(const Tensor& input, std::size_t samples) {
    const std::size_t length = result_.length;
    const std::size_t rows = reader_.prepare(input);
    const std::size_t work = length * length * result_.groups;
    const std::size_t max = std::min(kMaxRows, std::max<std::size_t>(kMaxLayerProducts / work, 1));
    // Odd: rows of an image have an even number of places mostly, and all columns should be seen.
    const std::size_t stride = std::max<std::size_t>(rows * samples / max, 1) | 1;
    std::ranges::fill(sample_, 0.0);
    std::size_t seen = 0;
    for (std::size_t row = offset_++ % stride; row < rows; row += stride, ++seen) {
      reader_.read(input, row, row_);
      for (std::size_t g = 0; g < result_.groups; ++g) add_row(g);
    }
    if (seen == 0) return;
    result_.rows += seen;
    ++samples_;
    each_pair([&](std::size_t i, std::size_t j, std::size_t at) {
      const double mean = sample_[at] / static_cast<double>(seen);
      if (i != j) squares_of_samples_ += mean * mean;
      result_.products[at] += mean;
    });
  }

  LayerMoments finish() && {
    if (samples_ == 0) return std::move(result_);
    const auto samples = static_cast<double>(samples_);
    for (double& mean : result_.means) mean /= static_cast<double>(result_.rows);
    double squares = 0;
    each_pair([&](std::size_t i, std::size_t j, std::size_t at) {
      const double mean = result_.products[at] / samples;
      if (i != j) squares += mean * mean;
      result_.products[at] = mean;
      result_.products[at + (j - i) * (result_.length - 1)] = mean;
    });
    // The variance of the mean over samples, as a part of what was found.
    const double by_chance = samples > 1 ? (squares_of_samples_ / samples - squares) / (samples - 1) : squares;
    result_.trust = squares > 0 ? std::clamp(1 - by_chance / squares, 0.0, 1.0) : 0;
    return std::move(result_);
  }

 private:
  // Calls `use` with the numbers of two inputs, the first no greater, and where their product is kept.
  template <class Use>
  void each_pair(const Use& use) const {
    const std::size_t length = result_.length;
    for (std::size_t g = 0; g < result_.groups; ++g) {
      for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t j = i; j < length; ++j) use(i, j, (g * length + i) * length + j);
      }
    }
  }

  void add_row(std::size_t group) {
    const std::size_t length = result_.length;
    const double* row = row_.data() + group * length;
    double* means = result_.means.data() + group * length;
    double* matrix = sample_.data() + group * length * length;
    for (std::size_t i = 0; i < length; ++i) means[i] += row[i];
    for (std::size_t i = 0; i < length; ++i) {
      if (row[i] == 0) continue;
      for (std::size_t j = i; j < length; ++j) matrix[i * length + j] += row[i] * row[j];
    }
  }

  RowReader reader_;
  LayerMoments result_;
  std::vector<double> row_;
  std::vector<double> sample_;     // the products of one sample
  double squares_of_samples_ = 0;  // of the products of different inputs
  std::size_t samples_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace

Expected<InputMoments> input_moments(const Graph& graph, std::span<const std::vector<Tensor>> samples) {
  std::map<ValueId, std::vector<std::pair<std::string, LayerSums>>> readers;
  double products = 1;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kForeign || node.outputs.empty()) continue;
    products += products_of(graph, node);
    if (!is_measured(graph, node)) continue;
    readers[node.inputs[0]].emplace_back(graph[node.outputs[0]].name, LayerSums(graph, node));
  }
  const std::size_t count = std::min(samples.size(), static_cast<std::size_t>(kMaxInterpretedProducts / products));
  if (readers.empty() || count < kMinSamples) return InputMoments{};
  const auto see = [&](ValueId id, const Tensor& tensor) {
    const auto found = readers.find(id);
    if (found == readers.end()) return;
    for (auto& [name, sums] : found->second) sums.add(tensor, count);
  };
  StateValues states = TRY(initial_states(graph));
  for (const std::vector<Tensor>& sample : samples.first(count)) {
    TRY(interpret(graph, sample, see, &states));
  }
  InputMoments result;
  for (auto& [id, list] : readers) {
    for (auto& [name, sums] : list) result.emplace(name, std::move(sums).finish());
  }
  return result;
}

InputMoments scaled(InputMoments moments, const Graph& graph,
                    const std::map<std::string, std::vector<double>>& factors) {
  for (const Node& node : graph.nodes()) {
    if (node.outputs.empty()) continue;
    const auto found = moments.find(graph[node.outputs[0]].name);
    if (found == moments.end()) continue;
    const auto by_channel = factors.find(graph[node.inputs[0]].name);
    if (by_channel == factors.end()) continue;
    LayerMoments& layer = found->second;
    const std::size_t channels = by_channel->second.size();
    const std::size_t window = layer.groups * layer.length / std::max<std::size_t>(channels, 1);
    const auto factor = [&](std::size_t place) { return by_channel->second[place / window]; };
    for (std::size_t g = 0; g < layer.groups; ++g) {
      const std::size_t first = g * layer.length;
      for (std::size_t i = 0; i < layer.length; ++i) {
        layer.means[first + i] *= factor(first + i);
        double* row = layer.products.data() + (first + i) * layer.length;
        for (std::size_t j = 0; j < layer.length; ++j) row[j] *= factor(first + i) * factor(first + j);
      }
    }
  }
  return moments;
}

}  // namespace isthmus
