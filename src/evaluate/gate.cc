// Compares attempts, and switches off what hurts.
#include "evaluate/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "quantize/config/techniques.h"

namespace isthmus {
namespace {

// In tenths of a dB: a grid far above the noise of float kernels. What is exact has a figure, too.
int tenths(const SignalToNoise& error) {
  constexpr double kExact = 200;
  const double db = error.db();
  return static_cast<int>(std::lround(10 * std::clamp(std::isnan(db) ? -kExact : db, -kExact, kExact)));
}

// Of each output of real numbers.
struct Score {
  std::vector<int> held_out, all;
  std::vector<int> chance;  // of what is held out
};

struct Loss {
  int held_out = 0;  // tenths of a dB
  int all = 0;
  int chance = 0;
  std::size_t output = 0;

  // What the held-out samples say counts where it is more than chance, and either that is small or the others gain
  // nothing to speak of.
  int certain() const {
    constexpr int kDeviations = 2;
    constexpr int kSmall = 3;
    const bool is_sure = chance <= kSmall || all > -10 * kMaxLossDb;
    return is_sure ? std::max(all, held_out - kDeviations * chance) : all;
  }
  bool operator<(const Loss& other) const {
    return std::tuple(certain(), all, held_out) < std::tuple(other.certain(), other.all, other.held_out);
  }
};

// The largest loss against another score.
Loss loss_of(const Score& score, const Score& other) {
  Loss worst;
  for (std::size_t i = 0; i < score.all.size(); ++i) {
    const Loss here{other.held_out[i] - score.held_out[i], other.all[i] - score.all[i], score.chance[i], i};
    if (worst < here) worst = here;
  }
  return worst;
}

bool is_harm(const Loss& loss, double limit_db = kMaxLossDb) { return loss.certain() > std::lround(10 * limit_db); }

class Gate {
 public:
  Gate(QuantConfig config, std::span<const Trial> trials, const Attempt& attempt, const GateOptions& options,
       Diagnostics& diagnostics)
      : wanted_(std::move(config)), trials_(trials), attempt_(attempt), options_(options), diagnostics_(diagnostics) {
    for (const Technique& technique : techniques()) {
      if (technique.is_on(wanted_)) (is_asked_for(technique, wanted_) ? asked_for_ : on_).push_back(&technique);
    }
  }

  QuantConfig run() {
    if (on_.empty() && asked_for_.empty()) return wanted_;
    // What cannot be compared counts as not worse; the caller finds out why.
    auto first = score(wanted_);
    if (!first) return wanted_;
    score_ = *std::move(first);
    if (score_.all.empty()) return wanted_;
    const Score plain = score(without(on_)).value_or(score_);
    while (!on_.empty() && is_harm(loss_of(score_, plain))) remove_best(plain);
    restore(plain);
    while (options_.tries_each && !on_.empty() && remove_harmful()) {
    }
    for (const Technique* technique : off_) say(*technique);
    if (options_.float_costs_time) remove_useless(plain);
    warn_of_asked_for();
    return without(off_);
  }

 private:
  using List = std::vector<const Technique*>;

  Expected<Score> score(const QuantConfig& config) {
    std::vector<bool> key = techniques_on(config);
    if (const auto known = scores_.find(key); known != scores_.end()) return known->second;
    return scores_.emplace(std::move(key), TRY(measured(config))).first->second;
  }

  Expected<Score> measured(const QuantConfig& config) const {
    const Runner runner = TRY(attempt_(config));
    const Runner apart = options_.apart ? TRY(options_.apart(config)) : runner;
    std::vector<std::size_t> real;
    for (std::size_t i = 0; i < trials_[0].wanted.size(); ++i) {
      const auto& wanted = trials_[0].wanted[i];
      if (wanted && wanted->dtype() == DType::kF32) real.push_back(i);
    }
    std::vector<SignalToNoise> held_out(real.size());
    std::vector<SignalToNoise> all(real.size());
    std::vector<std::uint64_t> numbers(real.size(), 0);
    for (const Trial& trial : trials_) {
      const auto found = TRY((trial.is_held_out ? runner : apart)(trial.inputs));
      for (std::size_t place = 0; place < real.size(); ++place) {
        const std::size_t i = real[place];
        const bool is_comparable = i < found.size() && found[i] && found[i]->dtype() == DType::kF32 &&
                                   trial.wanted[i]->count() == found[i]->count();
        if (!is_comparable) return bad_input(fmt::format("output_{} has another type or size than in float", i));
        all[place].add(trial.wanted[i]->data<float>(), found[i]->data<float>());
        if (!trial.is_held_out) continue;
        held_out[place].add(trial.wanted[i]->data<float>(), found[i]->data<float>());
        numbers[place] += static_cast<std::uint64_t>(found[i]->count());
      }
    }
    Score result;
    for (std::size_t place = 0; place < real.size(); ++place) {
      result.held_out.push_back(tenths(held_out[place]));
      result.all.push_back(tenths(all[place]));
      result.chance.push_back(static_cast<int>(std::lround(10 * chance_db(numbers[place]))));
    }
    return result;
  }

  QuantConfig without(const List& list) const {
    QuantConfig config = wanted_;
    for (const Technique* technique : list) technique->switch_off(config);
    return config;
  }
  static List with(List list, const Technique* technique) {
    list.push_back(technique);
    return list;
  }
  static List but(List list, const Technique* technique) {
    std::erase(list, technique);
    return list;
  }

