// Program files in motion: instructions, dynamic sizes, delegates, limits, and the recorded model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engines/xnnpack/thread_pool.h"
#include "program/run/measure.h"
#include "program/run/method.h"
#include "support/calls.h"
#include "support/models.h"
#include "support/programs.h"

namespace isthmus::run_test {
namespace {

using test::floats;
using test::GraphBuilder;
using test::numbers;
using test::ProgramBuilder;
using testing::HasSubstr;
using xnn::DataType;
using xnn::NodeKind;

constexpr pte::Dynamism kBounded = pte::Dynamism::kBounded;

// What a program says to the inputs: the numbers of its first output, or why not.
struct Answer {
  std::vector<float> numbers;
  std::vector<std::int64_t> sizes;
  std::string error;
};
Answer answer(run::Method& method, const std::vector<Tensor>& inputs) {
  const auto outputs = method.run(inputs);
  if (!outputs) return {{}, {}, outputs.error().text()};
  const Tensor& first = *outputs->front();
  return {numbers<float>(first), first.sizes(), ""};
}
Answer answer(const ProgramBuilder& builder, const std::vector<Tensor>& inputs, const run::LoadOptions& options = {}) {
  auto method = run::Method::load(builder.file(), "forward", options);
  if (!method) return {{}, {}, method.error().text()};
  return answer(*method, inputs);
}

// y = x + x in a delegate, rows at most as declared.
xnn::Graph doubling(std::uint32_t rows) {
  GraphBuilder g;
  const auto x = g.input({rows, 2});
  const auto y = g.output({rows, 2});
  g.node(NodeKind::kAdd, {x, x}, {y});
  return g.graph;
}

TEST(Run, AddsTheConstant) {
  const Answer found = answer(test::plus_one(), {floats({3}, {1, 2, 3})});
  EXPECT_EQ(found.numbers, (std::vector<float>{2, 3, 4})) << found.error;
}

TEST(Run, InputsAreHeldAgainstTheFile) {
  const ProgramBuilder b = test::plus_one();
  EXPECT_THAT(answer(b, {}).error, HasSubstr("the method takes 1 input, 0 given"));
  EXPECT_THAT(answer(b, {floats({4}, {1, 2, 3, 4})}).error, HasSubstr("[4] for a tensor of [3]: it is static"));
  EXPECT_THAT(answer(b, {floats({3, 1}, {1, 2, 3})}).error, HasSubstr("another rank\n  in input 0"));
  EXPECT_THAT(answer(b, {Tensor(DType::kF64, {3})}).error, HasSubstr("f64 elements for a tensor of f32"));
}

TEST(Run, SizesChangeWithinTheirBounds) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({4, 2}, DType::kF32, kBounded));
  const auto y = b.output(b.tensor({4, 2}, DType::kF32, kBounded));
  b.call("aten::relu.out", {x, y, y});
  auto method = run::Method::load(b.file());
  ASSERT_TRUE(method.has_value()) << method.error().text();
  EXPECT_TRUE(method->inputs()[0].is_dynamic);
  EXPECT_EQ(method->inputs()[0].sizes, (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(answer(*method, {floats({1, 2}, {-1, 2})}).numbers, (std::vector<float>{0, 2}));
  EXPECT_EQ(answer(*method, {floats({4, 2}, {-1, 2, -3, 4, 5, 6, 7, 8})}).sizes, (std::vector<std::int64_t>{4, 2}));
  // The bound is one of elements: a longer axis is fine where another is shorter.
  EXPECT_EQ(answer(*method, {floats({8, 1}, {-1, 2, -3, 4, 5, 6, 7, 8})}).sizes, (std::vector<std::int64_t>{8, 1}));
  EXPECT_EQ(answer(*method, {floats({0, 2}, {})}).sizes, (std::vector<std::int64_t>{0, 2}));
  EXPECT_THAT(answer(*method, {Tensor(DType::kF32, {5, 2})}).error, HasSubstr("larger than its upper bound"));
  EXPECT_THAT(answer(*method, {Tensor(DType::kF32, {8})}).error, HasSubstr("another rank"));
  EXPECT_EQ(answer(*method, {floats({1, 2}, {3, 4})}).numbers, (std::vector<float>{3, 4})) << "after a failure";
}

TEST(Run, AResultThatDoesNotFitIsRefused) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({4}, DType::kF32, kBounded));
  const auto y = b.output(b.tensor({2}));
  b.call("aten::relu.out", {x, y, y});
  EXPECT_EQ(answer(b, {floats({2}, {1, 2})}).error, "");
  EXPECT_THAT(answer(b, {floats({3}, {1, 2, 3})}).error, HasSubstr("[3] for a tensor of [2]: it is static"));
}

