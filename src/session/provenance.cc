// Words options.
#include "session/provenance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.h"
#include "base/version.h"
#include "session/content_hash.h"

namespace isthmus {
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
    add("calibration_sha256", TRY(content_hash(options.data.path)));
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
