// Tensors that live at the same time lie apart, and no more memory is taken than needed where that is possible.
#include "program/emit/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace isthmus::memory_plan_test {
namespace {

pte::Tensor floats(std::int32_t count) {
  pte::Tensor tensor;
  tensor.sizes = {count};
  tensor.dim_order = {0};
  tensor.allocation = pte::Allocation{};
  return tensor;
}

// Value 0 is the input, instruction i reads values[i] and makes values[i + 1], the last one is the output.
pte::Plan chain(const std::vector<std::int32_t>& counts) {
  pte::Plan plan;
  plan.chains.emplace_back();
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    plan.values.emplace_back(floats(counts[i]));
    if (i > 0) plan.chains[0].instructions.emplace_back(pte::KernelCall{0, {i - 1, i, i}});
  }
  plan.inputs = {0};
  plan.outputs = {static_cast<std::uint32_t>(counts.size() - 1)};
  return plan;
}

std::uint64_t offset(const pte::Plan& plan, std::size_t value) {
  return std::get<pte::Tensor>(plan.values[value]).allocation->offset;
}

TEST(MemoryPlan, AChainNeedsTwoNeighbours) {
  pte::Plan plan = chain({100, 100, 100, 100});
  const MemoryPlan memory = plan_memory(plan);
  EXPECT_EQ(memory.bytes, 800u);
  EXPECT_EQ(memory.lower_bound, 800u);
  EXPECT_NE(offset(plan, 0), offset(plan, 1));
  EXPECT_EQ(offset(plan, 0), offset(plan, 2));
  EXPECT_EQ(plan.buffer_sizes, (std::vector<std::int64_t>{0, 800}));
}

// What a call reads through a list is read all the same.
TEST(MemoryPlan, ListsAreAliveWithTheirCall) {
  for (const bool is_optional : {false, true}) {
    pte::Plan plan = chain({4, 4, 4, 4});
    if (is_optional) {
      plan.values.emplace_back(pte::OptionalTensorList{{std::nullopt, 1}});
    } else {
      plan.values.emplace_back(pte::TensorList{{1}});
    }
    std::get<pte::KernelCall>(plan.chains[0].instructions.back()).args.push_back(4);
    plan_memory(plan);
    EXPECT_NE(offset(plan, 1), offset(plan, 2));
    EXPECT_NE(offset(plan, 1), offset(plan, 3));
  }
}

TEST(MemoryPlan, DelegateInputsHaveSlackForOverreads) {
  pte::Plan plan = chain({4, 4});
  plan.delegates.emplace_back();
  plan_memory(plan);
  EXPECT_EQ(plan.buffer_sizes, (std::vector<std::int64_t>{0, 32 + 64}));
}

TEST(MemoryPlan, RandomProgramsNeverShareWhatIsAlive) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    pte::Plan plan;
    plan.chains.emplace_back();
    const auto any = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
    const std::uint32_t count = 2 + any(30);
    for (std::uint32_t i = 0; i < count; ++i) {
      plan.values.emplace_back(floats(static_cast<std::int32_t>(1 + any(300))));
      if (i > 0) plan.chains[0].instructions.emplace_back(pte::KernelCall{0, {any(i), i, i}});
    }
    plan.inputs = {0};
    plan.outputs = {count - 1};
    const MemoryPlan memory = plan_memory(plan);
    EXPECT_GE(memory.bytes, memory.lower_bound);
    // Each instruction writes its result while everything that is read later is still there.
    std::vector<int> owner(memory.bytes, -1);
    const auto fill = [&](std::uint32_t value) {
      const auto& tensor = std::get<pte::Tensor>(plan.values[value]);
      const std::uint64_t bytes = pte::byte_count(tensor).value();
      ASSERT_LE(tensor.allocation->offset + bytes, memory.bytes);
      for (std::uint64_t i = 0; i < bytes; ++i) owner[tensor.allocation->offset + i] = static_cast<int>(value);
    };
    const auto expect_intact = [&](std::uint32_t value) {
      const auto& tensor = std::get<pte::Tensor>(plan.values[value]);
      for (std::uint64_t i = 0; i < pte::byte_count(tensor).value(); ++i) {
        ASSERT_EQ(owner[tensor.allocation->offset + i], static_cast<int>(value));
      }
    };
    fill(0);
    for (const pte::Instruction& instruction : plan.chains[0].instructions) {
      const auto& args = std::get<pte::KernelCall>(instruction).args;
      expect_intact(args[0]);
      fill(args[1]);
      expect_intact(args[0]);
    }
    expect_intact(count - 1);
  }
}

}  // namespace
}  // namespace isthmus::memory_plan_test
