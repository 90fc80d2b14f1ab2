// Runs graphs in the interpreter, with their forms, and in the delegate.
#include "support/form_case.h"

#include <algorithm>
#include <cmath>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/compile.h"
#include "targets/registry.h"

namespace isthmus::test {

Tensor input_of(Sizes sizes, const Case& row, std::int64_t batch) {
  if (row.has_batch) sizes[0] = batch;
  Tensor tensor(DType::kF32, std::move(sizes));
  std::mt19937 random(static_cast<unsigned>(batch));
  std::uniform_real_distribution<float> numbers(row.numbers == Numbers::kPositive ? 0.5F : -2, 2);
  const auto data = tensor.mutable_data<float>();
  for (float& number : data) number = numbers(random);
  if (row.numbers == Numbers::kCopied && data.size() > 8) {
    data[1] = kInfinity;
    data[data.size() / 2] = -kInfinity;
  }
  return tensor;
}

testing::AssertionResult agree(const std::vector<std::optional<Tensor>>& found, const Tensor& expected,
                               Numbers numbers) {
  const double error = difference(*found[0], expected).max;
  double allowed = 0;
  if (numbers == Numbers::kRounded || numbers == Numbers::kPositive) {
    for (const float number : expected.data<float>()) {
      if (std::isfinite(number)) allowed = std::max(allowed, 2e-6 * static_cast<double>(std::abs(number)));
    }
  }
  if (error <= allowed) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "differs by " << error;
}

void expect_delegated(const Graph& graph, const Case& row, const std::vector<std::int64_t>& batches) {
  Diagnostics diagnostics;
  const TargetDesc& target = *find_target("xnnpack");
  const auto prepared = prepare_float(graph, {&target, {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  const std::string text = print(prepared->graph);
  for (const Node& node : prepared->graph.nodes()) {
    const auto reason = target.refusal(prepared->graph, node);
    ASSERT_FALSE(reason) << name_of(node.op) << ": " << text_of(*reason) << "\n" << text;
  }
  const auto compiled = compile(*prepared, target, {}, nullptr);
  ASSERT_TRUE(compiled) << compiled.error().text() << "\n" << text;
  auto method = run::Method::load(Blob(compiled->bytes, nullptr));
  ASSERT_TRUE(method) << method.error().text();
  for (const std::int64_t batch : batches) {
    const std::vector<Tensor> inputs{input_of(row.sizes, row, batch)};
    const auto expected = interpret(graph, inputs);
    ASSERT_TRUE(expected) << expected.error().text();
    const auto formed = interpret(prepared->graph, inputs);
    ASSERT_TRUE(formed) << formed.error().text() << "\n" << text;
    EXPECT_TRUE(agree(*formed, *expected->front(), row.numbers)) << text;
    const auto run = method->run(inputs);
    ASSERT_TRUE(run) << run.error().text() << "\n" << text;
    EXPECT_TRUE(agree(*run, *expected->front(), row.numbers)) << "in the delegate\n" << text;
  }
}

void expect_delegated(const Case& row) {
  for (const bool is_symbolic : {false, true}) {
    if (is_symbolic && !row.has_batch) continue;
    Build build(row.sizes, is_symbolic);
    const ValueId result = row.make(build);
    expect_delegated(std::move(build).finish(result), row,
                     is_symbolic ? std::vector<std::int64_t>{1, 3, 8} : std::vector{row.sizes[0]});
  }
}

}  // namespace isthmus::test
