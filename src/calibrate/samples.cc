// Chooses the source by the path, and gives example inputs as a sample.
#include "calibrate/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "calibrate/media_folder.h"
#include "calibrate/sample_files.h"
#include "interpret/interpreter.h"

namespace isthmus {
namespace {

class ExampleSamples final : public Samples {
 public:
  explicit ExampleSamples(std::vector<Tensor> sample) : sample_(std::move(sample)) {}
  std::optional<std::size_t> count() const override { return 1; }
  Expected<std::optional<std::vector<Tensor>>> next() override { return std::exchange(sample_, std::nullopt); }

 private:
  std::optional<std::vector<Tensor>> sample_;
};

}  // namespace

Expected<void> Samples::skip(std::size_t samples) {
  for (std::size_t i = 0; i < samples; ++i) {
    if (!TRY(next())) break;
  }
  return {};
}

Expected<std::unique_ptr<Samples>> open_samples(const std::string& path, const Graph& graph,
                                                const SampleOptions& options, Diagnostics& diagnostics) {
  if (options.limit == 0) return bad_input(fmt::format("{}: --samples 0: at least 1 is needed", path));
  if (is_command(path)) return open_command(path, graph, options, diagnostics);
  std::error_code problem;  // what cannot be looked at cannot be opened either, and that error says why
  if (std::filesystem::is_directory(path, problem)) return open_media(path, graph, options, diagnostics);
  if (!std::filesystem::exists(path, problem)) {
    return fail(ErrorKind::kEnvironment, fmt::format("{}: no such file or folder", path));
  }
  if (path.ends_with(".npz")) return open_npz(path, graph, options, diagnostics);
  if (path.ends_with(".npy")) {
    return bad_input(
        fmt::format("{} is a single array: put it into an .npz under the name of its input, or give the "
                    "folder that holds one .npy file per sample",
                    path));
  }
  if (media_kind(path)) return open_media(path, graph, options, diagnostics);
  return bad_input(
      fmt::format("{}: expected samples in an .npz file, in a folder of arrays, images, .wav or .bin files, or from "
                  "'cmd:PROGRAM ARGUMENTS'",
                  path));
}

Expected<std::unique_ptr<Samples>> example_samples(const Graph& graph,
                                                   std::span<const std::optional<TensorView>> examples) {
  std::vector<Tensor> sample;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (i >= examples.size() || !examples[i]) {
      return bad_input(
          fmt::format("the model has no example of input {}: give samples", graph[graph.inputs()[i]].name));
    }
    sample.push_back(Tensor::from(*examples[i]));
  }
  TRY(within(bind_symbols(graph, sample), "the example inputs of the model; give samples of the right shape"));
  return std::make_unique<ExampleSamples>(std::move(sample));
}

std::unique_ptr<Samples> in_sequences(std::unique_ptr<Samples> source, std::size_t length) {
  class Sequences final : public Samples {
   public:
    Sequences(std::unique_ptr<Samples> source, std::size_t length) : source_(std::move(source)), length_(length) {}
    std::optional<std::size_t> count() const override { return source_->count(); }
    Expected<std::optional<std::vector<Tensor>>> next() override { return source_->next(); }
    std::optional<std::size_t> sequence() const override { return length_; }
    Expected<void> skip(std::size_t samples) override { return source_->skip(samples); }

   private:
    std::unique_ptr<Samples> source_;
    std::size_t length_;
  };
  return std::make_unique<Sequences>(std::move(source), length);
}

std::unique_ptr<Samples> given_samples(std::vector<std::vector<Tensor>> samples) {
  class Given final : public Samples {
   public:
    explicit Given(std::vector<std::vector<Tensor>> samples) : samples_(std::move(samples)) {}
    std::optional<std::size_t> count() const override { return samples_.size(); }
    Expected<std::optional<std::vector<Tensor>>> next() override {
      if (next_ == samples_.size()) return std::nullopt;
      return samples_[next_++];
    }
    Expected<void> skip(std::size_t samples) override {
      next_ = std::min(samples, samples_.size());
      return {};
    }

   private:
    std::vector<std::vector<Tensor>> samples_;
    std::size_t next_ = 0;
  };
  return std::make_unique<Given>(std::move(samples));
}

}  // namespace isthmus
