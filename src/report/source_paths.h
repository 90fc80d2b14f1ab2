// The files of the user's program that a model names.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "session/open_model.h"

namespace isthmus {

// By the short form that origins have ("networks.py:251"): the path of the file. Where some end of the path that the
// exporting machine knew exists below `root`, that end, so that it means something here; else the path as it was.
using SourcePaths = std::map<std::string, std::string>;

SourcePaths source_paths(const OpenModel& model, const std::filesystem::path& root);

}  // namespace isthmus
