// The library's allocator.
#include "engines/xnnpack/packed_memory.h"

#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/block.h"

namespace isthmus::xnnpack {
namespace {

// Smaller ones never lie in files.
constexpr std::size_t kLarge = std::size_t{1} << 20;
constexpr std::size_t kBlockAlignment = 64;  // of our blocks

// Those that are ours: the library frees aligned memory also by the function for all other memory.
class LargeBlocks {
 public:
  void* make(std::size_t size) {
    std::shared_ptr<std::byte> block = make_block(size);
    const std::lock_guard lock(mutex_);
    void* start = block.get();
    blocks_.emplace(start, std::move(block));
    return start;
  }
  void free_any(void* block) {
    const std::lock_guard lock(mutex_);
    if (blocks_.erase(block) == 0) std::free(block);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<std::byte>> blocks_;
};

LargeBlocks& large_blocks() {
  static auto* const blocks = new LargeBlocks;  // the library may free memory while the process ends
  return *blocks;
}

void* allocate(void*, std::size_t size) { return std::malloc(size); }
void* reallocate(void*, void* pointer, std::size_t size) { return std::realloc(pointer, size); }
void deallocate(void*, void* pointer) { large_blocks().free_any(pointer); }

// No exception may pass through the library.
void* aligned_allocate(void*, std::size_t alignment, std::size_t size) try {
  if (size >= kLarge && alignment <= kBlockAlignment) return large_blocks().make(size);
  void* start = nullptr;
  return ::posix_memalign(&start, alignment, size) == 0 ? start : nullptr;
} catch (const std::exception&) {
  return nullptr;
}

}  // namespace

const xnn_allocator& packed_memory() {
  static const xnn_allocator allocator{.context = nullptr,
                                       .allocate = allocate,
                                       .reallocate = reallocate,
                                       .deallocate = deallocate,
                                       .aligned_allocate = aligned_allocate,
                                       .aligned_deallocate = deallocate};
  return allocator;
}

}  // namespace isthmus::xnnpack
