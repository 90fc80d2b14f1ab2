// Blocks of memory, and of files that are mapped.
#include "base/block.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "base/file_descriptor.h"

namespace isthmus {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 64;

// Before each block.
struct alignas(kAlignment) Header {
  void* base = nullptr;     // of the memory or the file
  std::size_t mapped = 0;   // of the file; 0: in memory
  std::size_t counted = 0;  // in `resident`
};

std::atomic<std::uint64_t> resident_limit = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t> resident = 0;  // of large blocks in memory

// Null where it cannot be had. The space is taken at once: a full disk must not show when the block is written.
void* map_new_file(std::size_t bytes) {
  const char* named = std::getenv("TMPDIR");
  const char* folder = named != nullptr && *named != '\0' ? named : "/var/tmp";
  const FileDescriptor file(::open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (file.get() < 0 || ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return start == MAP_FAILED ? nullptr : start;
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const bool is_large = bytes >= kLarge;
  if (is_large && resident + bytes > resident_limit) {
    if (void* base = map_new_file(bytes + kAlignment); base != nullptr) {
      return new (base) Header{.base = base, .mapped = bytes + kAlignment} + 1;
    }
  }
  auto* base = static_cast<std::byte*>(std::calloc(bytes + 2 * kAlignment, 1));  // untouched zero pages cost nothing
  if (base == nullptr) throw std::bad_alloc();
  if (is_large) resident += bytes;
  std::byte* aligned = base + (kAlignment - reinterpret_cast<std::uintptr_t>(base) % kAlignment);
  return new (aligned) Header{.base = base, .counted = is_large ? bytes : 0} + 1;
}

void free_block(void* block) {
  if (block == nullptr) return;
  const Header header = *(static_cast<const Header*>(block) - 1);
  if (header.mapped != 0) {
    ::munmap(header.base, header.mapped);
    return;
  }
  resident -= header.counted;
  std::free(header.base);
}

std::shared_ptr<std::byte> make_block(std::size_t bytes) {
  return {static_cast<std::byte*>(allocate_block(bytes)), free_block};
}

void allow_spilling(std::uint64_t resident_bytes) { resident_limit = resident_bytes; }

}  // namespace isthmus
