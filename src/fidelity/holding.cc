// Tries every order of axes that sizes allow, and then factors.
#include "fidelity/holding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace isthmus::fidelity {
namespace {

using Sizes = std::vector<std::int64_t>;
using Order = std::vector<std::uint8_t>;

constexpr std::size_t kMaxPlaces = 8192;        // elements of a run that are looked at
constexpr std::size_t kMaxOrders = 64;          // of more axes of one size
constexpr double kMinChannelElements = 12;      // fewer can be fitted by chance
constexpr double kMinLikenessOfChannels = 0.9;  // factors by channel explain a value, or are none
constexpr double kMinGain = 4;                  // of a further factor: how much less it leaves unexplained

std::int64_t count_of(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

// Axes of one element lie anywhere: here in front.
Order with_ones(const Order& order, std::span<const std::int64_t> model) {
  Order result;
  for (std::uint8_t axis = 0; axis < model.size(); ++axis) {
    if (model[axis] == 1) result.push_back(axis);
  }
  result.insert(result.end(), order.begin(), order.end());
  return result;
}

// As it is, channels last, and channels second, whatever was made one axis of several afterwards. Without axes of one
// element.
std::vector<Order> usual_orders(std::span<const std::int64_t> model) {
  Order axes;
  for (std::uint8_t axis = 0; axis < model.size(); ++axis) {
    if (model[axis] != 1) axes.push_back(axis);
  }
  std::vector<Order> result{axes};
  if (axes.size() < 2) return result;
  if (const auto channel = std::ranges::find(axes, 1); channel != axes.end()) {
    Order last = axes;
    const auto at = last.begin() + (channel - axes.begin());
    std::rotate(at, at + 1, last.end());
    result.push_back(std::move(last));
  }
  Order second = axes;
  std::rotate(second.begin() + (axes.front() == 0 ? 1 : 0), second.end() - 1, second.end());
  result.push_back(std::move(second));
  return result;
}

// Every order of the model's axes that gives the program's sizes.
class Orders {
 public:
  Orders(std::span<const std::int64_t> program, std::span<const std::int64_t> model) : model_(model) {
    std::ranges::copy_if(program, std::back_inserter(wanted_), [](std::int64_t size) { return size != 1; });
    for (const Order& order : usual_orders(model)) add(order);
    std::vector<bool> is_used(model.size());
    Order found;
    extend(found, is_used);
  }

  const std::vector<Order>& all() const { return all_; }

 private:
  void add(const Order& order) {
    if (all_.size() < kMaxOrders && seen_.insert(order).second) all_.push_back(order);
  }
  void extend(Order& found, std::vector<bool>& is_used) {
    if (found.size() == wanted_.size()) {
      add(found);
      return;
    }
    for (std::uint8_t axis = 0; axis < model_.size() && all_.size() < kMaxOrders; ++axis) {
      if (is_used[axis] || model_[axis] == 1 || model_[axis] != wanted_[found.size()]) continue;
      is_used[axis] = true;
      found.push_back(axis);
      extend(found, is_used);
      found.pop_back();
      is_used[axis] = false;
    }
  }

  std::span<const std::int64_t> model_;
  Sizes wanted_;
  std::set<Order> seen_;
  std::vector<Order> all_;
};

// Where the element of the model's value lies, by place in the program's memory.
class Places {
 public:
  Places(const Order& order, std::span<const std::int64_t> model) {
    Sizes strides(model.size(), 1);
    for (std::size_t axis = model.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * model[axis];
    for (const std::uint8_t axis : order) {
      sizes_.push_back(model[axis]);
      strides_.push_back(strides[axis]);
    }
  }
  std::size_t operator[](std::size_t place) const {
    std::int64_t result = 0;
    auto rest = static_cast<std::int64_t>(place);
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      result += rest % sizes_[i] * strides_[i];
      rest /= sizes_[i];
    }
    return static_cast<std::size_t>(result);
  }

 private:
  Sizes sizes_, strides_;
};

// All places, or some that are spread like chance.
std::vector<std::size_t> some_places(std::size_t count) {
  std::vector<std::size_t> result;
  if (count <= kMaxPlaces) {
    result.resize(count);
    std::iota(result.begin(), result.end(), std::size_t{0});
    return result;
  }
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < kMaxPlaces; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    result.push_back(static_cast<std::size_t>((state >> 16) % count));
  }
  return result;
}

// Sums over pairs of numbers.
struct Moments {
  double count = 0, p = 0, m = 0, pp = 0, mm = 0, pm = 0, noise = 0;

  void add(double program, double model) {
    ++count;
    p += program;
    m += model;
    pp += program * program;
    mm += model * model;
    pm += program * model;
    noise += (program - model) * (program - model);
  }
  // The square of the coefficient of correlation; 0 where they fall as the others rise.
  double correlation() const {
    const double both = pm - p * m / count;
    const double of_p = pp - p * p / count;
    const double of_m = mm - m * m / count;
    return both <= 0 || of_p <= 0 || of_m <= 0 ? 0 : both * both / (of_p * of_m);
  }
  double factor() const { return mm > 0 ? pm / mm : 0; }
  // What the model's numbers leave unexplained: times 1, and times the best factor.
  double unexplained() const { return mm > 0 ? noise / mm : 1; }
  double unexplained_scaled() const { return pp > 0 && mm > 0 ? 1 - pm * pm / (pp * mm) : 1; }
};

struct Channels {
  std::vector<Moments> each;
  std::int64_t stride = 1, size = 1;

