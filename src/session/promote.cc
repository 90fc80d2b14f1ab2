// Tries nodes one by one and takes the best, and compares the result with rankings of whole sets.
#include "session/promote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <utility>

#include "base/union_find.h"
#include "ops/table.h"
#include "quantize/plan/precision.h"
#include "quantize/widths/node_noise.h"

namespace isthmus {
namespace {

// Each trial compiles and runs the model. Of more nodes, those are tried that an estimate says to add most noise.
constexpr std::size_t kMaxCandidates = 64;
// What another rounding gains by chance does not count.
constexpr double kMinGainDb = 0.01;
// How many of the nodes that seemed best before the last one was taken are tried again, and how many beside it.
constexpr std::size_t kTriedAgain = 6;
constexpr std::size_t kNeighbours = 6;

// A node, and the clamp that is a part of it on the device.
struct Candidate {
  std::vector<std::string> nodes;      // the last one names it
  std::vector<std::uint32_t> touches;  // sets of values that are the same numbers, which it reads or makes
  double noise = 0;                    // an estimate of what it adds to that of the outputs
  double rounding = 0;                 // of its result: the power of its rounding error over that of its values

  bool is_beside(const Candidate& other) const {
    return std::ranges::any_of(
        touches, [&](std::uint32_t set) { return std::ranges::find(other.touches, set) != other.touches.end(); });
  }
};

// Of this thread, which alone runs trials: other programs on a busy machine do not count.
double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

struct Score {
  double db = 0;           // of all samples
  double held_out_db = 0;  // of those that calibration did not see
  std::int64_t bytes = 0;
  std::optional<double> milliseconds = {};
  std::optional<double> cycles = {};
};

NodeGain difference(const Candidate& candidate, const Score& with, const Score& without) {
  NodeGain gain{candidate.nodes.back(), with.db - without.db, with.bytes - without.bytes};
  if (with.milliseconds && without.milliseconds) gain.milliseconds = *with.milliseconds - *without.milliseconds;
  if (with.cycles && without.cycles) gain.cycles = *with.cycles - *without.cycles;
  return gain;
}

// Of the outputs that are real numbers.
double mean_db(const std::vector<SignalToNoise>& outputs) {
  constexpr double kExact = 200;
  double sum = 0;
  std::size_t count = 0;
  for (const SignalToNoise& output : outputs) {
    if (output.count() == 0) continue;
    sum += std::clamp(std::isnan(output.db()) ? -kExact : output.db(), -kExact, kExact);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double rounding_of(const QuantizedModel& model, const Statistics* statistics, ValueId value) {
  const Group* group = model.plan.group(value);
  if (group == nullptr || statistics == nullptr) return 0;
  const auto seen = statistics->values.find(model.model[value].name);
  if (seen == statistics->values.end()) return 0;
  const double power = seen->second.moments.sum_of_squares.value();
  const double step = static_cast<double>(group->quant.scale());
  return power > 0 ? step * step / 12 * static_cast<double>(seen->second.moments.count) / power : 0;
}

bool is_narrow(const QuantizedModel& model, const TargetDesc& target, std::uint32_t node) {
  const Node& of = model.model.nodes()[node];
  const Precision precision = model.plan.precision[node];
  if (target.integers.has_float) return precision != Precision::kFloat;
  const Group* group = model.plan.group(of.outputs[0]);
  return precision == Precision::kQuantized && group != nullptr && group->storage == DType::kI8;
}

class Search {
 public:
  Search(Attempts& attempts, const std::vector<Trial>& trials, const TrialProgress& progress)
      : attempts_(attempts), target_(attempts.inputs().target), trials_(trials), progress_(progress) {}

  Expected<void> start(const QuantConfig& config) {
    config_ = config;
    config_.promote = 0;
    Tried base = TRY(attempts_.once(config_));
    TRY(find_candidates(base.model));
    now_ = TRY(score(base));
    plain_ = {config_, {}, now_};
    return {};
  }

  // Nodes that were taken one after the other, and where that led.
  struct Course {
    QuantConfig config;
    std::vector<NodeGain> taken;
    Score score;
  };

  struct Ranked {
    Candidate candidate;
    NodeGain gain;
    bool is_harmless = true;  // held-out samples lose nothing by it
  };
  // Beside those that were taken; nothing where the model cannot be made so.
  Expected<std::optional<Ranked>> try_one(const Candidate& candidate) {
    TRY(announce());
    auto tried = attempts_.once(with(candidate));
    if (!tried) return std::nullopt;
    const Score found = TRY(score(*tried));
    return Ranked{candidate, difference(candidate, found, now_), found.held_out_db > now_.held_out_db - kMinGainDb};
  }

  Expected<std::vector<Ranked>> rank_all() {
    all_ += candidates_.size();
    std::vector<Ranked> ranked;
    for (const Candidate& candidate : candidates_) {
      if (auto one = TRY(try_one(candidate))) ranked.push_back(*std::move(one));
    }
    sort(ranked);
    return ranked;
  }
  static void sort(std::vector<Ranked>& ranked) {
    std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) { return a.gain.db > b.gain.db; });
  }

  // Takes the node with the largest gain, then the one with the largest gain beside it, and so on. `is_careful`: only
  // nodes by which held-out samples lose nothing; where these are few, they refuse by chance what all others gain by.
  Expected<Course> take_by_gain(std::vector<Ranked> ranked, std::size_t count, bool is_careful) {
    restart();
    Course best = plain_;
    std::vector<NodeGain> taken;
    while (taken.size() < count) {
      const auto next = is_careful ? std::ranges::find_if(ranked, &Ranked::is_harmless) : ranked.begin();
      has_refused_ = has_refused_ || (next != ranked.begin() && ranked.front().gain.db >= kMinGainDb);
      if (next == ranked.end() || next->gain.db < kMinGainDb) break;
      taken.push_back(next->gain);
      const Candidate candidate = next->candidate;
      config_ = with(candidate);
      now_ = TRY(score(TRY(attempts_.once(config_))));
      ranked.erase(next);
      keep_better(best, taken);
      if (taken.size() < count) TRY(try_again(ranked, candidate));
    }
    return best;
  }
  bool has_refused() const { return has_refused_; }

  // Takes the nodes with the largest `key`, whatever each brings alone: nodes that gain only together are among them.
  Expected<Course> take_by(double Candidate::*key, std::size_t count) {
    std::vector<Candidate> ranked = candidates_;
    std::ranges::stable_sort(ranked, std::greater<>(), key);
    restart();
    Course best = plain_;
    std::vector<NodeGain> taken;
    for (const Candidate& candidate : ranked) {
      if (taken.size() == count || !(candidate.*key > 0)) break;
      TRY(announce());
      const QuantConfig config = with(candidate);
      auto tried = attempts_.once(config);
      if (!tried) continue;
      const Score found = TRY(score(*tried));
      taken.push_back(difference(candidate, found, now_));
      config_ = config;
      now_ = found;
      keep_better(best, taken);
    }
    return best;
  }

  void expect(std::size_t trials) { all_ += trials; }

 private:
  void restart() {
    config_ = plain_.config;
    now_ = plain_.score;
  }

  // Of all places on the way the one with the best outputs, where held-out samples have lost nothing.
  void keep_better(Course& best, const std::vector<NodeGain>& taken) const {
    const bool is_harmless = now_.held_out_db > plain_.score.held_out_db - kMinGainDb;
    if (is_harmless && now_.db > best.score.db) best = {config_, taken, now_};
  }

  // Those that seemed best, and those beside the one that was taken, as they are now.
  Expected<void> try_again(std::vector<Ranked>& ranked, const Candidate& taken) {
    std::vector<Ranked> result;
    std::size_t neighbours = 0;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      if (i >= kTriedAgain && (!ranked[i].candidate.is_beside(taken) || neighbours++ >= kNeighbours)) {
        result.push_back(std::move(ranked[i]));
      } else if (auto one = TRY(try_one(ranked[i].candidate))) {
        result.push_back(*std::move(one));
      }
    }
    sort(result);
    ranked = std::move(result);
    return {};
  }

