// Workers that each run samples of their own and keep statistics of their own, which merge exactly.
#include "calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>

#include "calibrate/finite.h"
#include "interpret/interpreter.h"
#include "ir/fingerprint.h"
#include "ir/literals.h"
#include "ops/table.h"
#include "stats/measure.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

constexpr std::size_t kCountedNumbers = 4096;

// The logical axes of each value that need statistics.
std::vector<std::set<std::uint32_t>> channel_axes(const Graph& graph) {
  std::vector<std::set<std::uint32_t>> axes(graph.values().size());
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kForeign) continue;
    const OpDef& row = def(node.op);
    const auto add = [&](ValueId id, std::int64_t axis) {
      const auto rank = static_cast<std::int64_t>(graph.type(id).rank());
      if (axis < rank) axes[id.index].insert(static_cast<std::uint32_t>(axis < 0 ? axis + rank : axis));
    };
    const auto add_data = [&](std::int64_t axis) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (role_of(node.op, i) == Role::kData) add(node.inputs[i], axis);
      }
    };
    switch (row.channels) {
      case ChannelAxis::kNone:
        break;
      case ChannelAxis::kSecond:
      case ChannelAxis::kLast: {
        const std::int64_t axis = row.channels == ChannelAxis::kSecond ? 1 : -1;
        add_data(axis);
        add(node.outputs[0], axis);
        break;
      }
      case ChannelAxis::kOfJoining:
        add_data(std::get<AxisAttrs>(node.attrs).axis);
        break;
    }
  }
  return axes;
}

// Measures values as they are made.
class Collector {
 public:
  Collector(const Graph& graph, const std::vector<std::set<std::uint32_t>>& axes)
      : axes_(axes), values_(graph.values().size()) {}

  // Values that lie in the same bytes are measured once.
  void see(std::span<const float> numbers, std::span<const xnnpack::TappedValue> values) {
    std::optional<TensorMoments> moments;
    std::map<std::array<std::size_t, 3>, ChannelMeasure> done;
    for (const xnnpack::TappedValue& value : values) {
      for (const std::uint32_t axis : axes_[value.id.index]) {
        const auto split = split_at(value, axis);
        auto found = done.find(split);
        if (found == done.end()) {
          found = done.emplace(split, measure_channels(numbers, split[0], split[1], split[2])).first;
          if (!moments) moments = found->second.moments;
        }
        values_[value.id.index].channels[axis].add(found->second.channels);
      }
    }
    if (!moments) moments = measure(numbers);
    const xnnpack::TappedValue& first = values.front();
    count(values_[first.id.index].histogram, numbers, *moments, first.sizes.empty() ? 1 : first.sizes.back());
    for (const xnnpack::TappedValue& value : values) {
      values_[value.id.index].add_sample(*moments);
      shares_[value.id] = first.id;
    }
  }
  void see(ValueId id, const Tensor& tensor) {
    if (tensor.dtype() != DType::kF32) return;
    const xnnpack::TappedValue value{
        id, {tensor.sizes().begin(), tensor.sizes().end()}, row_major(tensor.sizes().size())};
    see(tensor.data<float>(), {&value, 1});
  }

  // Those of each value that was seen, with a histogram of its own or of the one whose bytes it shares.
  void add_to(std::map<ValueId, ValueStatistics>& sums) const {
    for (const auto& [id, first] : shares_) {
      ValueStatistics& sum = sums[id];
      sum.merge(values_[id.index]);
      if (first != id) sum.histogram.merge(values_[first.index].histogram);
    }
  }

 private:
  // Sizes before, along and behind an axis, in the order of memory.
  static std::array<std::size_t, 3> split_at(const xnnpack::TappedValue& value, std::uint32_t axis) {
    std::array<std::size_t, 3> split{1, 1, 1};
    const auto place = static_cast<std::size_t>(std::ranges::find(value.order, axis) - value.order.begin());
    for (std::size_t i = 0; i < value.sizes.size(); ++i) split[i < place ? 0 : i == place ? 1 : 2] *= value.sizes[i];
    return split;
  }
  static void count(Histogram& histogram, std::span<const float> numbers, const TensorMoments& moments,
                    std::size_t innermost) {
    if (moments.count == 0) return;
    const std::size_t stride = histogram_stride(numbers.size(), innermost);
    if (moments.nans + moments.infinities == 0) {
      histogram.add(numbers, stride, moments.min, moments.max);
      return;
    }
    std::vector<float> finite;
    for (std::size_t i = 0; i < numbers.size(); i += stride) {
      if (std::isfinite(numbers[i])) finite.push_back(numbers[i]);
    }
    histogram.add(finite, 1, moments.min, moments.max);
  }

  const std::vector<std::set<std::uint32_t>>& axes_;
  std::vector<ValueStatistics> values_;
  std::map<ValueId, ValueId> shares_;
};