  // The scores without each of the techniques; an attempt that fails is not better.
  std::vector<Score> scores_without() {
    std::vector<Score> scores;
    for (const Technique* technique : on_) scores.push_back(score(without(with(off_, technique))).value_or(score_));
    return scores;
  }

  // Switches off the technique without which the least is lost against plain rounding; of equals, the first of the
  // table.
  void remove_best(const Score& plain) {
    const std::vector<Score> scores = scores_without();
    const auto best = std::ranges::min_element(
        scores, [&](const Score& a, const Score& b) { return loss_of(a, plain) < loss_of(b, plain); });
    remove(static_cast<std::size_t>(best - scores.begin()), *best);
  }

  // Switches off the technique that costs most, if one costs too much and no output needs it.
  bool remove_harmful() {
    const std::vector<Score> scores = scores_without();
    std::optional<std::size_t> worst;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const Loss loss = loss_of(score_, scores[i]);
      if (on_[i]->adds_precision || !is_harm(loss, kMaxLossOfOneDb) || is_needed(scores[i])) continue;
      if (!worst || loss_of(score_, scores[*worst]) < loss) worst = i;
    }
    if (!worst) return false;
    remove(*worst, scores[*worst]);
    return true;
  }

  // Whether some output is worse without it.
  bool is_needed(const Score& without) const {
    return !std::ranges::equal(without.all, score_.all, [](int there, int here) { return there >= here; });
  }

  void remove(std::size_t place, const Score& better) {
    off_.push_back(on_[place]);
    on_.erase(on_.begin() + static_cast<std::ptrdiff_t>(place));
    score_ = better;
  }

  // Switches off what costs time and gains too little for it on every output, over all samples.
  void remove_useless(const Score& plain) {
    for (std::size_t i = on_.size(); i-- > 0;) {
      const Technique& technique = *on_[i];
      if (technique.min_gain_db <= 0) continue;
      const auto there = score(without(with(off_, &technique)));
      if (!there) continue;
      const long min_gain = std::lround(10 * technique.min_gain_db);
      const bool is_useless = std::ranges::equal(
          there->all, score_.all, [&](int without_it, int with_it) { return with_it - without_it < min_gain; });
      if (!is_useless || is_harm(loss_of(*there, plain))) continue;
      remove(i, *there);
      diagnostics_.note(
          "technique-off", "",
          fmt::format("{} is switched off: it costs time and gains less than {} dB; set `{}` in quant.toml to keep it",
                      technique.name, technique.min_gain_db, technique.key));
    }
  }

  // Techniques that were removed earlier come back where they turn out harmless.
  void restore(const Score& plain) {
    for (const Technique* technique : List(off_)) {
      const List others = but(off_, technique);
      if (others.empty()) return;
      const auto found = score(without(others));
      if (!found || is_harm(loss_of(*found, plain))) continue;
      off_ = others;
      score_ = *found;
    }
  }

  // Those stay, whatever they cost; it is said.
  void warn_of_asked_for() {
    if (asked_for_.empty()) return;
    const Score plain = score(plain_rounding(wanted_)).value_or(score_);
    if (!is_harm(loss_of(score_, plain))) return;
    for (const Technique* technique : asked_for_) {
      const Score better = score(without(with(off_, technique))).value_or(score_);
      if (!is_harm(loss_of(score_, better))) continue;
      diagnostics_.warn("technique-hurts", "",
                        fmt::format("{} was requested but lowers accuracy: {}; `{}` in quant.toml switches it off",
                                    technique->name, figures(score_, better), technique->off));
    }
  }

  void say(const Technique& technique) {
    const Score there = score(without(but(off_, &technique))).value_or(score_);
    diagnostics_.warn("technique-off", "",
                      fmt::format("{} is switched off: {}; set `{}` in quant.toml to keep it", technique.name,
                                  figures(there, score_), technique.key));
  }

  std::string figures(const Score& there, const Score& here) const {
    const std::size_t output = loss_of(there, here).output;
    return fmt::format(
        "output_{} has SQNR {:.1f} dB with it and {:.1f} dB without it, on {} that calibration did not see", output,
        0.1 * unseen(there)[output], 0.1 * unseen(here)[output], samples());
  }

  // On samples that calibration did not see: all of them, where it was done apart.
  const std::vector<int>& unseen(const Score& score) const { return options_.apart ? score.all : score.held_out; }
  std::string samples() const {
    const auto count = std::ranges::count_if(
        trials_, [&](const Trial& trial) { return trial.is_held_out || options_.apart != nullptr; });
    return fmt::format("{} sample{}", count, count == 1 ? "" : "s");
  }

  QuantConfig wanted_;
  std::span<const Trial> trials_;
  const Attempt& attempt_;
  const GateOptions& options_;
  Diagnostics& diagnostics_;
  List on_;                                    // that may still be switched off
  List off_;                                   // that are
  List asked_for_;                             // that never are
  Score score_;                                // without those that are off
  std::map<std::vector<bool>, Score> scores_;  // by the techniques that are on
};

}  // namespace

// Of the logarithm of a mean of squares, and twice its variance.
double chance_db(std::uint64_t numbers) {
  constexpr double kDbOfRatio = 4.343;
  return kDbOfRatio * std::sqrt(2 * 2 / static_cast<double>(std::max<std::uint64_t>(numbers, 1)));
}

QuantConfig without_harm(const QuantConfig& config, std::span<const Trial> trials, const Attempt& attempt,
                         const GateOptions& options, Diagnostics& diagnostics) {
  return Gate(config, trials, attempt, options, diagnostics).run();
}

}  // namespace isthmus
