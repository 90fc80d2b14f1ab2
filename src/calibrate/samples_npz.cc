// Samples in one .npz file: rows of its arrays.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "base/untrusted_text.h"
#include "calibrate/sample_files.h"
#include "calibrate/sample_fit.h"

namespace isthmus {
namespace {

struct Source {
  RowReader reader;
  SampleFit fit;
  DType dtype = DType::kF32;  // of the input
  std::string label;
};

class NpzSamples final : public Samples {
 public:
  NpzSamples(std::string path, MappedFile file, std::vector<Source> sources, std::size_t count)
      : path_(std::move(path)), file_(std::move(file)), sources_(std::move(sources)), count_(count) {}

  std::optional<std::size_t> count() const override { return count_; }

  Expected<std::optional<std::vector<Tensor>>> next() override {
    if (given_ == count_) return std::nullopt;
    if (bytes_kept_ > kMaxBytesKept) {
      file_.forget_pages();
      bytes_kept_ = 0;
    }
    std::vector<Tensor> sample;
    for (Source& source : sources_) {
      const std::int64_t first = static_cast<std::int64_t>(given_) * source.fit.rows;
      const auto place = [&] { return fmt::format("{}, sample {} of {}", source.label, given_, path_); };
      const Tensor rows = Tensor::from(TRY(within(source.reader.read(first, source.fit.rows), place)));
      bytes_kept_ += rows.bytes().size();
      sample.push_back(as_input(rows, source.dtype, source.fit.sizes));
    }
    ++given_;
    return sample;
  }
  Expected<void> skip(std::size_t samples) override {
    given_ = std::min(samples, count_);
    for (Source& source : sources_) source.reader.begin_at(static_cast<std::int64_t>(given_) * source.fit.rows);
    return {};
  }

 private:
  std::string path_;
  MappedFile file_;
  std::vector<Source> sources_;
  std::size_t count_;
  std::size_t given_ = 0;
  std::uint64_t bytes_kept_ = 0;  // of the file, touched since its pages were last forgotten
};

// A sample may be as large as its file lets it be; a compressed one could be a small file that claims to be huge.
Expected<void> check_inflation(const NpzArray& array, const OfferedArray& offer, const SampleFit& fit,
                               InflateBudget& budget) {
  if (!array.is_compressed) return {};
  std::uint64_t bytes = size_of(array.dtype);
  for (const std::int64_t size : fit.sizes) bytes *= static_cast<std::uint64_t>(size);
  return within(budget.take(bytes), offer.text());
}

// Says which arrays are read under another name than their input's, and which are not read at all.
void note_names(const std::string& path, const Npz& npz, const Graph& graph, const std::vector<const NpzArray*>& used,
                Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::string& input = graph[graph.inputs()[i]].name;
    if (used[i]->name == input || used[i]->name == fmt::format("input_{}", i)) continue;
    diagnostics.note("array-name", input,
                     fmt::format("input {} is read from array {} of {}, the only array of its type", input,
                                 shown(used[i]->name), path));
  }
  for (const NpzArray& array : npz.arrays()) {
    const bool is_used = std::ranges::find(used, &array) != used.end();
    if (is_used || array.name == "labels") continue;
    diagnostics.warn("unused-array", "",
                     fmt::format("array {} of {} is not used: no input has this name", shown(array.name), path));
  }
}

Expected<std::unique_ptr<Samples>> open_checked(const std::string& path, const Graph& graph,
                                                const SampleOptions& options, Diagnostics& diagnostics) {
  MappedFile file = TRY(MappedFile::open(path));
  Npz npz = TRY(Npz::open(file.bytes()));
  const std::vector<const NpzArray*> arrays = TRY(arrays_for_inputs(npz, graph));
  note_names(path, npz, graph, arrays, diagnostics);
  std::vector<OfferedArray> offers;
  for (const NpzArray* array : arrays) {
    offers.push_back(offered(*array, true));
    if (array->is_fortran_order) {
      return bad_input(
          fmt::format("{} is in Fortran order, so each sample is spread over the whole file: save it in C order with "
                      "numpy.ascontiguousarray",
                      offers.back().label));
    }
  }
  const std::vector<SampleFit> fits = TRY(fit_samples(graph, offers));
  const auto in_all = static_cast<std::size_t>(TRY(count_samples(offers, fits)));
  InflateBudget budget(file.bytes().size());
  std::vector<Source> sources;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    TRY(check_inflation(*arrays[i], offers[i], fits[i], budget));
    sources.push_back({TRY(npz.rows(*arrays[i])), fits[i], graph.type(graph.inputs()[i]).dtype, offers[i].label});
  }
  note_conversions(graph, offers, diagnostics);
  for (std::size_t i = 0; i < offers.size() && options.limit >= in_all; ++i) {
    const std::int64_t rest = offers[i].sizes[0] % fits[i].rows;
    if (rest == 0) continue;
    diagnostics.warn("samples-left-out", graph[graph.inputs()[i]].name,
                     fmt::format("{} of {}: {} rows make {} samples of {}; the last {} are not used", offers[i].label,
                                 path, offers[i].sizes[0], in_all, fits[i].rows, rest));
  }
  return std::make_unique<NpzSamples>(path, std::move(file), std::move(sources), std::min(in_all, options.limit));
}

}  // namespace

Expected<std::unique_ptr<Samples>> open_npz(const std::string& path, const Graph& graph, const SampleOptions& options,
                                            Diagnostics& diagnostics) {
  return within(open_checked(path, graph, options, diagnostics), path);
}

}  // namespace isthmus
