// The table of forms, and what every form asks of its values.
#include "targets/ethos_u/forms/forms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "interpret/tensor.h"
#include "ops/known.h"
#include "ops/table.h"
#include "targets/ethos_u/cost.h"
#include "targets/ethos_u/forms/form_families.h"
#include "targets/ethos_u/limits.h"
#include "targets/target.h"

namespace isthmus::ethos_u {
namespace {

std::array<const FormRow*, kOpCount> rows_by_op() {
  std::array<const FormRow*, kOpCount> rows{};
  for (const auto family : {product_forms(), pool_forms(), elementwise_forms(), reduction_forms(), softmax_forms(),
                            norm_forms(), movement_forms(), choice_forms()}) {
    for (const FormRow& row : family) rows[static_cast<std::size_t>(row.op)] = &row;
  }
  return rows;
}

std::optional<Reason> shape_refusal(const Graph& graph, ValueId id) {
  const TensorType& type = graph.type(id);
  if (type.rank() > kMaxRank) return Reason{ReasonCode::kRank, typed_name(graph, id)};
  for (const Dim dim : type.shape) {
    if (!dim.is_fixed()) return Reason{ReasonCode::kDynamicShape, typed_name(graph, id)};
    if (dim.value() <= 0) return Reason{ReasonCode::kEmpty, typed_name(graph, id)};
    if (dim.value() > std::numeric_limits<std::int32_t>::max())
      return Reason{ReasonCode::kDimRange, typed_name(graph, id)};
  }
  return std::nullopt;
}

std::optional<Reason> value_refusal(const NodeForm& form, ValueId id, Role role) {
  if (auto reason = shape_refusal(form.graph, id)) return reason;
  // Weights, biases and parameters are constants that are packed as their operator wants them.
  const bool is_packed = role == Role::kWeight || role == Role::kBias || role == Role::kParameter;
  if (is_packed || tosa_type(form.type(id).dtype) != tosa::Type::kUnknown) return std::nullopt;
  return Reason{ReasonCode::kQuantizedType, typed_name(form.graph, id)};
}

// What moves or joins values takes any.
std::optional<Reason> data_refusal(const NodeForm& form, const FormRow& row) {
  const QFlow flow = def(form.node.op).flow;
  if (flow == QFlow::kMovesData || flow == QFlow::kJoinsInputs) return std::nullopt;
  for (std::size_t i = 0; i < form.node.inputs.size(); ++i) {
    if (role_of(form.node.op, i) != Role::kData) continue;
    const TensorType type = form.type(i);
    if (row.reads_bools ? type.dtype == DType::kBool : type.quant.has_value()) continue;
    return Reason{ReasonCode::kQuantizedType, row.reads_bools ? "logic on numbers" : "numbers that are not quantized"};
  }
  return std::nullopt;
}

std::optional<Reason> node_refusal(const NodeForm& form, const FormRow& row) {
  if (auto reason = value_refusal(form, form.node.outputs[0], Role::kData)) return reason;
  for (std::size_t i = 0; i < form.node.inputs.size(); ++i) {
    if (auto reason = value_refusal(form, form.node.inputs[i], role_of(form.node.op, i))) return reason;
  }
  if (auto reason = data_refusal(form, row)) return reason;
  return row.refusal == nullptr ? std::nullopt : row.refusal(form);
}

Ints in_order(const Ints& by_axis, const Order& order) {
  Ints result;
  for (const std::uint8_t axis : order) result.push_back(by_axis[axis]);
  return result;
}

Ints wide(const std::vector<std::int32_t>& numbers) { return {numbers.begin(), numbers.end()}; }

Ints numbers_in(const tosa::Value& shape) {
  Ints result(shape.data.size() / sizeof(std::int64_t));
  std::memcpy(result.data(), shape.data.bytes().data(), shape.data.size());
  return result;
}

}  // namespace

const FormRow* find_form(Op op) {
  static const auto kRows = rows_by_op();
  return kRows[static_cast<std::size_t>(op)];
}

std::optional<Reason> form_refusal(const NodeForm& form) {
  if (auto reason = common_refusal(form.graph, form.node)) return reason;
  const FormRow* row = find_form(form.node.op);
  if (row == nullptr) return Reason{ReasonCode::kNoForm, operation_text(form.graph, form.node)};
  if (!exists(row->core, form.device)) {
    return Reason{ReasonCode::kLacksOperator,
                  fmt::format("{} needs {}", subject_of(form.graph, form.node), tosa::name_of(row->core))};
  }
  return node_refusal(form, *row);
}

Order usual_order(const OrderDemand& demand, std::size_t rank) {
  return demand.rule == OrderRule::kFixed ? demand.order : row_major(rank);
}

namespace {

using FormGraph = tl::expected<tosa::Graph, Reason>;

FormGraph form_graph(const Graph& graph, const Node& node, QuantizedTypes types, Device device,
                     std::span<const Order> reads, const Order& order, std::int64_t parts) {
  const auto refused = [](Reason reason) { return tl::unexpected<Reason>(std::move(reason)); };
  const FormRow* row = find_form(node.op);
  const NodeForm form{graph, node, types, device};
  TosaBuilder builder(device, TosaBuilder::Constants::kLeftOut);
  const OrderDemand demand = row->order(graph, node);
  NodeLowering lowering{form, builder, {}, {}, order, parts};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_ordered = i < reads.size();
    if (!is_ordered && form.is_constant(i)) break;
    const Ints sizes = form.sizes(i);
    lowering.reads.push_back(is_ordered ? reads[i] : row_major(sizes.size()));
    lowering.inputs.push_back(builder.input(tosa_type(form.type(i).dtype), in_order(sizes, lowering.reads[i]), {}));
  }
  if (demand.rule == OrderRule::kPermute) {  // which is a matter of orders alone where there are any
    builder.output(builder.transpose(lowering.inputs[0], std::get<AxesAttrs>(node.attrs).axes));
  } else {
    const auto made = row->lower(lowering);
    if (!made) return refused({ReasonCode::kNoForm, made.error().message});
    builder.output(*made);
  }
  return std::move(builder).take();
}

// The orders in which a node reads and makes its values where nothing else is known.
struct UsualOrders {
  std::vector<Order> reads;
  Order result;
};
UsualOrders usual_orders(const Graph& graph, const Node& node) {
  const OrderDemand demand = find_form(node.op)->order(graph, node);
  UsualOrders orders{{}, usual_order(demand, graph.type(node.outputs[0]).rank())};
  for (std::size_t i = 0; i < std::min(node.inputs.size(), demand.ordered_inputs); ++i) {
    orders.reads.push_back(usual_order(demand, graph.type(node.inputs[i]).rank()));
  }
  return orders;
}

}  // namespace