TEST(Run, TensorsWithoutBoundsAreRefused) {
  ProgramBuilder b;
  b.output(b.input(b.tensor({4}, DType::kF32, pte::Dynamism::kUnbounded)));
  EXPECT_THAT(answer(b, {}).error, HasSubstr("a tensor without upper bounds"));
}

TEST(Run, TensorsLieInTheirOwnOrder) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({1, 2, 2}));
  const auto y = b.tensor({1, 2, 2});
  std::get<pte::Tensor>(b.plan().values[y]).dim_order = {0, 2, 1};
  const auto z = b.output(b.tensor({4}));
  const auto nothing = b.value(pte::None{});
  b.call("dim_order_ops::_clone_dim_order.out", {x, b.value(false), nothing, y, y});
  // Shares the memory of y: what is seen is its order.
  std::get<pte::Tensor>(b.plan().values[z]).allocation = std::get<pte::Tensor>(b.plan().values[y]).allocation;
  b.output(y);
  auto method = run::Method::load(b.file());
  ASSERT_TRUE(method.has_value()) << method.error().text();
  const auto outputs = method->run(std::vector{floats({1, 2, 2}, {1, 2, 3, 4})});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().text();
  EXPECT_EQ(numbers<float>(*(*outputs)[0]), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(numbers<float>(*(*outputs)[1]), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Run, MemoryBeginsWithItsInitialValue) {
  ProgramBuilder b;
  const auto state = b.output(b.tensor({2}));
  const auto tensor = floats({2}, {7, 8});
  b.program.initial_values = {Blob(), Blob::owning({tensor.bytes().begin(), tensor.bytes().end()})};
  std::get<pte::Tensor>(b.plan().values[state]).data_index = 1;
  EXPECT_EQ(answer(b, {}).numbers, (std::vector<float>{7, 8}));
}

TEST(Run, JumpsMovesAndFrees) {
  const auto branch = [](bool condition) {
    ProgramBuilder b;
    const auto x = b.input(b.tensor({1}));
    const auto y = b.output(b.tensor({1}));
    const auto one = b.constant(floats({1}, {1}));
    const auto alpha = b.value(std::int64_t{1});
    b.add(pte::JumpFalseCall{b.value(condition), 2});
    b.call("aten::add.out", {x, one, alpha, x, x});
    b.add(pte::MoveCall{x, y});
    return b;
  };
  EXPECT_EQ(answer(branch(true), {floats({1}, {5})}).numbers, std::vector<float>{6});
  EXPECT_EQ(answer(branch(false), {floats({1}, {5})}).numbers, std::vector<float>{5});
  ProgramBuilder by_tensor = branch(true);
  std::get<pte::JumpFalseCall>(by_tensor.plan().chains[0].instructions[0]).condition = 0;
  EXPECT_THAT(answer(by_tensor, {floats({1}, {5})}).error, HasSubstr("the condition of a jump is not a bool"));

  ProgramBuilder freed = branch(true);
  freed.plan().chains[0].instructions[0] = pte::FreeCall{0};
  EXPECT_THAT(answer(freed, {floats({1}, {5})}).error, HasSubstr("a tensor is used after it was freed"));
  // Each run begins with everything in place again.
  ProgramBuilder free_at_the_end = branch(true);
  free_at_the_end.add(pte::FreeCall{0});
  auto method = run::Method::load(free_at_the_end.file());
  ASSERT_TRUE(method.has_value());
  EXPECT_EQ(answer(*method, {floats({1}, {5})}).error, answer(*method, {floats({1}, {5})}).error);
}

TEST(Run, ConstantsAreNeverWritten) {
  ProgramBuilder b = test::plus_one();
  std::get<pte::KernelCall>(b.plan().chains[0].instructions[0]).args = {0, 0, 3, 1, 1};
  EXPECT_THAT(answer(b, {floats({3}, {1, 2, 3})}).error, HasSubstr("a constant is written"));
  ProgramBuilder as_input = test::plus_one();
  as_input.plan().inputs.push_back(1);
  EXPECT_THAT(answer(as_input, {}).error, HasSubstr("input 1 is a constant"));
  ProgramBuilder by_delegate;
  const auto x = by_delegate.input(by_delegate.tensor({1, 2}));
  by_delegate.call_delegate(doubling(1), {x, by_delegate.constant(floats({1, 2}, {0, 0}))});
  EXPECT_THAT(answer(by_delegate, {floats({1, 2}, {1, 2})}).error, HasSubstr("is a constant and would be written"));
}

// The library may write a part of its result before it has read all that it takes.
TEST(Run, ADelegateSharesNoMemoryThatItWrites) {
  const auto with = [](std::uint64_t offset) {
    ProgramBuilder b;
    const auto x = b.input(b.tensor({4, 2}));
    const auto y = b.output(b.tensor({4, 2}));
    auto& place = *std::get<pte::Tensor>(b.plan().values[y]).allocation;
    place.offset = std::get<pte::Tensor>(b.plan().values[x]).allocation->offset + offset;
    b.plan().buffer_sizes[1] += 64;
    b.call_delegate(doubling(4), {x, y});
    return answer(b, {Tensor(DType::kF32, {4, 2})}).error;
  };
  EXPECT_EQ(with(32), "");
  EXPECT_THAT(with(16),
              HasSubstr("arguments 0 and 1 overlap in memory, and it writes 1\n  in delegate 0\n  in instruction 0"));
  EXPECT_THAT(with(0), HasSubstr("arguments 0 and 1 overlap in memory, and it writes 1"));
}

TEST(Run, WhatIsStillReadIsNotWrittenOver) {
  // a = relu(x); b = relu(x) somewhere; y = a + b.
  const auto with = [](std::uint64_t offset, bool reads_a_again) {
    ProgramBuilder p;
    const auto x = p.input(p.tensor({4}));
    const auto a = p.tensor({4});
    const auto b = p.tensor({4});
    const auto y = p.output(p.tensor({4}));
    const auto alpha = p.value(std::int64_t{1});
    auto& place = *std::get<pte::Tensor>(p.plan().values[b]).allocation;
    place.offset = std::get<pte::Tensor>(p.plan().values[a]).allocation->offset + offset;
    p.plan().buffer_sizes[1] += 64;
    p.call("aten::relu.out", {x, a, a});
    p.call("aten::relu.out", {x, b, b});
    p.call("aten::add.out", {reads_a_again ? a : x, b, alpha, y, y});
    return answer(p, {floats({4}, {1, 2, 3, 4})}).error;
  };
  EXPECT_THAT(with(8, true), HasSubstr("value 1 is read, but value 2 was written over it: their memory overlaps\n"
                                       "  in instruction 2"));
  EXPECT_THAT(with(0, true), HasSubstr("value 1 is read, but value 2 was written over it"));
  EXPECT_EQ(with(8, false), "") << "memory is there to be used again";
}

TEST(Run, WhatIsStillReadIsNotWrittenOverInPlansThatJump) {
  // a = relu(x); unless the condition is false: b = relu(x) over a; y = a + x.
  const auto with = [](std::uint64_t offset, bool condition) {
    ProgramBuilder p;
    const auto x = p.input(p.tensor({4}));
    const auto a = p.tensor({4});
    const auto b = p.tensor({4});
    const auto y = p.output(p.tensor({4}));
    const auto alpha = p.value(std::int64_t{1});
    const auto is_taken = p.value(condition);
    auto& place = *std::get<pte::Tensor>(p.plan().values[b]).allocation;
    place.offset = std::get<pte::Tensor>(p.plan().values[a]).allocation->offset + offset;
    p.plan().buffer_sizes[1] += 64;
    p.call("aten::relu.out", {x, a, a});
    p.plan().chains[0].instructions.push_back(pte::JumpFalseCall{is_taken, 3});
    p.call("aten::relu.out", {x, b, b});
    p.call("aten::add.out", {a, x, alpha, y, y});
    return answer(p, {floats({4}, {1, 2, 3, 4})}).error;
  };
  EXPECT_THAT(with(8, true), HasSubstr("value 1 is read, but value 2 was written over it: their memory overlaps\n"
                                       "  in instruction 3"));
  EXPECT_EQ(with(8, false), "");
  EXPECT_EQ(with(16, true), "");
}

TEST(Run, ADelegateFollowsTheBatch) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({8, 2}, DType::kF32, kBounded));
  const auto y = b.output(b.tensor({8, 2}, DType::kF32, kBounded));
  b.call_delegate(doubling(8), {x, y});
  const xnnpack::ThreadPool pool(2);
  auto method = run::Method::load(b.file(), "forward", {.threads = pool.get()});
  ASSERT_TRUE(method.has_value()) << method.error().text();
  for (const std::int64_t rows : {8, 1, 3, 8}) {
    Tensor input(DType::kF32, {rows, 2});
    for (std::size_t i = 0; i < input.data<float>().size(); ++i) input.mutable_data<float>()[i] = static_cast<float>(i);
    const Answer found = answer(*method, {input});
    ASSERT_EQ(found.sizes, input.sizes()) << found.error;
    for (std::size_t i = 0; i < found.numbers.size(); ++i) EXPECT_EQ(found.numbers[i], 2 * static_cast<float>(i));
  }
  EXPECT_THAT(answer(*method, {Tensor(DType::kF32, {0, 2})}).error, HasSubstr("a size of 0 in [0,2]"));
  EXPECT_EQ(answer(*method, {floats({1, 2}, {1, 2})}).numbers, (std::vector<float>{2, 4})) << "after a failure";
  EXPECT_EQ(method->statistics().delegate_calls, 6u);
}

