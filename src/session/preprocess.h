// What a model sees of images: its samples as pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "session/data.h"
#include "session/open_model.h"

namespace isthmus {

struct SeenSample {
  std::string file;
  std::string picture;  // a PNG: what the model sees, with mean and standard deviation undone
  std::optional<std::int64_t> label;
  std::string class_name;
  std::vector<std::int64_t> sizes;  // of the tensor, batch axis included
  double min = 0, max = 0;          // of the numbers that the model gets
};

// Writes pictures into `folder`, which is made where it is missing. For folders of images, or a single one.
Expected<std::vector<SeenSample>> show_samples(const OpenModel& model, const DataOptions& data,
                                               const std::string& folder);

}  // namespace isthmus
