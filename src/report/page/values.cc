// Values of the page: histograms, parameters, sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "interpret/quantized_types.h"
#include "report/page/parts.h"

namespace isthmus::page {
namespace {

constexpr std::size_t kBins = 48;
constexpr std::uint64_t kFullBar = 1000;  // what the highest bin counts

// Adds the counts of one sign to the bins of [low, high].
void add_half(const HalfHistogram& half, double sign, double low, double high, std::vector<double>& bins) {
  const double per_unit = static_cast<double>(kBins) / (high - low);
  for (std::size_t i = 0; i < half.counts().size(); ++i) {
    if (half.counts()[i] == 0) continue;
    const double at = sign * (static_cast<double>(i) + 0.5) * half.width();
    const double place = std::clamp((at - low) * per_unit, 0.0, static_cast<double>(kBins - 1));
    bins[static_cast<std::size_t>(place)] += static_cast<double>(half.counts()[i]);
  }
}

}  // namespace

double brief(double number) { return std::strtod(fmt::format("{:.5g}", number).c_str(), nullptr); }

Json histogram_json(const ValueStatistics& statistics) {
  const Moments& moments = statistics.moments;
  const double low = std::min(0.0F, moments.min);
  const double high = std::max(0.0F, moments.max);
  if (moments.count == 0 || !(high > low)) return nullptr;
  std::vector<double> bins(kBins);
  add_half(statistics.histogram.negative, -1, low, high, bins);
  add_half(statistics.histogram.positive, 1, low, high, bins);
  const double max = std::max(1.0, std::ranges::max(bins));
  Json counts = Json::array();
  for (const double bin : bins) {
    // What occurs at all stays visible.
    counts.push_back(static_cast<std::uint64_t>(std::ceil(bin / max * kFullBar)));
  }
  const double all = static_cast<double>(std::max<std::uint64_t>(1, statistics.histogram.count()));
  return {{"min", brief(moments.min)},
          {"max", brief(moments.max)},
          {"mean", brief(moments.mean())},
          {"deviation", brief(std::sqrt(moments.variance()))},
          {"zeros", brief(static_cast<double>(statistics.histogram.zeros) / all)},
          {"bins", std::move(counts)}};
}

Json quant_json(const TensorType& type) {
  const Quant& quant = *type.quant;
  Json json{{"storage", name_of(type.dtype)}, {"zero_point", quant.zero_point}};
  if (quant.scales.size() > 1) {
    json["axis"] = quant.axis;
    json["channels"] = quant.scales.size();
    json["scales"] = {brief(std::ranges::min(quant.scales)), brief(std::ranges::max(quant.scales))};
    return json;
  }
  json["scale"] = brief(quant.scale());
  if (size_of(type.dtype) > 2) return json;  // sums: what they cover means nothing
  const auto limits = quantized_range(type.dtype);
  const double scale = quant.scale();
  json["covers"] = {brief((static_cast<double>(limits.min) - quant.zero_point) * scale),
                    brief((static_cast<double>(limits.max) - quant.zero_point) * scale)};
  return json;
}

std::optional<std::uint64_t> bytes_of(const Graph& graph, ValueId id) {
  double bytes = static_cast<double>(size_of(graph.type(id).dtype));
  for (const Dim dim : graph.type(id).shape) {
    const auto max = graph.exprs().bounds(dim).max;
    if (!max) return std::nullopt;
    bytes *= static_cast<double>(*max);
  }
  constexpr double kMaxBytes = 1e15;  // no device has more, and JSON has it exactly
  return static_cast<std::uint64_t>(std::min(bytes, kMaxBytes));
}

}  // namespace isthmus::page