TEST(Run, ADelegateGetsWhatItDeclares) {
  const auto with = [](const std::function<void(ProgramBuilder&, pte::DelegateCall&)>& change) {
    ProgramBuilder b;
    const auto x = b.input(b.tensor({4, 2}));
    const auto y = b.output(b.tensor({4, 2}));
    b.call_delegate(doubling(4), {x, y});
    change(b, std::get<pte::DelegateCall>(b.plan().chains[0].instructions[0]));
    return answer(b, {Tensor(DType::kF32, {4, 2})}).error;
  };
  EXPECT_EQ(with([](auto&, auto&) {}), "");
  EXPECT_THAT(with([](auto&, auto& call) { call.args = {0}; }), HasSubstr("it takes 2 arguments, not 1"));
  EXPECT_THAT(with([](auto& b, auto& call) { call.args[0] = b.value(std::int64_t{1}); }),
              HasSubstr("argument 0 is not a tensor of f32"));
  EXPECT_THAT(with([](auto& b, auto& call) {
                call.args[0] = b.tensor({4, 2}, DType::kI8);
              }),
              HasSubstr("argument 0 is not a tensor of f32"));
  EXPECT_THAT(with([](auto& b, auto& call) { call.args[0] = b.tensor({8}); }),
              HasSubstr("argument 0 is [8], the delegate expects 2 axes"));
  EXPECT_THAT(with([](auto& b, auto& call) { call.args[1] = b.tensor({8}); }), HasSubstr("for a tensor of 1 axes"));
  EXPECT_THAT(with([](auto& b, auto& call) {
                call.args[1] = b.tensor({2, 2});
              }),
              HasSubstr("[4,2] for a tensor of [2,2]: it is static\n  in argument 1\n  in delegate 0"));
  EXPECT_THAT(with([](auto& b, auto&) {
                b.plan().chains[0].instructions.insert(b.plan().chains[0].instructions.begin(), pte::FreeCall{0});
              }),
              HasSubstr("argument 0 was freed"));
}

