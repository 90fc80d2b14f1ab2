// An open file, and what is said where the system refuses.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace isthmus {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// By errno.
inline tl::unexpected<Error> system_error(std::string_view action, const std::string& path) {
  return fail(ErrorKind::kEnvironment, fmt::format("cannot {} {}: {}", action, path, std::strerror(errno)));
}

}  // namespace isthmus
