// The kinds of files that samples are read from; `open_samples` chooses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/samples.h"

namespace isthmus {

// Pages of samples that were given count as memory of the program until the system needs them, which would let it seem
// to grow with their number.
inline constexpr std::uint64_t kMaxBytesKept = std::uint64_t{1} << 20;

Expected<std::unique_ptr<Samples>> open_npz(const std::string& path, const Graph& graph, const SampleOptions& options,
                                            Diagnostics& diagnostics);
// A folder, or a single file that is not an array.
Expected<std::unique_ptr<Samples>> open_media(const std::string& path, const Graph& graph, const SampleOptions& options,
                                              Diagnostics& diagnostics);
// Of .npy and .npz files.
std::unique_ptr<Samples> open_arrays(std::vector<std::string> files, const Graph& graph, Diagnostics& diagnostics);
// The arrays that a program writes.
Expected<std::unique_ptr<Samples>> open_command(const std::string& command, const Graph& graph,
                                                const SampleOptions& options, Diagnostics& diagnostics);

}  // namespace isthmus
