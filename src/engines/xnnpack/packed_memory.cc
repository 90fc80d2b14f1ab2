// The library's allocator.
#include "engines/xnnpack/packed_memory.h"

#include <cstdlib>
#include <new>

#include "base/block.h"

namespace isthmus::xnnpack {
namespace {

void* allocate(void*, std::size_t size) { return std::malloc(size); }
void* reallocate(void*, void* pointer, std::size_t size) { return std::realloc(pointer, size); }
void deallocate(void*, void* pointer) { std::free(pointer); }

// The library asks for no more than 64 bytes of alignment; no exception may pass through it.
void* aligned_allocate(void*, std::size_t alignment, std::size_t size) try {
  return alignment <= 64 ? allocate_block(size) : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}
void aligned_deallocate(void*, void* pointer) { free_block(pointer); }

}  // namespace

const xnn_allocator& packed_memory() {
  static const xnn_allocator allocator{.context = nullptr,
                                       .allocate = allocate,
                                       .reallocate = reallocate,
                                       .deallocate = deallocate,
                                       .aligned_allocate = aligned_allocate,
                                       .aligned_deallocate = aligned_deallocate};
  return allocator;
}

}  // namespace isthmus::xnnpack
