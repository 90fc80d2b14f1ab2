// The table of laws.
#include "campaign/laws.h"

#include <fmt/format.h>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/agreement.h"
#include "support/device_laws.h"
#include "support/program_laws.h"
#include "support/quantize_laws.h"
#include "support/random_op_model.h"
#include "targets/registry.h"

namespace isthmus::test {
namespace {

std::string broken_device(RandomSeed seed) {
  OperatorCounts counts;
  return broken_device_law(seed, counts);
}

// Every op of the table, for each target in its turn, and in float now and then.
std::string broken_places(RandomSeed seed) {
  RandomOpModel random(seed);
  const Graph graph = random.make();
  if (graph.outputs().empty()) return {};
  const std::vector<Tensor> sample = random.inputs(graph);
  if (!interpret(graph, sample)) return {};  // divides integers by zero, or picks rows that are not there
  const auto targets = all_targets();
  const std::string_view target = targets[seed % targets.size()]->name;
  const std::string broken = broken_agreement(graph, sample, target, seed % 9 == 8);
  return broken.empty() ? broken : fmt::format("on {}: {}\n{}", target, broken, print(graph));
}

constexpr CampaignLaw kLaws[] = {
    {"device", "NPUs: TOSA computes the bits of the integer interpreter, in int8 and int16", broken_device},
    {"program", "XNNPACK: every quantized value has the bits of the integer interpreter", broken_program_law},
    {"places", "check and compile agree on every target, and what they agree on becomes a program", broken_places},
    {"plan", "a plan does not depend on order or names, and every tie is shared or cut", broken_plan_law},
    {"compute", "what is quantized is proven and computes nearly what the model computes", broken_compute_law},
    {"pins", "parameters in an archive are those of the plan", broken_pin_law},
    {"partial-pins", "archives with some parameters, on four targets", broken_partial_pin_law},
};

}  // namespace

std::span<const CampaignLaw> campaign_laws() { return kLaws; }

RandomSeed shrunk(const CampaignLaw& law, RandomSeed seed) {
  constexpr std::size_t kMaxGrown = 64;
  for (std::size_t nodes = 1; nodes < kMaxGrown; ++nodes) {
    const RandomSeed smaller(seed.number, nodes);
    if (!law.broken(smaller).empty()) return smaller;
  }
  return seed;
}

}  // namespace isthmus::test
