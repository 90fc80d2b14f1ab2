// Where calibration data come from: inputs of a graph, one set after another.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/command_output.h"
#include "calibrate/media_options.h"
#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// Inputs for runs of one graph. Memory is needed for one run, however many there are.
class Samples {
 public:
  virtual ~Samples() = default;
  // How many there are in all; nothing where that is not known before.
  virtual std::optional<std::size_t> count() const = 0;
  // The next sample: one tensor per input of the graph, batch axis included, that fit the graph and each other; nothing
  // at the end. An error names the file and the array, and ends the samples.
  virtual Expected<std::optional<std::vector<Tensor>>> next() = 0;
  // After how many samples the states of a model begin anew; nothing: all samples follow each other.
  virtual std::optional<std::size_t> sequence() const { return std::nullopt; }
  // Passes over this many samples, before any was asked for: without reading them where that is possible.
  virtual Expected<void> skip(std::size_t samples);
  // The number of the first one in the data, where these are a part of it.
  virtual std::size_t first() const { return 0; }
};

struct SampleOptions {
  std::size_t limit = std::numeric_limits<std::size_t>::max();  // samples; the first ones are taken
  MediaOptions media = {};
  std::shared_ptr<CommandOutput> output = {};  // of the command that makes samples; kept from one opening to the next
};

// `path` is one of
// - an .npz file with one array per input of the graph, named as the inputs or input_0, input_1, ...; others are
//   ignored. The first axis counts samples: an input f32[1,3,8,8] is read from [N,3,8,8] or [N,1,3,8,8]. Where the
//   first size of the input is B, each B rows of [N,3,8,8] are a sample, and a rest of less is left out with a warning;
//   a symbolic one gets the smallest number of rows within its bounds, but at least one.
// - a folder: each of its .npy and .npz files that is not hidden is a sample, in the order of their names. Arrays are
//   as the input is, or without a first axis of one.
// - a folder of images, .wav or raw .bin files, in which folders may name classes, or a single such file: each is a row
//   of the only input, after the steps of `media`. Of more than `most` files those that are read are spread evenly.
// - "cmd:" and a program with its arguments, which writes .npy arrays one after another: one for each input, then the
//   next sample. It runs without a shell, once for all openings that share `output`.
// Numbers are taken as they are; only f64 becomes f32, and f32 becomes bf16, which NumPy lacks, with a note.
//
// Everything that headers tell is checked here for an .npz file, and with each file for a folder; checksums when the
// last byte has been read. `graph` and `diagnostics` must outlive the samples.
Expected<std::unique_ptr<Samples>> open_samples(const std::string& path, const Graph& graph,
                                                const SampleOptions& options, Diagnostics& diagnostics);

// The example inputs of a model, one per input of its graph: one sample. Fails where one is missing or does not fit.
Expected<std::unique_ptr<Samples>> example_samples(const Graph& graph,
                                                   std::span<const std::optional<TensorView>> examples);

// The same samples as sequences of this length.
std::unique_ptr<Samples> in_sequences(std::unique_ptr<Samples> source, std::size_t length);

// Samples that are in memory already.
std::unique_ptr<Samples> given_samples(std::vector<std::vector<Tensor>> samples);

}  // namespace isthmus
