// Parts of bytes, and careful writing.
#include "base/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "base/file_descriptor.h"
#include "base/leftovers.h"
#include "base/output_file.h"

namespace isthmus {

template <class Bytes>
Blob Blob::owned(Bytes bytes) {
  auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const std::span<const std::byte> view = *owner;
  return {view, std::move(owner)};
}
Blob Blob::owning(std::vector<std::byte> bytes) { return owned(std::move(bytes)); }
Blob Blob::owning_block(LargeBytes bytes) { return owned(std::move(bytes)); }

std::optional<Blob> Blob::part(std::uint64_t offset, std::uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
  return Blob(bytes_.subspan(offset, size), owner_);
}

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

// The bytes of a new file before it has its name, with the permissions that the process gives to new files. Where the
// file system can, the file has no name until all is written: whatever ends the process leaves nothing behind.
class NewFile {
 public:
  explicit NewFile(const std::string& file_name) : file_name_(file_name), file_(open(file_name)) {
    if (file_.get() < 0) named_.emplace(create_beside());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (has_name_) ::unlink(temporary_.c_str());
  }

  int get() const { return named_ ? named_->get() : file_.get(); }

  // Gives it the name; a file of this name is replaced.
  bool place() {
    if (!named_ && !link_beside()) return false;
    if (::rename(temporary_.c_str(), file_name_.c_str()) != 0) return false;
    has_name_ = false;
    return true;
  }

 private:
  static int open(const std::string& file_name) {
    const std::string folder = std::filesystem::path(file_name).parent_path().string();
    if (::access("/proc/self/fd", X_OK) != 0) return -1;  // which link_beside needs
    return ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  }

  // Calls `make` with names beside the file until one is free: it gives -1 and sets errno.
  template <class Make>
  int with_free_name(Make make) {
    constexpr int kMaxTries = 100;
    static std::atomic<unsigned> count = 0;
    int made = -1;
    for (int i = 0; i < kMaxTries && made < 0; ++i) {
      temporary_ = fmt::format("{}.{}-{}", file_name_, ::getpid(), ++count);
      // Noted only for names that are free: a handler of signals must not remove what is not ours.
      if (::access(temporary_.c_str(), F_OK) == 0) continue;
      leftover_.emplace(std::string_view(temporary_));
      made = make(temporary_.c_str());
      if (made < 0) leftover_.reset();
      if (made < 0 && errno != EEXIST) break;
    }
    has_name_ = made >= 0;
    return made;
  }
  int create_beside() {
    return with_free_name([](const char* name) { return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  }
  bool link_beside() {
    const std::string self = fmt::format("/proc/self/fd/{}", file_.get());
    return with_free_name([&](const char* name) {
             return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
           }) >= 0;
  }

  const std::string& file_name_;
  std::string temporary_;
  std::optional<Leftover> leftover_;  // gone after the name is
  bool has_name_ = false;
  FileDescriptor file_;                  // without a name
  std::optional<FileDescriptor> named_;  // where the file system has no files without names
};

}  // namespace

// Links are followed, and what is not a regular file is written through. A file that was there keeps its permissions.
Expected<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string file_name = followed(path);
  struct stat former {};
  const bool exists = ::stat(file_name.c_str(), &former) == 0;
  if (exists && !S_ISREG(former.st_mode)) return write_through(file_name, bytes, path);
  NewFile file(file_name);
  if (file.get() < 0) return system_error("create a file beside", path);
  TRY(write_all(file.get(), bytes, path));
  constexpr mode_t kPermissions = 07777;
  const bool is_placed =
      (!exists || ::fchmod(file.get(), former.st_mode & kPermissions) == 0) && ::fsync(file.get()) == 0 && file.place();
  if (!is_placed) return system_error("write", path);
  return {};
}

}  // namespace isthmus
