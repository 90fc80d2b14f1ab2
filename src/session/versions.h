// Which Isthmus this is, what it is built with, and the versions of the formats that it reads and writes.
#pragma once

#include <string>

namespace isthmus {

// One fact a line, Isthmus itself first.
std::string versions_text();

}  // namespace isthmus