// Runs whole samples: XNNPACK segments and single nodes of the reference kernels.
class Worker {
 public:
  Worker(const Graph& graph, const FloatSegments& segments, const std::vector<std::set<std::uint32_t>>& axes)
      : graph_(graph), places_(segments.partitioning), build_(segments.build), collector_(graph, axes) {}

  Expected<void> build() {
    for (const Segment& segment : places_.segments) {
      segments_.push_back(TRY(build_(graph_, segment)));
    }
    find_last_readers();
    return {};
  }

  // Reads the states and leaves the new ones there.
  Expected<void> run(std::span<const Tensor> inputs, StateValues& states) {
    const SymbolValues symbols = TRY(bind_symbols(graph_, inputs));
    std::vector<std::optional<Tensor>> values(graph_.values().size());
    for (std::size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs()[i].index] = inputs[i];
    for (std::size_t i = 0; i < states.size(); ++i) values[graph_.states()[i].value.index] = states[i];
    std::set<ValueId> shown;
    const auto value_of = [&](ValueId id) -> Tensor {
      const Constant* constant = graph_.constant(id);
      return constant != nullptr ? Tensor::from(*constant->data) : *values[id.index];
    };
    for (std::size_t at = 0; at < places_.schedule.size(); ++at) {
      if (at > 0) {
        for (const ValueId id : unread_after_[at - 1]) values[id.index].reset();
      }
      const auto& step = places_.schedule[at];
      if (const auto* number = std::get_if<std::size_t>(&step)) {
        const Segment& segment = places_.segments[*number];
        std::vector<Tensor> arguments;
        for (const ValueId input : segment.inputs) arguments.push_back(value_of(input));
        const auto tap = [&](std::span<const float> numbers, std::span<const xnnpack::TappedValue> tapped) {
          std::vector<xnnpack::TappedValue> fresh;
          for (const xnnpack::TappedValue& value : tapped) {
            if (shown.insert(value.id).second) fresh.push_back(value);
          }
          if (!fresh.empty()) collector_.see(numbers, fresh);
        };
        std::vector<Tensor> results = TRY(segments_[*number].run(arguments, tap));
        for (std::size_t i = 0; i < results.size(); ++i) values[segment.outputs[i].index] = std::move(results[i]);
        continue;
      }
      const Node& node = graph_[std::get<NodeId>(step)];
      std::vector<Tensor> arguments;
      for (const ValueId input : node.inputs) arguments.push_back(value_of(input));
      const auto place = [&] { return node_text(graph_, node); };
      Tensor result = TRY(within(evaluate_node(graph_, node, arguments, symbols), place));
      if (shown.insert(node.outputs[0]).second) collector_.see(node.outputs[0], result);
      values[node.outputs[0].index] = std::move(result);
    }
    for (const ValueId input : graph_.inputs()) {
      if (shown.insert(input).second) collector_.see(input, *values[input.index]);
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      const GraphState& state = graph_.states()[i];
      if (shown.insert(state.value).second) collector_.see(state.value, *values[state.value.index]);
      states[i] = value_of(*graph_.next_value(state));
    }
    return {};
  }

  const Collector& collector() const { return collector_; }

 private:
  // What no later step reads; the inputs and states of the graph stay, and what becomes their new ones.
  void find_last_readers() {
    std::map<ValueId, std::size_t> last;
    for (std::size_t at = 0; at < places_.schedule.size(); ++at) {
      const auto* number = std::get_if<std::size_t>(&places_.schedule[at]);
      const std::vector<ValueId>& read =
          number != nullptr ? places_.segments[*number].inputs : graph_[std::get<NodeId>(places_.schedule[at])].inputs;
      for (const ValueId id : read) last[id] = at;
    }
    unread_after_.resize(places_.schedule.size());
    for (const GraphState& state : graph_.states()) last.erase(*graph_.next_value(state));
    for (const auto& [id, at] : last) {
      if (graph_[id].kind == ValueKind::kResult) unread_after_[at].push_back(id);
    }
  }

  const Graph& graph_;
  const Partitioning& places_;
  BuildFloatSegment build_;
  Collector collector_;
  std::vector<xnnpack::TappedRuntime> segments_;
  std::vector<std::vector<ValueId>> unread_after_;  // by step
};

// Hands out samples, one after another, and hears what became of them.
class Ledger {
 public:
  Ledger(const Graph& graph, Samples& samples, const Progress& progress)
      : graph_(graph), samples_(samples), progress_(progress) {}

