// What 32-bit sums and 16-bit steps inside of composites are worth: a transformer against itself with each composite as
// a chain of steps whose every value is 8 bits.
#include <gtest/gtest.h>

#include <iostream>

#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "ops/emitter.h"
#include "session/stages.h"
#include "support/compile_quantized.h"
#include "support/models.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus::composites_slow_test {
namespace {

// Copies a graph, but softmaxes and layer norms are decomposed.
class Expansion {
 public:
  explicit Expansion(const Graph& graph) : graph_(graph), now_(graph.values().size()), emitter_(result_) {}

  Expected<Graph> run() {
    for (const ValueId input : graph_.inputs()) now_[input.index] = result_.add_input(name(input), graph_.type(input));
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) {
      const Constant* constant = graph_.constant(ValueId{i});
      if (constant != nullptr) now_[i] = result_.add_constant(name(ValueId{i}), graph_.type(ValueId{i}), *constant);
    }
    for (const Node& node : graph_.nodes()) {
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(now_[input.index]);
      emitter_.begin(node.origin, name(node.outputs[0]));
      if (node.op == Op::kSoftmax) {
        now_[node.outputs[0].index] = TRY(softmax(inputs[0], std::get<AxisAttrs>(node.attrs).axis));
      } else if (node.op == Op::kLayerNorm) {
        now_[node.outputs[0].index] = TRY(layer_norm(inputs, std::get<LayerNormAttrs>(node.attrs)));
      } else {
        now_[node.outputs[0].index] = TRY(emitter_.emit(node.op, node.attrs, inputs));
      }
    }
    for (const Output& output : graph_.outputs()) {
      result_.add_output({now_[std::get<ValueId>(output.value).index], output.kind, output.target});
    }
    return std::move(result_);
  }

 private:
  const std::string& name(ValueId id) const { return graph_[id].name; }

  Expected<ValueId> softmax(ValueId x, std::int64_t axis) {
    const ValueId max = TRY(emitter_.emit(Op::kAmax, ReduceAttrs{{axis}, true}, {x}));
    const ValueId below = TRY(emitter_.binary(Op::kSub, x, max));
    const ValueId powers = TRY(emitter_.unary(Op::kExp, below));
    const ValueId sum = TRY(emitter_.emit(Op::kSum, ReduceAttrs{{axis}, true}, {powers}));
    const ValueId inverse = TRY(emitter_.unary(Op::kReciprocal, sum));
    return emitter_.binary(Op::kMul, powers, inverse);
  }

  Expected<ValueId> layer_norm(const std::vector<ValueId>& inputs, const LayerNormAttrs& attrs) {
    Ints axes;
    for (std::int64_t i = emitter_.rank(inputs[0]) - attrs.axes; i < emitter_.rank(inputs[0]); ++i) axes.push_back(i);
    const ValueId mean = TRY(emitter_.emit(Op::kMean, ReduceAttrs{axes, true}, {inputs[0]}));
    const ValueId centred = TRY(emitter_.binary(Op::kSub, inputs[0], mean));
    const ValueId squares = TRY(emitter_.binary(Op::kMul, centred, centred));
    const ValueId variance = TRY(emitter_.emit(Op::kMean, ReduceAttrs{axes, true}, {squares}));
    const ValueId raised = TRY(emitter_.binary(Op::kAdd, variance, emitter_.scalar(attrs.eps, DType::kF32)));
    const ValueId inverse = TRY(emitter_.unary(Op::kRsqrt, raised));
    ValueId result = TRY(emitter_.binary(Op::kMul, centred, inverse));
    if (inputs.size() > 1) result = TRY(emitter_.binary(Op::kMul, result, inputs[1]));
    if (inputs.size() > 2) result = TRY(emitter_.binary(Op::kAdd, result, inputs[2]));
    return result;
  }

  const Graph& graph_;
  Graph result_;
  std::vector<ValueId> now_;
  Emitter emitter_;
};

// The error of the graph in integers over all samples together.
Expected<double> noise(const Graph& graph, const std::vector<std::vector<Tensor>>& samples, const QuantConfig& config) {
  const test::QuantizedProgram program = TRY(test::quantize_graph(graph, samples, config, false, "tosa-int"));
  EXPECT_EQ(program.delegates(), 1U);
  std::vector<std::optional<Tensor>> found;
  std::vector<std::optional<Tensor>> expected;
  for (const std::vector<Tensor>& sample : samples) {
    for (auto& output :
         TRY(interpret_integers(program.model.quantized.graph, sample, *find_target("tosa-int")->integers.kernels))) {
      found.push_back(std::move(output));
    }
    for (auto& output : TRY(interpret(graph, sample))) expected.push_back(std::move(output));
  }
  return test::sqnr(found, expected);
}

TEST(CompositesSlow, ChainsOfEightBitStepsAreFarWorse) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "deit_micro";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the models are not here";
  Diagnostics diagnostics;
  const auto model = test::open(folder / "model.pt2", diagnostics);
  ASSERT_TRUE(model) << model.error().text();
  const auto prepared = prepare(model->graph, {find_target("tosa-int"), {}}, diagnostics);
  ASSERT_TRUE(prepared) << prepared.error().text();
  auto source = open_samples((folder / "calib.npz").string(), prepared->graph, {}, diagnostics);
  ASSERT_TRUE(source) << source.error().text();
  std::vector<std::vector<Tensor>> samples;
  while (true) {
    auto sample = (*source)->next();
    ASSERT_TRUE(sample) << sample.error().text();
    if (!*sample) break;
    samples.push_back(std::move(**sample));
  }
  const auto expanded = Expansion(prepared->graph).run();
  ASSERT_TRUE(expanded) << expanded.error().text();
  QuantConfig narrow;
  narrow.wide = false;
  const auto ours = noise(prepared->graph, samples, {});
  const auto ours_narrow = noise(prepared->graph, samples, narrow);
  const auto chains = noise(*expanded, samples, narrow);
  ASSERT_TRUE(ours) << ours.error().text();
  ASSERT_TRUE(ours_narrow) << ours_narrow.error().text();
  ASSERT_TRUE(chains) << chains.error().text();
  std::cout << "deit_micro on tosa-int: " << *ours << " dB, " << *ours_narrow << " dB with 8 bits between nodes, "
            << *chains << " dB with composites as chains of 8-bit steps\n";
  EXPECT_GE(*ours, *chains + 10);
}

}  // namespace
}  // namespace isthmus::composites_slow_test
