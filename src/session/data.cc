// Opens samples, and statistics that were kept.
#include "session/data.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "interpret/interpreter.h"
#include "ir/fingerprint.h"
#include "stats/stats_file.h"

namespace isthmus {

Expected<std::unique_ptr<Samples>> samples_of(const DataOptions& options, const std::string& file,
                                              std::span<const std::optional<TensorView>> examples,
                                              const Prepared& prepared, Diagnostics& diagnostics) {
  if (options.has_samples()) {
    SampleOptions wanted{.media = options.media, .output = options.output};
    if (options.max_samples) wanted.limit = *options.max_samples;
    std::unique_ptr<Samples> samples;
    if (options.given) {
      std::vector<std::vector<Tensor>> given = *options.given;
      if (given.empty()) return bad_input("no samples given: at least one is needed");
      if (given.size() > wanted.limit) given.resize(wanted.limit);
      for (std::size_t i = 0; i < given.size(); ++i) {
        TRY(within(bind_symbols(prepared.graph, given[i]), [&] { return fmt::format("sample {}", i); }));
      }
      samples = given_samples(std::move(given));
    } else {
      samples = TRY(open_samples(options.path, prepared.graph, wanted, diagnostics));
    }
    return options.sequence ? in_sequences(std::move(samples), *options.sequence) : std::move(samples);
  }
  diagnostics.warn(
      "one-sample", "",
      "no calibration data: ranges come from the example inputs alone and are not fit for use; give --calibrate");
  return within(example_samples(prepared.graph, examples), file);
}

FloatKernels float_kernels_of(const DataOptions& options) {
  return options.is_reproducible ? FloatKernels::kReference : FloatKernels::kXnnpack;
}

Expected<Statistics> known_statistics(const DataOptions& options, const Prepared& prepared, Diagnostics& diagnostics) {
  const std::string name = options.name();
  Statistics statistics = options.statistics != nullptr
                              ? *options.statistics
                              : TRY(within(read_stats(TRY(map_file(options.path))), options.path));
  if (statistics.key != fingerprint(prepared.graph, kStatsVersion)) {
    return bad_input(
        fmt::format("{} was made from another model, for another target or by another version: calibrate again", name));
  }
  if (options.is_reproducible && !statistics.is_reproducible) {
    return bad_input(fmt::format("{} was made without --reproducible: calibrate again with it", name));
  }
  if (statistics.part && !statistics.part->is_whole()) {
    diagnostics.warn("part-of-samples", "",
                     fmt::format("{}: {}; `isthmus merge` joins all parts", name, statistics.part->missing_text()));
  }
  return statistics;
}

}  // namespace isthmus