  struct Ticket {
    std::size_t number;
    std::vector<Tensor> inputs;
  };
  // Nothing at the end, and after a failure.
  std::optional<Ticket> take() {
    const std::lock_guard lock(mutex_);
    if (failure_) return std::nullopt;
    auto sample = samples_.next();
    if (!sample) {
      fail(handed_out_, std::move(sample).error());
      return std::nullopt;
    }
    if (!*sample) return std::nullopt;
    // Numbers that are none would make every range meaningless.
    if (auto checked = check_finite(graph_, **sample, samples_.first() + handed_out_); !checked) {
      fail(handed_out_, std::move(checked).error());
      return std::nullopt;
    }
    return Ticket{handed_out_++, std::move(**sample)};
  }
  void give(std::size_t number, Expected<void> done) {
    const std::lock_guard lock(mutex_);
    if (!done) return fail(number, std::move(done).error());
    ++done_;
    if (!failure_ && progress_ && !progress_(done_)) fail(number, Error(ErrorKind::kEnvironment, "interrupted"));
  }

  Expected<Statistics> result(const std::vector<std::unique_ptr<Worker>>& workers) {
    if (failure_) return tl::unexpected<Error>(std::move(failure_->error));
    if (done_ == 0) return bad_input("no calibration samples");
    std::map<ValueId, ValueStatistics> sums;
    for (const auto& worker : workers) worker->collector().add_to(sums);
    Statistics statistics{fingerprint(graph_, kStatsVersion), done_, {}, false};
    for (auto& [id, value] : sums) statistics.values.emplace(graph_[id].name, std::move(value));
    return statistics;
  }

 private:
  // Of the first sample that fails, whichever thread is first to say so: all samples before it were handed out.
  struct Failure {
    std::size_t sample;
    Error error;
  };
  void fail(std::size_t sample, Error error) {
    if (!failure_ || sample < failure_->sample) failure_ = Failure{sample, std::move(error)};
  }

  const Graph& graph_;
  Samples& samples_;
  const Progress& progress_;
  std::mutex mutex_;
  std::size_t handed_out_ = 0;
  std::size_t done_ = 0;
  std::optional<Failure> failure_;
};

// By value: infinite numbers in it reach what the model returns, or become NaN on the way. Those of a mask do not: what
// reads the masked numbers in the end, a softmax mostly, makes finite ones of them.
std::vector<bool> lets_infinities_out(const Graph& graph, const Statistics& statistics) {
  std::vector<bool> result(graph.values().size(), false);
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) result[id->index] = true;
  }
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    const bool lets_out = std::ranges::any_of(node.outputs, [&](ValueId id) {
      const auto found = statistics.values.find(graph[id].name);
      if (found == statistics.values.end()) return result[id.index] && is_floating(graph.type(id).dtype);
      const Moments& moments = found->second.moments;
      return moments.nans > 0 || (moments.infinities > 0 && result[id.index]);
    });
    if (!lets_out) continue;
    for (const ValueId input : node.inputs) result[input.index] = true;
  }
  return result;
}

void warn_of_odd_values(const Graph& graph, const Statistics& statistics, Diagnostics& diagnostics) {
  const std::vector<bool> lets_out = lets_infinities_out(graph, statistics);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    const auto found = statistics.values.find(value.name);
    if (found == statistics.values.end()) continue;
    const Moments& moments = found->second.moments;
    if (moments.nans > 0 || (moments.infinities > 0 && lets_out[i])) {
      diagnostics.warn("not-finite", value.name,
                       fmt::format("{} NaN and {} infinite values among {} are ignored", moments.nans,
                                   moments.infinities, moments.count + moments.nans + moments.infinities));
    }
  }
}

}  // namespace

std::size_t histogram_stride(std::size_t count, std::size_t innermost) {
  std::size_t stride = std::max<std::size_t>(1, count / kCountedNumbers);
  while (std::gcd(stride, std::max<std::size_t>(innermost, 1)) != 1) ++stride;
  return stride;
}

Expected<Statistics> calibrate(const Graph& graph, const FloatSegments& segments, Samples& samples,
                               const xnnpack::ThreadPool& threads, const Progress& progress, Diagnostics& diagnostics) {
  const auto axes = channel_axes(graph);
  // Each run of a model with states waits for the one before.
  const std::size_t limit = graph.states().empty() ? threads.threads() : 1;
  const std::size_t count = std::max<std::size_t>(1, std::min(limit, samples.count().value_or(SIZE_MAX)));
  const StateValues first = TRY(initial_states(graph));
  StateValues states = first;
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<Worker>(graph, segments, axes));
    TRY(workers.back()->build());
  }
  Ledger ledger(graph, samples, progress);
  const auto work = [&](std::size_t i) {
    if (i >= workers.size()) return;
    while (auto ticket = ledger.take()) {
      if (samples.sequence() && ticket->number % *samples.sequence() == 0) states = first;
      ledger.give(ticket->number, within(workers[i]->run(ticket->inputs, states),
                                         [&] { return fmt::format("sample {}", samples.first() + ticket->number); }));
    }
  };
  threads.on_each_thread(work);
  Statistics statistics = TRY(ledger.result(workers));
  warn_of_odd_values(graph, statistics, diagnostics);
  return statistics;
}

}  // namespace isthmus