FormGraph form_graph(const Graph& graph, const Node& node, QuantizedTypes types, Device device, std::int64_t parts) {
  if (auto reason = form_refusal({graph, node, types, device})) return tl::unexpected<Reason>(*std::move(reason));
  const UsualOrders orders = usual_orders(graph, node);
  return form_graph(graph, node, types, device, orders.reads, orders.result, parts);
}

Forms forms(const Graph& graph, const Node& node, QuantizedTypes types, Device device) {
  if (auto reason = form_refusal({graph, node, types, device})) return tl::unexpected<Reason>(*std::move(reason));
  const UsualOrders orders = usual_orders(graph, node);
  return forms(graph, node, types, device, orders.reads, orders.result);
}

Forms forms(const Graph& graph, const Node& node, QuantizedTypes types, Device device, std::span<const Order> reads,
            const Order& order) {
  const FormGraph made = form_graph(graph, node, types, device, reads, order, 1);
  if (!made) return tl::unexpected<Reason>(made.error());
  std::vector<TosaForm> result;
  for (const tosa::Operator& op : made->operators) {
    if (op.op != tosa::Op::kConstShape) result.push_back(form_of(*made, op));
  }
  return result;
}

TosaForm form_of(const tosa::Graph& graph, const tosa::Operator& op) {
  const auto tensor = [&](tosa::ValueIndex id) {
    return TosaTensor{graph.values[id].type, wide(graph.values[id].shape)};
  };
  TosaForm form{op.op, {}, tensor(op.outputs[0])};
  for (const tosa::ValueIndex input : op.inputs) {
    if (graph.values[input].type != tosa::Type::kShape) form.inputs.push_back(tensor(input));
  }
  std::visit(
      [&]<class F>(const F& fields) {
        if constexpr (requires { fields.kernel; }) form.kernel = wide(fields.kernel);
        if constexpr (requires { fields.stride; }) form.stride = wide(fields.stride);
        if constexpr (requires { fields.dilation; }) form.dilation = wide(fields.dilation);
        if constexpr (requires { fields.pad; }) form.pad = wide(fields.pad);
        if constexpr (requires { fields.out_pad; }) form.pad = wide(fields.out_pad);
        if constexpr (requires { fields.axis; }) form.axis = fields.axis;
        if constexpr (requires { fields.round; }) form.rounds = fields.round;
        if constexpr (std::is_same_v<F, tosa::Resize>) form.is_bilinear = fields.mode == tosa::ResizeMode::kBilinear;
      },
      op.fields);
  const bool has_filters = op.op == tosa::Op::kConv2d || op.op == tosa::Op::kTransposeConv2d;
  if (has_filters) form.kernel = {form.inputs[1].shape[1], form.inputs[1].shape[2]};
  if (op.op == tosa::Op::kDepthwiseConv2d) form.kernel = {form.inputs[1].shape[0], form.inputs[1].shape[1]};
  if (op.op == tosa::Op::kResize) {
    form.scale = numbers_in(graph.values[op.inputs[1]]);
    form.offset = numbers_in(graph.values[op.inputs[2]]);
    form.border = numbers_in(graph.values[op.inputs[3]]);
  }
  return form;
}

