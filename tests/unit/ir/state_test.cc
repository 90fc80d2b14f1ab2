// What a graph keeps from one run to the next: its text, its rules, its interpreter, and the program that it becomes.
#include <gtest/gtest.h>

#include "interpret/interpreter.h"
#include "ir/rewriter.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "program/emit/emit.h"
#include "program/lower/lower.h"
#include "program/lower/write_back.h"
#include "program/run/method.h"
#include "support/models.h"
#include "targets/partition.h"
#include "targets/registry.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::state_test {
namespace {

constexpr std::string_view kSum = R"(graph
  input %x : f32[2]
  state %total : f32[2] = [1.0,-1.0] "block.total"
  %sum = add(%total, %x) : f32[2]
  %out = mul(%sum, %x) : f32[2]
  mutate "total" %sum
  return %out
)";

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return *std::move(graph);
}

std::string problem_of(std::string_view text) {
  const auto checked = verify(parsed(text));
  return checked ? "" : checked.error().message;
}

Tensor floats(const std::vector<float>& numbers) {
  Tensor tensor(DType::kF32, {static_cast<std::int64_t>(numbers.size())});
  std::ranges::copy(numbers, tensor.mutable_data<float>().begin());
  return tensor;
}
std::vector<float> numbers(const std::optional<Tensor>& tensor) {
  return {tensor->data<float>().begin(), tensor->data<float>().end()};
}

TEST(State, IsPrintedAsItWasParsed) {
  EXPECT_EQ(print(parsed(kSum)), kSum);
  EXPECT_EQ(problem_of(kSum), "");
}

TEST(State, IsWrittenOnceByWhatIsOfItsType) {
  const std::string start = "graph\n  input %x : f32[2]\n  state %s : f32[2] = [1.0,-1.0]\n";
  EXPECT_EQ(problem_of(start + "  return %x\n"), "state %s is never written");
  EXPECT_EQ(problem_of(start + "  mutate \"s\" %x\n  mutate \"s\" %x\n  return %x\n"), "the graph writes to %s twice");
  EXPECT_EQ(problem_of(start + "  mutate \"t\" %x\n  return %x\n"),
            "the graph writes to \"t\", which is neither a state nor an input");
  EXPECT_EQ(
      problem_of("graph\n  input %x : f32[3]\n  state %s : f32[2] = [1.0,-1.0]\n  mutate \"s\" %x\n  return %x\n"),
      "what the graph writes to %s is of another type");
}

TEST(State, GoesOnFromRunToRun) {
  const Graph graph = parsed(kSum);
  auto states = initial_states(graph);
  ASSERT_TRUE(states);
  EXPECT_EQ(numbers((*interpret(graph, std::vector{floats({1, 2})}, {}, &*states))[0]), (std::vector<float>{2, 2}));
  EXPECT_EQ(numbers((*interpret(graph, std::vector{floats({1, 2})}, {}, &*states))[0]), (std::vector<float>{3, 6}));
  EXPECT_EQ(numbers((*states)[0]), (std::vector<float>{3, 3}));
  // Without states each run is the first one.
  EXPECT_EQ(numbers((*interpret(graph, std::vector{floats({1, 2})}))[0]), (std::vector<float>{2, 2}));
}

