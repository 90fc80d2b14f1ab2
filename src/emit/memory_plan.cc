// Lives of tensors and their packing.
#include "emit/memory_plan.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.h"

namespace isthmus {
namespace {

constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kReadBeyond = 64;  // kernels of delegates may read so far past the end

struct Block {
  pte::ValueIndex value = 0;
  std::uint64_t size = 0;
  std::size_t first = std::numeric_limits<std::size_t>::max();  // instructions; 0 is before the first one
  std::size_t last = 0;
  std::uint64_t offset = 0;

  bool meets(const Block& other) const { return first <= other.last && other.first <= last; }
};

void touch(std::vector<Block>& blocks, const std::vector<std::size_t>& block_of, const pte::Plan& plan,
           pte::ValueIndex value, std::size_t time) {
  if (const auto* list = std::get_if<pte::TensorList>(&plan.values[value])) {
    for (const pte::ValueIndex item : list->items) touch(blocks, block_of, plan, item, time);
    return;
  }
  if (block_of[value] == blocks.size()) return;
  Block& block = blocks[block_of[value]];
  block.first = std::min(block.first, time);
  block.last = std::max(block.last, time);
}

std::vector<Block> blocks_of(const pte::Plan& plan) {
  std::vector<Block> blocks;
  std::vector<std::size_t> block_of;
  for (pte::ValueIndex i = 0; i < plan.values.size(); ++i) {
    const auto* tensor = std::get_if<pte::Tensor>(&plan.values[i]);
    block_of.push_back(std::numeric_limits<std::size_t>::max());
    if (tensor == nullptr || !tensor->allocation) continue;
    block_of.back() = blocks.size();
    const std::uint64_t bytes = pte::byte_count(*tensor).value();
    blocks.push_back({i, (bytes + kAlignment - 1) / kAlignment * kAlignment});
  }
  std::ranges::replace(block_of, std::numeric_limits<std::size_t>::max(), blocks.size());
  for (const pte::ValueIndex input : plan.inputs) touch(blocks, block_of, plan, input, 0);
  std::size_t time = 0;
  for (const pte::Instruction& instruction : plan.chains[0].instructions) {
    ++time;
    const auto touch_all = [&](const std::vector<pte::ValueIndex>& args) {
      for (const pte::ValueIndex arg : args) touch(blocks, block_of, plan, arg, time);
    };
    if (const auto* call = std::get_if<pte::KernelCall>(&instruction)) touch_all(call->args);
    if (const auto* call = std::get_if<pte::DelegateCall>(&instruction)) touch_all(call->args);
  }
  for (const pte::ValueIndex output : plan.outputs) touch(blocks, block_of, plan, output, time + 1);
  return blocks;
}

std::uint64_t most_alive(const std::vector<Block>& blocks) {
  std::uint64_t most = 0;
  for (const Block& at : blocks) {
    std::uint64_t sum = 0;
    for (const Block& block : blocks) sum += block.first <= at.first && at.first <= block.last ? block.size : 0;
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

MemoryPlan plan_memory(pte::Plan& plan) {
  CHECK(plan.chains.size() == 1, "memory is planned for one chain");
  std::vector<Block> blocks = blocks_of(plan);
  MemoryPlan result{0, most_alive(blocks)};
  std::ranges::stable_sort(blocks, std::ranges::greater{}, &Block::size);
  std::vector<Block> placed;  // by offset
  for (Block& block : blocks) {
    for (const Block& other : placed) {
      if (!block.meets(other)) continue;
      if (block.offset + block.size <= other.offset) break;
      block.offset = std::max(block.offset, other.offset + other.size);
    }
    placed.insert(std::ranges::upper_bound(placed, block.offset, {}, &Block::offset), block);
    result.bytes = std::max(result.bytes, block.offset + block.size);
    std::get<pte::Tensor>(plan.values[block.value]).allocation = pte::Allocation{1, block.offset};
  }
  plan.buffer_sizes = {0, static_cast<std::int64_t>(result.bytes + (plan.delegates.empty() ? 0 : kReadBeyond))};
  return result;
}

}  // namespace isthmus
