// Hashes files and words options.
#include "session/provenance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/sha256.h"
#include "base/version.h"

namespace isthmus {
namespace {

// Of a folder: of its files' names and hashes, in the order of names, with those of the folders below.
Expected<std::string> hash_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return sha256_hex(TRY(map_file(path)).bytes());
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string all;
  for (const std::filesystem::path& file : files) {
    all += fmt::format("{} {}\n", file.lexically_relative(path).string(),
                       sha256_hex(TRY(map_file(file.string())).bytes()));
  }
  return sha256_hex(std::as_bytes(std::span(all)));
}

}  // namespace

Expected<pte::Provenance> provenance_of(const OpenModel& model, const SessionOptions& options) {
  pte::Provenance result;
  const auto add = [&](std::string key, std::string value) {
    result.facts.emplace_back(std::move(key), std::move(value));
  };
  add("tool", fmt::format("isthmus {}", version()));
  add("target", std::string(options.prepare.target->name));
  add("model_sha256", sha256_hex(model.bytes.bytes()));
  if (options.is_float) {
    add("precision", "float");
  } else if (is_command(options.data.path)) {
    add("calibration", options.data.path);
  } else if (!options.data.path.empty()) {
    add("calibration_sha256", TRY(hash_of(options.data.path)));
  } else {
    add("calibration", options.data.is_empty() ? "the example inputs" : "data in memory");
  }
  if (options.data.max_samples) add("samples", fmt::format("at most {}", *options.data.max_samples));
  if (!options.data.media.is_default()) add("preprocessing", options.data.media.text());
  if (options.data.sequence) add("sequence", fmt::format("{}", *options.data.sequence));
  if (options.data.is_reproducible) add("reproducible", "true");
  const ShapeRequest& shapes = options.prepare.shapes;
  for (const auto& [name, sizes] : shapes.inputs) add("shape", fmt::format("{}={}", name, fmt::join(sizes, ",")));
  for (const auto& [name, numbers] : model.constants)
    add("constant", fmt::format("{}={}", name, fmt::join(numbers, ",")));
  if (shapes.batch) add("batch", fmt::format("{}", *shapes.batch));
  if (shapes.max_batch) add("max_batch", fmt::format("{}", *shapes.max_batch));
  for (const std::string& layout : options.input_layouts) add("input_layout", layout);
  if (!options.is_float) result.config = options.config.text;
  return result;
}

}  // namespace isthmus
