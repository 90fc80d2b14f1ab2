// Models that look up rows of a table: one delegate, and nothing outside of it but what no device does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "interpret/interpreter.h"
#include "ops/emitter.h"
#include "support/compile_quantized.h"

namespace isthmus::tokens_test {
namespace {

constexpr std::int64_t kWords = 80;
constexpr std::int64_t kWidth = 64;  // large enough for a table that is kept quantized
constexpr std::int64_t kClasses = 4;

Tensor waves(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::kF32, std::move(sizes));
  double at = 0;
  for (float& number : tensor.mutable_data<float>()) number = static_cast<float>(std::sin(at += 0.7));
  return tensor;
}

// Indices of two axes, as a batch of sentences has them. `farthest` is a number of the table beside waves of size 1.
Graph classifier(float farthest = 1) {
  Graph graph;
  const ValueId tokens = graph.add_input("tokens", {DType::kI64, {Dim(1), Dim(6)}});
  Emitter emitter(graph);
  emitter.begin({}, "net");
  Tensor numbers = waves({kWords, kWidth});
  numbers.mutable_data<float>()[5] = farthest;
  const ValueId table = emitter.constant(numbers.view());
  const ValueId weight = emitter.constant(waves({kClasses, kWidth}).view());
  const ValueId rows = *emitter.emit(Op::kIndexSelect, AxisAttrs{0}, {table, tokens});
  const ValueId bent = *emitter.unary(Op::kTanh, rows);
  const ValueId classes = *emitter.emit(Op::kLinear, NoAttrs{}, {bent, weight});
  graph.add_output({classes, OutputKind::kResult, {}});
  return graph;
}

std::vector<Tensor> sample(std::int64_t first) {
  Tensor tokens(DType::kI64, {1, 6});
  for (std::int64_t& token : tokens.mutable_data<std::int64_t>()) token = (first += 7) % kWords;
  return {tokens};
}

std::vector<Op> host_ops_of(const test::QuantizedProgram& program) {
  std::vector<Op> ops;
  const Graph& graph = program.model.quantized.graph;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const bool is_delegated = std::holds_alternative<std::size_t>(program.model.partitioning.place[i]);
    if (!is_delegated && graph.nodes()[i].op != Op::kDequantize) ops.push_back(graph.nodes()[i].op);
  }
  return ops;
}

test::QuantizedProgram quantized(const std::string& target) {
  auto program = test::quantize_graph(classifier(), {sample(0), sample(3)}, {}, true, target);
  CHECK(program.has_value(), program ? "" : program.error().text());
  EXPECT_EQ(program->delegates(), 1U) << target;
  const auto expected = interpret(classifier(), sample(5));
  const auto found = test::run_program(*program, sample(5));
  CHECK(found.has_value(), found ? "" : found.error().text());
  EXPECT_GT(test::sqnr(*found, *expected), 58) << target;
  return *std::move(program);
}

// The host picks quantized values; the delegate converts what is picked, not the table.
TEST(Tokens, Int8RowsAreGatheredOnTheHost) {
  const test::QuantizedProgram program = quantized("xnnpack");
  EXPECT_EQ(host_ops_of(program), std::vector<Op>{Op::kIndexSelect});
  const auto& nodes = program.model.quantized.graph.nodes();
  const auto picked = std::ranges::find(nodes, Op::kIndexSelect, &Node::op);
  EXPECT_EQ(program.model.quantized.graph.type(picked->outputs[0]).dtype, DType::kI8);
}

// Eight bits between -8 and 8 lose much of numbers below 1. Two int8 numbers side by side keep them, with one lookup.
TEST(Tokens, RowsThatLoseTooMuchAreTwoNumbers) {
  const Graph graph = classifier(8);
  const auto expected = interpret(graph, sample(5));
  const auto run = [&](const QuantConfig& config) {
    const auto program = test::quantize_graph(graph, {sample(0), sample(3)}, config, true, "xnnpack");
    CHECK(program.has_value(), program ? "" : program.error().text());
    EXPECT_EQ(program->delegates(), 1U);
    EXPECT_EQ(host_ops_of(*program), std::vector<Op>{Op::kIndexSelect});
    const auto& nodes = program->model.quantized.graph.nodes();
    const auto picked = std::ranges::find(nodes, Op::kIndexSelect, &Node::op);
    const TensorType& type = program->model.quantized.graph.type(picked->outputs[0]);
    EXPECT_EQ(type.dtype, DType::kI8);
    const auto found = test::run_program(*program, sample(5));
    CHECK(found.has_value(), found ? "" : found.error().text());
    return std::pair(type.shape.back().value(), test::sqnr(*found, *expected));
  };
  QuantConfig narrow;
  narrow.widen = 0;
  QuantRule in_float;  // so that nothing but the table is rounded
  in_float.op = "linear";
  in_float.in_float = true;
  narrow.rules.push_back(in_float);
  QuantConfig wide = narrow;
  wide.widen = 0.1;
  const auto [one_length, one_db] = run(narrow);
  const auto [two_length, two_db] = run(wide);
  EXPECT_EQ(one_length, kWidth);
  EXPECT_EQ(two_length, 2 * kWidth);
  EXPECT_LT(one_db, 60);
  EXPECT_GT(two_db, 70);
}

TEST(Tokens, OnlyTheIndicesAreCastWhereTheDeviceGathers) {
  EXPECT_EQ(host_ops_of(quantized("ethos-u85-256")), std::vector<Op>{Op::kCast});
  EXPECT_EQ(host_ops_of(quantized("tosa-int")), std::vector<Op>{Op::kCast});
}

}  // namespace
}  // namespace isthmus::tokens_test
