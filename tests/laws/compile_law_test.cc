// The law of compiling: a program computes what its graph computes, whatever the graph.
#include <gtest/gtest.h>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/compile.h"
#include "support/random_model.h"
#include "targets/registry.h"

namespace isthmus::compile_law_test {
namespace {

// Inputs of every second model lie channels-last in memory: which numbers come out does not depend on it.
std::vector<Order> orders_of(const Graph& graph, bool has_channels_last) {
  std::vector<Order> orders;
  for (const ValueId input : graph.inputs()) {
    const std::size_t rank = graph.type(input).rank();
    orders.push_back(has_channels_last && rank == kChannelsLast.size() ? kChannelsLast : row_major(rank));
  }
  return orders;
}

TEST(CompileLaws, ProgramsComputeWhatTheirGraphsCompute) {
  const TargetDesc& target = *find_target("xnnpack");
  for (unsigned seed = 0; seed < 150; ++seed) {
    test::RandomModel model(seed);
    const Graph graph = model.make();
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs()) inputs.push_back(model.input(graph.type(input)));
    const auto expected = interpret(graph, inputs);
    ASSERT_TRUE(expected) << expected.error().text();
    Diagnostics diagnostics;
    const auto prepared = prepare_float(graph, {&target, {}}, diagnostics);
    ASSERT_TRUE(prepared) << "seed " << seed << ": " << prepared.error().text();
    const auto where = [&] {
      return "seed " + std::to_string(seed) + "\n" +
             print(prepared->graph, {.notes = notes_of(prepared->partitioning, "xnnpack")});
    };
    const auto compiled = compile(prepared->graph, prepared->partitioning, target, {}, nullptr,
                                  orders_of(prepared->graph, seed % 2 == 1));
    ASSERT_TRUE(compiled) << compiled.error().text() << "\n" << where();
    auto method = run::Method::load(Blob(compiled->bytes, nullptr));
    ASSERT_TRUE(method) << method.error().text();
    const auto found = method->run(inputs);
    ASSERT_TRUE(found) << found.error().text() << "\n" << where();
    std::vector<Tensor> wanted;
    for (const auto& tensor : *expected) wanted.push_back(*tensor);
    EXPECT_LE(test::relative_error(*found, wanted), 1e-4) << where();
  }
}

}  // namespace
}  // namespace isthmus::compile_law_test
