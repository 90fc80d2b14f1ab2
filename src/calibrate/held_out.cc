// One pass over the data before calibration.
#include "calibrate/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibrate/calibrate.h"
#include "calibrate/finite.h"
#include "stats/measure.h"

namespace isthmus {
namespace {

constexpr std::size_t kOneOf = 8;
constexpr std::size_t kMaxHeldOut = 16;
// With this many samples or more, ranges hardly miss the ones that are left out.
constexpr std::size_t kMany = 64;

constexpr std::string_view kExampleWords = "the example inputs, which calibration did not see";

std::vector<InputData> inputs_with(const Graph& graph, const std::optional<Sample>& example) {
  std::vector<InputData> inputs(graph.inputs().size());
  for (std::size_t i = 0; example && i < inputs.size(); ++i) {
    if ((*example)[i].dtype() == DType::kF32) inputs[i].example = measure((*example)[i].data<float>());
    inputs[i].example_pixels.add((*example)[i]);
  }
  return inputs;
}

void add(InputData& input, const Tensor& tensor, std::size_t number) {
  if (tensor.dtype() != DType::kF32 || tensor.count() == 0) return;
  const auto numbers = tensor.data<float>();
  const Moments moments = measure(numbers);
  const auto largest = [](const Moments& of) { return of.count == 0 ? -1.0F : std::max(-of.min, of.max); };
  if (largest(moments) > largest(input.seen.moments)) input.largest_in = number;
  input.seen.moments.merge(moments);
  const auto innermost = static_cast<std::size_t>(tensor.rank() == 0 ? 1 : tensor.sizes().back());
  input.seen.histogram.add(numbers, histogram_stride(numbers.size(), innermost), moments.min, moments.max);
  input.pixels.add(tensor);
  ++input.seen.samples;
}

// An example of one number everywhere, such as zeros, is a witness of nothing.
bool says_something(const std::vector<InputData>& inputs) {
  bool has_floats = false;
  for (const InputData& input : inputs) {
    if (!input.example) continue;
    has_floats = true;
    if (input.example->count == 1 || input.example->min != input.example->max) return true;
  }
  return !has_floats;
}

bool are_equal(const Sample& a, const Sample& b) {
  return std::ranges::equal(a, b, [](const Tensor& left, const Tensor& right) {
    return left.sizes() == right.sizes() && std::ranges::equal(left.bytes(), right.bytes());
  });
}

// What the data's inputs are worth as a judge of themselves.
enum class Worth : std::uint8_t { kFine, kUnlikeExample, kBroken, kEmpty };
Worth worth_of(const std::vector<InputData>& inputs) {
  Worth worst = Worth::kFine;
  for (const InputData& input : inputs) {
    const auto problem = problem_of(input);
    if (!problem) continue;
    const bool is_empty = problem == DataProblem::kConstant || problem == DataProblem::kTiny;
    worst = std::max(worst, is_empty                            ? Worth::kEmpty
                            : problem == DataProblem::kOutliers ? Worth::kBroken
                                                                : Worth::kUnlikeExample);
  }
  return worst;
}

class PickedSamples final : public Samples {
 public:
  PickedSamples(std::unique_ptr<Samples> source, std::vector<std::size_t> left_out)
      : source_(std::move(source)), left_out_(std::move(left_out)) {}

  std::optional<std::size_t> count() const override {
    const auto all = source_->count();
    return all ? std::optional(*all - std::min(*all, left_out_.size())) : std::nullopt;
  }
  Expected<std::optional<std::vector<Tensor>>> next() override {
    for (;;) {
      auto sample = TRY(source_->next());
      const std::size_t number = read_++;
      if (sample && std::ranges::binary_search(left_out_, number)) continue;
      return sample;
    }
  }
  std::optional<std::size_t> sequence() const override { return source_->sequence(); }

 private:
  std::unique_ptr<Samples> source_;
  std::vector<std::size_t> left_out_;
  std::size_t read_ = 0;
};

}  // namespace

std::vector<std::size_t> numbers_left_out(std::size_t count) {
  if (count < 2) return {};
  const std::size_t wanted = std::clamp<std::size_t>(count / kOneOf, 1, kMaxHeldOut);
  const std::size_t stride = count / wanted;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 1; i <= wanted; ++i) numbers.push_back(i * stride - 1);
  return numbers;
}

