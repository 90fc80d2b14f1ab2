// Memory for what may be large: tensors, packed weights, programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace isthmus {

// Zeros that begin at a multiple of 64 bytes. Throws std::bad_alloc.
void* allocate_block(std::size_t bytes);
void free_block(void* block);  // or null

// The same, owned by the pointer and its copies.
std::shared_ptr<std::byte> make_block(std::size_t bytes);

// From now on, blocks of a megabyte and more lie in files without names (in TMPDIR, or else /var/tmp) where all of them
// would take more memory than that, so that the system can write them there and models may be larger than memory. All
// lie in memory where there can be no such file. For the whole process; a command whose memory is limited does without.
void allow_spilling(std::uint64_t resident_bytes);

template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() = default;
  template <class Other>
  BlockAllocator(const BlockAllocator<Other>&) {}  // NOLINT: implicit, as containers want it
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_block(count * sizeof(T))); }
  void deallocate(T* block, std::size_t) { free_block(block); }
  bool operator==(const BlockAllocator&) const = default;
};
// Of programs.
using LargeBytes = std::vector<std::byte, BlockAllocator<std::byte>>;

}  // namespace isthmus
