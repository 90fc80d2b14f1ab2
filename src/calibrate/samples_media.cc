// Samples in images, sound and raw files: each is one row of a model's only input.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "calibrate/media_input.h"
#include "calibrate/sample_files.h"
#include "calibrate/sample_fit.h"

namespace isthmus {
namespace {

class MediaSamples final : public Samples {
 public:
  // `rows`: how many files make a sample.
  MediaSamples(std::vector<std::string> files, MediaKind kind, std::size_t rows, const Graph& graph,
               MediaOptions options)
      : files_(std::move(files)), kind_(kind), rows_(rows), graph_(graph), options_(std::move(options)) {}

  std::optional<std::size_t> count() const override { return files_.size() / rows_; }

  Expected<std::optional<std::vector<Tensor>>> next() override {
    if (next_ + rows_ > files_.size()) return std::nullopt;
    const Value& input = graph_[graph_.inputs()[0]];
    std::vector<Tensor> rows;
    for (std::size_t i = 0; i < rows_; ++i) {
      rows.push_back(TRY(read_media(files_[next_ + i], kind_, input, options_)));
      if (rows.back().sizes() == rows.front().sizes()) continue;
      return within(Expected<std::optional<std::vector<Tensor>>>(bad_input(fmt::format(
                        "another size than {} in the same sample: give --resize or --crop", files_[next_]))),
                    files_[next_ + i]);
    }
    std::vector<std::int64_t> sizes = rows.front().sizes();
    sizes.insert(sizes.begin(), static_cast<std::int64_t>(rows_));
    const OfferedArray offer{"the sample", rows.front().dtype(), sizes, false};
    const std::vector<SampleFit> fits = TRY(within(fit_samples(graph_, {&offer, 1}), files_[next_]));
    Tensor sample(rows.front().dtype(), sizes);
    std::byte* to = sample.mutable_bytes().data();
    for (const Tensor& row : rows) {
      std::memcpy(to, row.bytes().data(), row.bytes().size());
      to += row.bytes().size();
    }
    next_ += rows_;
    return std::vector{as_input(sample, input.type.dtype, fits[0].sizes)};
  }
  Expected<void> skip(std::size_t samples) override {
    next_ = std::min(samples, files_.size() / rows_) * rows_;
    return {};
  }

 private:
  std::vector<std::string> files_;
  MediaKind kind_;
  std::size_t rows_;
  const Graph& graph_;
  MediaOptions options_;
  std::size_t next_ = 0;
};

Expected<std::unique_ptr<Samples>> open_files(const std::string& path, MediaFolder folder, const Graph& graph,
                                              const SampleOptions& options, Diagnostics& diagnostics) {
  if (graph.inputs().size() != 1) {
    return bad_input(
        fmt::format("{}: the model has {} inputs, but a file is one: use .npz files", path, graph.inputs().size()));
  }
  const Value& input = graph[graph.inputs()[0]];
  if (input.type.rank() == 0) return bad_input(fmt::format("{}: input {} is a scalar", path, input.name));
  const Tensor first = TRY(read_media(folder.files[0], folder.kind, input, options.media));
  std::vector<std::int64_t> sizes = first.sizes();
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(folder.files.size()));
  const OfferedArray offer{fmt::format("the content of {}", path), first.dtype(), sizes, true};
  const std::vector<SampleFit> fits = TRY(fit_samples(graph, {&offer, 1}));
  const auto rows = static_cast<std::size_t>(fits[0].rows);
  const std::size_t rest = folder.files.size() % rows;
  if (rest != 0) {
    diagnostics.warn("samples-left-out", input.name,
                     fmt::format("{}: {} files make samples of {}; the last {} are not used", path, folder.files.size(),
                                 rows, rest));
  }
  return std::make_unique<MediaSamples>(std::move(folder.files), folder.kind, rows, graph, options.media);
}

}  // namespace

Expected<std::unique_ptr<Samples>> open_media(const std::string& path, const Graph& graph, const SampleOptions& options,
                                              Diagnostics& diagnostics) {
  MediaFolder folder;
  if (std::filesystem::is_directory(path)) {
    folder = TRY(list_media(path, options.limit));
  } else {
    folder = MediaFolder{*media_kind(path), {path}, {}, {}};
  }
  if (folder.kind == MediaKind::kArrays) return open_arrays(std::move(folder.files), graph, diagnostics);
  return open_files(path, std::move(folder), graph, options, diagnostics);
}

}  // namespace isthmus
