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

  SideBySide(Samples& samples, std::vector<Pair> runners)
      : samples_(samples), runners_(std::move(runners)), threads_(runners_.size()) {}

  std::optional<std::size_t> count() const override { return samples_.count(); }

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

  // So many for each thread that none waits long for the last.
  static constexpr std::size_t kAhead = 4;

  Expected<void> run_ahead() {
    ahead_.clear();
    at_ = 0;
    while (ahead_.size() < kAhead * runners_.size()) {
      auto sample = TRY(samples_.next());
      if (!sample) break;
      ahead_.push_back({*std::move(sample), {}, {}});
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
  xnnpack::ThreadPool threads_;
  std::vector<Done> ahead_;
  std::size_t at_ = 0;
  Done current_;
};

}  // namespace

Expected<Evaluation> evaluate_side_by_side(const RunnerMaker& reference, const RunnerMaker& program, Samples& samples,
                                           std::span<const std::int64_t> labels, std::size_t threads,
                                           const std::function<bool(std::size_t)>& progress) {
  const std::size_t count = std::max<std::size_t>(1, std::min(threads, samples.count().value_or(SIZE_MAX)));
  std::vector<SideBySide::Pair> runners;
  for (std::size_t i = 0; i < count; ++i) {
    Runner wanted = TRY(reference());
    runners.push_back({std::move(wanted), TRY(program())});
  }
  SideBySide ahead(samples, std::move(runners));
  return evaluate([&](std::span<const Tensor>) { return ahead.reference(); },
                  [&](std::span<const Tensor>) { return ahead.program(); }, ahead, labels, progress);
}

}  // namespace isthmus