// A state that only its own update reads is dead code; one that a later result needs is not.
TEST(State, IsDroppedWhereNoResultDependsOnIt) {
  const Graph graph = without_dead_code(parsed(R"(graph
  input %x : f32[2]
  state %dead : f32[2] = [0.0,0.0]
  state %behind : f32[2] = [0.0,0.0]
  state %seen : f32[2] = [0.0,0.0]
  %more = add(%dead, %x) : f32[2]
  %next = add(%behind, %x) : f32[2]
  mutate "dead" %more
  mutate "behind" %next
  mutate "seen" %behind
  return %seen
)"));
  EXPECT_FALSE(graph.find("dead"));
  EXPECT_FALSE(graph.find("more"));
  EXPECT_TRUE(graph.find("next"));
  EXPECT_EQ(graph.states().size(), 2u);
  EXPECT_TRUE(verify(graph));
}

TEST(State, IsAConstantWhereEveryRunLeavesItAsItIs) {
  Diagnostics diagnostics;
  const auto graph = canonicalize(parsed(R"(graph
  input %x : f32[2]
  state %s : f32[2] = [1.0,2.0]
  %y = foreign("aten.add.Tensor", self=%x, other=%s) : f32[2]
  mutate "s" %s
  return %y
)"),
                                  diagnostics);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(graph->states().empty());
  EXPECT_NE(graph->constant(*graph->find("s")), nullptr);
}

// Everything on the host.
pte::Program lowered(std::string_view text) {
  const Graph graph = parsed(text);
  EXPECT_TRUE(verify(graph));
  const Reason reason{ReasonCode::kNoForm, {}};
  const Partitioning places = partition(graph, std::vector<std::optional<Reason>>(graph.nodes().size(), reason));
  auto program = lower(graph, places, *all_targets()[0]);
  EXPECT_TRUE(program) << program.error().text();
  return std::move(program->program);
}
std::size_t calls_of(const pte::Program& program, std::string_view name) {
  std::size_t count = 0;
  for (const pte::Instruction& instruction : program.plans[0].chains[0].instructions) {
    count += program.plans[0].operators[std::get<pte::KernelCall>(instruction).operator_index].name == name ? 1 : 0;
  }
  return count;
}
// The outputs of runs on these inputs.
std::vector<std::vector<float>> runs_of(const pte::Program& program, const std::vector<std::vector<float>>& inputs,
                                        bool has_resets = false) {
  const auto emitted = emit(program);
  EXPECT_TRUE(emitted) << emitted.error().text();
  auto method = run::Method::load(Blob(emitted->bytes, nullptr));
  EXPECT_TRUE(method) << method.error().text();
  std::vector<std::vector<float>> result;
  for (const std::vector<float>& input : inputs) {
    if (has_resets) method->reset();
    const auto outputs = method->run(std::vector{floats(input)});
    EXPECT_TRUE(outputs) << outputs.error().text();
    for (const auto& output : *outputs) result.push_back(numbers(output));
  }
  return result;
}
using Rows = std::vector<std::vector<float>>;

TEST(State, IsMemoryOfTheProgramWithAnInitialValue) {
  const pte::Program program = lowered(kSum);
  EXPECT_EQ(program.plans[0].inputs.size(), 1u);
  EXPECT_EQ(program.plans[0].outputs.size(), 1u);
  const auto& state = std::get<pte::Tensor>(program.plans[0].values[1]);
  EXPECT_TRUE(state.is_state());
  EXPECT_EQ(state.name, "block.total");
  EXPECT_EQ(runs_of(program, {{1, 2}, {1, 2}, {0, 1}}), (Rows{{2, 2}, {3, 6}, {0, 4}}));
  EXPECT_EQ(runs_of(program, {{1, 2}, {1, 2}}, true), (Rows{{2, 2}, {2, 2}}));
}

// No other value is ever in the place of a state, whatever else lives in the memory.
TEST(State, SharesItsMemoryWithNoOtherValue) {
  pte::Program program = lowered(kSum);
  const auto emitted = emit(program);
  ASSERT_TRUE(emitted);
  const auto back = pte::read_program(Blob(emitted->bytes, nullptr));
  ASSERT_TRUE(back);
  const auto& values = back->plans[0].values;
  const auto range = [](const pte::Tensor& tensor) {
    return std::pair(tensor.allocation->offset, tensor.allocation->offset + *pte::byte_count(tensor));
  };
  const auto [first, last] = range(std::get<pte::Tensor>(values[1]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* tensor = std::get_if<pte::Tensor>(&values[i]);
    if (i == 1 || tensor == nullptr || !tensor->allocation) continue;
    const auto [start, end] = range(*tensor);
    EXPECT_TRUE(end <= first || start >= last) << i;
  }
}

// A call that reads the state must not write to it; one behind all readers may.
TEST(State, IsWrittenDirectlyBehindItsLastReader) {
  EXPECT_EQ(calls_of(lowered(kSum), "aten::copy_"), 1u);
  const pte::Program program = lowered(R"(graph
  input %x : f32[2]
  state %s : f32[2] = [1.0,2.0]
  %out = add(%s, %x) : f32[2]
  %new = mul(%x, %x) : f32[2]
  mutate "s" %new
  return %out
)");
  EXPECT_EQ(calls_of(program, "aten::copy_"), 0u);
  EXPECT_EQ(runs_of(program, {{1, 3}, {0, 0}, {5, 5}}), (Rows{{2, 5}, {1, 9}, {5, 5}}));
}

TEST(State, OutputsAreWhatItWasAtTheirTime) {
  const pte::Program program = lowered(R"(graph
  input %x : f32[1]
  state %a : f32[1] = [1.0]
  state %b : f32[1] = [2.0]
  mutate "a" %b
  mutate "b" %x
  return %a, %b
)");
  EXPECT_EQ(runs_of(program, {{3}, {4}, {5}}), (Rows{{1}, {2}, {2}, {3}, {3}, {4}}));
}

TEST(State, TwoMayChangePlaces) {
  const pte::Program program = lowered(R"(graph
  input %x : f32[1]
  state %a : f32[1] = [1.0]
  state %b : f32[1] = [2.0]
  %y = add(%a, %x) : f32[1]
  mutate "a" %b
  mutate "b" %a
  return %y
)");
  EXPECT_EQ(runs_of(program, {{0}, {0}, {0}}), (Rows{{1}, {2}, {1}}));
}

TEST(State, ZerosAreStoredOnce) {
  pte::Program program = lowered(kSum);
  const auto bytes_with = [&](std::vector<std::size_t> sizes) {
    program.initial_values.resize(2);
    for (const std::size_t size : sizes) {
      program.initial_values.push_back(Blob::owning(std::vector<std::byte>(size, std::byte{0})));
      pte::Tensor state;
      state.sizes = {static_cast<std::int32_t>(size / 4)};
      state.dim_order = {0};
      state.data_index = static_cast<std::uint32_t>(program.initial_values.size() - 1);
      state.allocation = pte::Allocation{};
      program.plans[0].values.emplace_back(state);
    }
    const auto emitted = emit(program);
    EXPECT_TRUE(emitted) << emitted.error().text();
    return emitted->bytes.size();
  };
  const std::size_t one = bytes_with({4096});
  EXPECT_LT(bytes_with({4096, 1024, 4096}), one + 2048);
}

TEST(State, LoadFindsWritesOfBothForms) {
  const auto folder = test::source_dir() / "tests" / "models" / "state";
  Diagnostics diagnostics;
  const auto in_place = test::open(folder / "stream.pt2", diagnostics);
  ASSERT_TRUE(in_place) << in_place.error().text();
  std::vector<std::string> names;
  for (const GraphState& state : in_place->graph.states()) names.push_back(state.initial.fqn);
  EXPECT_EQ(names, (std::vector<std::string>{"past", "frames"}));
  const auto functional = test::open(folder / "decoder.pt2", diagnostics);
  ASSERT_TRUE(functional) << functional.error().text();
  names.clear();
  for (const GraphState& state : functional->graph.states()) names.push_back(state.initial.fqn);
  EXPECT_EQ(names, (std::vector<std::string>{"keys", "values"}));
}

}  // namespace
}  // namespace isthmus::state_test
