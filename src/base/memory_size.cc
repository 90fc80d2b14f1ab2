// Asks the system.
#include "base/memory_size.h"

#include <unistd.h>

#include "base/bytes.h"

namespace isthmus {

std::uint64_t bytes_of_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return kMaxRunBytes;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

}  // namespace isthmus
