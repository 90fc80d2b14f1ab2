// The limits of the devices behind TOSA, what nodes become there, and what the descriptions say.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "targets/ethos_u/desc.h"
#include "targets/ethos_u/forms/forms.h"
#include "targets/ethos_u/limits.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus::ethos_u_test {
namespace {

using ethos_u::Device;
using ethos_u::TosaForm;
using tosa::Type;

TosaForm form_of(tosa::Op op, std::vector<ethos_u::TosaTensor> inputs, ethos_u::TosaTensor output) {
  return {op, std::move(inputs), std::move(output)};
}
TosaForm window(tosa::Op op, Ints image, Ints kernel, Ints stride, Ints pad = {0, 0, 0, 0}) {
  const std::int64_t channels = image.back();
  TosaForm form = form_of(op, {{Type::kI8, image}, {Type::kI8, {8, kernel[0], kernel[1], channels}}},
                          {Type::kI32, {image[0], 1, 1, 8}});
  form.kernel = std::move(kernel);
  form.stride = std::move(stride);
  form.pad = std::move(pad);
  form.dilation = {1, 1};
  return form;
}
TosaForm along(tosa::Op op, Type type, Ints shape, std::int64_t axis) {
  TosaForm form = form_of(op, {{type, shape}}, {type, shape});
  form.axis = axis;
  return form;
}
TosaForm resized(Ints image, Ints scale, bool is_bilinear = false) {
  TosaForm form = form_of(tosa::Op::kResize, {{Type::kI8, image}}, {Type::kI8, image});
  form.scale = std::move(scale);
  form.offset = form.border = {0, 0};
  form.is_bilinear = is_bilinear;
  return form;
}

// For each limit one that does not keep it.
std::vector<TosaForm> violating_forms() {
  using tosa::Op;
  const Ints image{1, 16, 16, 4};
  const ethos_u::TosaTensor wide{Type::kI32, image};
  const ethos_u::TosaTensor narrow{Type::kI8, image};
  std::vector<TosaForm> forms{
      form_of(Op::kReshape, {{Type::kI8, {1, 1, 1, 1, 1, 1, 4}}}, {Type::kI8, {4}}),
      window(Op::kConv2d, image, {1, 9000}, {1, 1}),
      window(Op::kMaxPool2d, image, {3, 3}, {1, 9000}),
      form_of(Op::kConcat, std::vector(65, narrow), narrow),
      window(Op::kAvgPool2d, image, {2, 2}, {1, 1}, {2, 0, 0, 0}),
      window(Op::kMaxPool2d, image, {2, 2}, {1, 1}, {0, 0, 0, 3}),
      window(Op::kTransposeConv2d, image, {2, 2}, {1, 1}, {-2, 0, 0, 0}),
      resized(image, {2 * 1025, 2, 2, 2}),
      form_of(Op::kRescale, {wide}, wide),
      form_of(Op::kConcat, {{Type::kBool, {4}}}, {Type::kBool, {4}}),
      along(Op::kConv2d, Type::kI32, image, 0),
      window(Op::kConv2d, image, {1, 1}, {4, 1}),
      window(Op::kConv2d, image, {65, 1}, {1, 1}),
      window(Op::kConv2d, {1, 16, 16, 65536}, {1, 2}, {1, 1}),
      window(Op::kConv2d, {1, 65537, 16, 4}, {1, 1}, {1, 1}),
      window(Op::kDepthwiseConv2d, image, {1, 1}, {1, 5}),
      window(Op::kDepthwiseConv2d, image, {64, 65}, {1, 1}),
      window(Op::kDepthwiseConv2d, {1, 16, 65537, 4}, {1, 1}, {1, 1}),
      form_of(Op::kTransposeConv2d, {{Type::kI16, image}}, {Type::kI48, image}),
      window(Op::kTransposeConv2d, image, {2, 2}, {3, 3}),
      window(Op::kTransposeConv2d, image, {66, 1}, {1, 1}),
      window(Op::kTransposeConv2d, {1, 16, 16, 65537}, {1, 1}, {1, 1}),
      form_of(Op::kMatMul, {{Type::kI16, {1, 2, 3}}, {Type::kI16, {1, 3, 4}}}, {Type::kI48, {1, 2, 4}}),
      form_of(Op::kMatMul, {{Type::kI8, {1, 2, 65537}}, {Type::kI8, {1, 65537, 4}}}, {Type::kI32, {1, 2, 4}}),
      window(Op::kAvgPool2d, {2, 16, 16, 4}, {2, 2}, {2, 2}),
      window(Op::kAvgPool2d, image, {4, 4}, {4, 4}),
      window(Op::kAvgPool2d, image, {9, 2}, {1, 1}, {1, 0, 0, 0}),
      window(Op::kAvgPool2d, image, {257, 1}, {1, 1}),
      window(Op::kAvgPool2d, {1, 65537, 1, 4}, {2, 1}, {1, 1}),
      window(Op::kMaxPool2d, image, {4, 4}, {4, 4}),
      window(Op::kMaxPool2d, image, {256, 257}, {1, 1}),
      window(Op::kMaxPool2d, {1, 65537, 1, 4}, {2, 1}, {1, 1}),
      along(Op::kReduceSum, Type::kI32, {1, 65537, 2}, 1),
      along(Op::kReduceMax, Type::kI32, {4, 5}, 1),
      along(Op::kReduceMin, Type::kI32, {4, 5}, 1),
      along(Op::kArgMax, Type::kI16, {4, 5}, 1),
      along(Op::kArgMax, Type::kI8, {4, 5}, 0),
      along(Op::kArgMax, Type::kI8, {4, 128}, 1),
      form_of(Op::kArithmeticRightShift, {narrow, narrow}, narrow),
      form_of(Op::kLogicalLeftShift, {narrow, narrow}, narrow),
      form_of(Op::kTable, {wide}, wide),
      form_of(Op::kCast, {wide}, narrow),
      along(Op::kReverse, Type::kI8, {1, 5, 6, 4}, 3),
      resized({2, 16, 16, 4}, {4, 2, 4, 2}),
      resized(image, {6, 2, 6, 2}),
      along(Op::kTranspose, Type::kI8, {1, 512, 512, 3}, 0),
      along(Op::kTranspose, Type::kI32, {1, 2, 2, 3, 2}, 0),
  };
  forms.push_back(form_of(Op::kArithmeticRightShift, {wide, wide}, wide));
  forms.back().rounds = false;
  for (const Op missing :
       {Op::kBitwiseAnd, Op::kBitwiseOr, Op::kBitwiseXor, Op::kBitwiseNot, Op::kIntDiv, Op::kLogicalAnd, Op::kLogicalOr,
        Op::kLogicalXor, Op::kLogicalNot, Op::kLogicalRightShift, Op::kSelect, Op::kEqual, Op::kGreater,
        Op::kGreaterEqual, Op::kReduceAll, Op::kReduceAny, Op::kGather, Op::kScatter}) {
    forms.push_back(form_of(missing, {wide, wide}, wide));
  }
  return forms;
}

TEST(EthosULimits, EachIsViolatedBySomeFormAndSaysSo) {
  const std::vector<TosaForm> forms = violating_forms();
  for (const ethos_u::Limit& limit : ethos_u::limits()) {
    const Device device = has(limit.devices, Device::kU55) ? Device::kU55 : Device::kU85;
    const bool is_found = std::ranges::any_of(forms, [&](const TosaForm& form) {
      if (limit.op != form.op && limit.op != tosa::Op::kInvalid) return false;
      const auto reason = ethos_u::refusal(form, device);
      return reason && reason->code == limit.code && reason->got.find(limit.sentence) != std::string::npos;
    });
    EXPECT_TRUE(is_found) << tosa::name_of(limit.op) << ": " << limit.sentence;
  }
}

TEST(EthosULimits, EachFormIsRefusedOnU55) {
  for (const TosaForm& form : violating_forms()) {
    EXPECT_TRUE(ethos_u::refusal(form, Device::kU55)) << tosa::name_of(form.op);
  }
}

// Why the last node of a graph is refused; "" where it is not.
std::string refusal_text(std::string_view text, Device device, DType storage = DType::kI8) {
  const auto graph = parse_graph(text);
  if (!graph) return graph.error().text();
  const auto reason = ethos_u::quantized_refusal(*graph, graph->nodes().back(), storage, device);
  return reason ? std::string(code_text(reason->code)) : "";
}

struct NodeCase {
  const char* text;
  const char* u55;
  const char* u85;
};

TEST(EthosUForms, DecideOnWhatANodeBecomes) {
  const NodeCase cases[] = {
      {R"(graph
  input %x : f32[1,4,16,16]
  const %w : f32[8,4,3,3] #0123456789abcdef
  %y = conv2d(%x, %w) stride=[2,2] padding=[1,1,1,1] dilation=[1,1] : f32[1,8,8,8]
  return %y
)",
       "", ""},
      {R"(graph
  input %x : f32[1,3,32,32]
  const %w : f32[8,3,16,16] #0123456789abcdef
  %y = conv2d(%x, %w) stride=[16,16] padding=[0,0,0,0] dilation=[1,1] : f32[1,8,2,2]
  return %y
)",
       "", ""},
      {R"(graph
  input %x : f32[1,3,32,32]
  const %w : f32[8,3,20,20] #0123456789abcdef
  %y = conv2d(%x, %w) stride=[16,16] padding=[0,0,0,0] dilation=[1,1] : f32[1,8,1,1]
  return %y
)",
       "stride", ""},
      {R"(graph
  input %x : f32[1,4,16,16]
  const %w : f32[8,2,3,3] #0123456789abcdef
  %y = conv2d(%x, %w) stride=[1,1] padding=[1,1,1,1] dilation=[1,1] groups=2 : f32[1,8,16,16]
  return %y
)",
       "no-form", "no-form"},
      {R"(graph
  input %x : f32[1,4,16,16]
  input %w : f32[8,4,1,1]
  %y = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,8,16,16]
  return %y
)",
       "needs-constant", "needs-constant"},
      {R"(graph
  input %x : f32[1,4,1,100000]
  const %w : f32[8,4,1,3] #0123456789abcdef
  %y = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,8,1,99998]
  return %y
)",
       "dim-range", ""},
      {R"(graph
  input %x : f32[2,4,16,16]
  %y = avg_pool2d(%x) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] : f32[2,4,8,8]
  return %y
)",
       "batch", ""},
      {R"(graph
  input %x : f32[1,4,16,16]
  %y = max_pool2d(%x) kernel=[8,8] stride=[8,8] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,2,2]
  return %y
)",
       "stride", ""},
      {R"(graph
  symbol s0 in [1,8] ~2
  input %x : f32[s0,4]
  %y = clamp(%x) min=0.0 : f32[s0,4]
  return %y
)",
       "dynamic-shape", "dynamic-shape"},
      {R"(graph
  input %x : f32[1,1,1,1,1,1,4]
  %y = clamp(%x) min=0.0 : f32[1,1,1,1,1,1,4]
  return %y
)",
       "rank", "rank"},
      {R"(graph
  input %x : f32[2,4]
  input %y : f32[2,4]
  %z = gt(%x, %y) : bool[2,4]
  return %z
)",
       "no-form", ""},
      {R"(graph
  input %x : f32[1,3,8,8]
  %y = resize2d(%x) mode=linear size=[16,16] : f32[1,3,16,16]
  return %y
)",
       "resize-ratio", ""},
      {R"(graph
  input %x : f32[1,3,8,8]
  %y = resize2d(%x) size=[16,16] : f32[1,3,16,16]
  return %y
)",
       "", ""},
      {R"(graph
  input %x : f32[4,6]
  %y = flip(%x) axes=[1] : f32[4,6]
  return %y
)",
       "axis", ""},
      {R"(graph
  input %x : f32[1,3,512,512]
  %y = permute(%x) axes=[0,2,3,1] : f32[1,512,512,3]
  return %y
)",
       "", ""},
      {R"(graph
  input %x : f32[4,9000000]
  %y = mean(%x) axes=[1] : f32[4]
  return %y
)",
       "sum-range", "sum-range"},
      {R"(graph
  input %x : f32[2,3,4]
  input %y : f32[2,4,5]
  %z = matmul(%x, %y) : f32[2,3,5]
  return %z
)",
       "", ""},
      {R"(graph
  input %x : f64[2,3]
  %y = exp(%x) : f64[2,3]
  return %y
)",
       "quantized-type", "quantized-type"},
      {R"(graph
  input %x : f32[2,3]
  %y = sort(%x) axis=1 : f32[2,3]
  return %y
)",
       "no-form", "no-form"},
  };
  for (const NodeCase& row : cases) {
    EXPECT_EQ(refusal_text(row.text, Device::kU55), row.u55) << row.text;
    EXPECT_EQ(refusal_text(row.text, Device::kU85), row.u85) << row.text;
    EXPECT_EQ(refusal_text(row.text, Device::kTosaInt), row.u85) << row.text;
  }
}

