// Batch norm with known statistics is a factor and an offset per channel.
#include <cmath>

#include "ops/known.h"
#include "ops/table.h"
#include "transforms/canonicalize/rewrites.h"

namespace isthmus {
namespace {

struct Affine {
  std::vector<double> factor;
  std::vector<double> offset;
};

// Of batch_norm(x, mean, var, weight, bias) where all but x are constants.
std::optional<Affine> affine_of(const Site& site) {
  const auto mean = numbers_of(site.constant(1));
  const auto variance = numbers_of(site.constant(2));
  const auto weight = numbers_of(site.constant(3));
  const auto bias = numbers_of(site.constant(4));
  if (!mean || !variance || !weight || !bias) return std::nullopt;
  Affine result{std::vector<double>(mean->size()), std::vector<double>(mean->size())};
  for (std::size_t c = 0; c < mean->size(); ++c) {
    result.factor[c] = (*weight)[c] / std::sqrt((*variance)[c] + site.attrs<EpsAttrs>().eps);
    result.offset[c] = (*bias)[c] - (*mean)[c] * result.factor[c];
  }
  return result;
}

// Weights of one output channel that stand one behind the other: the outer axis has the channels, except where they are
// split in groups beside the input's.
void scale_channels(const Node& node, const TensorView& weight, const std::vector<double>& factors,
                    std::vector<double>& numbers) {
  std::size_t inner = 1;
  for (std::size_t axis = 2; axis < weight.sizes.size(); ++axis) inner *= static_cast<std::size_t>(weight.sizes[axis]);
  const auto second = static_cast<std::size_t>(weight.sizes[1]);
  const auto* transposed = std::get_if<ConvTransposeAttrs>(&node.attrs);
  const std::size_t length = transposed == nullptr ? inner * second : inner;
  for (std::size_t run = 0; run * length < numbers.size(); ++run) {
    std::size_t channel = run;
    if (transposed != nullptr) {
      const std::size_t inputs_of_group = static_cast<std::size_t>(weight.sizes[0] / transposed->groups);
      channel = run / second / inputs_of_group * second + run % second;
    }
    const double factor = factors.at(channel);
    for (std::size_t i = run * length; i < (run + 1) * length; ++i) numbers[i] *= factor;
  }
}

// Whether the node is a layer whose result has its channels where a batch norm has them: in the second axis.
bool makes_channels(const Node& node, std::size_t rank) {
  return node.op != Op::kForeign && def(node.op).weight_axes && channel_axis(node.op, rank) == 1;
}

}  // namespace

Replacement fold_batch_norm(const Site& site) {
  if (site.node.op != Op::kBatchNorm || !site.is_only_reader(0)) return unchanged();
  const Node* maker = site.producer(0);
  if (maker == nullptr) return unchanged();
  // A 1-d convolution is a 2-d one between two reshapes; those keep batch and channels where they are.
  const Graph& graph = site.graph();
  bool is_reshaped = false;
  if (maker->op == Op::kReshape && graph.type(maker->inputs[0]).rank() >= 2 && site.result().rank() >= 2) {
    const Shape& before = graph.type(maker->inputs[0]).shape;
    const Shape& after = graph.type(site.inputs[0]).shape;
    is_reshaped = before[0] == after[0] && before[1] == after[1];
    maker = is_reshaped ? graph.producer(maker->inputs[0]) : nullptr;
    if (maker == nullptr) return unchanged();
    // The reshape is known to have one reader; what it reshapes must have one as well.
    const Node& reshape = *site.rewriter.source().producer(site.node.inputs[0]);
    if (site.readers[reshape.inputs[0].index] != 1) return unchanged();
  }
  const Node conv = *maker;  // a copy: emitting moves the nodes
  if (!makes_channels(conv, graph.type(conv.outputs[0]).rank())) return unchanged();
  const Constant* weight_constant = graph.constant(conv.inputs[1]);
  const Constant* bias_constant = conv.inputs.size() > 2 ? graph.constant(conv.inputs[2]) : nullptr;
  if (weight_constant == nullptr || !weight_constant->data) return unchanged();
  if (conv.inputs.size() > 2 && (bias_constant == nullptr || !bias_constant->data)) return unchanged();
  const TensorView weight = *weight_constant->data;
  auto weights = numbers_of(&weight);
  auto biases = bias_constant == nullptr ? std::optional(std::vector<double>()) : numbers_of(&*bias_constant->data);
  const auto affine = affine_of(site);
  if (!weights || !biases || !affine) return unchanged();
  biases->resize(affine->factor.size(), 0.0);
  scale_channels(conv, weight, affine->factor, *weights);
  for (std::size_t c = 0; c < biases->size(); ++c) (*biases)[c] = (*biases)[c] * affine->factor[c] + affine->offset[c];
  site.emitter.begin(conv.origin, site.graph()[conv.outputs[0]].name);
  const ValueId new_weight = site.emitter.floats(*weights, weight.dtype, weight.sizes);
  const ValueId new_bias = site.emitter.floats(*biases, weight.dtype, {static_cast<std::int64_t>(biases->size())});
  const ValueId folded = TRY(site.emitter.emit(conv.op, conv.attrs, {conv.inputs[0], new_weight, new_bias}));
  if (!is_reshaped) return std::optional(folded);
  return replaced_by(site.emitter.reshape(folded, site.result().shape));
}

Replacement expand_batch_norm(const Site& site) {
  if (site.node.op != Op::kBatchNorm) return unchanged();
  const auto affine = affine_of(site);
  if (!affine) return unchanged();
  // [C] beside [N, C, ...]: trailing ones let it broadcast.
  std::vector<std::int64_t> sizes(site.result().rank() - 1, 1);
  sizes[0] = static_cast<std::int64_t>(affine->factor.size());
  const DType dtype = site.result().dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) return unchanged();
  const ValueId factor = site.emitter.floats(affine->factor, dtype, sizes);
  const ValueId offset = site.emitter.floats(affine->offset, dtype, sizes);
  const ValueId scaled = TRY(site.emitter.binary(Op::kMul, site.inputs[0], factor));
  return replaced_by(site.emitter.binary(Op::kAdd, scaled, offset));
}

}  // namespace isthmus
