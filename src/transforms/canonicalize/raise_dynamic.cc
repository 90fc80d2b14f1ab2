// Products of integers whose data were quantized as the model runs are layers of numbers again: the data are rounded to
// what a scale of their own can hold, and the weights are those of the file.
#include <algorithm>

#include "ops/integer_range.h"
#include "ops/known.h"
#include "ops/table.h"
#include "transforms/canonicalize/rewrites.h"

namespace isthmus {
namespace {

const Node* maker_of(const Graph& graph, ValueId value, Op op) {
  const Node* node = graph.producer(value);
  return node != nullptr && node->op == op ? node : nullptr;
}

// Before all that changes only its type or its shape.
ValueId before_casts(const Graph& graph, ValueId value) {
  for (const Node* node = graph.producer(value); node != nullptr && (node->op == Op::kCast || node->op == Op::kReshape);
       node = graph.producer(value)) {
    value = node->inputs[0];
  }
  return value;
}

// The numbers behind quantized values without their zero point, and their scale, which follows from them.
struct DynamicData {
  ValueId numbers;
  ValueId scale;
};

// max(0, x) - min(0, x), over 255
bool is_scale_of(const Graph& graph, ValueId scale, ValueId numbers) {
  const Node* share = maker_of(graph, scale, Op::kDiv);
  const Node* range = share == nullptr ? nullptr : maker_of(graph, share->inputs[0], Op::kSub);
  const Node* top = range == nullptr ? nullptr : maker_of(graph, range->inputs[0], Op::kMaximum);
  const Node* max = top == nullptr ? nullptr : maker_of(graph, top->inputs[0], Op::kAmax);
  return max != nullptr && max->inputs[0] == numbers;
}

std::optional<DynamicData> dynamic_data(const Graph& graph, ValueId value) {
  const Node* centred = maker_of(graph, value, Op::kSub);
  if (centred == nullptr) return std::nullopt;
  const Node* bounded = maker_of(graph, before_casts(graph, centred->inputs[0]), Op::kClamp);
  const Node* moved = bounded == nullptr ? nullptr : maker_of(graph, bounded->inputs[0], Op::kAdd);
  const Node* steps = moved == nullptr ? nullptr : maker_of(graph, moved->inputs[0], Op::kRound);
  const Node* share = steps == nullptr ? nullptr : maker_of(graph, steps->inputs[0], Op::kDiv);
  if (share == nullptr || before_casts(graph, centred->inputs[1]) != moved->inputs[1]) return std::nullopt;
  const DynamicData data{share->inputs[0], share->inputs[1]};
  if (!is_scale_of(graph, data.scale, data.numbers)) return std::nullopt;
  return data;
}

// What is multiplied: integers, one dynamic scale, and constants.
struct ScaledProduct {
  const Node* product = nullptr;
  std::vector<ValueId> others;
  std::optional<ValueId> bias;        // numbers, which were rounded to integers and added to the product
  std::optional<ValueId> bias_scale;  // as they were divided by it
};

// Older quantizers add a bias to the integers: floor(bias / scale).
bool take_bias(const Graph& graph, ValueId value, ScaledProduct& found) {
  const Node* rounded = maker_of(graph, before_casts(graph, value), Op::kFloor);
  const Node* share = rounded == nullptr ? nullptr : maker_of(graph, rounded->inputs[0], Op::kDiv);
  if (share == nullptr || graph.constant(share->inputs[0]) == nullptr) return false;
  found.bias = share->inputs[0];
  found.bias_scale = share->inputs[1];
  return true;
}

bool take_product(const Graph& graph, ValueId value, ScaledProduct& found) {
  const Node* product = graph.producer(value);
  if (product == nullptr || product->op == Op::kForeign || graph.type(value).dtype != DType::kI32) return false;
  if (product->op == Op::kAdd && !found.bias) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const ValueId other = product->inputs[1 - i];
      if (take_bias(graph, other, found)) return take_product(graph, product->inputs[i], found);
    }
  }
  if (product->inputs.size() != 2) return false;
  found.product = product;
  return true;
}