TEST(EthosUForms, SixteenBitsAreNotMultipliedOnU55) {
  constexpr std::string_view kText = R"(graph
  input %x : f32[2,3,4]
  input %y : f32[2,4,5]
  %z = matmul(%x, %y) : f32[2,3,5]
  return %z
)";
  EXPECT_EQ(refusal_text(kText, Device::kU55, DType::kI16), "quantized-type");
  EXPECT_EQ(refusal_text(kText, Device::kU85, DType::kI16), "");
}

TEST(EthosUForms, AnImageThatDoesNotFitTheWindowsIsCut) {
  const auto graph = parse_graph(R"(graph
  input %x : f32[1,4,10,10]
  const %w : f32[8,4,3,3] #0123456789abcdef
  %y = conv2d(%x, %w) stride=[2,2] padding=[0,0,1,1] dilation=[1,1] : f32[1,8,4,5]
  return %y
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const auto forms = ethos_u::forms(*graph, graph->nodes().back(), DType::kI8, Device::kU55);
  ASSERT_TRUE(forms);
  ASSERT_EQ(forms->size(), 3U);
  EXPECT_EQ((*forms)[0].op, tosa::Op::kSlice);
  EXPECT_EQ((*forms)[0].output.shape, (Ints{1, 9, 10, 4}));
  EXPECT_EQ((*forms)[1].pad, (Ints{0, 0, 1, 0}));
  EXPECT_EQ((*forms)[2].op, tosa::Op::kRescale);
}

TEST(EthosUForms, LargePermutesAreMadeInParts) {
  const auto graph = parse_graph(R"(graph
  input %x : f32[1,3,512,512]
  %y = permute(%x) axes=[0,2,3,1] : f32[1,512,512,3]
  return %y
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const auto forms = ethos_u::forms(*graph, graph->nodes().back(), DType::kI8, Device::kU55);
  ASSERT_TRUE(forms);
  EXPECT_EQ(forms->size(), 9U);  // four slices, four transposes, one join
  EXPECT_EQ(forms->back().op, tosa::Op::kConcat);
  EXPECT_EQ(ethos_u::forms(*graph, graph->nodes().back(), DType::kI8, Device::kU85)->size(), 1U);
}

// What stays on the host of a graph, by node.
std::vector<std::string> places(std::string_view text, std::string_view target) {
  const auto graph = parse_graph(text);
  if (!graph) return {graph.error().text()};
  std::vector<std::string> result;
  for (const Node& node : graph->nodes()) {
    const auto reason = find_target(target)->refusal(*graph, node);
    result.emplace_back(reason ? code_text(reason->code) : "");
  }
  return result;
}

TEST(EthosUTargets, FloatsStayOnTheHost) {
  constexpr std::string_view kText = R"(graph
  input %x : f32[2,3]
  %y = exp(%x) : f32[2,3]
  %z = foreign("aten.foo.default", self=%y) : f32[2,3]
  return %z
)";
  EXPECT_EQ(places(kText, "ethos-u85-256"), (std::vector<std::string>{"float-value", "foreign-op"}));
}

TEST(EthosUTargets, AreAllThereAndSortedByNumber) {
  std::vector<std::string_view> names;
  for (const TargetDesc* target : all_targets()) names.push_back(target->name);
  EXPECT_THAT(names, testing::ElementsAre("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256",
                                          "ethos-u65-256", "ethos-u65-512", "ethos-u85-128", "ethos-u85-256",
                                          "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048", "tosa-int", "xnnpack"));
  for (const char* name :
       {"tosa-int", "ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512",
        "ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"}) {
    const TargetDesc* target = find_target(name);
    ASSERT_NE(target, nullptr) << name;
    EXPECT_FALSE(target->ops().empty());
    EXPECT_FALSE(target->limits().empty());
    EXPECT_FALSE(target->integers.has_float);
  }
  EXPECT_LT(find_target("ethos-u55-128")->ops().size(), find_target("ethos-u85-128")->ops().size());
}

TEST(EthosUTargets, ByteMoversShare) {
  const IntegerRules& rules = find_target("ethos-u55-128")->integers;
  for (const Op op : {Op::kPermute, Op::kCat, Op::kMaxPool2d, Op::kClamp, Op::kAvgPool2d, Op::kResize2d, Op::kAmax}) {
    ASSERT_NE(sharing_of(rules, op), nullptr) << name_of(op);
    EXPECT_EQ(sharing_of(rules, op)->sharing, Sharing::kMustEqual);
  }
  for (const Op op : {Op::kNeg, Op::kMean, Op::kAdd, Op::kConv2d}) EXPECT_EQ(sharing_of(rules, op), nullptr);
}

}  // namespace
}  // namespace isthmus::ethos_u_test
