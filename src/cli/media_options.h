// The options that say how images and sound become inputs.
#pragma once

#include <CLI/CLI.hpp>

#include "session/data.h"

namespace isthmus {

// --resize, --crop, --mean, --std, --white, --layout, --sample-rate
void add_media_options(CLI::App& command, MediaOptions& options);
// What --calibrate and --data take, for their help.
inline constexpr const char* kSampleSources =
    "an .npz with one array per input (the first axis counts samples); a folder of .npy and .npz files, of images "
    "(.jpg, .png), of .wav or of raw .bin files; or 'cmd:PROGRAM ARGUMENTS', a program that writes .npy arrays to "
    "standard output";

}  // namespace isthmus