TEST(Run, AScalarHasOneElementForADelegate) {
  GraphBuilder g;
  const auto x = g.input({1});
  g.node(NodeKind::kNegate, {x}, {g.output({1})});
  ProgramBuilder b;
  const auto in = b.input(b.tensor({}));
  b.call_delegate(g.graph, {in, b.output(b.tensor({}))});
  const Answer found = answer(b, {floats({}, {5})});
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.numbers, std::vector<float>{-5});
  EXPECT_TRUE(found.sizes.empty());
}

TEST(Run, PlacesOfMaximaAreWidened) {
  GraphBuilder g;
  const auto x = g.input({1, 4, 1, 1});
  const auto max = g.output({1, 1, 1, 1});
  const auto place = g.output({1, 1, 1, 1}, DataType::kI32);
  g.node(NodeKind::kArgMaxPool2d, {x}, {max, place}, xnn::PoolFields{0, 0, 0, 0, 4, 1, 1, 1, 1, 1});
  ProgramBuilder b;
  const auto in = b.input(b.tensor({1, 4, 1, 1}));
  const auto value = b.output(b.tensor({1, 1, 1, 1}));
  const auto index = b.output(b.tensor({1, 1, 1, 1}, DType::kI64));
  b.call_delegate(g.graph, {in, value, index});
  auto method = run::Method::load(b.file());
  ASSERT_TRUE(method.has_value()) << method.error().text();
  const auto outputs = method->run(std::vector{floats({1, 4, 1, 1}, {1, 3, 9, 4})});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().text();
  EXPECT_EQ(numbers<float>(*(*outputs)[0]), std::vector<float>{9});
  EXPECT_EQ(numbers<std::int64_t>(*(*outputs)[1]), std::vector<std::int64_t>{2});
}

