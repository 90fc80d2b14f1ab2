// The options that say how images and sound become inputs.
#pragma once

#include <CLI/CLI.hpp>

#include "session/data.h"

namespace isthmus {

// --resize, --crop, --mean, --std, --white, --layout, --sample-rate
void add_media_options(CLI::App& command, MediaOptions& options);
// What --calibrate and --data take, for their help.
inline constexpr const char* kSampleSources =
    "an .npz with one array per input (its first axis counts samples); a folder of .npy and .npz files, of images "
    "(.jpg, "
    ".png), of .wav or of raw .bin files; or 'cmd:PROGRAM ARGUMENTS', which writes .npy arrays one after another";

}  // namespace isthmus
