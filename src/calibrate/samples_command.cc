// Samples that a program writes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/mapped_file.h"
#include "calibrate/command_output.h"
#include "calibrate/sample_files.h"
#include "calibrate/sample_fit.h"
#include "formats/npy.h"

namespace isthmus {
namespace {

class CommandSamples final : public Samples {
 public:
  CommandSamples(std::string command, MappedFile file, std::shared_ptr<CommandOutput> output, std::size_t count,
                 const Graph& graph, Diagnostics& diagnostics)
      : command_(std::move(command)),
        file_(std::move(file)),
        output_(std::move(output)),
        count_(count),
        graph_(graph),
        diagnostics_(diagnostics) {}

  std::optional<std::size_t> count() const override { return count_; }

  Expected<std::optional<std::vector<Tensor>>> next() override {
    if (given_ == count_) return std::nullopt;
    auto sample = within(read_sample(), [&] { return fmt::format("sample {} of {}", given_, command_); });
    if (!sample) return tl::unexpected<Error>(std::move(sample).error());
    ++given_;
    return *std::move(sample);
  }

 private:
  Expected<std::vector<Tensor>> read_sample() {
    if (at_ - forgotten_ > kMaxBytesKept) {
      file_.forget_pages();
      forgotten_ = at_;
    }
    std::vector<TensorView> arrays;
    std::vector<OfferedArray> offers;
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      const NpyHeader header = TRY(read_npy_header(file_.bytes().bytes().subspan(at_), std::nullopt));
      const std::uint64_t size = header.bytes + header.data_bytes;
      const auto array = file_.bytes().part(at_, size);
      if (!array) return bad_input("the temporary file of its output was cut off");
      arrays.push_back(TRY(read_npy(*array)));
      offers.push_back({fmt::format("array {}", i), arrays.back().dtype, arrays.back().sizes, false});
      at_ += size;
    }
    const std::vector<SampleFit> fits = TRY(fit_samples(graph_, offers));
    note_conversions(graph_, offers, diagnostics_);
    std::vector<Tensor> sample;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      sample.push_back(as_input(Tensor::from(arrays[i]), graph_.type(graph_.inputs()[i]).dtype, fits[i].sizes));
    }
    return sample;
  }

  std::string command_;
  MappedFile file_;
  std::shared_ptr<CommandOutput> output_;  // whose file it is
  std::size_t count_;
  const Graph& graph_;
  Diagnostics& diagnostics_;
  std::size_t given_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Samples>> open_command(const std::string& command, const Graph& graph,
                                                const SampleOptions& options, Diagnostics& diagnostics) {
  const std::size_t inputs = graph.inputs().size();
  if (inputs == 0) return bad_input("the model has no inputs");
  const auto output = options.output != nullptr ? options.output : std::make_shared<CommandOutput>();
  const std::size_t max_arrays =
      options.limit > std::numeric_limits<std::size_t>::max() / inputs ? options.limit : options.limit * inputs;
  const std::string path = TRY(output->arrays(command, max_arrays));
  const std::size_t arrays = std::min(output->count(), max_arrays);
  if (arrays == 0) return bad_input(fmt::format("{} wrote no array", command));
  if (arrays % inputs != 0) {
    return bad_input(
        fmt::format("{} wrote {} arrays, but a sample has one for each of {} inputs", command, arrays, inputs));
  }
  return std::make_unique<CommandSamples>(command, TRY(MappedFile::open(path)), output, arrays / inputs, graph,
                                          diagnostics);
}

}  // namespace isthmus
