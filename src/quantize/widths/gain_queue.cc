// A heap of upper bounds that is made anew whenever the noise has left the interval that they hold for.
#include "quantize/widths/gain_queue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/portable_math.h"

namespace isthmus {
namespace {

// Of the noise, as long as bounds hold.
constexpr double kInterval = 0.95;

// In dB, for an output with so much noise, by taking some of it away; less noise than enough is not better.
double gain(double noise, double less, double enough) {
  return 10 * portable::log10(std::max(noise, enough) / std::max(noise - less, enough));
}

}  // namespace

void GainQueue::set(std::uint32_t candidate, double cost, Powers less, Rank rank) {
  if (candidate >= candidates_.size()) candidates_.resize(candidate + std::size_t{1});
  Candidate& entry = candidates_[candidate];
  entry = {true, entry.version + 1, cost, std::move(less), rank};
  if (!max_noise_.empty()) push(candidate);
}

void GainQueue::drop(std::uint32_t candidate) {
  if (candidate < candidates_.size()) candidates_[candidate].is_open = false;
}

void GainQueue::take(std::uint32_t candidate) {
  for (std::size_t o = 0; o < noise_.size(); ++o) noise_[o] -= candidates_[candidate].less[o];
  drop(candidate);
}

std::optional<std::uint32_t> GainQueue::best(double left) {
  if (noise_.empty()) return std::nullopt;
  if (is_stale()) renew();
  std::optional<std::pair<int, Rank>> best;
  std::optional<std::uint32_t> found;
  std::vector<Entry> seen;
  while (!heap_.empty() && (!best || heap_.front().max >= -best->first)) {
    std::ranges::pop_heap(heap_);
    const Entry entry = heap_.back();
    heap_.pop_back();
    Candidate& candidate = candidates_[entry.candidate];
    if (!candidate.is_open || candidate.version != entry.version) continue;
    if (candidate.cost > left) {
      candidate.is_open = false;
      continue;
    }
    seen.push_back(entry);
    const auto steps = gain_of(candidate);
    if (!steps) continue;
    const std::pair key(-*steps, candidate.rank);
    if (!best || key < *best) {
      best = key;
      found = entry.candidate;
    }
  }
  for (const Entry& entry : seen) {
    heap_.push_back(entry);
    std::ranges::push_heap(heap_);
  }
  return found;
}

bool GainQueue::is_stale() const {
  if (max_noise_.empty()) return true;
  for (std::size_t o = 0; o < noise_.size(); ++o) {
    if (noise_[o] > max_noise_[o] || noise_[o] < min_noise_[o]) return true;
  }
  return false;
}

void GainQueue::renew() {
  max_noise_ = noise_;
  min_noise_ = noise_;
  for (double& noise : min_noise_) noise = std::min(noise * kInterval, noise);
  heap_.clear();
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    if (!candidates_[i].is_open) continue;
    if (const auto max = max_of(candidates_[i])) heap_.push_back({*max, i, candidates_[i].version});
  }
  std::ranges::make_heap(heap_);
}

void GainQueue::push(std::uint32_t candidate) {
  const auto max = max_of(candidates_[candidate]);
  if (!max) return;
  heap_.push_back({*max, candidate, candidates_[candidate].version});
  std::ranges::push_heap(heap_);
}

std::optional<int> GainQueue::steps_of(double gain, double cost) const {
  if (!(gain > std::max(min_rate_ * cost, 0.0))) return std::nullopt;
  return static_cast<int>(std::lround(16 * portable::log2(gain / std::max(cost, 1.0))));
}

std::optional<int> GainQueue::gain_of(const Candidate& candidate) const {
  double sum = 0;
  for (std::size_t o = 0; o < noise_.size(); ++o) sum += gain(noise_[o], candidate.less[o], enough_);
  return steps_of(sum, candidate.cost);
}

// What takes noise away gains most where just enough is left without it; what adds some loses least where there is
// much.
std::optional<int> GainQueue::max_of(const Candidate& candidate) const {
  constexpr double kRounding = 1 + 1e-9;
  double sum = 0;
  for (std::size_t o = 0; o < noise_.size(); ++o) {
    const double less = candidate.less[o];
    const double noise = less > 0 ? std::clamp(enough_ + less, min_noise_[o], max_noise_[o]) : max_noise_[o];
    const double max = gain(noise, less, enough_);
    sum += max > 0 ? kRounding * max : max / kRounding;
  }
  return steps_of(sum, candidate.cost);
}

}  // namespace isthmus