  Expected<void> announce() {
    all_ = std::max(all_, done_ + 1);
    return progress_(done_++, all_);
  }

  QuantConfig with(const Candidate& candidate) const {
    QuantConfig config = config_;
    for (const std::string& name : candidate.nodes) {
      QuantRule rule;
      rule.node = name;
      if (target_.integers.has_float) {
        rule.in_float = true;
      } else {
        rule.storage = DType::kI16;
      }
      config.rules.push_back(std::move(rule));
    }
    return config;
  }

  // Nodes that compute, not those that hand on what others computed.
  Expected<void> find_candidates(const QuantizedModel& base) {
    const Graph& model = base.model;
    const std::vector<bool> is_fused = fused_clamps(model, target_);
    const Statistics* statistics = TRY(attempts_.statistics(config_));
    const std::vector<double> noise = statistics == nullptr ? std::vector<double>(model.nodes().size(), 0.0)
                                                            : node_noise(model, base.plan, *statistics);
    UnionFind same(model.values().size());
    for (const Node& node : model.nodes()) {
      if (node.outputs.empty() || !must_share(target_.integers, node.op)) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_data_input(node.op, i)) same.join(node.inputs[i].index, node.outputs[0].index);
      }
    }
    std::vector<bool> has_clamp(model.nodes().size(), false);
    for (std::uint32_t n = static_cast<std::uint32_t>(model.nodes().size()); n-- > 0;) {
      const Node& node = model.nodes()[n];
      if (node.outputs.empty() || has_clamp[n] || !is_narrow(base, target_, n)) continue;
      Candidate candidate;
      const auto add = [&](std::uint32_t part) {
        const Node& of = model.nodes()[part];
        candidate.nodes.insert(candidate.nodes.begin(), model[of.outputs[0]].name);
        candidate.noise += noise[part];
        candidate.rounding = std::max(candidate.rounding, rounding_of(base, statistics, of.outputs[0]));
        candidate.touches.push_back(same.find(of.outputs[0].index));
        for (const ValueId input : of.inputs) {
          if (model.constant(input) == nullptr) candidate.touches.push_back(same.find(input.index));
        }
      };
      add(n);
      if (is_fused[n]) {
        const std::uint32_t maker = model[node.inputs[0]].index;
        has_clamp[maker] = true;
        add(maker);
      } else if (must_share(target_.integers, node.op)) {
        continue;
      }
      candidates_.push_back(std::move(candidate));
    }
    std::ranges::reverse(candidates_);
    if (candidates_.size() <= kMaxCandidates) return {};
    std::ranges::stable_sort(candidates_, std::greater<>(), &Candidate::noise);
    candidates_.resize(kMaxCandidates);
    return {};
  }

  Expected<Score> score(const Tried& tried) const {
    Score result;
    const Runner runner = TRY(attempts_.runner(tried));
    std::vector<SignalToNoise> all;
    std::vector<SignalToNoise> held_out;
    double fastest = std::numeric_limits<double>::infinity();
    for (const Trial& trial : trials_) {
      const double before = cpu_milliseconds();
      const std::vector<std::optional<Tensor>> found = TRY(runner(trial.inputs));
      fastest = std::min(fastest, cpu_milliseconds() - before);
      all.resize(found.size());
      held_out.resize(found.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (!found[i] || !trial.wanted[i] || trial.wanted[i]->dtype() != DType::kF32) continue;
        all[i].add(trial.wanted[i]->data<float>(), found[i]->data<float>());
        if (trial.is_held_out) held_out[i].add(trial.wanted[i]->data<float>(), found[i]->data<float>());
      }
    }
    result.db = mean_db(all);
    result.held_out_db = mean_db(held_out);
    if (target_.integers.has_float && !attempts_.inputs().is_reproducible) result.milliseconds = fastest;
    result.bytes = static_cast<std::int64_t>(tried.compiled->bytes.size());
    if (target_.estimate != nullptr) {
      double cycles = 0;
      for (const DelegateSummary& delegate : tried.compiled->delegates) {
        const auto cost = target_.estimate(target_.name, delegate.blob);
        if (cost) cycles += cost->cycles;
      }
      result.cycles = cycles;
    }
    return result;
  }

  Attempts& attempts_;
  const TargetDesc& target_;
  const std::vector<Trial>& trials_;
  const TrialProgress& progress_;
  QuantConfig config_;
  std::vector<Candidate> candidates_;
  Score now_;
  Course plain_;
  bool has_refused_ = false;
  std::size_t done_ = 0, all_ = 0;
};

}  // namespace

