// How much memory the machine has.
#pragma once

#include <cstdint>

namespace isthmus {

// kMaxRunBytes where the system does not say.
std::uint64_t bytes_of_memory();

}  // namespace isthmus