  Channels(std::span<const std::int64_t> model, std::size_t axis) {
    size = model[axis];
    for (std::size_t i = axis + 1; i < model.size(); ++i) stride *= model[i];
    each.resize(static_cast<std::size_t>(size));
  }
  std::size_t of(std::size_t element) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(element) / stride % size);
  }
  // In the model's numbers.
  double unexplained() const {
    double noise = 0, signal = 0;
    for (const Moments& one : each) {
      signal += one.mm;
      noise += one.mm * (one.pm <= 0 ? 1 : std::min(1.0, one.pp * one.mm / (one.pm * one.pm) - 1));
    }
    return signal > 0 ? noise / signal : 1;
  }
};

class Fitter {
 public:
  Fitter(const Runs& runs, std::span<const std::int64_t> program, std::span<const std::int64_t> model,
         const Reading& reading)
      : runs_(runs), model_(model), reading_(reading), orders_(program, model) {
    places_ = some_places(runs.program.empty() ? 0 : runs.program[0].size());
  }

  Fit run() {
    Fit best;
    for (const Order& axes : orders_.all()) {
      const Order order = with_ones(axes, model_);
      const Fit fit = fit_in(order);
      if (fit.likeness > best.likeness + 1e-6 || best.holding.order.empty()) best = fit;
    }
    return best;
  }

 private:
  template <class Add>
  void each_pair(const Order& order, const Add& add) const {
    const Places places(order, model_);
    for (const std::size_t place : places_) {
      const std::size_t element = places[place];
      for (std::size_t run = 0; run < runs_.program.size(); ++run) {
        add(element, static_cast<double>(runs_.program[run][place]), static_cast<double>(runs_.model[run][element]));
      }
    }
  }

  Fit fit_in(const Order& order) const {
    Moments all;
    each_pair(order, [&](std::size_t, double p, double m) { all.add(p, m); });
    Fit result{{.order = order, .axis = {}}, all.correlation()};
    double unexplained = 1;
    if (!reading_.has_zero_point) {
      const double of_m = all.mm - all.m * all.m / all.count;
      const double slope = of_m > 0 ? (all.pm - all.p * all.m / all.count) / of_m : 0;
      if (slope > 0) {
        result.holding.factors = {static_cast<float>(slope)};
        result.holding.offset = static_cast<float>((all.p - slope * all.m) / all.count);
      }
      return result;
    }
    if (!reading_.has_scale) {
      if (all.factor() > 0) result.holding.factors = {static_cast<float>(all.factor())};
      unexplained = all.unexplained_scaled();
    } else {
      unexplained = all.unexplained();
      if (all.factor() > 0 && all.unexplained_scaled() * kMinGain * 2 < unexplained) {
        result.holding.factors = {static_cast<float>(all.factor())};
        unexplained = all.unexplained_scaled();
      }
    }
    result.likeness = std::max(result.likeness, 1 - unexplained);
    for (std::size_t axis = 0; axis < model_.size(); ++axis) try_channels(order, axis, unexplained, result);
    return result;
  }

  // Only the second axis and the last one are ever those of channels.
  void try_channels(const Order& order, std::size_t axis, double& unexplained, Fit& result) const {
    if (model_[axis] == 1 || (axis != 1 && axis + 1 != model_.size())) return;
    const auto pairs = static_cast<double>(places_.size() * runs_.program.size());
    if (pairs / static_cast<double>(model_[axis]) < kMinChannelElements) return;
    Channels channels(model_, axis);
    each_pair(order, [&](std::size_t element, double p, double m) { channels.each[channels.of(element)].add(p, m); });
    const double left = channels.unexplained();
    if (1 - left < kMinLikenessOfChannels || left * kMinGain > unexplained) return;
    unexplained = left;
    result.likeness = std::max(result.likeness, 1 - left);
    result.holding.axis = axis;
    result.holding.factors.clear();
    for (const Moments& one : channels.each) {
      result.holding.factors.push_back(one.pm > 0 && one.mm > 0 ? static_cast<float>(one.factor()) : 1.0f);
    }
  }

  const Runs& runs_;
  std::span<const std::int64_t> model_;
  const Reading& reading_;
  Orders orders_;
  std::vector<std::size_t> places_;
};

}  // namespace

bool may_hold(std::span<const std::int64_t> program, std::span<const std::int64_t> model) {
  return count_of(program) == count_of(model);
}

bool is_usual(const Holding& holding, std::span<const std::int64_t> model) {
  Order order;
  std::ranges::copy_if(holding.order, std::back_inserter(order), [&](std::uint8_t axis) { return model[axis] != 1; });
  const std::vector<Order> usual = usual_orders(model);
  return std::ranges::find(usual, order) != usual.end();
}

Fit best_fit(const Runs& runs, std::span<const std::int64_t> program, std::span<const std::int64_t> model,
             const Reading& reading) {
  return Fitter(runs, program, model, reading).run();
}

std::vector<float> as_in_model(std::span<const float> program, std::span<const std::int64_t> model,
                               const Holding& holding) {
  std::vector<float> result(program.size());
  const Places places(holding.order, model);
  std::int64_t stride = 1;
  if (holding.axis) {
    for (std::size_t i = *holding.axis + 1; i < model.size(); ++i) stride *= model[i];
  }
  for (std::size_t place = 0; place < program.size(); ++place) {
    const std::size_t element = places[place];
    const std::size_t channel =
        holding.axis ? static_cast<std::size_t>(static_cast<std::int64_t>(element) / stride % model[*holding.axis]) : 0;
    result[element] = (program[place] - holding.offset) / holding.factors[channel];
  }
  return result;
}

}  // namespace isthmus::fidelity
