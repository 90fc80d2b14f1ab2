#include "report/preprocess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/json_parts.h"

namespace isthmus {

std::string to_text(const PreprocessSummary& summary) {
  std::string text = fmt::format("{} as {} sees it: {}\n", summary.data, summary.model,
                                 summary.steps.empty() ? "pixels from 0 to 1" : summary.steps);
  for (const SeenSample& sample : summary.samples) {
    text += fmt::format("  {}  {}  [{}]  {:.4g} to {:.4g}", sample.picture, sample.file, fmt::join(sample.sizes, ","),
                        sample.min, sample.max);
    if (sample.label) text += fmt::format("  class {} ({})", *sample.label, sample.class_name);
    text += '\n';
  }
  return text;
}

std::string to_json(const PreprocessSummary& summary) {
  Json samples = Json::array();
  for (const SeenSample& sample : summary.samples) {
    Json row{{"file", sample.file},
             {"picture", sample.picture},
             {"shape", sample.sizes},
             {"min", sample.min},
             {"max", sample.max}};
    if (sample.label) {
      row["label"] = *sample.label;
      row["class"] = sample.class_name;
    }
    samples.push_back(std::move(row));
  }
  return dump(
      {{"model", summary.model}, {"data", summary.data}, {"steps", summary.steps}, {"samples", std::move(samples)}});
}

}  // namespace isthmus
