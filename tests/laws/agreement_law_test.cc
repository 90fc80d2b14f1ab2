// `check` and `compile` agree, on random graphs and on the bundled models.
#include <gtest/gtest.h>

#include "support/agreement.h"
#include "support/random_device_model.h"

namespace isthmus::agreement_law_test {
namespace {

constexpr std::string_view kTargets[] = {"xnnpack", "ethos-u85-256", "ethos-u55-128", "tosa-int"};

TEST(AgreementLaw, RandomGraphs) {
  for (unsigned seed = 0; seed < 40 && !HasFailure(); ++seed) {
    test::RandomDeviceModel random(seed);
    const Graph graph = random.make();
    const std::vector<Tensor> sample = random.inputs(graph);
    for (const std::string_view target : kTargets) {
      EXPECT_EQ(test::broken_agreement(graph, sample, target), "") << "seed " << seed << " on " << target;
    }
    EXPECT_EQ(test::broken_agreement(graph, sample, "xnnpack", true), "") << "seed " << seed << " in float";
  }
}

}  // namespace
}  // namespace isthmus::agreement_law_test
