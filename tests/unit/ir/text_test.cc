// The text form: what is printed reads back to the same graph, and mistakes are named by line.
#include "ir/text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "interpret/tensor.h"
#include "ir/verify.h"

namespace isthmus::text_test {
namespace {

constexpr std::string_view kSample = R"(graph
  symbol s0 in [1,64] ~3
  symbol u0 in [,]
  input %image : f32[s0,3,8,8]
  state %counter : f32[2] = [0.0,1.0] "stem.counter"
  const %w : f32[8,3,3,3] #1f0c9a2e55d0b7a1 "stem.weight"
  const %b : f32[2] = [0.5,-1e-07]
  const %flag : bool[] = true
  %conv = foreign("aten.conv2d.default", input=%image, weight=%w, bias=none, stride=[2,2], eps=1.0) : f32[s0,8,4,4]  # vit.py:40 conv2d in stem
  %a, %c = foreign("aten.split.Tensor", self=%conv, split_size=4*s0) : f32[s0,4,4,4], f32[s0,4,4,4]
  foreign("aten.check.default", a=%a, f='channels_last', d=i8, t="x\"y", z=complex(1.0,-inf))  # - in "odd name"
  %j = foreign("aten.cat.default", tensors=[%a,none,%c], dims=[[1,2],[]], n=-inf) : f32[s0,8,4,4]
  mutate "counter" %b
  return %j, 7, none, s0+1
)";

TEST(Text, PrintsWhatItParsed) {
  const auto graph = parse_graph(kSample);
  ASSERT_TRUE(graph.has_value()) << graph.error().text();
  EXPECT_EQ(print(*graph), kSample);
  EXPECT_TRUE(verify(*graph).has_value());
  EXPECT_EQ(graph->nodes()[0].origin, (Origin{"vit.py:40", "conv2d", "stem"}));
  EXPECT_EQ(graph->nodes()[2].origin, (Origin{"", "", "odd name"}));
}

TEST(Text, WithoutNamesAndOrigins) {
  const auto graph =
      parse_graph("graph\n  input %x : f32[2]\n  %y = foreign(\"f\", a=%x) : f32[2]  # m.py:1\n  return %y\n");
  ASSERT_TRUE(graph.has_value()) << graph.error().text();
  EXPECT_EQ(print(*graph, {.with_names = false, .with_origins = false}),
            "graph\n  input %0 : f32[2]\n  %1 = foreign(\"f\", a=%0) : f32[2]\n  return %1\n");
}

TEST(Text, MistakesAreNamedByLine) {
  const auto message = [](std::string text) {
    const auto graph = parse_graph(text);
    return graph ? std::string("no error") : graph.error().message;
  };
  const std::string head = "graph\n  input %x : f32[1,4]\n";
  EXPECT_EQ(message(head + "  %y = foreign(\"f\", a=%z) : f32[1,8]\n  return %y\n"),
            "line 3: %z is used before it is defined");
  EXPECT_EQ(message(head + "  input %x : f32[1]\n"), "line 3: %x is defined twice");
  EXPECT_EQ(message(head + "  %y, %y = foreign(\"f\") : f32[1], f32[1]\n"), "line 3: %y is defined twice");
  EXPECT_EQ(message(head + "  %y = frobnicate(%x) : f32[1]\n"), "line 3: unknown op 'frobnicate'");
  EXPECT_EQ(message(head + "  input %y : f99[1]\n"), "line 3: 'f99' is not an element type");
  EXPECT_EQ(message(head + "  input %y : f32[s0]\n"), "line 3: symbol s0 is not declared");
  EXPECT_EQ(message(head + "  symbol f32 in [,]\n"), "line 3: 'f32' is not a name of a symbol");
  EXPECT_EQ(message(head + "  const %c : f32[3] = [1.0,2.0]\n").substr(0, 7), "line 3:");
  EXPECT_EQ(message(head + "  const %c : f32[2] = [1.0,x]\n"), "line 3: 'x' is not of type f32");
  EXPECT_EQ(message(head + "  const %c : f32[2] #12\n"), "line 3: '12' is not a hash of 16 hex digits");
  EXPECT_EQ(message(head + "  return %x\n  return %x\n"), "line 4: nothing but 'quant' may follow 'return'");
  EXPECT_EQ(message(head), "line 2: expected a 'return' at the end");
  EXPECT_EQ(message(""), "the text does not begin with 'graph'");
  EXPECT_EQ(message(head + "  %y = foreign(\"f\", a=" + std::string(1000, '[')), "line 3: lists are nested too deeply");
}

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  Graph make() {
    const std::size_t symbols = pick(3);
    for (std::size_t i = 0; i < symbols; ++i) {
      Symbol symbol{"s" + std::to_string(i), std::nullopt, std::nullopt, std::nullopt};
      if (pick(2) == 0) symbol.min = static_cast<std::int64_t>(pick(4));
      if (pick(2) == 0) symbol.max = static_cast<std::int64_t>(pick(60) + 4);
      if (pick(2) == 0) symbol.hint = 5;
      graph_.exprs().declare(std::move(symbol));
    }
    for (std::size_t i = 0; i <= pick(3); ++i) values_.push_back(graph_.add_input(name("in"), type()));
    for (std::size_t i = 0; i < pick(3); ++i) values_.push_back(state());
    for (std::size_t i = 0; i < pick(4); ++i) values_.push_back(constant());
    for (std::size_t i = 0; i < pick(12); ++i) node();
    for (const GraphState& each : graph_.states()) {
      graph_.add_output({each.value, OutputKind::kMutation, graph_[each.value].name});
    }
    if (pick(4) == 0) {
      const ValueId input = graph_.inputs()[0];
      graph_.add_output({input, OutputKind::kMutation, graph_[input].name});
    }
    for (std::size_t i = 0; i < pick(4); ++i) {
      Output output{some_value(), OutputKind::kResult, {}};
      if (pick(4) == 0) output.value = leaf();
      graph_.add_output(std::move(output));
    }
    return std::move(graph_);
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::string name(std::string_view stem) {
    return std::string(stem) + (pick(9) == 0 ? "é." : "_") + std::to_string(next_++);
  }
  ValueId some_value() { return values_[pick(values_.size())]; }
  DType dtype() {
    constexpr DType kAll[] = {DType::kF32, DType::kI64,  DType::kBool, DType::kI8,
                              DType::kF64, DType::kBF16, DType::kC64};
    return kAll[pick(std::size(kAll))];
  }
  Dim dim() {
    const auto& symbols = graph_.exprs().symbols();
    if (symbols.empty() || pick(2) == 0) return static_cast<std::int64_t>(pick(9));
    Exprs& exprs = graph_.exprs();
    const Dim a = exprs.symbol(symbols[pick(symbols.size())].name);
    const Dim b = exprs.symbol(symbols[pick(symbols.size())].name);
    switch (pick(6)) {
      case 0:
        return a;
      case 1:
        return exprs.add(exprs.multiply(a, 4), b);
      case 2:
        return exprs.floor_divide(exprs.add(a, 1), 2);
      case 3:
        return exprs.max(a, exprs.subtract(b, 3));
      case 4:
        return exprs.multiply(a, exprs.min(b, 7));
      default:
        return exprs.opaque("Foo(a, \"b\")", 4);
    }
  }
  TensorType type() {
    TensorType result{dtype(), {}};
    for (std::size_t i = 0; i < pick(5); ++i) result.shape.push_back(dim());
    return result;
  }
  std::string text() {
    constexpr std::string_view kAll[] = {"plain", "two words", "quote\"d", "back\\slash", "new\nline",
                                         "",      "in",        "-",        "ünï"};
    return std::string(kAll[pick(std::size(kAll))]);
  }
  ValueId constant() {
    const DType element = dtype();
    const auto count = static_cast<std::int64_t>(pick(12));
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(element));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(element == DType::kBool ? pick(2) : pick(256));
    auto view = make_tensor_view(element, {count}, {1}, 0, Blob::owning(std::move(bytes)));
    return graph_.add_constant(name("c"), *view, text());
  }
  ValueId state() {
    const Tensor data(DType::kF32, {static_cast<std::int64_t>(pick(12))});
    const TensorType type{DType::kF32, {data.sizes().begin(), data.sizes().end()}};
    return graph_.add_state(name("s"), type, {text(), data.view(), std::nullopt});
  }
  ArgValue leaf() {
    switch (pick(9)) {
      case 0:
        return {NoneArg{}};
      case 1:
        return {dim()};
      case 2: {
        constexpr double kAll[] = {0.0, -0.0, 1.0, 1e300, 0.1, -1.5e-9, 3.0, std::numeric_limits<double>::infinity()};
        return {kAll[pick(std::size(kAll))]};
      }
      case 3:
        return {pick(2) == 0};
      case 4:
        return {text()};
      case 5:
        return {dtype()};
      case 6:
        return {WordArg{text()}};
      case 7:
        return {std::complex<double>(1.5, -2.0)};
      default:
        return {Dim(std::numeric_limits<std::int64_t>::max())};
    }
  }
  ArgValue arg(std::vector<ValueId>& inputs, int depth) {
    if (pick(3) == 0) {
      inputs.push_back(some_value());
      return {TensorArg{}};
    }
    if (depth < 3 && pick(4) == 0) {
      std::vector<ArgValue> list;
      for (std::size_t i = 0; i < pick(4); ++i) list.push_back(arg(inputs, depth + 1));
      return {std::move(list)};
    }
    return leaf();
  }
  void node() {
    ForeignAttrs attrs{"aten." + text(), {}};
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < pick(5); ++i) {
      attrs.args.push_back({pick(4) == 0 ? "" : "arg" + std::to_string(i), arg(inputs, 0)});
    }
    std::vector<Result> results;
    for (std::size_t i = 0; i < pick(3); ++i) results.push_back({name("v"), type()});
    Origin origin{text(), text(), text()};
    const NodeId id = graph_.add_node(Op::kForeign, std::move(attrs), std::move(inputs), std::move(results), origin);
    const auto& outputs = graph_[id].outputs;
    values_.insert(values_.end(), outputs.begin(), outputs.end());
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> values_;
  int next_ = 0;
};