Expected<std::vector<NodeGain>> node_gains(Attempts& attempts, const QuantConfig& config,
                                           const std::vector<Trial>& trials, const TrialProgress& progress) {
  Search search(attempts, trials, progress);
  TRY(search.start(config));
  std::vector<NodeGain> gains;
  for (Search::Ranked& row : TRY(search.rank_all())) gains.push_back(std::move(row.gain));
  return gains;
}

Expected<Promotion> promote(Attempts& attempts, QuantConfig config, const std::vector<Trial>& trials,
                            const TrialProgress& progress, Diagnostics& diagnostics) {
  const std::size_t wanted = config.promote;
  constexpr double Candidate::*kRankings[] = {&Candidate::rounding, &Candidate::noise};
  Search search(attempts, trials, progress);
  search.expect((wanted - 1) * kTriedAgain + wanted * std::size(kRankings));
  TRY(search.start(config));
  const std::vector<Search::Ranked> ranked = TRY(search.rank_all());
  Search::Course best = TRY(search.take_by_gain(ranked, wanted, true));
  const auto gains_more = [&](const Search::Course& other) { return other.score.db > best.score.db + kMinGainDb; };
  if (search.has_refused()) {
    Search::Course bold = TRY(search.take_by_gain(ranked, wanted, false));
    if (gains_more(bold) && bold.score.held_out_db >= best.score.held_out_db) best = std::move(bold);
  }
  for (const auto key : kRankings) {
    Search::Course other = TRY(search.take_by(key, wanted));
    if (gains_more(other)) best = std::move(other);
  }
  if (best.taken.size() < wanted) {
    diagnostics.warn(
        "promote", "",
        fmt::format("promote = {}: {} promoted; promoting another node does not improve the outputs", wanted,
                    best.taken.empty()       ? "no node was"
                    : best.taken.size() == 1 ? "only 1 node was"
                                             : fmt::format("only {} nodes were", best.taken.size())));
  }
  return Promotion{std::move(best.config), std::move(best.taken)};
}

}  // namespace isthmus
