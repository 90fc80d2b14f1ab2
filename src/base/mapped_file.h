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

}  // namespace isthmus
