// Which part of the samples a file is about.
#pragma once

#include <string>

#include "shard/manifest.h"

namespace isthmus {

// "part        3/8: 12 of 100 samples, from 36 on\n"
std::string to_text(const Manifest& part);

}  // namespace isthmus
