// Some samples ahead, on all threads; then what waits for them takes the results one by one.
#include "evaluate/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace isthmus {
namespace {

using Outputs = Expected<std::vector<std::optional<Tensor>>>;

class SideBySide final : public Samples {
 public:
  struct Pair {
    Runner reference;
    Runner program;
  };

  using PairMaker = std::function<Expected<Pair>()>;

  SideBySide(Samples& samples, std::vector<Pair> runners, PairMaker maker)
      : samples_(samples), runners_(std::move(runners)), maker_(std::move(maker)), threads_(runners_.size()) {}

  std::optional<std::size_t> count() const override { return samples_.count(); }
  std::size_t first() const override { return samples_.first(); }

  Expected<std::optional<std::vector<Tensor>>> next() override {
    if (at_ == ahead_.size()) TRY(run_ahead());
    if (at_ == ahead_.size()) return std::optional<std::vector<Tensor>>();
    current_ = std::move(ahead_[at_++]);
    return std::optional(std::move(current_.inputs));
  }
  // Of the sample that `next` gave last; once.
  Outputs reference() { return std::move(current_.wanted); }
  Outputs program() { return std::move(current_.found); }

 private:
  struct Done {
    std::vector<Tensor> inputs;
    Outputs wanted;
    Outputs found;
  };

  // Samples for each thread: enough that none waits long for the last.
  static constexpr std::size_t kAhead = 4;

  Expected<void> run_ahead() {
    ahead_.clear();
    at_ = 0;
    const bool has_sequences = samples_.sequence() && runners_.size() == 1;
    while (ahead_.size() < kAhead * runners_.size()) {
      if (has_sequences && read_ > 0 && read_ % *samples_.sequence() == 0) {
        // States begin anew; without states this does nothing.
        if (!ahead_.empty()) break;
        runners_[0] = TRY(maker_());
      }
      auto sample = TRY(samples_.next());
      if (!sample) break;
      ahead_.push_back({*std::move(sample), {}, {}});
      ++read_;
    }
    std::atomic<std::size_t> taken = 0;
    threads_.on_each_thread([&](std::size_t thread) {
      for (std::size_t i = taken++; i < ahead_.size(); i = taken++) {
        ahead_[i].wanted = runners_[thread].reference(ahead_[i].inputs);
        ahead_[i].found = runners_[thread].program(ahead_[i].inputs);
      }
    });
    return {};
  }

  Samples& samples_;
  std::vector<Pair> runners_;
  PairMaker maker_;
  xnnpack::ThreadPool threads_;
  std::size_t read_ = 0;
  std::vector<Done> ahead_;
  std::size_t at_ = 0;
  Done current_;
};

}  // namespace

Expected<Evaluation> evaluate_side_by_side(const RunnerMaker& reference, const RunnerMaker& program, Samples& samples,
                                           std::span<const std::int64_t> labels, std::size_t threads,
                                           const std::function<bool(std::size_t)>& progress) {
  const std::size_t count = std::max<std::size_t>(1, std::min(threads, samples.count().value_or(SIZE_MAX)));
  const auto maker = [&]() -> Expected<SideBySide::Pair> {
    Runner wanted = TRY(reference());
    return SideBySide::Pair{std::move(wanted), TRY(program())};
  };
  std::vector<SideBySide::Pair> runners;
  for (std::size_t i = 0; i < count; ++i) runners.push_back(TRY(maker()));
  SideBySide ahead(samples, std::move(runners), maker);
  return evaluate([&](std::span<const Tensor>) { return ahead.reference(); },
                  [&](std::span<const Tensor>) { return ahead.program(); }, ahead, labels, progress);
}

}  // namespace isthmus
