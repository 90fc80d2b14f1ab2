// Sizes and constants that are asked for before a model is loaded.
#include "frontends/onnx/fix_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx/load.h"
#include "ir/text.h"
#include "support/onnx_writer.h"

namespace isthmus::test::fix_inputs_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kFloat = 1;
constexpr std::int64_t kI64 = 7;

std::string loaded(const OnnxGraph& graph, const InputRequest& request, Diagnostics& diagnostics) {
  auto model = onnx::read_model(onnx_model(graph), onnx::files_in({}));
  if (!model) return model.error().text();
  if (auto fixed = fix_inputs(*model, request, diagnostics); !fixed) return fixed.error().text();
  const auto result = load(*model, diagnostics);
  return result ? print(result->graph) : result.error().text();
}
std::string loaded(const OnnxGraph& graph, const InputRequest& request) {
  Diagnostics ignored;
  return loaded(graph, request, ignored);
}

InputRequest with_constant(const std::string& name, const std::vector<double>& numbers) {
  InputRequest request;
  request.constants[name] = numbers;
  return request;
}
InputRequest with_shape(const std::string& name, const std::vector<std::int64_t>& sizes) {
  InputRequest request;
  request.shapes.inputs[name] = sizes;
  return request;
}

// Neg at 16000, Abs otherwise.
OnnxGraph branching() {
  OnnxGraph yes;
  yes.node("Neg", {"x"}, {"a"}).output("a");
  OnnxGraph no;
  no.node("Abs", {"x"}, {"b"}).output("b");
  OnnxGraph graph;
  graph.input("x", kFloat, {std::string("batch"), std::string("time")})
      .input("sr", kI64, {})
      .integers("rate", {}, {16000})
      .node("Equal", {"sr", "rate"}, {"p"})
      .node("If", {"p"}, {"y"}, {}, {{"then_branch", yes}, {"else_branch", no}})
      .output("y");
  return graph;
}

TEST(OnnxFixInputs, ConstantInputsSelectBranchesAndAreRemoved) {
  const std::string at_16k = loaded(branching(), with_constant("sr", {16000}));
  EXPECT_THAT(at_16k, HasSubstr("Neg"));
  EXPECT_THAT(at_16k, Not(HasSubstr("input %sr")));
  EXPECT_THAT(loaded(branching(), with_constant("sr", {8000})), HasSubstr("Abs"));
  EXPECT_THAT(loaded(branching(), {}), HasSubstr("fix these with --shape or --constant"));
}

TEST(OnnxFixInputs, WhatDoesNotFitAnInputIsRefused) {
  EXPECT_THAT(loaded(branching(), with_constant("rate", {1})), HasSubstr("\"rate\": the model has no input of this"));
  EXPECT_THAT(loaded(branching(), with_constant("sr", {1, 2})), HasSubstr("2 numbers, the input has 1"));
  EXPECT_THAT(loaded(branching(), with_constant("sr", {0.5})), HasSubstr("0.5 for an input of i64"));
  EXPECT_THAT(loaded(branching(), with_shape("x", {1})), HasSubstr("the input has 2 axes, but 1 sizes are given"));
  OnnxGraph square;
  square.input("x", kFloat, {std::string("n"), std::string("n")}).node("Neg", {"x"}, {"y"}).output("y");
  EXPECT_THAT(loaded(square, with_shape("x", {2, 3})), HasSubstr("\"n\" would be both 2 and 3"));
}

// A size stands in every input that names it, and what is computed of it is known.
TEST(OnnxFixInputs, SizesAreKnownBeforeLoading) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::int64_t{1}, std::int64_t{1}, std::string("side"), std::string("side")})
      .input("mask", kFloat, {std::string("side")})
      .floats("scales", {4}, {1, 1, 1.5F, 1.5F})
      .node("Resize", {"x", "", "scales"}, {"y"})
      .node("Neg", {"mask"}, {"m"})
      .output("y")
      .output("m");
  EXPECT_THAT(loaded(graph, {}), HasSubstr("the image size must be static: fix it with --shape"));
  Diagnostics diagnostics;
  const std::string text = loaded(graph, with_shape("mask", {4}), diagnostics);
  EXPECT_THAT(text, HasSubstr("f32[1,1,6,6]"));
  ASSERT_EQ(diagnostics.entries().size(), 1);
  EXPECT_EQ(diagnostics.entries()[0].text, "dimension side is fixed to 4, as requested");
}

// What a model runs on has the last word when it runs.
TEST(OnnxFixInputs, SizesOfGivenArraysAreTakenWhereTheyFit) {
  InputRequest request = with_constant("sr", {1});
  request.sizes = {std::vector<std::int64_t>{2, 5}};
  EXPECT_THAT(loaded(branching(), request), HasSubstr("input %x : f32[2,5]"));
  request.sizes = {std::vector<std::int64_t>{2}};
  EXPECT_THAT(loaded(branching(), request), HasSubstr("input %x : f32[batch,time]"));
}

// Some exporters call every size "?".
TEST(OnnxFixInputs, SizesCalledQuestionMarkHaveNoName) {
  OnnxGraph graph;
  graph.input("x", kFloat, {std::string("?"), std::string("?")}).node("Neg", {"x"}, {"y"}).output("y");
  EXPECT_THAT(loaded(graph, {}), HasSubstr("f32[x_0,x_1]"));
}

}  // namespace
}  // namespace isthmus::test::fix_inputs_test
