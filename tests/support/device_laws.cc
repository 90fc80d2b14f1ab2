// From a random graph to bits, both ways.
#include "support/device_laws.h"

#include <algorithm>

#include "calibrate/samples.h"
#include "formats/tosa/tosa.h"
#include "ir/text.h"
#include "support/random_device_model.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus::test {

std::string broken_device_law(RandomSeed seed, OperatorCounts& counts) {
  RandomDeviceModel random(seed);
  const Graph graph = random.make();
  if (graph.outputs().empty()) return {};
  const std::vector<Tensor> inputs = random.inputs(graph);
  std::vector<std::optional<TensorView>> examples;
  for (const Tensor& input : inputs) examples.emplace_back(input.view());
  QuantConfig config;
  config.storage = seed % 3 == 0 ? DType::kI16 : DType::kI8;
  for (const auto& [name, device] : kEthosUTargets) {
    const TargetDesc& target = *find_target(name);
    const std::string where = std::string(" on ") + name + "\n";
    Diagnostics diagnostics;
    const auto prepared = prepare(graph, {&target, {}}, diagnostics);
    if (!prepared) return "prepare: " + prepared.error().text() + where + print(graph);
    const auto samples = example_samples(prepared->graph, examples);
    if (!samples) return "samples: " + samples.error().text() + where;
    const auto model = quantized_for(*prepared, target, **samples, config);
    if (!model) return "quantize: " + model.error().text() + where + print(prepared->graph);
    const std::string problem = segments_problem(*model, device, inputs, counts);
    if (!problem.empty()) return problem + where + print(model->quantized.graph);
  }
  return {};
}

std::string operators_not_seen(const OperatorCounts& counts) {
  using tosa::Op;
  std::string missing;
  for (const Op op : {Op::kAvgPool2d,
                      Op::kConv2d,
                      Op::kDepthwiseConv2d,
                      Op::kMatMul,
                      Op::kMaxPool2d,
                      Op::kTransposeConv2d,
                      Op::kClamp,
                      Op::kAdd,
                      Op::kArithmeticRightShift,
                      Op::kLogicalLeftShift,
                      Op::kLogicalAnd,
                      Op::kLogicalOr,
                      Op::kLogicalXor,
                      Op::kLogicalNot,
                      Op::kMaximum,
                      Op::kMinimum,
                      Op::kMul,
                      Op::kSub,
                      Op::kTable,
                      Op::kClz,
                      Op::kEqual,
                      Op::kGreater,
                      Op::kGreaterEqual,
                      Op::kAbs,
                      Op::kSelect,
                      Op::kReduceAll,
                      Op::kReduceAny,
                      Op::kReduceMax,
                      Op::kReduceMin,
                      Op::kReduceSum,
                      Op::kConcat,
                      Op::kPad,
                      Op::kReshape,
                      Op::kReverse,
                      Op::kSlice,
                      Op::kTile,
                      Op::kTranspose,
                      Op::kGather,
                      Op::kResize,
                      Op::kRescale,
                      Op::kConst,
                      Op::kConstShape}) {
    if (!counts.contains(std::string(name_of(op)))) missing += std::string(name_of(op)) + " ";
  }
  return missing;
}

}  // namespace isthmus::test
