// File mappings and careful writing.
#include "base/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/mapped_file.h"
#include "base/output_file.h"

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

namespace {

Expected<void> write_all(int file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

// A device or a pipe takes the bytes as it is written.
Expected<void> write_through(const std::string& file_name, std::span<const std::byte> bytes, const std::string& path) {
  const FileDescriptor file(::open(file_name.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error("write", path);
  return write_all(file.get(), bytes, path);
}

// A new file beside the other, with the permissions that the process gives to new files.
int create_beside(const std::string& file_name, std::string& temporary) {
  constexpr int kMaxTries = 100;
  static std::atomic<unsigned> count = 0;
  for (int i = 0; i < kMaxTries; ++i) {
    temporary = fmt::format("{}.{}-{}", file_name, ::getpid(), ++count);
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

// Links are followed, and what is not a regular file is written through. A file that was there keeps its permissions.
Expected<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string file_name = followed(path);
  struct stat former {};
  const bool exists = ::stat(file_name.c_str(), &former) == 0;
  if (exists && !S_ISREG(former.st_mode)) return write_through(file_name, bytes, path);
  std::string temporary;
  const FileDescriptor file(create_beside(file_name, temporary));
  if (file.get() < 0) return system_error("create a file beside", path);
  auto done = write_all(file.get(), bytes, path);
  const auto is_placed = [&] {
    constexpr mode_t kPermissions = 07777;
    return (!exists || ::fchmod(file.get(), former.st_mode & kPermissions) == 0) && ::fsync(file.get()) == 0 &&
           ::rename(temporary.c_str(), file_name.c_str()) == 0;
  };
  if (done && !is_placed()) done = system_error("write", path);
  if (!done) ::unlink(temporary.c_str());
  return done;
}

}  // namespace isthmus
