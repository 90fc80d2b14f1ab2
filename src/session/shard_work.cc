// Facts that have to be equal: what could change a number, and nothing that differs from machine to machine.
#include "session/shard_work.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <utility>

#include "base/sha256.h"
#include "base/version.h"
#include "calibrate/media_folder.h"
#include "formats/zip.h"
#include "ir/fingerprint.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

std::string hash_of_text(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text))); }

// Of what can be known of the data without reading all of them, which each shard would have to: the checksums in an
// .npz file, names and sizes of files.
Expected<std::string> data_identity(const DataOptions& data) {
  if (data.given) return "in memory";
  if (data.path.empty()) return "the examples of the model";
  if (is_command(data.path)) return data.path;
  std::string all;
  if (std::filesystem::is_directory(data.path)) {
    const MediaFolder folder = TRY(list_media(data.path, std::numeric_limits<std::size_t>::max()));
    for (const std::string& file : folder.files) {
      std::error_code unknown;
      all += fmt::format("{} {}\n", std::filesystem::path(file).lexically_relative(data.path).string(),
                         std::filesystem::file_size(file, unknown));
    }
  } else if (data.path.ends_with(".npz")) {
    const Zip zip = TRY(within(Zip::open(TRY(map_file(data.path))), data.path));
    for (const ZipEntry& entry : zip.entries())
      all += fmt::format("{} {} {:08x}\n", entry.name, entry.size, entry.crc32);
  } else {
    return sha256_hex(TRY(map_file(data.path)).bytes());
  }
  return hash_of_text(all);
}

Expected<void> add_data(Facts& facts, const DataOptions& data) {
  facts.push_back({"data", TRY(data_identity(data))});
  if (data.max_samples) facts.push_back({"--samples", fmt::format("{}", *data.max_samples)});
  if (data.sequence) facts.push_back({"--sequence", fmt::format("{}", *data.sequence)});
  if (!data.media.is_default()) facts.push_back({"preprocessing", data.media.text()});
  return {};
}

std::string tool() { return fmt::format("isthmus {}", version()); }
// Of the graph as the target wants it, with its weights.
std::string model_hash(const Prepared& prepared) {
  return fmt::format("{:016x}", fingerprint(prepared.graph, kStatsVersion));
}

}  // namespace

Expected<std::unique_ptr<ShardSamples>> shard_of(std::unique_ptr<Samples> samples, Shard shard, bool has_states) {
  if (has_states && !samples->sequence()) {
    return bad_input(
        "the model has state and all samples are one sequence, which cannot be split: give the length of a sequence "
        "with --sequence, or run it without shards");
  }
  return ShardSamples::of(std::move(samples), shard);
}

Expected<void> read_all(Samples& samples) {
  while (TRY(samples.next())) {
  }
  return {};
}

Expected<Facts> calibration_facts(const Prepared& prepared, const TargetDesc& target, const DataOptions& data) {
  Facts facts{{"tool", tool()}, {"target", std::string(target.name)}, {"model", model_hash(prepared)}};
  if (data.is_reproducible) facts.push_back({"--reproducible", "yes"});
  TRY(add_data(facts, data));
  return facts;
}

Expected<Facts> evaluation_facts(const Blob& program, const ProgramOptions& options, const Prepared& reference,
                                 const DataOptions& data, std::span<const std::int64_t> labels) {
  Facts facts{{"tool", tool()},
              {"program", sha256_hex(program.bytes())},
              {"method", options.method},
              {"model", model_hash(reference)}};
  TRY(add_data(facts, data));
  if (!labels.empty()) facts.push_back({"labels", sha256_hex(std::as_bytes(labels))});
  return facts;
}

}  // namespace isthmus
