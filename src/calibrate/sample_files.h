// The kinds of files that samples are read from; `open_samples` chooses.
#pragma once

#include "calibrate/samples.h"

namespace isthmus {

Expected<std::unique_ptr<Samples>> open_npz(const std::string& path, const Graph& graph, const SampleOptions& options,
                                            Diagnostics& diagnostics);
Expected<std::unique_ptr<Samples>> open_folder(const std::string& path, const Graph& graph,
                                               const SampleOptions& options, Diagnostics& diagnostics);

}  // namespace isthmus