tosa::Type tosa_type(DType dtype) {
  switch (dtype) {
    case DType::kI8:
    case DType::kU8:  // its reader says that it is unsigned
      return tosa::Type::kI8;
    case DType::kI16:
      return tosa::Type::kI16;
    case DType::kI32:
      return tosa::Type::kI32;
    case DType::kBool:
      return tosa::Type::kBool;
    default:
      return tosa::Type::kUnknown;
  }
}

std::string numbers_text(const Ints& numbers) { return fmt::format("[{}]", fmt::join(numbers, ",")); }

TensorType NodeForm::type(ValueId id) const {
  TensorType type = graph.type(id);
  if (type.dtype == DType::kF32) type.dtype = id == node.outputs[0] ? types.result : types.data;
  if (!type.quant && type.dtype != DType::kBool) type.quant = Quant{{1}, 0, -1};
  return type;
}
Ints NodeForm::sizes(std::size_t i) const { return *fixed_sizes(graph.type(node.inputs[i]).shape); }
Ints NodeForm::sizes() const { return *fixed_sizes(graph.type(node.outputs[0]).shape); }

tosa::Type NodeLowering::result_type() const { return tosa_type(type().dtype); }
Ints NodeLowering::result_shape() const { return placed(sizes()); }
std::int64_t NodeLowering::place(std::int64_t axis) const {
  return std::ranges::find(order, static_cast<std::uint8_t>(axis)) - order.begin();
}
Ints NodeLowering::placed(const Ints& by_axis) const { return in_order(by_axis, order); }

std::vector<std::int64_t> NodeLowering::integers(std::size_t i, const Order& axes) const {
  const Constant* constant = graph.constant(node.inputs[i]);
  if (!out.writes_constants() || constant == nullptr || !constant->data) return {};
  TensorView view = *constant->data;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    view.sizes[k] = constant->data->sizes[axes[k]];
    view.strides[k] = constant->data->strides[axes[k]];
  }
  const Tensor tensor = Tensor::from(view);
  std::vector<std::int64_t> result;
  const auto append = [&]<class Number>(Number) {
    const auto numbers = tensor.data<Number>();
    result.assign(numbers.begin(), numbers.end());
  };
  switch (tensor.dtype()) {
    case DType::kI8:
      append(std::int8_t{});
      break;
    case DType::kI16:
      append(std::int16_t{});
      break;
    case DType::kI32:
      append(std::int32_t{});
      break;
    case DType::kI64:
      append(std::int64_t{});
      break;
    default:
      append(std::uint8_t{});
  }
  return result;
}

