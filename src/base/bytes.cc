// File mappings and careful writing.
#include "base/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/mapped_file.h"

namespace isthmus {
namespace {

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

tl::unexpected<Error> system_error(std::string_view action, const std::string& path) {
  return fail(ErrorKind::kEnvironment, fmt::format("cannot {} {}: {}", action, path, std::strerror(errno)));
}

}  // namespace

Blob Blob::owning(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view = *owner;
  return {view, std::move(owner)};
}

std::optional<Blob> Blob::part(std::uint64_t offset, std::uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
  return Blob(bytes_.subspan(offset, size), owner_);
}

Expected<MappedFile> MappedFile::open(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error("open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("read", path);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::kEnvironment, fmt::format("cannot read {}: it is not a regular file", path));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(Blob());
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return system_error("map", path);
  std::shared_ptr<const void> owner(address, [size](const void* start) { ::munmap(const_cast<void*>(start), size); });
  return MappedFile(Blob(std::span(static_cast<const std::byte*>(address), size), std::move(owner)));
}

void MappedFile::forget_pages() const {
  if (bytes_.size() == 0) return;
  // Whether the system does it is its own business.
  (void)::madvise(const_cast<std::byte*>(bytes_.bytes().data()), bytes_.size(), MADV_DONTNEED);
}

Expected<Blob> map_file(const std::string& path) { return TRY(MappedFile::open(path)).bytes(); }

Expected<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::string temporary = path + ".XXXXXX";
  const FileDescriptor file(::mkstemp(temporary.data()));
  if (file.get() < 0) return system_error("create a file beside", path);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      auto error = system_error("write", path);
      ::unlink(temporary.c_str());
      return error;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fchmod(file.get(), 0644) != 0 || ::fsync(file.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = system_error("write", path);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

}  // namespace isthmus
