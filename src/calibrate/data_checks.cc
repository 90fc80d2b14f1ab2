// Compares ranges with what lies in them, and with the archive's example.
#include "calibrate/data_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/literals.h"

namespace isthmus {
namespace {

// No quant.toml may give a narrower range either: devices have no scales for it.
constexpr double kTiny = 1e-30;
// Numbers that are smaller than the largest by this factor span one or two int8 steps.
constexpr double kInt8Steps = 256;
// Of the numbers that are not zero, which every range holds.
constexpr double kNearlyAll = 0.99;
// Between an image of 0..255 and a normalised one lie factors of 50 and more; between two samples of one kind hardly 4.
constexpr double kFar = 16;

double magnitude(const Moments& moments) {
  if (moments.count == 0) return 0;
  return std::max(std::abs(static_cast<double>(moments.min)), std::abs(static_cast<double>(moments.max)));
}
bool is_constant(const Moments& moments) { return moments.count > 1 && moments.min == moments.max; }

struct Counted {
  std::uint64_t all = 0;
  std::uint64_t below = 0;  // smaller than a limit
  double share() const { return all == 0 ? 0 : static_cast<double>(below) / static_cast<double>(all); }
};
Counted counted_below(const Histogram& histogram, double limit) {
  Counted result;
  for (const HalfHistogram* half : {&histogram.negative, &histogram.positive}) {
    for (std::size_t i = 0; i < half->counts().size(); ++i) {
      const std::uint64_t count = half->counts()[i];
      result.all += count;
      if (static_cast<double>(i + 1) * half->width() <= limit) result.below += count;
    }
  }
  return result;
}

bool is_tiny(const Moments& moments) { return magnitude(moments) > 0 && magnitude(moments) < kTiny; }

bool has_outliers(const ValueStatistics& seen) {
  const Counted small = counted_below(seen.histogram, magnitude(seen.moments) / kInt8Steps);
  constexpr std::uint64_t kFew = 8;
  const bool is_all_but_one = small.all >= kFew && small.all - small.below <= 1;
  return small.below > 0 && (small.share() >= kNearlyAll || is_all_but_one);
}

std::string outliers_text(const ValueStatistics& seen) {
  const double largest = magnitude(seen.moments);
  return fmt::format(
      "{:.4g} % of its values are smaller than 1/{:g} of the largest, {:.3g}, and share one or two int8 steps",
      100 * counted_below(seen.histogram, largest / kInt8Steps).share(), kInt8Steps, largest);
}

struct Words {
  std::string_view code;
  std::string text;
};
Words words_of(DataProblem problem, const InputData& input) {
  const Moments& seen = input.seen.moments;
  switch (problem) {
    case DataProblem::kConstant:
      return {"constant-input",
              fmt::format(
                  "is {:g} everywhere in {} samples, so its range does not fit other data; give representative samples",
                  static_cast<double>(seen.min) + 0.0, input.seen.samples)};
    case DataProblem::kTiny:
      return {"tiny-input", fmt::format("has no value larger than {:.3g} in {} samples, so its range does not fit "
                                        "other data; scale samples as in training",
                                        magnitude(seen), input.seen.samples)};
    case DataProblem::kOutliers:
      return {"outlier-input",
              fmt::format("in {} samples {}{}", input.seen.samples, outliers_text(input.seen),
                          input.largest_in ? fmt::format("; remove or repair sample {}", *input.largest_in) : "")};
    case DataProblem::kUnlikeExample:
      return {
          "unlike-example",
          fmt::format(
              "is in [{:.3g}, {:.3g}] in {} samples, but in [{:.3g}, {:.3g}] in the example inputs; scale samples as "
              "in training (images of 0..255 are usually normalised), or export the model with typical example inputs",
              static_cast<double>(seen.min), static_cast<double>(seen.max), input.seen.samples,
              static_cast<double>(input.example->min), static_cast<double>(input.example->max))};
    case DataProblem::kInterleaved:
      return {"interleaved-input",
              fmt::format(
                  "looks like channels-last (NHWC) images in {} samples, but the model expects channels-first (NCHW): "
                  "along its rows, values one pixel of channels apart are more alike than neighbours; transpose the "
                  "data instead of reshaping it, or compile with --input-layout nhwc and keep its shape",
                  input.seen.samples)};
  }
  return {};
}

}  // namespace

std::optional<DataProblem> problem_of(const InputData& input) {
  const Moments* example = input.example ? &*input.example : nullptr;
  const Moments& moments = input.seen.moments;
  if (moments.count == 0) return std::nullopt;
  const bool is_same = example != nullptr && example->min == moments.min && example->max == moments.max;
  if (is_constant(moments)) return is_same ? std::nullopt : std::optional(DataProblem::kConstant);
  if (is_tiny(moments)) return DataProblem::kTiny;
  if (has_outliers(input.seen)) return DataProblem::kOutliers;
  if (input.pixels.is_interleaved() && !input.example_pixels.is_interleaved()) return DataProblem::kInterleaved;
  if (example == nullptr || example->count == 0 || example->min == example->max) return std::nullopt;
  const double factor = magnitude(moments) / magnitude(*example);
  if (factor > kFar || factor < 1 / kFar) return DataProblem::kUnlikeExample;
  return std::nullopt;
}

void warn_of_inputs(const Graph& graph, std::span<const InputData> inputs, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto problem = problem_of(inputs[i]);
    if (!problem) continue;
    const std::string& name = graph[graph.inputs()[i]].name;
    const Words words = words_of(*problem, inputs[i]);
    diagnostics.warn(std::string(words.code), name, fmt::format("input {} {}", name, words.text));
  }
}

void warn_of_values(const Graph& graph, const Statistics& statistics, const std::function<bool(ValueId)>& matters,
                    Diagnostics& diagnostics) {
  for (const Node& node : graph.nodes()) {
    for (const ValueId id : node.outputs) {
      const auto found = statistics.values.find(graph[id].name);
      if (found == statistics.values.end() || !matters(id)) continue;
      const ValueStatistics& seen = found->second;
      const auto warn = [&](std::string_view code, const std::string& text) {
        diagnostics.warn(std::string(code), graph[id].name, fmt::format("{}: {}", node_text(graph, node), text));
      };
      if (is_tiny(seen.moments)) {
        warn("tiny-range", fmt::format("has no value larger than {:.3g} in {} samples; keep it in float with a rule in "
                                       "quant.toml, or give other samples",
                                       magnitude(seen.moments), seen.samples));
      } else if (has_outliers(seen)) {
        warn("outlier-range",
             fmt::format("in {} samples {}; keep it in float or set its range with a rule in quant.toml", seen.samples,
                         outliers_text(seen)));
      }
    }
  }
}

}  // namespace isthmus
