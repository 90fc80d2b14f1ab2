// Samples in .npy and .npz files: each is one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibrate/sample_files.h"
#include "calibrate/sample_fit.h"

namespace isthmus {
namespace {

class FolderSamples final : public Samples {
 public:
  FolderSamples(std::vector<std::string> files, const Graph& graph, Diagnostics& diagnostics)
      : files_(std::move(files)), graph_(graph), diagnostics_(diagnostics) {}

  std::optional<std::size_t> count() const override { return files_.size(); }

  Expected<std::optional<std::vector<Tensor>>> next() override {
    if (given_ == files_.size()) return std::nullopt;
    const std::string& path = files_[given_];
    auto sample = within(path.ends_with(".npy") ? read_npy_sample(path) : read_npz_sample(path), path);
    if (!sample) return tl::unexpected<Error>(std::move(sample).error());
    ++given_;
    return *std::move(sample);
  }
  Expected<void> skip(std::size_t samples) override {
    given_ = std::min(samples, files_.size());
    return {};
  }

 private:
  Expected<std::vector<Tensor>> read_npy_sample(const std::string& path) const {
    if (graph_.inputs().size() != 1) {
      return bad_input(fmt::format("the model has {} inputs, but an .npy file has one array: use .npz files",
                                   graph_.inputs().size()));
    }
    const TensorView array = TRY(read_npy(TRY(map_file(path))));
    const OfferedArray offer{"the array", array.dtype, array.sizes, false};
    const std::vector<SampleFit> fits = TRY(fit({&offer, 1}));
    return std::vector{as_input(Tensor::from(array), graph_.type(graph_.inputs()[0]).dtype, fits[0].sizes)};
  }

  Expected<std::vector<Tensor>> read_npz_sample(const std::string& path) const {
    Npz npz = TRY(Npz::open(TRY(map_file(path))));
    const std::vector<const NpzArray*> arrays = TRY(arrays_for_inputs(npz, graph_));
    std::vector<OfferedArray> offers;
    for (const NpzArray* array : arrays) offers.push_back(offered(*array, false));
    const std::vector<SampleFit> fits = TRY(fit(offers));
    std::vector<Tensor> sample;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const TensorView array = TRY(npz.read(*arrays[i]));
      sample.push_back(as_input(Tensor::from(array), graph_.type(graph_.inputs()[i]).dtype, fits[i].sizes));
    }
    return sample;
  }

  Expected<std::vector<SampleFit>> fit(std::span<const OfferedArray> offers) const {
    std::vector<SampleFit> fits = TRY(fit_samples(graph_, offers));
    note_conversions(graph_, offers, diagnostics_);
    return fits;
  }

  std::vector<std::string> files_;
  const Graph& graph_;
  Diagnostics& diagnostics_;
  std::size_t given_ = 0;
};

}  // namespace

std::unique_ptr<Samples> open_arrays(std::vector<std::string> files, const Graph& graph, Diagnostics& diagnostics) {
  return std::make_unique<FolderSamples>(std::move(files), graph, diagnostics);
}

}  // namespace isthmus
