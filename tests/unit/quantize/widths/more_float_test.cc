// Which nodes stay in float because the outputs gain enough by it.
#include "quantize/widths/more_float.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/quantized_graphs.h"
#include "support/quantized_tensors.h"
#include "support/random_quant_model.h"
#include "targets/registry.h"

namespace isthmus::more_float_test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// Two layers that cost much and whose noise a mean takes away, and one that costs nothing and makes the output.
Graph model() {
  test::Chance chance(1);
  const auto numbers = [&](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}{:.4f}", i == 0 ? "" : ",", chance.real(-1, 1));
    return text;
  };
  constexpr std::string_view kConv = "stride=[1,1] padding=[1,1,1,1] dilation=[1,1] : f32[1,16,16,16]";
  return test::graph_of(fmt::format(R"(graph
  const %a : f32[16,16,3,3] = [{0}]
  const %b : f32[4,16,1,1] = [{1}]
  input %x : f32[1,16,16,16]
  %first = conv2d(%x, %a) {2}
  %second = conv2d(%first, %a) {2}
  %mean = mean(%second) axes=[2,3] keepdim=true : f32[1,16,1,1]
  %last = conv2d(%mean, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,1,1]
  %y = clamp(%last) min=0 max=inf : f32[1,4,1,1]
  return %y
)",
                                    numbers(16 * 16 * 9), numbers(4 * 16), kConv));
}

// Names of the nodes that get more precision than they had.
std::set<std::string> changed(const Graph& graph, const QuantConfig& config) {
  test::Chance chance(2);
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 4; ++i) samples.push_back({chance.reals({1, 16, 16, 16}, -1, 1)});
  const Statistics statistics = test::observed(graph, samples);
  const TargetDesc& target = *find_target("xnnpack");
  Diagnostics diagnostics;
  const auto settings = settings_of(graph, config, diagnostics);
  const Precisions precisions = choose_precisions(graph, target, settings, config);
  const std::vector<DType> storage(graph.values().size(), DType::kI8);
  Ranges ranges(graph, &statistics, settings, storage, {});
  const auto wanted = more_float(graph, target, precisions, settings, config, ranges);
  EXPECT_TRUE(wanted) << wanted.error().text();
  std::set<std::string> names;
  for (std::size_t n = 0; n < wanted->size(); ++n) {
    if (!(*wanted)[n]) continue;
    EXPECT_NE((*wanted)[n], precisions.of_node[n]);
    names.insert(graph[graph.nodes()[n].outputs[0]].name);
  }
  return names;
}

QuantConfig config_of(double widen) {
  QuantConfig config;
  config.front = 0;
  config.widen = widen;
  return config;
}

TEST(MoreFloat, TakesWhatGainsMuchForLittle) {
  const std::set<std::string> names = changed(model(), config_of(0.1));
  EXPECT_THAT(names, Contains("last"));
  EXPECT_THAT(names, Contains("y")) << "the clamp goes with the layer that it is part of";
  EXPECT_THAT(names, Not(Contains("first")));
  EXPECT_THAT(names, Not(Contains("second")));
}

TEST(MoreFloat, SpendsNoMoreThanItsShare) { EXPECT_THAT(changed(model(), config_of(1e-9)), IsEmpty()); }

TEST(MoreFloat, LeavesWhatARuleGives) {
  QuantConfig config = config_of(0.1);
  for (const char* name : {"last", "y"}) {
    QuantRule rule;
    rule.node = name;
    rule.storage = DType::kI8;
    config.rules.push_back(rule);
  }
  const std::set<std::string> names = changed(model(), config);
  EXPECT_THAT(names, Not(Contains("last")));
  EXPECT_THAT(names, Not(Contains("y")));
}

}  // namespace
}  // namespace isthmus::more_float_test
