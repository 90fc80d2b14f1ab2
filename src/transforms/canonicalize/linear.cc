// Products with constants are linear layers, and constants added to them are their bias.
#include "ops/known.h"
#include "ops/table.h"
#include "transforms/canonicalize/rewrites.h"

namespace isthmus {
namespace {

bool is_layer(const Node& node) { return node.op != Op::kForeign && def(node.op).weight_axes; }

// The constant as one number per channel, if it broadcasts along all other axes.
std::optional<std::vector<double>> per_channel(const TensorView& constant, const Shape& shape, std::size_t axis) {
  if (constant.sizes.size() > shape.size() || !shape[axis].is_fixed()) return std::nullopt;
  const std::size_t missing = shape.size() - constant.sizes.size();
  for (std::size_t i = 0; i < constant.sizes.size(); ++i) {
    if (constant.sizes[i] != 1 && i + missing != axis) return std::nullopt;
  }
  auto numbers = numbers_of(&constant);
  const auto channels = static_cast<std::size_t>(shape[axis].value());
  if (numbers && numbers->size() == 1) numbers->resize(channels, numbers->front());
  if (!numbers || numbers->size() != channels) return std::nullopt;
  return numbers;
}

}  // namespace

Replacement matmul_to_linear(const Site& site) {
  if (site.node.op != Op::kMatmul) return unchanged();
  const TensorView* weight = site.constant(1);
  if (weight == nullptr || weight->sizes.size() != 2) return unchanged();
  TensorView transposed = *weight;  // the same bytes, read by columns
  std::swap(transposed.sizes[0], transposed.sizes[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  const ValueId constant = site.emitter.constant(std::move(transposed));
  return replaced_by(site.emitter.emit(Op::kLinear, NoAttrs{}, {site.inputs[0], constant}));
}

Replacement fold_bias(const Site& site) {
  if (site.node.op != Op::kAdd) return unchanged();
  const std::size_t product = site.constant(0) == nullptr ? 0 : 1;
  const TensorView* constant = site.constant(1 - product);
  const Node* maker = site.producer(product);
  if (constant == nullptr || maker == nullptr || maker->inputs.size() != 2 || !site.is_only_reader(product)) {
    return unchanged();
  }
  const TensorType& type = site.graph().type(site.inputs[product]);
  if (!is_layer(*maker) || type.shape != site.result().shape || constant->dtype != type.dtype) return unchanged();
  const auto bias = per_channel(*constant, type.shape, channel_axis(maker->op, type.rank()));
  if (!bias) return unchanged();
  const Node linear = *maker;  // a copy: emitting moves the nodes
  const ValueId added = site.emitter.floats(*bias, type.dtype, {static_cast<std::int64_t>(bias->size())});
  return replaced_by(site.emitter.emit(linear.op, linear.attrs, {linear.inputs[0], linear.inputs[1], added}));
}

}  // namespace isthmus
