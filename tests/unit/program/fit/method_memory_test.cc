// The demand of a small method, counted by hand.
#include "program/fit/method_memory.h"

#include <gtest/gtest.h>

#include "program/fit/fit.h"

namespace isthmus::method_memory_test {
namespace {

pte::Tensor tensor(std::vector<std::int32_t> sizes, std::uint64_t offset) {
  pte::Tensor result;
  result.sizes = std::move(sizes);
  for (std::size_t i = 0; i < result.sizes.size(); ++i) result.dim_order.push_back(static_cast<std::uint8_t>(i));
  result.allocation = pte::Allocation{1, offset};
  return result;
}

// y = x + 1
pte::Program sum() {
  pte::Program program;
  pte::Plan& plan = program.plans.emplace_back();
  plan.name = "forward";
  plan.values = {tensor({3}, 0), tensor({3}, 16), std::int64_t{1}, tensor({3}, 32)};
  plan.inputs = {0};
  plan.outputs = {3};
  plan.operators = {{"aten::add", "out"}, {"executorch_prim::add", "Scalar"}};
  plan.chains.emplace_back().instructions = {pte::KernelCall{0, {0, 0, 2, 1, 1}}, pte::KernelCall{0, {1, 1, 2, 3, 3}}};
  plan.buffer_sizes = {0, 48};
  return program;
}

TEST(MethodMemory, CountsWhatTheLoaderTakes) {
  const pte::Program program = sum();
  const fit::MethodMemory memory = fit::method_memory(program.plans[0], 8);
  // 4 values of 16, 1 input, 3 tensors: strides of 4 at a multiple of 4, a structure of 64 at a multiple of 8.
  EXPECT_EQ(memory.values, 64u + 1 + 3 + 4 + 64 + 4 + 4 + 64 + 4 + 4 + 64);
  EXPECT_EQ(memory.delegates, 0u);
  // A chain of 32, 2 kernels of 8, 2 lists of 16, 5 arguments of 8 each.
  EXPECT_EQ(memory.instructions, 32u + 16 + 32 + 2 * 40);
  EXPECT_EQ(memory.bytes, memory.values + memory.instructions);
  EXPECT_EQ(memory.lookup_temp, 5u * 24 + 5 * 16);
  EXPECT_LT(fit::method_memory(program.plans[0], 4).bytes, memory.bytes);
}

TEST(PlannedMemory, NamesWhatIsAliveAtThePeak) {
  const pte::Program program = sum();
  const auto planned = fit::planned_memory(program.plans[0]);
  ASSERT_EQ(planned.size(), 1u);
  EXPECT_EQ(planned[0].bytes, 48u);
  EXPECT_EQ(planned[0].min, 24u);  // two of three tensors at any time
  ASSERT_EQ(planned[0].peak.size(), 2u);
  EXPECT_EQ(planned[0].peak[0].role, "input_0");
}

TEST(Fit, ListsKernelsThatMustBeLinked) {
  const pte::Program program = sum();
  const fit::Demand demand = fit::demand_of(program, program.plans[0], 1000, 8, {});
  EXPECT_EQ(demand.kernels, std::vector<std::string>{"aten::add.out"});
  EXPECT_NE(fit::selected_operators(demand, "m.pte").find("operators:\n  \"aten::add.out\":\n"), std::string::npos);
  EXPECT_EQ(demand.flash.program, 1000u);
  EXPECT_EQ(demand.planned_bytes(), 48u);
}

}  // namespace
}  // namespace isthmus::method_memory_test
