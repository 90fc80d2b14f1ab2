// The estimators of ranges.
#include "stats/range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/portable_math.h"

namespace isthmus {
namespace {

struct Row {
  Estimator estimator;
  std::string_view name;
};
constexpr std::array kRows{
    Row{Estimator::kMinMax, "minmax"},   Row{Estimator::kPercentile, "percentile"},
    Row{Estimator::kMse, "mse"},         Row{Estimator::kMovingAverage, "moving-average"},
    Row{Estimator::kEntropy, "entropy"},
};

Range with_zero(double min, double max) { return {std::min(min, 0.0), std::max(max, 0.0)}; }

// The last bits of what calibration measures depend on the CPU that it ran on. So that ranges seldom do, their ends
// have so many significant bits, away from 0: next to nothing is clipped. Round numbers such as 1 are often meant, and
// are met with an error on either side.
double on_grid(double end) {
  constexpr int kBits = 11;
  constexpr double kSlack = 0x1p-6;
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(end, &exponent), kBits);
  return std::ldexp(scaled < 0 ? std::floor(scaled + kSlack) : std::ceil(scaled - kSlack), exponent - kBits);
}
Range on_grid(Range range) { return {on_grid(range.min), on_grid(range.max)}; }

// The histogram as numbers with weights, from the least to the greatest. Zeros weigh nothing: any range holds them
// exactly.
struct Mass {
  double at = 0;
  double weight = 0;
};
std::vector<Mass> masses_of(const Histogram& histogram) {
  std::vector<Mass> masses;
  const auto add = [&](const HalfHistogram& half, std::size_t i, double sign) {
    if (half.counts()[i] == 0) return;
    masses.push_back({sign * (static_cast<double>(i) + 0.5) * half.width(), static_cast<double>(half.counts()[i])});
  };
  for (std::size_t i = histogram.negative.counts().size(); i-- > 0;) add(histogram.negative, i, -1);
  for (std::size_t i = 0; i < histogram.positive.counts().size(); ++i) add(histogram.positive, i, 1);
  return masses;
}

// What numbers lose by rounding to the levels of a range, and by being clipped to it. Sums over the masses up to each
// of them make the loss of any range a matter of two searches.
class SquareError {
 public:
  SquareError(const std::vector<Mass>& masses, int levels) : masses_(masses), levels_(levels) {
    sums_.push_back({});
    for (const Mass& mass : masses) {
      const Sums& last = sums_.back();
      sums_.push_back({last.weight + mass.weight, last.first + mass.weight * mass.at,
                       last.second + mass.weight * mass.at * mass.at});
    }
  }

  double operator()(Range range) const {
    const double step = (range.max - range.min) / (levels_ - 1);
    if (step <= 0) return std::numeric_limits<double>::infinity();
    const auto below =
        static_cast<std::size_t>(std::ranges::lower_bound(masses_, range.min, {}, &Mass::at) - masses_.begin());
    const auto above =
        static_cast<std::size_t>(std::ranges::upper_bound(masses_, range.max, {}, &Mass::at) - masses_.begin());
    // A bin much narrower than a step may lie on a level or between two: on average it loses what any number loses.
    const double inside = sums_[above].weight - sums_[below].weight;
    return inside * step * step / 12 + clipped(sums_.front(), sums_[below], range.min) +
           clipped(sums_[above], sums_.back(), range.max);
  }

 private:
  struct Sums {
    double weight = 0;
    double first = 0;   // of weight x number
    double second = 0;  // of weight x number^2
  };
  // The sum of weight x (number - end)^2.
  static double clipped(const Sums& from, const Sums& to, double end) {
    return (to.second - from.second) - 2 * end * (to.first - from.first) + end * end * (to.weight - from.weight);
  }