Operand NodeLowering::constant(std::size_t i, tosa::Type type, const Order& axes, Ints shape) const {
  return out.constant(type, std::move(shape), [&] { return packed(type, integers(i, axes)); });
}

double cycles_of(const NodeLowering& lowering, Lower way) {
  constexpr double kRefused = std::numeric_limits<double>::infinity();
  TosaBuilder scratch(lowering.device, TosaBuilder::Constants::kLeftOut);
  NodeLowering other{lowering, scratch, {}, lowering.reads, lowering.order, lowering.parts};
  for (const Operand& input : lowering.inputs) other.inputs.push_back(scratch.input(input.type, input.shape, {}));
  const auto made = way(other);
  if (!made) return kRefused;
  scratch.output(*made);
  for (const tosa::Operator& op : scratch.graph().operators) {
    if (op.op != tosa::Op::kConstShape && refusal(form_of(scratch.graph(), op), lowering.device)) return kRefused;
  }
  const Machine* machine = usual_machine(lowering.device);
  return machine == nullptr ? 0 : estimate(scratch.graph(), *machine).cycles;
}

Expected<Operand> by_parts(NodeLowering& lowering, const Operand& rows, std::int64_t wanted,
                           const std::function<Expected<Operand>(const Operand&)>& compute) {
  const std::int64_t parts = std::min(wanted, rows.shape[0]);
  if (parts <= 1) return compute(rows);
  std::vector<Operand> made;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = rows.shape[0] * i / parts;
    const std::int64_t end = rows.shape[0] * (i + 1) / parts;
    made.push_back(TRY(compute(lowering.out.slice(rows, {begin, 0}, {end - begin, rows.shape[1]}))));
  }
  return lowering.out.concat(made, 0);
}

Expected<Operand> cheaper(NodeLowering& lowering, Lower first, Lower second) {
  return cycles_of(lowering, second) < cycles_of(lowering, first) ? second(lowering) : first(lowering);
}

OrderDemand same_order(const Graph&, const Node& node) { return {OrderRule::kSame, node.inputs.size()}; }
OrderDemand image_order(const Graph&, const Node&) { return {OrderRule::kFixed, 1, 0, kChannelsLast}; }
OrderDemand plain_order(const Graph& graph, const Node& node) {
  return {OrderRule::kFixed, node.inputs.size(), 0, row_major(graph.type(node.outputs[0]).rank())};
}
OrderDemand last_innermost(const Graph& graph, const Node& node) {
  return {OrderRule::kInnermost, 1, static_cast<std::int64_t>(graph.type(node.inputs[0]).rank()) - 1};
}

Expected<Multiplier> factor_of(double factor, tosa::Type from) {
  const auto found = multiplier_of(factor, from == tosa::Type::kI48 ? ScaleBits::k15 : ScaleBits::k31);
  if (!found) return bad_input(fmt::format("a RESCALE by {}", factor));
  return *found;
}

Expected<Operand> to_quantized(NodeLowering& lowering, const Operand& sums, double factor) {
  const Multiplier multiplier = TRY(factor_of(factor, sums.type));
  return lowering.out.rescale(sums, lowering.result_type(), {{multiplier}, 0, lowering.type().quant->zero_point});
}

Expected<Fitted> fitted(const Ints& image, const Ints& output, const Ints& kernel, const Ints& stride,
                        const Ints& padding, const Ints& dilation) {
  Fitted result{padding, image};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
    const std::int64_t end = (output[i + 1] - 1) * stride[i] + reach - padding[2 * i];
    if (end <= 0) return bad_input("windows that see padding alone");
    result.pad[2 * i + 1] = std::max<std::int64_t>(end - image[i + 1], 0);
    result.image[i + 1] = std::min(end, image[i + 1]);
  }
  return result;
}

std::optional<Reason> refuse_count(DType types, std::int64_t count) {
  const std::int64_t max = std::int64_t{1} << (types == DType::kI16 ? 15 : 23);
  if (count <= max) return std::nullopt;
  return Reason{ReasonCode::kSumRange,
                fmt::format("{} quantized values of type {} in one sum, at most {}", count, name_of(types), max)};
}

}  // namespace isthmus::ethos_u
