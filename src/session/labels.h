// The classes of samples.
#pragma once

#include <cstdint>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "session/data.h"

namespace isthmus {

// One class for each sample that is read, from the first of these that there is: a file of labels, the array "labels"
// of an .npz file, the names of folders; those given with samples in memory. Empty where there is none, which is said.
//
// A file of labels has a class on each line: of the samples in their order, those of a folder in the order of paths; or
// the name of a file in the folder, a comma or a blank, and its class.
Expected<std::vector<std::int64_t>> labels_of(const DataOptions& options, Diagnostics& diagnostics);

}  // namespace isthmus