void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.exprs().symbols(), b.exprs().symbols());
  ASSERT_EQ(a.values().size(), b.values().size());
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  ASSERT_EQ(a.constants().size(), b.constants().size());
  ASSERT_EQ(a.states().size(), b.states().size());
  ASSERT_EQ(a.outputs().size(), b.outputs().size());
  for (std::size_t i = 0; i < a.values().size(); ++i) {
    EXPECT_EQ(a.values()[i].name, b.values()[i].name);
    EXPECT_EQ(a.values()[i].kind, b.values()[i].kind);
    EXPECT_EQ(type_text(a, a.values()[i].type), type_text(b, b.values()[i].type));
  }
  for (std::size_t i = 0; i < a.constants().size(); ++i) {
    EXPECT_EQ(a.constants()[i].content_hash(), b.constants()[i].content_hash());
    EXPECT_EQ(a.constants()[i].fqn, b.constants()[i].fqn);
  }
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    EXPECT_EQ(a.nodes()[i].op, b.nodes()[i].op);
    EXPECT_EQ(a.nodes()[i].inputs, b.nodes()[i].inputs);
    EXPECT_EQ(a.nodes()[i].outputs, b.nodes()[i].outputs);
    EXPECT_EQ(a.nodes()[i].origin, b.nodes()[i].origin);
    const auto& x = std::get<ForeignAttrs>(a.nodes()[i].attrs);
    const auto& y = std::get<ForeignAttrs>(b.nodes()[i].attrs);
    EXPECT_EQ(x.target, y.target);
    ASSERT_EQ(x.args.size(), y.args.size());
    for (std::size_t k = 0; k < x.args.size(); ++k) {
      EXPECT_EQ(x.args[k].name, y.args[k].name);
      EXPECT_EQ(x.args[k].value.value.index(), y.args[k].value.value.index());
      EXPECT_EQ(arg_text(a, x.args[k].value), arg_text(b, y.args[k].value));
    }
  }
}

TEST(Text, ParseOfPrintIsTheSameGraph) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const Graph graph = RandomGraph(seed).make();
    ASSERT_TRUE(verify(graph).has_value()) << verify(graph).error().text();
    const std::string text = print(graph);
    const auto again = parse_graph(text);
    ASSERT_TRUE(again.has_value()) << "seed " << seed << ": " << again.error().text() << "\n" << text;
    ASSERT_EQ(print(*again), text) << "seed " << seed;
    expect_same(graph, *again);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace isthmus::text_test