TEST(Run, NamedDataMustBeThere) {
  xnn::Graph graph = test::one_node(NodeKind::kFullyConnected);
  graph.constants[1] = {"filter", graph.constants[1].size, Blob()};
  const auto build = [&](std::vector<pte::NamedData> data) {
    ProgramBuilder b;
    const auto x = b.input(b.tensor({2, 3, 4}));
    b.call_delegate(graph, {x, b.output(b.tensor({2, 3, 5}))});
    b.program.named_data = std::move(data);
    return answer(b, {Tensor(DType::kF32, {2, 3, 4})}).error;
  };
  EXPECT_EQ(build({{"filter", Blob::owning(std::vector<std::byte>(80))}}), "");
  EXPECT_THAT(build({}), HasSubstr("constant 1 is not in the program's named data"));
  EXPECT_THAT(build({{"filter", Blob::owning(std::vector<std::byte>(79))}}),
              HasSubstr("constant 1 has 79 bytes, 80 are needed"));
}

TEST(Run, BadBlobsAreRefused) {
  ProgramBuilder b;
  b.plan().delegates.push_back({"XnnpackBackend", Blob::owning(std::vector<std::byte>(100)), {}});
  EXPECT_THAT(answer(b, {}).error, HasSubstr("damaged, or not a graph of XNNPACK\n  in delegate 0"));
  b.plan().delegates[0].blob = Blob();
  EXPECT_THAT(answer(b, {}).error, HasSubstr("0 bytes are too few for a graph"));
}

TEST(Run, MissingKernelsAndBackendsAreAllNamed) {
  ProgramBuilder b;
  b.call("aten::one.out", {});
  b.call("aten::two", {});
  EXPECT_THAT(answer(b, {}).error, HasSubstr("this machine has no kernels for \"aten::one.out\", \"aten::two\""));
  b.plan().delegates.push_back({"FirstBackend", Blob(), {}});
  b.plan().delegates.push_back({"SecondBackend", Blob(), {}});
  EXPECT_THAT(answer(b, {}).error, HasSubstr("cannot run delegates of \"FirstBackend\", \"SecondBackend\""));
}

TEST(Run, AnEndlessLoopEnds) {
  ProgramBuilder b;
  b.output(b.tensor({1}));
  b.add(pte::JumpFalseCall{b.value(false), 0});
  EXPECT_THAT(answer(b, {}, {.max_instructions = 1000}).error, HasSubstr("the program takes more than 1000 steps"));
}

TEST(Run, MemoryHasItsLimit) {
  ProgramBuilder b = test::plus_one();
  b.plan().buffer_sizes[1] = 1 << 20;
  EXPECT_EQ(answer(b, {floats({3}, {1, 2, 3})}, {.max_bytes = 1 << 21}).error, "");
  EXPECT_THAT(answer(b, {}, {.max_bytes = 1 << 19}).error, HasSubstr("the plan needs more than 524288 bytes"));
  b.plan().buffer_sizes.assign(3, std::numeric_limits<std::int64_t>::max());
  EXPECT_THAT(answer(b, {}).error, HasSubstr("the plan needs more than"));
}

