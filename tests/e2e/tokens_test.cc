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
constexpr std::int64_t kWidth = 64;  // large enough for a table that is kept as codes
constexpr std::int64_t kClasses = 4;

Tensor waves(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::kF32, std::move(sizes));
  double at = 0;
  for (float& number : tensor.mutable_data<float>()) number = static_cast<float>(std::sin(at += 0.7));
  return tensor;
}

// Indices of two axes, as a batch of sentences has them.
Graph classifier() {
  Graph graph;
  const ValueId tokens = graph.add_input("tokens", {DType::kI64, {Dim(1), Dim(6)}});
  Emitter emitter(graph);
  emitter.begin({}, "net");
  const ValueId table = emitter.constant(waves({kWords, kWidth}).view());
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
  EXPECT_GT(test::sqnr(*found, *expected), 30) << target;
  return *std::move(program);
}

// The host picks codes; the delegate converts what is picked, not the table.
TEST(Tokens, RowsOfCodesArePickedOnTheHost) {
  const test::QuantizedProgram program = quantized("xnnpack");
  EXPECT_EQ(host_ops_of(program), std::vector<Op>{Op::kIndexSelect});
  const auto& nodes = program.model.quantized.graph.nodes();
  const auto picked = std::ranges::find(nodes, Op::kIndexSelect, &Node::op);
  EXPECT_EQ(program.model.quantized.graph.type(picked->outputs[0]).dtype, DType::kI8);
}

TEST(Tokens, OnlyTheIndicesAreCastWhereTheDeviceGathers) {
  EXPECT_EQ(host_ops_of(quantized("ethos-u85-256")), std::vector<Op>{Op::kCast});
  EXPECT_EQ(host_ops_of(quantized("tosa-int")), std::vector<Op>{Op::kCast});
}

}  // namespace
}  // namespace isthmus::tokens_test
