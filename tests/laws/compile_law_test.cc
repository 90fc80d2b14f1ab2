// The law of compiling: a program computes what its graph computes, whatever the graph.
#include <gtest/gtest.h>

#include "exec/interpreter.h"
#include "ir/text.h"
#include "support/compile.h"
#include "support/random_model.h"

namespace isthmus::compile_law_test {
namespace {

TEST(CompileLaws, ProgramsComputeWhatTheirGraphsCompute) {
  const BackendDesc& backend = *find_backend("xnnpack");
  for (unsigned seed = 0; seed < 150; ++seed) {
    test::RandomModel model(seed);
    const Graph graph = model.make();
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs()) inputs.push_back(model.input(graph.type(input)));
    const auto expected = interpret(graph, inputs);
    ASSERT_TRUE(expected) << expected.error().text();
    Diagnostics diagnostics;
    const auto prepared = prepare(graph, {&backend, {}}, diagnostics);
    ASSERT_TRUE(prepared) << "seed " << seed << ": " << prepared.error().text();
    const auto where = [&] {
      return "seed " + std::to_string(seed) + "\n" +
             print(prepared->graph, {.notes = notes_of(prepared->partitioning, "xnnpack")});
    };
    const auto compiled = compile(*prepared, backend, {}, nullptr);
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
