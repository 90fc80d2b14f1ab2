// From archives to graphs: types, constants, symbols, origins, and what is refused.
#include "frontends/torch/load.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontends/torch/origin.h"
#include "frontends/torch/srepr.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "support/models.h"

namespace isthmus::load_test {
namespace {

const std::filesystem::path kModels = test::source_dir() / "tests" / "models";

Model loaded(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  auto model = test::open(path, diagnostics);
  if (!model) throw std::runtime_error(path.string() + ": " + model.error().text());
  return std::move(*model);
}

TEST(Load, EveryBundledArchivePrintsAndReadsBack) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kModels)) {
    if (entry.path().extension() != ".pt2" || entry.path().stem() == "cond") continue;
    const Model model = loaded(entry.path());
    EXPECT_TRUE(verify(model.graph).has_value()) << entry.path();
    const std::string text = print(model.graph);
    const auto again = parse_graph(text);
    ASSERT_TRUE(again.has_value()) << entry.path() << ": " << again.error().text();
    EXPECT_EQ(print(*again), text) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 5u);
}

TEST(Load, SymbolicBatch) {
  const Model model = loaded(kModels / "probes" / "odd.pt2");
  const Graph& graph = model.graph;
  ASSERT_EQ(graph.exprs().symbols().size(), 1u);
  const Symbol& symbol = graph.exprs().symbols()[0];
  EXPECT_EQ(symbol.min, 2);
  EXPECT_EQ(symbol.max, 16);
  EXPECT_EQ(symbol.hint, 3);
  EXPECT_EQ(type_text(graph, graph.type(*graph.find("reshape"))), "f32[2*" + symbol.name + ",2]");
  // Size arithmetic is in the expressions, not among the nodes.
  for (const Node& node : graph.nodes()) {
    EXPECT_NE(std::get<ForeignAttrs>(node.attrs).target, "_operator.mul");
  }
}

TEST(Load, BothBranchesOfAConditionAreInlined) {
  Diagnostics diagnostics;
  const auto model = test::open(kModels / "probes" / "cond.pt2", diagnostics);
  ASSERT_TRUE(model.has_value()) << model.error().text();
  std::vector<std::string> targets;
  for (const Node& node : model->graph.nodes()) targets.push_back(std::get<ForeignAttrs>(node.attrs).target);
  EXPECT_EQ(targets, (std::vector<std::string>{"aten.sum.default", "aten.gt.Scalar", "aten.add.Tensor",
                                               "aten.sub.Tensor", "higher_order.cond"}));
}

TEST(Load, WeightsOutliveTheArchive) {
  std::optional<TensorView> weight;
  {
    const Model model = loaded(kModels / "emg_cascade.pt2");
    for (const Constant& constant : model.graph.constants()) {
      if (constant.data->element_count() > 100) weight = constant.data;
    }
  }
  ASSERT_TRUE(weight.has_value());
  const Tensor tensor = Tensor::from(*weight);
  EXPECT_TRUE(std::isfinite(test::doubles(tensor)[0]));
}

pt2::Archive tiny_archive() {
  pt2::Archive archive;
  pt2::TensorMeta meta;
  meta.sizes = {std::int64_t{2}, std::int64_t{3}};
  archive.program.tensors.emplace("x", meta);
  archive.program.tensors.emplace("y", meta);
  archive.program.inputs.push_back({pt2::InputKind::kUser, pt2::TensorRef{"x"}, "", "", true});
  archive.program.nodes.push_back(
      {"torch.ops.aten.relu.default", {{"self", pt2::TensorRef{"x"}}}, {pt2::TensorRef{"y"}}, {}});
  archive.program.outputs.push_back({pt2::OutputKind::kUser, pt2::TensorRef{"y"}, ""});
  return archive;
}

std::string refusal(const pt2::Archive& archive) {
  Diagnostics diagnostics;
  const auto model = load(archive, diagnostics);
  return model ? "loaded" : model.error().text();
}

TEST(Load, BadProgramsAreRefusedInOneSentence) {
  EXPECT_EQ(refusal(tiny_archive()), "loaded");

  pt2::Archive archive = tiny_archive();
  archive.program.nodes[0].inputs[0].value = pt2::TensorRef{"nowhere"};
  EXPECT_EQ(refusal(archive),
            "\"nowhere\" is used before it is defined\n  in argument 0 self\n  in node 0: aten.relu.default");

  archive = tiny_archive();
  archive.program.nodes[0].inputs[0].value = pt2::TensorRef{"y"};  // its own result
  EXPECT_EQ(refusal(archive),
            "\"y\" is used before it is defined\n  in argument 0 self\n  in node 0: aten.relu.default");

  archive = tiny_archive();
  archive.program.nodes.push_back(archive.program.nodes[0]);
  EXPECT_EQ(refusal(archive), "y is defined twice\n  in node 1: aten.relu.default");

  archive = tiny_archive();
  archive.program.nodes[0].outputs[0] = pt2::TensorRefs{{"y"}, {"y"}};
  EXPECT_EQ(refusal(archive), "y is defined twice\n  in node 0: aten.relu.default");

  archive = tiny_archive();
  archive.program.nodes[0].outputs[0] = pt2::TensorRef{"z"};
  EXPECT_EQ(refusal(archive), "no type is given for z\n  in node 0: aten.relu.default");

  archive = tiny_archive();
  archive.program.tensors.at("y").sizes = {std::int64_t{-1}};
  EXPECT_EQ(refusal(archive), "y has a negative size -1\n  in node 0: aten.relu.default");

  archive = tiny_archive();
  archive.program.tensors.at("y").sizes.assign(8, std::int64_t{1} << 30);
  EXPECT_NE(refusal(archive).find("absurd shape"), std::string::npos);

  archive = tiny_archive();
  archive.program.tensors.at("x").layout = pt2::Layout::kSparseCsr;
  EXPECT_EQ(refusal(archive), "x is a tensor of layout sparse_csr; only strided ones can be read");

  archive = tiny_archive();
  archive.program.inputs[0] = {pt2::InputKind::kParameter, pt2::TensorRef{"x"}, "", "w", true};
  EXPECT_EQ(refusal(archive), "the archive has no data for w (x)");

  archive = tiny_archive();
  archive.program.outputs[0].value = pt2::TensorRef{"gone"};
  EXPECT_EQ(refusal(archive), "\"gone\" is used before it is defined\n  in the model's outputs");

  archive = tiny_archive();
  archive.program.tensors.at("x").sizes[0] = pt2::SymName{"s"};
  EXPECT_EQ(refusal(archive), "the size s is used before it is defined");

  archive = tiny_archive();
  archive.program.tensors.emplace("bad name", archive.program.tensors.at("y"));
  archive.program.nodes[0].outputs[0] = pt2::TensorRef{"bad name"};
  EXPECT_EQ(refusal(archive), "\"bad name\" is not a name of a value\n  in node 0: aten.relu.default");
}

