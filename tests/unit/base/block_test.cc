// Large blocks lie in files once there are too many of them, and hold what is written to them.
#include "base/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "engines/xnnpack/packed_memory.h"

namespace isthmus::block_test {
namespace {

constexpr std::size_t kLarge = std::size_t{2} << 20;

class Blocks : public testing::Test {
 protected:
  ~Blocks() override { allow_spilling(std::numeric_limits<std::uint64_t>::max()); }
};

// As the system sees it: the line of the mapping that an address is in.
bool lies_in_file(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    const std::uintptr_t begin = std::stoull(line, nullptr, 16);
    const std::uintptr_t end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    if (at >= begin && at < end) return line.find("(deleted)") != std::string::npos;
  }
  return false;
}

void expect_zeros_that_can_be_written(std::byte* start, std::size_t size) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % 64, 0u);
  EXPECT_TRUE(std::all_of(start, start + size, [](std::byte b) { return b == std::byte{0}; }));
  std::fill(start, start + size, std::byte{7});
  EXPECT_EQ(std::count(start, start + size, std::byte{7}), static_cast<std::ptrdiff_t>(size));
}

TEST_F(Blocks, AreZerosOfAnySize) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{4097}, kLarge}) {
    expect_zeros_that_can_be_written(make_block(size).get(), size);
  }
  EXPECT_THROW(allocate_block(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  free_block(nullptr);
}

TEST_F(Blocks, LieInFilesWhereAllOfThemWouldTakeTooMuchMemory) {
  allow_spilling(3 * kLarge);
  std::vector<std::shared_ptr<std::byte>> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(make_block(kLarge));
  std::ptrdiff_t in_files = 0;
  for (const auto& block : blocks) {
    in_files += lies_in_file(block.get()) ? 1 : 0;
    expect_zeros_that_can_be_written(block.get(), kLarge);
  }
  EXPECT_EQ(in_files, 3);
  EXPECT_FALSE(lies_in_file(make_block(1000).get())) << "small ones never do";
  blocks.clear();
  EXPECT_FALSE(lies_in_file(make_block(kLarge).get())) << "there is memory again";
}

TEST_F(Blocks, LieInMemoryWhereThereCanBeNoFile) {
  allow_spilling(0);
  const char* former = std::getenv("TMPDIR");
  const std::string kept = former == nullptr ? "" : former;
  ::setenv("TMPDIR", "/nowhere", 1);
  const auto block = make_block(kLarge);
  former == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_FALSE(lies_in_file(block.get()));
  expect_zeros_that_can_be_written(block.get(), kLarge);
}

TEST_F(Blocks, HoldWhatXnnpackPacks) {
  allow_spilling(0);
  const xnn_allocator& allocator = xnnpack::packed_memory();
  void* block = allocator.aligned_allocate(nullptr, 64, kLarge);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(lies_in_file(block));
  expect_zeros_that_can_be_written(static_cast<std::byte*>(block), kLarge);
  allocator.aligned_deallocate(nullptr, block);
  EXPECT_EQ(allocator.aligned_allocate(nullptr, 64, std::numeric_limits<std::size_t>::max()), nullptr);
}

}  // namespace
}  // namespace isthmus::block_test
