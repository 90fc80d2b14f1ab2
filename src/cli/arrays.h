// The arrays that a command reads and writes: .npy files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "report/run.h"

namespace isthmus {

Expected<std::vector<Tensor>> read_arrays(std::span<const std::string> paths);

// Writes output_0.npy, output_1.npy, ... into the folder, which is made where it is missing. Empty ones are left out.
Expected<std::vector<RunSummary::Written>> write_outputs(const std::string& folder,
                                                         std::span<const std::optional<Tensor>> outputs);

}  // namespace isthmus