TEST(Load, UnknownSizesAreKeptAsValues) {
  pt2::Archive archive = tiny_archive();
  // u0 = item(y): no input's size determines it.
  archive.program.sym_ints.emplace("item", pt2::SymExpr{"Symbol('u0', integer=True)", std::nullopt});
  archive.program.nodes.push_back(
      {"torch.ops.aten.item.default", {{"self", pt2::TensorRef{"y"}}}, {pt2::SymInt{pt2::SymName{"item"}}}, {}});
  pt2::TensorMeta meta;
  meta.sizes = {pt2::SymExpr{"Symbol('u0', integer=True)", std::nullopt}};
  archive.program.tensors.emplace("z", meta);
  archive.program.nodes.push_back({"torch.ops.aten.zeros.default",
                                   {{"size", std::vector<pt2::SymInt>{pt2::SymName{"item"}}}},
                                   {pt2::TensorRef{"z"}},
                                   {}});
  archive.program.outputs[0].value = pt2::TensorRef{"z"};
  Diagnostics diagnostics;
  const auto model = load(archive, diagnostics);
  ASSERT_TRUE(model.has_value()) << model.error().text();
  EXPECT_EQ(print(model->graph),
            "graph\n"
            "  symbol u0 in [,]\n"
            "  input %x : f32[2,3]\n"
            "  %y = foreign(\"aten.relu.default\", self=%x) : f32[2,3]\n"
            "  %item = foreign(\"aten.item.default\", self=%y) : i64[]\n"
            "  %z = foreign(\"aten.zeros.default\", size=[%item]) : f32[u0]\n"
            "  return %z\n");
}

TEST(Srepr, ReadsWhatPyTorchWrites) {
  Exprs exprs;
  exprs.declare({"s77", 2, 16, 3});
  exprs.declare({"s53", 3, std::nullopt, 32});
  const auto text = [&](std::string_view srepr) { return exprs.text(dim_from_srepr(exprs, srepr, 5)); };
  EXPECT_EQ(text("Symbol('s77', positive=True, integer=True)"), "s77");
  EXPECT_EQ(text("Mul(Integer(2), Symbol('s77', positive=True, integer=True))"), "2*s77");
  EXPECT_EQ(text("Add(FloorDiv(Add(Symbol('s53', integer=True), Integer(-1)), Integer(2)), Integer(1))"),
            "floordiv(s53+1,2)");
  EXPECT_EQ(text("Max(Integer(1), Symbol('s77', integer=True))"), "s77");
  EXPECT_EQ(text("Pow(Symbol('s77', integer=True), Integer(2))"), "s77*s77");
  EXPECT_EQ(text("Mod(Symbol('s77', integer=True), Integer(4))"), "-4*floordiv(s77,4)+s77");
  // What is not understood keeps its text and its value at export time.
  EXPECT_EQ(text("Foo(Symbol('s77', integer=True))"), "opaque(\"Foo(Symbol('s77', integer=True))\",5)");
  EXPECT_EQ(text("Integer(99999999999999999999)"), "opaque(\"Integer(99999999999999999999)\",5)");
  EXPECT_EQ(text("Symbol('gone')"), "opaque(\"Symbol('gone')\",5)");
  EXPECT_EQ(text(""), "opaque(\"\",5)");
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "Add(";
  EXPECT_EQ(text(deep).substr(0, 6), "opaque");
}

TEST(Origin, IsTheUsersLine) {
  const Origin origin =
      origin_of({{"stack_trace",
                  "File \"home/me/networks.py\", line 251, in forward\n    return self.f(x)\n"
                  "  File \"lib/torch/nn/modules/conv.py\", line 565, in forward\n    return self._conv_forward(x)"},
                 {"torch_fn", "concat_1;builtin_function_or_method.concat"},
                 {"nn_module_stack", "L__self__,,Net;L__self__fusion,fusion.blocks.0,torch.nn.modules.conv.Conv2d"}});
  EXPECT_EQ(origin, (Origin{"networks.py:251", "concat", "fusion.blocks.0"}));
  EXPECT_TRUE(origin_of({}).empty());
  EXPECT_TRUE(origin_of({{"stack_trace", "File \""}, {"nn_module_stack", "a,b"}, {"torch_fn", "x"}}).empty());
}

}  // namespace
}  // namespace isthmus::load_test
