// Maps files, and keeps a list of what is mapped that handlers of signals can read.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/file_descriptor.h"

namespace isthmus {
namespace {

// In a list that only grows; what is unmapped leaves its place to the next.
struct Place {
  std::atomic<bool> is_taken = true;
  std::atomic<std::uintptr_t> start = 0;
  std::atomic<std::uintptr_t> end = 0;  // 0: nothing is mapped
  std::array<char, 1024> path{};
  Place* next = nullptr;
};
std::atomic<Place*> places = nullptr;

Place& take_place() {
  for (Place* place = places; place != nullptr; place = place->next) {
    bool is_taken = false;
    if (place->is_taken.compare_exchange_strong(is_taken, true)) return *place;
  }
  auto* place = new Place;  // lives as long as the process
  place->next = places;
  while (!places.compare_exchange_weak(place->next, place)) {
  }
  return *place;
}

class Mapping {
 public:
  Mapping(void* address, std::size_t size, Place& place) : address_(address), size_(size), place_(place) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    place_.end = 0;
    place_.is_taken = false;
    ::munmap(address_, size_);
  }

 private:
  void* address_;
  std::size_t size_;
  Place& place_;
};

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

// Files of /proc have no size, and content all the same.
bool has_content(int file) {
  char byte = 0;
  return ::read(file, &byte, 1) == 1;
}

}  // namespace

Expected<MappedFile> MappedFile::open(const std::string& path) {
  // A pipe without a writer must not block, a terminal not become ours.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return system_error("open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("read", path);
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorKind::kEnvironment, fmt::format("cannot read {}: it is {}, not a regular file", path, what));
  };
  if (!S_ISREG(status.st_mode)) return refuse(kind_of(status.st_mode));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    if (has_content(file.get())) return refuse("a special file whose content the system generates");
    return MappedFile(Blob());
  }
  Place& place = take_place();
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) {
    place.is_taken = false;
    return system_error("map", path);
  }
  place.path[path.copy(place.path.data(), place.path.size() - 1)] = '\0';
  place.start = reinterpret_cast<std::uintptr_t>(address);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  place.end = (place.start + size + page - 1) / page * page;  // the last page is mapped as a whole
  auto owner = std::make_shared<const Mapping>(address, size, place);
  return MappedFile(Blob(std::span(static_cast<const std::byte*>(address), size), std::move(owner)));
}

void MappedFile::forget_pages() const {
  if (bytes_.size() == 0) return;
  // Whether the system does it is its own business.
  (void)::madvise(const_cast<std::byte*>(bytes_.bytes().data()), bytes_.size(), MADV_DONTNEED);
}

Expected<Blob> map_file(const std::string& path) { return TRY(MappedFile::open(path)).bytes(); }

const char* mapped_path_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Place* place = places; place != nullptr; place = place->next) {
    if (at >= place->start && at < place->end) return place->path.data();
  }
  return nullptr;
}

}  // namespace isthmus
