// Graphs that campaigns found (./dev campaign) and what they broke, shrunk: each is placed alike by `check` and
// `compile` on every target, and becomes a program.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "ops/known.h"
#include "support/agreement.h"
#include "targets/registry.h"

namespace isthmus::found_graphs_test {
namespace {

struct Found {
  const char* name;
  const char* graph;
};

const Found kFound[] = {
    {"AnyOfNumbers", R"(graph
  input %row : f32[2,3]
  %all = all(%row) axes=[0] keepdim=true : bool[1,3]
  %any = any(%row) axes=[0,1] : bool[]
  return %all, %any
)"},
    {"AnyAlongNoAxis", R"(graph
  input %row : f32[2,3]
  %sin = sin(%row) : f32[2,3]
  %any = any(%sin) : bool[2,3]
  return %any
)"},
    {"LeastOfBools", R"(graph
  input %row : f32[2,5]
  %tanh = tanh(%row) : f32[2,5]
  %less = lt(%tanh, %row) : bool[2,5]
  %amin = amin(%less) axes=[1] keepdim=true : bool[2,1]
  return %tanh, %amin
)"},
    {"MaximumOfBools", R"(graph
  input %numbers : i64[2]
  %eq = eq(%numbers, %numbers) : bool[2]
  %maximum = maximum(%eq, %eq) : bool[2]
  return %maximum
)"},
    {"PredicateOfARankOfItsOwn", R"(graph
  input %numbers : i64[1]
  input %row : f32[2,2]
  const %yes : f32[] = 0.5
  const %no : f32[] = 0.25
  %eq = eq(%numbers, %numbers) : bool[1]
  %branch = branch(%eq, %yes, %no) : f32[]
  %sum = add(%row, %branch) : f32[2,2]
  return %sum
)"},
    {"LayerOfNumbersThatAreNone", R"(graph
  input %image : f32[1,2,3,3]
  const %weight : f32[1,2,1,1] = [0.5,0.25]
  %abs = abs(%image) : f32[1,2,3,3]
  %neg = neg(%abs) : f32[1,2,3,3]
  %log = log(%neg) : f32[1,2,3,3]
  %conv2d = conv2d(%log, %weight) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,1,3,3]
  return %conv2d
)"},
    {"WindowsThatSeePaddingAlone", R"(graph
  input %image : f32[1,2,4,1]
  const %weight : f32[1,2,2,1] = [0.5,0.25,0.125,1]
  %conv2d = conv2d(%image, %weight) stride=[2,2] padding=[1,0,1,0] dilation=[2,2] : f32[1,1,2,1]
  return %conv2d
)"},
    {"TransposedConvolutionByChannel", R"(graph
  input %image : f32[1,2,3,4]
  const %weight : f32[2,1,2,2] = [0.5,0.25,-0.125,1,0.05,-0.02,0.01,0.03]
  %up = conv_transpose2d(%image, %weight) stride=[2,2] padding=[0,0,0,0] dilation=[1,1] groups=2 : f32[1,2,6,8]
  return %up
)"},
};

class FoundGraphs : public testing::TestWithParam<Found> {};

TEST_P(FoundGraphs, ArePlacedAlikeAndCompiled) {
  const auto graph = parse_graph(GetParam().graph);
  ASSERT_TRUE(graph) << graph.error().text();
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.2F, 1);
  std::vector<Tensor> sample;
  for (const ValueId input : graph->inputs()) {
    Tensor& tensor = sample.emplace_back(graph->type(input).dtype, *fixed_sizes(graph->type(input).shape));
    if (tensor.dtype() != DType::kF32) continue;
    for (float& number : tensor.mutable_data<float>()) number = normal(random);
  }
  const auto computed = interpret(*graph, sample);
  EXPECT_TRUE(computed) << computed.error().text();
  for (const TargetDesc* target : all_targets()) {
    EXPECT_EQ(test::broken_agreement(*graph, sample, target->name), "") << target->name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FoundGraphs, testing::ValuesIn(kFound),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace isthmus::found_graphs_test
