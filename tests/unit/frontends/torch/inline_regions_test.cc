// Subgraphs of nodes become nodes of the program.
#include "frontends/torch/inline_regions.h"

#include <gtest/gtest.h>

namespace isthmus::inline_regions_test {
namespace {

using pt2::TensorRef;

pt2::Node call(std::string target, const std::string& from, const std::string& to) {
  return {std::move(target), {{"self", TensorRef{from}}}, {TensorRef{to}}, {}};
}

// y = relu(x), with names that the program may have as well.
std::shared_ptr<const pt2::Subgraph> region() {
  auto made = std::make_shared<pt2::Subgraph>();
  made->name = "submod_1";
  made->inputs = {TensorRef{"x"}};
  made->outputs = {TensorRef{"y"}};
  made->nodes = {call("torch.ops.aten.relu.default", "x", "y")};
  made->tensors = {{"x", {}}, {"y", {}}};
  return made;
}

// An input x, the node, and a neg of what it calls its result.
pt2::Program around(pt2::Node node) {
  pt2::Program program;
  program.inputs.push_back({pt2::InputKind::kUser, TensorRef{"x"}, {}, {}, true});
  program.tensors = {{"x", {}}, {"y", {}}, {"result", {}}, {"neg", {}}};
  program.nodes = {call("torch.ops.aten.abs.default", "x", "y"), std::move(node),
                   call("torch.ops.aten.neg.default", "result", "neg")};
  program.outputs.push_back({pt2::OutputKind::kUser, TensorRef{"result"}, {}});
  return program;
}

pt2::Node wrapper(std::string target, std::vector<pt2::Argument> before) {
  pt2::Node node{std::move(target), std::move(before), {pt2::TensorRefs{{"result"}}}, {}};
  node.inputs.push_back({"", region()});
  node.inputs.push_back({"", TensorRef{"y"}});
  return node;
}

std::string input_of(const pt2::Node& node, std::size_t i = 0) {
  return std::get<TensorRef>(node.inputs.at(i).value).name;
}
std::string output_of(const pt2::Node& node) { return std::get<TensorRef>(node.outputs.at(0)).name; }

TEST(InlineRegions, WrapperBecomesItsNodes) {
  const pt2::Program before = around(wrapper("torch.ops.higher_order.wrap_with_set_grad_enabled", {{"", false}}));
  ASSERT_TRUE(has_regions(before));
  const auto program = inline_regions(before);
  ASSERT_TRUE(program.has_value()) << program.error().text();
  EXPECT_FALSE(has_regions(*program));
  ASSERT_EQ(program->nodes.size(), 3u);
  const pt2::Node& relu = program->nodes[1];
  EXPECT_EQ(relu.target, "torch.ops.aten.relu.default");
  EXPECT_EQ(input_of(relu), "y") << "the operand, not the subgraph's own name for it";
  EXPECT_NE(output_of(relu), "y") << "the program has a y already";
  EXPECT_TRUE(program->tensors.contains(output_of(relu)));
  EXPECT_EQ(input_of(program->nodes[2]), output_of(relu));
  EXPECT_EQ(std::get<TensorRef>(program->outputs[0].value).name, output_of(relu));
}

TEST(InlineRegions, AutocastThatIsOffIsInlined) {
  std::vector<pt2::Argument> off{{"", pt2::Text{"cpu"}}, {"", DType::kBF16}, {"", false}, {"", false}};
  EXPECT_TRUE(inline_regions(around(wrapper("torch.ops.higher_order.wrap_with_autocast", off))).has_value());
  std::vector<pt2::Argument> on{{"", pt2::Text{"cpu"}}, {"", DType::kBF16}, {"", true}, {"", false}};
  const auto refused = inline_regions(around(wrapper("torch.ops.higher_order.wrap_with_autocast", on)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(refused.error().text().find("without torch.autocast"), std::string::npos) << refused.error().text();
}

TEST(InlineRegions, ConditionChoosesBetweenInlinedBranches) {
  const pt2::Node cond{kBranchTarget,
                       {{"", TensorRef{"x"}}, {"", region()}, {"", region()}, {"", pt2::TensorRefs{{"y"}}}},
                       {TensorRef{"result"}},
                       {}};
  const auto program = inline_regions(around(cond));
  ASSERT_TRUE(program.has_value()) << program.error().text();
  ASSERT_EQ(program->nodes.size(), 5u);
  const pt2::Node& branch = program->nodes[3];
  EXPECT_EQ(branch.target, kBranchTarget);
  EXPECT_EQ(input_of(branch, 0), "x");
  EXPECT_EQ(input_of(branch, 1), output_of(program->nodes[1]));
  EXPECT_EQ(input_of(branch, 2), output_of(program->nodes[2]));
  EXPECT_NE(input_of(branch, 1), input_of(branch, 2));
  EXPECT_EQ(output_of(branch), "result");
}

TEST(InlineRegions, RegionInARegion) {
  auto outer = std::make_shared<pt2::Subgraph>();
  outer->name = "outer";
  outer->inputs = {TensorRef{"x"}};
  outer->outputs = {TensorRef{"z"}};
  outer->nodes = {{"torch.ops.higher_order.wrap", {{"", region()}, {"", TensorRef{"x"}}}, {TensorRef{"z"}}, {}}};
  outer->tensors = {{"x", {}}, {"z", {}}};
  pt2::Node node{"torch.ops.higher_order.wrap", {{"", outer}, {"", TensorRef{"y"}}}, {TensorRef{"result"}}, {}};
  const auto program = inline_regions(around(std::move(node)));
  ASSERT_TRUE(program.has_value()) << program.error().text();
  ASSERT_EQ(program->nodes.size(), 3u);
  EXPECT_EQ(input_of(program->nodes[1]), "y");
  EXPECT_EQ(input_of(program->nodes[2]), output_of(program->nodes[1]));
}

TEST(InlineRegions, LoopsAreRefused) {
  const auto program = inline_regions(around(wrapper("torch.ops.higher_order.while_loop", {})));
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(program.error().text().find("fixed number of steps"), std::string::npos) << program.error().text();
}

TEST(InlineRegions, WrongCountsAreErrors) {
  pt2::Node no_operand = wrapper("torch.ops.higher_order.wrap", {});
  no_operand.inputs.pop_back();
  EXPECT_FALSE(inline_regions(around(no_operand)).has_value());
  pt2::Node no_result = wrapper("torch.ops.higher_order.wrap", {});
  no_result.outputs.clear();
  EXPECT_FALSE(inline_regions(around(no_result)).has_value());
}

}  // namespace
}  // namespace isthmus::inline_regions_test
