// Lives of a program's tensors.
#include "program/emit/memory_plan.h"

#include <optional>
#include <vector>

#include "base/check.h"
#include "base/packing.h"

namespace isthmus {
namespace {

constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kReadBeyond = 64;  // kernels of delegates may read so far past the end

// The tensors that need memory, and when.
struct Lives {
  const pte::Plan& plan;
  std::vector<pte::ValueIndex> values = {};               // by block
  std::vector<std::optional<std::size_t>> block_of = {};  // by value
  std::vector<Block> blocks = {};

  void touch(pte::ValueIndex value, std::size_t step) {
    if (const auto* list = std::get_if<pte::TensorList>(&plan.values[value])) {
      for (const pte::ValueIndex item : list->items) touch(item, step);
    } else if (const auto* some = std::get_if<pte::OptionalTensorList>(&plan.values[value])) {
      for (const std::optional<pte::ValueIndex> item : some->items) {
        if (item) touch(*item, step);
      }
    } else if (block_of[value]) {
      blocks[*block_of[value]].touch(step);
    }
  }
};

Lives lives_of(const pte::Plan& plan) {
  Lives lives{plan};
  for (pte::ValueIndex i = 0; i < plan.values.size(); ++i) {
    const auto* tensor = std::get_if<pte::Tensor>(&plan.values[i]);
    lives.block_of.emplace_back();
    if (tensor == nullptr || !tensor->allocation) continue;
    lives.block_of.back() = lives.blocks.size();
    lives.values.push_back(i);
    lives.blocks.push_back({pte::byte_count(*tensor).value()});
  }
  for (const pte::ValueIndex input : plan.inputs) lives.touch(input, 0);
  std::size_t step = 0;
  for (const pte::Instruction& instruction : plan.chains[0].instructions) {
    ++step;
    const auto touch_all = [&](const std::vector<pte::ValueIndex>& args) {
      for (const pte::ValueIndex arg : args) lives.touch(arg, step);
    };
    if (const auto* call = std::get_if<pte::KernelCall>(&instruction)) touch_all(call->args);
    if (const auto* call = std::get_if<pte::DelegateCall>(&instruction)) touch_all(call->args);
  }
  for (const pte::ValueIndex output : plan.outputs) lives.touch(output, step + 1);
  // A run finds what the run before left: a state shares its memory with no other value.
  for (pte::ValueIndex i = 0; i < plan.values.size(); ++i) {
    const auto* tensor = std::get_if<pte::Tensor>(&plan.values[i]);
    if (tensor == nullptr || !tensor->is_state()) continue;
    lives.touch(i, 0);
    lives.touch(i, step + 1);
  }
  return lives;
}

}  // namespace

MemoryPlan plan_memory(pte::Plan& plan) {
  CHECK(plan.chains.size() == 1, "memory is planned for one chain");
  const Lives lives = lives_of(plan);
  const Packing packing = pack(lives.blocks, kAlignment);
  for (std::size_t i = 0; i < lives.values.size(); ++i) {
    std::get<pte::Tensor>(plan.values[lives.values[i]]).allocation = pte::Allocation{1, packing.offsets[i]};
  }
  plan.buffer_sizes = {0, static_cast<std::int64_t>(packing.bytes + (plan.delegates.empty() ? 0 : kReadBeyond))};
  return {packing.bytes, packing.lower_bound};
}

}  // namespace isthmus
