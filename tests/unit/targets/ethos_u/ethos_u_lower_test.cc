// Quantized graphs as TOSA graphs: the TOSA interpreter computes what the integer interpreter computes, bit for bit.
#include <gtest/gtest.h>

#include "calibrate/samples.h"
#include "ir/text.h"
#include "support/ethos_u_cases.h"
#include "support/ethos_u_lowered.h"
#include "targets/registry.h"

namespace isthmus::ethos_u_lower_test {
namespace {

using test::Build;
using test::Case;

void expect_lowered(const Case& row, DType storage) {
  const std::vector<Tensor> inputs{test::input_of(row.sizes, row, row.sizes[0])};
  const std::vector<std::optional<TensorView>> examples{inputs[0].view()};
  QuantConfig config;
  config.storage = storage;
  for (const auto& [name, device] : test::kEthosUTargets) {
    SCOPED_TRACE(name);
    Build build(row.sizes, false);
    const ValueId made = row.make(build);
    const TargetDesc& target = *find_target(name);
    Diagnostics diagnostics;
    const auto prepared = prepare(std::move(build).finish(made), {&target, {}}, diagnostics);
    ASSERT_TRUE(prepared) << prepared.error().text();
    const auto samples = example_samples(prepared->graph, examples);
    ASSERT_TRUE(samples) << samples.error().text();
    const auto model = test::quantized_for(*prepared, target, **samples, config);
    ASSERT_TRUE(model) << model.error().text() << "\n" << print(prepared->graph);
    EXPECT_EQ(test::lowered_problem(*model, device, inputs), "") << print(model->quantized.graph);
  }
}

class EthosULower : public testing::TestWithParam<Case> {};
TEST_P(EthosULower, ComputesTheSameBits) { expect_lowered(GetParam(), DType::kI8); }
INSTANTIATE_TEST_SUITE_P(Cases, EthosULower, testing::ValuesIn(test::ethos_u_cases()), test::name_of_case);

}  // namespace
}  // namespace isthmus::ethos_u_lower_test