namespace {

// Where a model has states, a sample says something only behind those before it: the samples that judge are the start
// of a sequence, of the last one where there are several, which calibration does not see then.
Expected<HeldOut> hold_out_sequence(const Graph& graph, Samples& samples, std::size_t max_seen,
                                    Diagnostics& diagnostics) {
  std::vector<InputData> inputs = inputs_with(graph, std::nullopt);
  HeldOut result;
  const std::size_t all = samples.count().value_or(0);
  const std::size_t length = samples.sequence().value_or(std::max<std::size_t>(all, 1));
  const std::size_t last = all > length ? (all - 1) / length * length : 0;
  for (std::size_t i = last; last > 0 && i < all; ++i) result.left_out.push_back(i);
  for (std::size_t count = 0; auto sample = TRY(samples.next()); ++count) {
    TRY(check_finite(graph, *sample, count));
    for (std::size_t i = 0; i < inputs.size(); ++i) add(inputs[i], (*sample)[i], count);
    if (count < std::min(length, max_seen)) result.seen.push_back(*sample);
    if (count >= last && count - last < kMaxHeldOut) result.samples.push_back(*std::move(sample));
  }
  warn_of_inputs(graph, inputs, diagnostics);
  result.has_bad_inputs = worth_of(inputs) != Worth::kFine;
  result.what = fmt::format("the first {} of {} samples of {}", result.samples.size(), all - last,
                            last > 0 ? "the last sequence, which calibration did not see" : "the data");
  if (result.samples.empty()) result.why_none = "no samples";
  return result;
}

}  // namespace

Expected<HeldOut> hold_out(const Graph& graph, Samples& samples, const std::optional<Sample>& example,
                           std::size_t max_seen, Diagnostics& diagnostics) {
  if (!graph.states().empty()) return hold_out_sequence(graph, samples, max_seen, diagnostics);
  std::vector<InputData> inputs = inputs_with(graph, example);
  HeldOut result;
  result.left_out = numbers_left_out(samples.count().value_or(0));
  bool has_example = example && says_something(inputs);
  std::size_t count = 0;
  for (; auto sample = TRY(samples.next()); ++count) {
    TRY(check_finite(graph, *sample, count));
    for (std::size_t i = 0; i < inputs.size(); ++i) add(inputs[i], (*sample)[i], count);
    has_example = has_example && !are_equal(*sample, *example);
    const bool is_left_out = std::ranges::binary_search(result.left_out, count);
    if (is_left_out) {
      result.samples.push_back(*std::move(sample));
    } else if (result.seen.size() < max_seen) {
      result.seen.push_back(*std::move(sample));
    }
  }
  warn_of_inputs(graph, inputs, diagnostics);
  const Worth worth = worth_of(inputs);
  result.has_bad_inputs = worth != Worth::kFine;
  const bool takes_example =
      has_example && (worth >= Worth::kBroken || (worth == Worth::kFine && count < kMany) || result.samples.empty());
  if (takes_example) {
    // All samples serve for ranges then.
    for (Sample& sample : result.samples) {
      if (result.seen.size() < max_seen) result.seen.push_back(std::move(sample));
    }
    result.samples = {*example};
    result.left_out.clear();
    result.what = kExampleWords;
  } else if (worth == Worth::kEmpty || result.samples.empty()) {
    result.samples.clear();
    result.left_out.clear();
    result.why_none = worth == Worth::kEmpty
                          ? "the samples are constant or tiny, and the model has no other example inputs"
                          : "calibration saw the only sample; give at least 2";
  } else {
    result.what = fmt::format("{} of {} samples, which calibration did not see", result.samples.size(), count);
  }
  return result;
}

HeldOut hold_out(const Graph& graph, const Statistics& statistics, const std::optional<Sample>& example,
                 Diagnostics& diagnostics) {
  std::vector<InputData> inputs = inputs_with(graph, example);
  bool is_calibrated_on = statistics.samples == 1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto found = statistics.values.find(graph[graph.inputs()[i]].name);
    if (found == statistics.values.end()) continue;
    inputs[i].seen = found->second;
    const Moments& seen = found->second.moments;
    is_calibrated_on = is_calibrated_on && inputs[i].example && inputs[i].example->min == seen.min &&
                       inputs[i].example->max == seen.max;
  }
  warn_of_inputs(graph, inputs, diagnostics);
  HeldOut result;
  result.has_bad_inputs = worth_of(inputs) != Worth::kFine;
  if (!example || !says_something(inputs)) {
    result.why_none = fmt::format("a .stats file has no samples, and the model {}",
                                  example ? "has constant example inputs" : "has no example inputs");
  } else if (is_calibrated_on) {
    result.why_none = "calibration saw the example inputs, and a .stats file has no other samples";
  } else {
    result.samples = {*example};
    result.what = kExampleWords;
  }
  return result;
}

std::unique_ptr<Samples> without(std::unique_ptr<Samples> source, std::vector<std::size_t> left_out) {
  return std::make_unique<PickedSamples>(std::move(source), std::move(left_out));
}

}  // namespace isthmus