  const std::vector<Mass>& masses_;
  int levels_;
  std::vector<Sums> sums_;  // before each mass, and of all
};

// Shrinks each end in turn while that pays; both ends start at what was seen.
template <class Loss>
Range search(Range seen, const Loss& loss) {
  constexpr int kSteps = 100;
  Range best = seen;
  double least = loss(seen);
  const auto try_range = [&](Range range) {
    const double here = loss(range);
    if (here < least) {
      least = here;
      best = range;
    }
  };
  for (int i = 1; i < kSteps; ++i) {
    const double share = 1 - static_cast<double>(i) / kSteps;
    try_range({seen.min * share, seen.max * share});
  }
  for (int round = 0; round < 2; ++round) {
    const Range from = best;
    for (int i = 0; i < kSteps; ++i) {
      const double share = 1 - static_cast<double>(i) / kSteps;
      if (seen.max > 0) try_range({best.min, std::max(seen.max * share, 0.0)});
    }
    for (int i = 0; i < kSteps; ++i) {
      const double share = 1 - static_cast<double>(i) / kSteps;
      if (seen.min < 0) try_range({std::min(seen.min * share, 0.0), best.max});
    }
    if (best == from) break;
  }
  return best;
}

// How much of the distribution is lost: the divergence between the numbers, clipped to the range, and the same with
// the mass of each level spread evenly over the bins that it stands for. What is clipped off counts at the ends of the
// first only, so that clipping costs.
double divergence(const std::vector<Mass>& masses, Range range, int levels) {
  const double step = (range.max - range.min) / (levels - 1);
  if (step <= 0) return std::numeric_limits<double>::infinity();
  struct Level {
    double inside = 0;  // mass of the bins that lie in the range
    double bins = 0;    // how many have any
  };
  std::vector<Level> by_level(static_cast<std::size_t>(levels));
  const auto level_of = [&](double at) {
    const double index = std::clamp(std::round((at - range.min) / step), 0.0, static_cast<double>(levels - 1));
    return static_cast<std::size_t>(index);
  };
  double total = 0;
  double kept = 0;
  double low = 0;
  double high = 0;
  for (const Mass& mass : masses) {
    total += mass.weight;
    if (mass.at < range.min) {
      low += mass.weight;
    } else if (mass.at > range.max) {
      high += mass.weight;
    } else {
      kept += mass.weight;
      Level& level = by_level[level_of(mass.at)];
      level.inside += mass.weight;
      level.bins += 1;
    }
  }
  if (total <= 0 || kept <= 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  bool has_low = low > 0;
  std::size_t last_inside = masses.size();
  for (std::size_t i = masses.size(); i-- > 0;) {
    if (masses[i].at <= range.max && masses[i].at >= range.min) {
      last_inside = i;
      break;
    }
  }
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const Mass& mass = masses[i];
    if (mass.at < range.min || mass.at > range.max) continue;
    double weight = mass.weight;
    if (has_low) {
      weight += low;
      has_low = false;
    }
    if (i == last_inside) weight += high;
    const Level& level = by_level[level_of(mass.at)];
    const double p = weight / total;
    const double q = level.inside / level.bins / kept;
    sum += p * portable::log(p / q);
  }
  return sum;
}

}  // namespace

std::string_view name_of(Estimator estimator) { return kRows[static_cast<std::size_t>(estimator)].name; }

std::optional<Estimator> estimator_from_name(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &Row::name);
  if (found == kRows.end()) return std::nullopt;
  return found->estimator;
}

std::span<const Estimator> estimators() {
  static constexpr std::array kAll{Estimator::kMinMax, Estimator::kPercentile, Estimator::kMse,
                                   Estimator::kMovingAverage, Estimator::kEntropy};
  return kAll;
}

Range range_of(const ValueStatistics& statistics, const RangeOptions& options) {
  const Moments& moments = statistics.moments;
  if (moments.count == 0) return {};
  const Range seen = on_grid(with_zero(static_cast<double>(moments.min), static_cast<double>(moments.max)));
  // What the histogram's bins say never reaches beyond what was seen.
  const auto inside = [&](Range range) {
    return with_zero(std::max(range.min, seen.min), std::min(range.max, seen.max));
  };
  switch (options.estimator) {
    case Estimator::kMinMax:
      return seen;
    case Estimator::kPercentile: {
      if (statistics.histogram.count() == 0) return seen;
      const double outside = (1 - options.percentile) / 2;
      return inside(with_zero(statistics.histogram.quantile(outside), statistics.histogram.quantile(1 - outside)));
    }
    case Estimator::kMovingAverage: {
      if (statistics.samples == 0) return seen;
      const auto count = static_cast<double>(statistics.samples);
      return inside(on_grid(with_zero(statistics.sum_of_min / count, statistics.sum_of_max / count)));
    }
    case Estimator::kMse:
    case Estimator::kEntropy: {
      const std::vector<Mass> masses = masses_of(statistics.histogram);
      if (masses.empty()) return seen;
      if (options.estimator == Estimator::kMse) return search(seen, SquareError(masses, options.levels));
      return search(seen, [&](Range range) { return divergence(masses, range, options.levels); });
    }
  }
  return seen;
}

Range shared_range_of(std::span<const ValueStatistics* const> parts, const RangeOptions& options) {
  Range hull;
  std::vector<Mass> masses;
  for (const ValueStatistics* part : parts) {
    const Range own = range_of(
        *part, {options.estimator == Estimator::kMse || options.estimator == Estimator::kEntropy ? Estimator::kMinMax
                                                                                                 : options.estimator,
                options.percentile, options.levels});
    hull = {std::min(hull.min, own.min), std::max(hull.max, own.max)};
    std::vector<Mass> own_masses = masses_of(part->histogram);
    double weight = 0;
    for (const Mass& mass : own_masses) weight += mass.weight;
    for (const Mass& mass : own_masses) masses.push_back({mass.at, mass.weight / weight});
  }
  // The order of the parts must not change the last bits of sums.
  std::ranges::sort(masses, {}, [](const Mass& mass) { return std::pair(mass.at, mass.weight); });
  if (masses.empty()) return hull;
  if (options.estimator == Estimator::kMse) return search(hull, SquareError(masses, options.levels));
  if (options.estimator == Estimator::kEntropy) {
    return search(hull, [&](Range range) { return divergence(masses, range, options.levels); });
  }
  return hull;
}

}  // namespace isthmus
