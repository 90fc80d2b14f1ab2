// First fit by falling size.
#include "base/packing.h"

#include <algorithm>
#include <numeric>

namespace isthmus {
namespace {

bool meet(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

// What is alive at some step is alive when one of its blocks begins.
std::uint64_t max_alive(const std::vector<Block>& blocks) {
  std::vector<std::pair<std::size_t, std::int64_t>> changes;
  for (const Block& block : blocks) {
    if (block.first > block.last) continue;
    changes.emplace_back(block.first, static_cast<std::int64_t>(block.size));
    changes.emplace_back(block.last + 1, -static_cast<std::int64_t>(block.size));
  }
  std::ranges::sort(changes);  // what ends at a step is gone before others begin
  std::int64_t alive = 0;
  std::int64_t max = 0;
  for (const auto& [step, change] : changes) max = std::max(max, alive += change);
  return static_cast<std::uint64_t>(max);
}

}  // namespace

Packing pack(std::vector<Block> blocks, std::uint64_t alignment) {
  for (Block& block : blocks) block.size = (block.size + alignment - 1) / alignment * alignment;
  Packing result{std::vector<std::uint64_t>(blocks.size(), 0), 0, max_alive(blocks)};
  std::vector<std::size_t> by_size(blocks.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::stable_sort(by_size, std::ranges::greater{}, [&](std::size_t i) { return blocks[i].size; });
  std::vector<std::size_t> placed;  // by offset
  const auto offset_of = [&](std::size_t i) { return result.offsets[i]; };
  for (const std::size_t i : by_size) {
    if (blocks[i].first > blocks[i].last) continue;  // not needed
    std::uint64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(blocks[i], blocks[other])) continue;
      if (offset + blocks[i].size <= offset_of(other)) break;
      offset = std::max(offset, offset_of(other) + blocks[other].size);
    }
    result.offsets[i] = offset;
    placed.insert(std::ranges::upper_bound(placed, offset, {}, offset_of), i);
    result.bytes = std::max(result.bytes, offset + blocks[i].size);
  }
  return result;
}

}  // namespace isthmus
