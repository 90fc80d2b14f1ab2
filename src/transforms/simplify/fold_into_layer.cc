// A factor or an offset for each channel behind a layer becomes part of its weights.
#include <algorithm>
#include <cmath>

#include "ops/known.h"
#include "ops/table.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus {
namespace {

// Layers whose weights are [outputs, ...] and whose bias is [outputs].
bool has_outputs_first(const Node& node) {
  const std::optional<WeightAxes> axes = node.op == Op::kForeign ? std::nullopt : def(node.op).weight_axes;
  return axes && axes->outputs == 0;
}

// One number for each channel of a value of this shape; nothing where the constant is anything else.
std::optional<std::vector<double>> by_channel(const TensorView& constant, const Shape& shape, std::size_t axis,
                                              std::size_t channels) {
  auto numbers = numbers_of(&constant);
  if (!numbers || constant.sizes.size() > shape.size()) return std::nullopt;
  const std::size_t missing = shape.size() - constant.sizes.size();
  for (std::size_t i = 0; i < constant.sizes.size(); ++i) {
    const bool is_channel = i + missing == axis;
    if (constant.sizes[i] != 1 && !(is_channel && constant.sizes[i] == static_cast<std::int64_t>(channels))) {
      return std::nullopt;
    }
  }
  if (numbers->size() == 1) numbers->resize(channels, numbers->front());
  return numbers;
}

}  // namespace

Replacement fold_into_layer(const Site& site) {
  const bool is_factor = site.node.op == Op::kMul;
  const bool is_offset = site.node.op == Op::kAdd || site.node.op == Op::kSub;
  if (!(is_factor || is_offset) || site.result().dtype != DType::kF32) return unchanged();
  const std::size_t data = site.constant(1) != nullptr ? 0 : 1;
  if (site.constant(1 - data) == nullptr || !site.is_only_reader(data)) return unchanged();
  if (site.node.op == Op::kSub && data == 1) return unchanged();
  const Node* found = site.producer(data);
  if (found == nullptr || !has_outputs_first(*found) || found->in_float != site.node.in_float) return unchanged();
  const Node layer = *found;
  const auto constant_at = [&](std::size_t i) -> const TensorView* {
    const Constant* constant = site.graph().constant(layer.inputs[i]);
    return constant == nullptr || !constant->data ? nullptr : &*constant->data;
  };
  const Shape shape = site.graph().type(site.inputs[data]).shape;
  auto weights = numbers_of(constant_at(1));
  if (!weights || site.result().shape != shape || constant_at(1)->dtype != DType::kF32) return unchanged();
  const std::vector<std::int64_t> sizes = constant_at(1)->sizes;
  const auto channels = static_cast<std::size_t>(sizes[0]);
  if (channels == 0) return unchanged();
  const std::size_t axis = channel_axis(layer.op, shape.size());
  const auto numbers = by_channel(*site.constant(1 - data), shape, axis, channels);
  if (!numbers || !std::ranges::all_of(*numbers, [](double number) { return std::isfinite(number); })) {
    return unchanged();
  }
  std::vector<double> bias(channels, 0);
  if (layer.inputs.size() > 2) {
    const auto given = numbers_of(constant_at(2));
    if (!given || given->size() != channels) return unchanged();
    bias = *given;
  }
  std::vector<ValueId> inputs{layer.inputs[0], layer.inputs[1]};
  const std::size_t inner = weights->size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    if (is_factor) {
      for (std::size_t i = 0; i < inner; ++i) (*weights)[c * inner + i] *= (*numbers)[c];
      bias[c] *= (*numbers)[c];
    } else {
      bias[c] += site.node.op == Op::kSub ? -(*numbers)[c] : (*numbers)[c];
    }
  }
  if (is_factor) inputs[1] = site.emitter.floats(*weights, DType::kF32, sizes);
  const bool has_bias = is_offset || layer.inputs.size() > 2;
  if (has_bias) {
    inputs.push_back(site.emitter.floats(bias, DType::kF32, {static_cast<std::int64_t>(channels)}));
  }
  return replaced_by(site.emitter.emit(layer.op, layer.attrs, std::move(inputs)));
}

}  // namespace isthmus
