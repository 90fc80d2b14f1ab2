// A file in the address space, for those who read far more of it than they want to keep in memory.
#pragma once

#include <string>

#include "base/bytes.h"

namespace isthmus {

class MappedFile {
 public:
  // As `map_file`, for callers that let the system decide when to drop pages.
  static Expected<MappedFile> open(const std::string& path);

  const Blob& bytes() const { return bytes_; }
  // The pages no longer count as memory of this program. The next access reads it from the file again:
  // Blobs made of this file stay what they are, also in the hands of other threads.
  void forget_pages() const;

 private:
  explicit MappedFile(Blob bytes) : bytes_(std::move(bytes)) {}
  Blob bytes_;  // all of the file
};

// The path of the file that is mapped at this address, or null. Reading pages of a file that has become shorter, or
// that its device no longer gives, ends in SIGBUS: a handler asks here whether the address is ours. Safe in handlers
// of signals, for an address that the calling thread has just read.
const char* mapped_path_at(const void* address);

}  // namespace isthmus