TEST(Run, DelegatesShareTheirLimit) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({64, 2}));
  const auto y = b.output(b.tensor({64, 2}));
  for (int i = 0; i < 10; ++i) b.call_delegate(doubling(64), {x, y});
  const std::vector<Tensor> inputs{Tensor(DType::kF32, {64, 2})};
  EXPECT_EQ(answer(b, inputs, {.max_bytes = 20'000}).error, "");
  EXPECT_THAT(answer(b, inputs, {.max_bytes = 5'000}).error, HasSubstr("need too much memory"));
}

TEST(Run, HostResultsHaveALimit) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({1}));
  const auto y = b.output(b.tensor({1}));
  const auto sizes = b.ints({1 << 20, 1 << 10});
  b.call("aten::expand_copy.out", {x, sizes, b.value(false), y, y});
  EXPECT_THAT(answer(b, {floats({1}, {1})}, {.max_bytes = 1 << 24}).error,
              HasSubstr("the result does not fit in memory"));
}

TEST(Run, NumbersAmongTheOutputs) {
  ProgramBuilder b;
  b.output(b.value(std::int64_t{-7}));
  b.output(b.value(2.5));
  b.output(b.value(true));
  b.output(b.value(pte::None{}));
  auto method = run::Method::load(b.file());
  ASSERT_TRUE(method.has_value());
  const auto outputs = method->run({});
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(numbers<std::int64_t>(*(*outputs)[0]), std::vector<std::int64_t>{-7});
  EXPECT_EQ(numbers<double>(*(*outputs)[1]), std::vector<double>{2.5});
  EXPECT_EQ((*outputs)[2]->dtype(), DType::kBool);
  EXPECT_FALSE((*outputs)[3].has_value());
}

TEST(Run, TheRecordedTokenModelBitForBit) {
  const auto folder = test::source_dir() / "tests/models/pte";
  const Blob file = *map_file((folder / "vit_tokens_xnnpack_fixed.pte").string());
  const Tensor image = test::read_tensor(folder / "tokens_image.npy");
  const Tensor expected = test::read_tensor(folder / "vit_tokens_xnnpack_fixed.out.npy");
  for (const std::size_t threads : {1u, 2u}) {
    const xnnpack::ThreadPool pool(threads);
    auto method = run::Method::load(file, "forward", {.threads = pool.get()});
    ASSERT_TRUE(method.has_value()) << method.error().text();
    for (int run = 0; run < 2; ++run) {
      const auto outputs = method->run(std::vector{image});
      ASSERT_TRUE(outputs.has_value()) << outputs.error().text();
      EXPECT_TRUE(std::ranges::equal((*outputs)[0]->bytes(), expected.bytes()));
    }
  }
}

// Damage that gets past the reader meets the loader and the executor.
TEST(Run, ChangedDelegateBytesNeverCrash) {
  ProgramBuilder b;
  const auto x = b.input(b.tensor({2, 6, 8, 3}));
  b.call_delegate(test::one_node(NodeKind::kConv2d), {x, b.output(b.tensor({2, 3, 4, 4}))});
  const Blob file = b.file();
  std::vector<std::byte> changed(file.bytes().begin(), file.bytes().end());
  const std::vector<Tensor> inputs{Tensor(DType::kF32, {2, 6, 8, 3})};
  std::size_t refused = 0;
  for (std::byte& byte : changed) {
    const std::byte before = byte;
    byte = before ^ std::byte{3};
    auto method = run::Method::load(Blob(changed, nullptr), "forward", {.max_bytes = 1 << 20, .max_instructions = 100});
    if (!method || !method->run(inputs)) ++refused;
    byte = before;
  }
  EXPECT_GT(refused, 300u);
  EXPECT_LT(refused, changed.size());
}

TEST(Run, MeasuresAtLeastOneRun) {
  auto method = run::Method::load(test::plus_one().file());
  ASSERT_TRUE(method.has_value());
  const auto inputs = run::plain_inputs(*method, 1000);
  ASSERT_TRUE(inputs.has_value());
  EXPECT_EQ(numbers<float>((*inputs)[0]), (std::vector<float>{1, 1, 1}));
  EXPECT_FALSE(run::plain_inputs(*method, 11).has_value());
  std::size_t told = 0;
  const auto measured = run::measure(*method, *inputs, {.seconds = 1e-9, .after = [&](double) { ++told; }});
  ASSERT_TRUE(measured.has_value());
  EXPECT_EQ(measured->runs, 1u);
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(measured->each.host_calls, 1u);
  EXPECT_EQ(measured->each.delegate_calls, 0u);
}

}  // namespace
}  // namespace isthmus::run_test
