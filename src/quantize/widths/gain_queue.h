// Changes to a plan, taken one after the other by what the outputs gain for the cost.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace isthmus {

// The noise of outputs is in parts of their own power. Gains are compared in steps of 1/16 of an octave, far above the
// noise of float kernels.
//
// Every change that is taken makes all others count more, as less noise is left. Each candidate is kept with the most
// that it can gain before an output has lost a twentieth of its noise; only those that could be best are computed, so
// that taking a change costs far less than looking at all of them.
class GainQueue {
 public:
  using Powers = std::vector<double>;  // by output
  // Of two candidates that gain as much: the one with the lower rank is taken.
  using Rank = std::tuple<bool, std::uint64_t, std::uint32_t>;

  // A candidate must gain more than `min_rate` dB, of all outputs together, for a unit of its cost. An output with so
  // little noise as `enough` gains nothing any more.
  GainQueue(Powers noise, double min_rate, double enough)
      : noise_(std::move(noise)), min_rate_(min_rate), enough_(enough) {}

  // A candidate, or new figures of one: what it costs, and what it takes from the noise of the outputs.
  void set(std::uint32_t candidate, double cost, Powers less, Rank rank);
  void drop(std::uint32_t candidate);

  // The best one that costs no more than what is left, which never grows from call to call.
  std::optional<std::uint32_t> best(double left);
  // Its noise is gone from the outputs, and it is not a candidate any more.
  void take(std::uint32_t candidate);

  double cost_of(std::uint32_t candidate) const { return candidates_[candidate].cost; }
  const Powers& noise() const { return noise_; }

 private:
  struct Candidate {
    bool is_open = false;
    std::uint32_t version = 0;  // of its figures
    double cost = 0;
    Powers less;
    Rank rank;
  };
  struct Entry {
    int max = 0;  // that the gain can be, in steps
    std::uint32_t candidate = 0;
    std::uint32_t version = 0;
    auto operator<=>(const Entry&) const = default;
  };

  void push(std::uint32_t candidate);
  void renew();
  bool is_stale() const;
  // In steps, with the noise as it is; nothing where it is too little.
  std::optional<int> gain_of(const Candidate& candidate) const;
  std::optional<int> max_of(const Candidate& candidate) const;
  std::optional<int> steps_of(double gain, double cost) const;

  Powers noise_;
  double min_rate_ = 0;
  double enough_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<Entry> heap_;
  Powers max_noise_, min_noise_;  // for which the bounds of the heap hold
};

}  // namespace isthmus
