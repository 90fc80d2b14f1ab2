// Program files whose delegates hold TOSA graphs: the bits that they give, and what is refused of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "calibrate/samples.h"
#include "engines/xnnpack/thread_pool.h"
#include "interpret/integer.h"
#include "program/run/measure.h"
#include "program/run/method.h"
#include "support/ethos_u_cases.h"
#include "support/ethos_u_lowered.h"
#include "support/models.h"
#include "support/programs.h"
#include "support/tosa.h"
#include "targets/ethos_u/integer_kernels.h"
#include "targets/registry.h"

namespace isthmus::run_tosa_test {
namespace {

using test::Build;
using test::ProgramBuilder;
using test::TosaBuilder;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using tosa::Type;

template <class Number>
Tensor random_values(std::vector<std::int64_t> sizes) {
  Tensor quantized(ElementType<Number>::kDType, std::move(sizes));
  std::mt19937 random(3);
  for (Number& q : quantized.mutable_data<Number>()) q = static_cast<Number>(random());
  return quantized;
}

// A convolution, an activation, a sum and a pool.
Graph small_model() {
  Build b({1, 4, 9, 9}, false);
  const ConvAttrs attrs{{2, 2}, {1, 1, 1, 1}, {1, 1}, 1};
  const ValueId conv = b.emit(Op::kConv2d, attrs, {b.x, b.floats({6, 4, 3, 3}), b.floats({6})});
  const ValueId active = b.emit(Op::kSilu, NoAttrs{}, {conv});
  const ValueId sum = b.emit(Op::kAdd, NoAttrs{}, {active, conv});
  return std::move(b).finish(b.emit(Op::kMaxPool2d, MaxPoolAttrs{{2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, false}, {sum}));
}

Expected<QuantizedModel> quantized_model(const TargetDesc& target, IoType io) {
  Diagnostics diagnostics;
  const Prepared prepared = TRY(prepare(small_model(), {&target, {}}, diagnostics));
  Tensor example(DType::kF32, {1, 4, 9, 9});
  std::mt19937 random(5);
  for (float& number : example.mutable_data<float>()) number = std::normal_distribution<float>()(random);
  const std::vector<std::optional<TensorView>> examples{example.view()};
  const auto samples = TRY(example_samples(prepared.graph, examples));
  QuantConfig config;
  config.inputs = config.outputs = io;
  return test::quantized_for(prepared, target, *samples, config);
}

void expect_same_bits(const Tensor& quantized, IoType io) {
  for (const auto& [name, device] : test::kEthosUTargets) {
    SCOPED_TRACE(name);
    const TargetDesc& target = *find_target(name);
    const auto model = quantized_model(target, io);
    ASSERT_TRUE(model) << model.error().text();
    const Graph& graph = model->quantized.graph;
    const auto compiled = compile(graph, model->partitioning, target, {}, nullptr);
    ASSERT_TRUE(compiled) << compiled.error().text();
    ASSERT_EQ(compiled->delegates.size(), 1u);
    EXPECT_EQ(compiled->delegates[0].backend, "TOSABackend");
    const xnnpack::ThreadPool threads(2);
    run::LoadOptions options;
    options.threads = threads.get();
    auto method = run::Method::load(Blob(compiled->bytes, nullptr), "forward", options);
    ASSERT_TRUE(method) << method.error().text();
    const auto expected =
        interpret_integers(graph, std::vector{quantized}, ethos_u::integer_kernels(ethos_u::Device::kTosaInt));
    ASSERT_TRUE(expected) << expected.error().text();
    for (std::uint64_t runs = 1; runs <= 2; ++runs) {
      const auto found = method->run(std::vector{quantized});
      ASSERT_TRUE(found) << found.error().text();
      ASSERT_EQ(found->size(), 1u);
      EXPECT_EQ((*found)[0]->dtype(), quantized.dtype());
      EXPECT_EQ((*found)[0]->sizes(), (*expected)[0]->sizes());
      EXPECT_TRUE(std::ranges::equal((*found)[0]->bytes(), (*expected)[0]->bytes()));
      EXPECT_EQ(method->statistics().delegate_calls, runs);
      EXPECT_EQ(method->statistics().host_calls, 0u);
    }
  }
}

TEST(RunTosa, GivesTheBitsOfTheIntegerInterpreter) {
  expect_same_bits(random_values<std::int8_t>({1, 4, 9, 9}), IoType::kInt8);
}

TEST(RunTosa, ValuesMayBeUnsigned) { expect_same_bits(random_values<std::uint8_t>({1, 4, 9, 9}), IoType::kUint8); }

// y = x of two rows by three.
tosa::Graph copying(Type type) {
  TosaBuilder b;
  b.output(b.op(tosa::Op::kIdentity, tosa::Nothing{}, {b.input(type, {2, 3})}, type, {2, 3}));
  return b.graph;
}

// One call of such a delegate; the first argument is the program's input, the last its output.
ProgramBuilder program_of(const Blob& bytes, ProgramBuilder b, std::vector<pte::ValueIndex> args) {
  b.input(args.front());
  b.output(args.back());
  b.plan().delegates.push_back({"TOSABackend", bytes, {}});
  b.add(pte::DelegateCall{0, std::move(args)});
  return b;
}
struct Answer {
  std::optional<Tensor> output;
  std::string error;
};
Answer answer(const ProgramBuilder& builder, const Tensor& input, const run::LoadOptions& options = {}) {
  auto method = run::Method::load(builder.file(), "forward", options);
  if (!method) return {{}, method.error().text()};
  const auto outputs = method->run(std::vector{input});
  if (!outputs) return {{}, outputs.error().text()};
  return {outputs->front(), ""};
}

TEST(RunTosa, EveryTypeGoesInAndOut) {
  const auto expect_copied = [](Type type, const Tensor& input) {
    ProgramBuilder b;
    const auto x = b.tensor({2, 3}, input.dtype());
    const auto y = b.tensor({2, 3}, input.dtype());
    const Answer found = answer(program_of(test::file_of(copying(type)), b, {x, y}), input);
    ASSERT_TRUE(found.output) << found.error;
    EXPECT_TRUE(std::ranges::equal(found.output->bytes(), input.bytes())) << name_of(type);
  };
  expect_copied(Type::kI8, random_values<std::int8_t>({2, 3}));
  expect_copied(Type::kI16, random_values<std::int16_t>({2, 3}));
  expect_copied(Type::kI32, random_values<std::int32_t>({2, 3}));
  Tensor bools(DType::kBool, {2, 3});
  bools.mutable_data<std::uint8_t>()[4] = 1;
  expect_copied(Type::kBool, bools);
}

TEST(RunTosa, BytesGoInAsTheyLieInMemory) {
  ProgramBuilder b;
  const auto x = b.tensor({3, 2}, DType::kI8);
  const auto y = b.tensor({2, 3}, DType::kI8, pte::Dynamism::kBounded);
  std::get<pte::Tensor>(b.plan().values[x]).dim_order = {1, 0};
  Tensor input(DType::kI8, {3, 2});
  std::ranges::copy(std::vector<std::int8_t>{1, 2, 3, 4, 5, 6}, input.mutable_data<std::int8_t>().begin());
  const Answer found = answer(program_of(test::file_of(copying(Type::kI8)), b, {x, y}), input);
  ASSERT_TRUE(found.output) << found.error;
  EXPECT_EQ(test::integers(*found.output), (std::vector<std::int64_t>{1, 3, 5, 2, 4, 6}));
}

TEST(RunTosa, ArgumentsAreHeldAgainstTheGraph) {
  const Blob copy = test::file_of(copying(Type::kI8));
  const Tensor quantized(DType::kI8, {2, 3});
  ProgramBuilder b;
  const auto x = b.tensor({2, 3}, DType::kI8);
  const auto y = b.tensor({2, 3}, DType::kI8);
  const auto wide = b.tensor({2, 3}, DType::kI16);
  const auto bytes = b.tensor({2, 3}, DType::kU8);
  const auto turned = b.tensor({3, 2}, DType::kI8);
  const auto flat = b.tensor({6}, DType::kI8);
  const auto number = b.value(std::int64_t{3});
  const auto constant = b.constant(quantized);
  const auto error = [&](std::vector<pte::ValueIndex> args, const Tensor& input) {
    return answer(program_of(copy, b, std::move(args)), input).error;
  };
  EXPECT_EQ(error({x, y}, quantized), "");
  EXPECT_THAT(error({x}, quantized),
              AllOf(HasSubstr("it takes 2 arguments, 1 inputs and 1 outputs, not 1"), HasSubstr("in delegate 0")));
  EXPECT_THAT(error({x, y, y}, quantized), HasSubstr("not 3"));
  EXPECT_THAT(error({wide, y}, Tensor(DType::kI16, {2, 3})),
              AllOf(HasSubstr("argument 0 is not a tensor of i8"), HasSubstr("in delegate 0")));
  EXPECT_THAT(error({bytes, y}, Tensor(DType::kU8, {2, 3})), HasSubstr("argument 0 is not a tensor of i8"));
  EXPECT_THAT(error({x, wide}, quantized), HasSubstr("argument 1 is not a tensor of i8"));
  EXPECT_THAT(error({x, bytes}, quantized), HasSubstr("argument 1 is not a tensor of i8"));
  EXPECT_THAT(error({x, number}, quantized), HasSubstr("argument 1 is not a tensor of i8"));
  EXPECT_THAT(error({turned, y}, Tensor(DType::kI8, {3, 2})),
              AllOf(HasSubstr("argument 0 has the sizes [3,2] in memory, not [2,3]"), HasSubstr("in delegate 0")));
  EXPECT_THAT(error({x, turned}, quantized), HasSubstr("[2,3] for a tensor of [3,2]: it is static\n  in argument 1"));
  EXPECT_THAT(error({x, flat}, quantized), HasSubstr("[2,3] for a tensor of 1 axes\n  in argument 1"));
  EXPECT_THAT(error({x, constant}, quantized), HasSubstr("argument 1 is a constant and would be written"));
  ProgramBuilder freed = b;
  freed.add(pte::FreeCall{x});
  EXPECT_THAT(answer(program_of(copy, freed, {x, y}), quantized).error, HasSubstr("argument 0 was freed"));
}

TEST(RunTosa, UnsignedValuesFollowRescale) {
  TosaBuilder g;
  const auto x = g.input(Type::kI8, {2, 3});
  const auto scaled = [&](tosa::ValueIndex from, bool from_unsigned, bool to_unsigned, std::int64_t zero) {
    return g.op(tosa::Op::kRescale, tosa::Rescale{true, tosa::Rounding::kSingle, false, from_unsigned, to_unsigned},
                {from, g.constant(Type::kI32, {1}, {1 << 30}), g.constant(Type::kI8, {1}, {30}),
                 g.zero(Type::kI8, from_unsigned ? -128 : 0), g.zero(Type::kI8, zero)},
                Type::kI8, {3, 2});
  };
  const auto turned = g.op(tosa::Op::kTranspose, tosa::Transpose{{1, 0}}, {x}, Type::kI8, {3, 2});
  // Less 128, and 131 more.
  const auto unsigned_again = scaled(scaled(turned, true, false, 0), false, true, 131 - 256);
  g.output(g.op(tosa::Op::kTranspose, tosa::Transpose{{1, 0}}, {unsigned_again}, Type::kI8, {2, 3}));
  ProgramBuilder b;
  const auto from = b.tensor({2, 3}, DType::kU8);
  const auto to = b.tensor({2, 3}, DType::kU8);
  Tensor quantized(DType::kU8, {2, 3});
  std::ranges::copy(std::vector<std::uint8_t>{0, 7, 100, 128, 200, 254},
                    quantized.mutable_data<std::uint8_t>().begin());
  const Answer found = answer(program_of(test::file_of(g.graph), b, {from, to}), quantized);
  ASSERT_TRUE(found.output) << found.error;
  EXPECT_EQ(test::integers(*found.output), (std::vector<std::int64_t>{3, 10, 103, 131, 203, 255}));
}

TEST(RunTosa, BrokenBytesAreErrors) {
  ProgramBuilder b;
  const auto x = b.tensor({2, 3}, DType::kI8);
  const auto y = b.tensor({2, 3}, DType::kI8);
  const Tensor quantized(DType::kI8, {2, 3});
  const Blob whole = test::file_of(copying(Type::kI8));
  const auto error = [&](const Blob& bytes) { return answer(program_of(bytes, b, {x, y}), quantized).error; };
  EXPECT_EQ(error(whole), "");
  EXPECT_THAT(error(Blob::owning(std::vector<std::byte>(100))), HasSubstr("in delegate 0"));
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_THAT(error(*whole.part(0, size)), HasSubstr("in delegate 0")) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
    bytes[at] ^= std::byte{0xff};
    EXPECT_THAT(error(Blob::owning(std::move(bytes))), AnyOf("", HasSubstr("in delegate 0"))) << at;
  }
}

TEST(RunTosa, LimitsHold) {
  ProgramBuilder b;
  const auto x = b.tensor({2, 3}, DType::kI8);
  const auto y = b.tensor({2, 3}, DType::kI8);
  TosaBuilder g;
  g.output(g.op(tosa::Op::kTranspose, tosa::Transpose{{0, 1}}, {g.input(Type::kI8, {2, 3})}, Type::kI8, {2, 3}));
  const ProgramBuilder program = program_of(test::file_of(g.graph), b, {x, y});
  const Tensor quantized(DType::kI8, {2, 3});
  EXPECT_THAT(answer(program, quantized, {.max_work = 3}).error,
              AllOf(HasSubstr("a run takes more than 3 steps"), HasSubstr("in delegate 0")));
  EXPECT_THAT(answer(program, quantized, {.max_bytes = 40}).error, HasSubstr("bytes"));
}

TEST(RunTosa, ProgramsOfExecuTorchRun) {
  const std::filesystem::path folder = test::source_dir() / "tests/models/pte";
  const auto statistics = [&](const char* name) {
    auto method = run::Method::load(*map_file((folder / name).string()));
    if (!method) throw std::runtime_error(method.error().text());
    const auto outputs = method->run(*run::plain_inputs(*method, 1 << 20));
    if (!outputs) throw std::runtime_error(outputs.error().text());
    return method->statistics();
  };
  EXPECT_EQ(statistics("emg_u55tosa_v2_fixed.pte").delegate_calls, 1u);
  const run::Statistics reverted = statistics("emg_u55tosa_v2_reverted.pte");
  EXPECT_EQ(reverted.delegate_calls, 2u);
  EXPECT_EQ(reverted.host_calls, 7u);
  EXPECT_EQ(reverted.io_calls, 3u);
}

TEST(RunTosa, OtherBackendsAreRefusedByName) {
  ProgramBuilder b;
  const auto x = b.tensor({2, 3}, DType::kI8);
  ProgramBuilder program = program_of(test::file_of(copying(Type::kI8)), b, {x, x});
  program.plan().delegates[0].id = "EthosUBackend";
  EXPECT_THAT(answer(program, Tensor(DType::kI8, {2, 3})).error,
              HasSubstr("this machine cannot run delegates of \"EthosUBackend\": only those of XnnpackBackend and "
                        "TOSABackend run here"));
}

}  // namespace
}  // namespace isthmus::run_tosa_test