void take_factors(const Graph& graph, ValueId value, ScaledProduct& found, int depth) {
  const Node* cast = found.product == nullptr ? maker_of(graph, value, Op::kCast) : nullptr;
  if (cast != nullptr && take_product(graph, cast->inputs[0], found)) return;
  const Node* factors = depth > 0 ? maker_of(graph, value, Op::kMul) : nullptr;
  if (factors == nullptr) {
    found.others.push_back(value);
    return;
  }
  for (const ValueId factor : factors->inputs) take_factors(graph, factor, found, depth - 1);
}

// A constant scale as one number, or one for each channel of the result.
std::optional<std::vector<double>> channel_scales(const Graph& graph, ValueId scale, const Node& product) {
  const Constant* constant = graph.constant(scale);
  auto numbers = constant == nullptr || !constant->data ? std::nullopt : numbers_of(&*constant->data);
  if (!numbers || numbers->size() == 1) return numbers;
  const Shape& shape = graph.type(product.outputs[0]).shape;
  const Shape& sizes = graph.type(scale).shape;
  const std::size_t axis = channel_axis(product.op, shape.size());
  const std::size_t from_end = shape.size() - axis;
  const bool is_by_channel = sizes.size() >= from_end && shape[axis].is(static_cast<std::int64_t>(numbers->size())) &&
                             sizes[sizes.size() - from_end] == shape[axis];
  return is_by_channel ? numbers : std::nullopt;
}

}  // namespace

Replacement raise_dynamic(const Site& site) {
  if (site.node.op != Op::kMul || site.result().dtype != DType::kF32) return unchanged();
  const Graph& graph = site.graph();
  ScaledProduct found;
  for (const ValueId input : site.inputs) take_factors(graph, input, found, 2);
  if (found.product == nullptr || found.others.size() != 2 || !def(found.product->op).weight_axes ||
      graph.type(found.product->outputs[0]).shape != site.result().shape) {
    return unchanged();
  }
  // The bias has the scale of the whole product.
  if (found.bias && std::ranges::find(site.inputs, *found.bias_scale) == site.inputs.end()) return unchanged();
  const Node product = *found.product;  // a copy: emitting moves the nodes
  const auto data = dynamic_data(graph, product.inputs[0]);
  const Constant* weight = graph.constant(product.inputs[1]);
  if (!data || weight == nullptr || !weight->data) return unchanged();
  const bool is_first = found.others[0] == data->scale;
  if (!is_first && found.others[1] != data->scale) return unchanged();
  const auto scales = channel_scales(graph, found.others[is_first ? 1 : 0], product);
  const auto codes = known_integers(graph, product.inputs[1]);
  if (!scales || !codes) return unchanged();
  const IntegerRange bytes = integer_range(DType::kI8);
  const bool fits =
      std::ranges::all_of(*codes, [&](std::int64_t code) { return code >= bytes.min && code <= bytes.max; });
  Emitter& emitter = site.emitter;
  const ValueId narrow = TRY(emitter.cast(product.inputs[1], fits ? DType::kI8 : DType::kI16));
  const bool has_channels = scales->size() > 1;
  const auto count = static_cast<std::int64_t>(scales->size());
  const Ints sizes = has_channels ? Ints{count} : Ints{};
  const std::int64_t axis = has_channels ? def(product.op).weight_axes->outputs : -1;
  const ValueId zeros = emitter.constant(std::vector<std::int64_t>(scales->size(), 0), sizes);
  const ValueId numbers = TRY(emitter.emit(Op::kDequantize, DequantizeAttrs{axis, DType::kF32},
                                           {narrow, emitter.constant(*scales, sizes), zeros}));
  std::vector<ValueId> inputs{data->numbers, numbers};
  // Devices quantize rows as they run; images are quantized by data, or not at all.
  if (product.op == Op::kLinear) {
    const IntegerRange range = integer_range(DType::kU8);
    const DynamicAttrs as_it_runs{ScaleChoice::kTensor, range.min, range.max, 0, DType::kU8};
    inputs[0] = TRY(emitter.emit(Op::kDynamicQuantize, as_it_runs, {data->numbers}));
  }
  if (found.bias) inputs.push_back(TRY(emitter.reshape(*found.bias, {Dim(graph.type(*found.bias).shape.back())})));
  return replaced_by(emitter.emit(product.op, product.attrs, std::move(inputs)));
}

}  // namespace isthmus
