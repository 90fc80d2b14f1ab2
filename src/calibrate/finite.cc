// Looks at every number of every sample.
#include "calibrate/finite.h"

#include <fmt/format.h>

#include <utility>

#include "stats/measure.h"

namespace isthmus {
namespace {

class FiniteSamples final : public Samples {
 public:
  FiniteSamples(std::unique_ptr<Samples> source, const Graph& graph) : source_(std::move(source)), graph_(graph) {}

  std::optional<std::size_t> count() const override { return source_->count(); }
  std::optional<std::size_t> sequence() const override { return source_->sequence(); }
  std::size_t first() const override { return source_->first(); }
  Expected<std::optional<std::vector<Tensor>>> next() override {
    auto sample = TRY(source_->next());
    if (sample) TRY(check_finite(graph_, *sample, first() + given_++));
    return sample;
  }

 private:
  std::unique_ptr<Samples> source_;
  const Graph& graph_;
  std::size_t given_ = 0;
};

}  // namespace

Expected<void> check_finite(const Graph& graph, std::span<const Tensor> sample, std::size_t number) {
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (sample[i].dtype() != DType::kF32) continue;
    const TensorMoments moments = measure(sample[i].data<float>());
    if (moments.nans + moments.infinities == 0) continue;
    return bad_input(fmt::format("sample {} of input {} ({}) has {} NaN and {} infinite values; remove or repair it",
                                 number, i, graph[graph.inputs()[i]].name, moments.nans, moments.infinities));
  }
  return {};
}

std::unique_ptr<Samples> finite_samples(std::unique_ptr<Samples> source, const Graph& graph) {
  return std::make_unique<FiniteSamples>(std::move(source), graph);
}

}  // namespace isthmus
