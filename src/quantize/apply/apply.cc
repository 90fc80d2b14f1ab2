// Walks the float graph and writes the quantized one beside it.
#include "quantize/apply/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "interpret/integer.h"
#include "interpret/quantized_types.h"
#include "interpret/tensor.h"
#include "ir/quantized.h"
#include "ir/readers.h"
#include "ops/halves.h"
#include "ops/table.h"
#include "quantize/apply/layers.h"
#include "quantize/apply/two_parts.h"
#include "quantize/plan/parameters.h"
#include "quantize/plan/quantized_values.h"
#include "quantize/plan/ratios.h"
#include "stats/measure.h"

namespace isthmus {
namespace {

class Applier {
 public:
  Applier(const Graph& graph, const QuantPlan& plan, const TargetDesc& target, const Statistics* statistics,
          const QuantConfig& config, const InputMoments* moments, LayerCache* cache)
      : graph_(graph),
        plan_(plan),
        target_(target),
        config_(config),
        layers_({graph, plan, target, statistics, config, moments, cache}, out_) {}

  Expected<Quantized> run() {
    Diagnostics ignored;
    settings_ = settings_of(graph_, config_, ignored);
    in_float_.resize(graph_.values().size());
    readers_ = reader_counts(graph_);
    out_.exprs() = graph_.exprs();
    for (const ValueId input : graph_.inputs()) add_input(input);
    for (const GraphState& state : graph_.states()) TRY(add_state(state));
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      switch (plan_.precision[n]) {
        case Precision::kQuantized:
          TRY(add_quantized_node(NodeId{n}));
          break;
        case Precision::kRows:
          TRY(add_rows_node(NodeId{n}));
          break;
        case Precision::kFloat:
          TRY(add_float_node(graph_.nodes()[n]));
          break;
      }
    }
    add_outputs();
    source_.resize(out_.values().size());
    return Quantized{std::move(out_), std::move(source_), plan_.has_ranges};
  }

 private:
  using Place = std::pair<ValueId, std::uint32_t>;  // a value in the parameters of a group

  std::uint32_t group_of(ValueId id) const { return *plan_.group_of[id.index]; }
  bool is_made_quantized(ValueId id) const {
    return plan_.quantized_states.contains(id) || isthmus::is_made_quantized(graph_, plan_.precision, config_, id);
  }
  TensorType type_in(ValueId id, std::uint32_t group) const {
    return {plan_.groups[group].storage, graph_.type(id).shape, plan_.groups[group].quant};
  }
  void remember(ValueId made, ValueId stands_for) {
    if (source_.size() <= made.index) source_.resize(made.index + 1);
    source_[made.index] = stands_for;
  }
  // What stood for the input of a node that is gone stands for its result, unless others read just that input.
  void hand_on(ValueId input, ValueId made, ValueId result) {
    const bool stands_for_input = made.index < source_.size() && source_[made.index] == input;
    if (stands_for_input && readers_[input.index] == 1) remember(made, result);
  }
  ValueId emit(Op op, Attrs attrs, ValueId input, std::string_view stem, TensorType type,
               std::optional<ValueId> stands_for) {
    const Node* maker = out_.producer(input);
    Origin origin = maker == nullptr ? Origin{} : maker->origin;
    const NodeId node =
        out_.add_node(op, std::move(attrs), {input}, {{out_.unused_name(stem), std::move(type)}}, std::move(origin));
    if (stands_for) remember(out_[node].outputs[0], *stands_for);
    return out_[node].outputs[0];
  }
  ValueId dequantized(ValueId input, std::string_view stem, TensorType type, std::optional<ValueId> stands_for = {}) {
    return emit(Op::kDequantize, DequantizeAttrs{}, input, stem, std::move(type), stands_for);
  }

  // Unsigned 8-bit values are signed ones plus 128.
  static Quant unsigned_quant(Quant quant) {
    quant.zero_point += 128;
    return quant;
  }

  void add_input(ValueId id) {
    const Value& value = graph_[id];
    if (!is_made_quantized(id)) {
      in_float_[id.index] = out_.add_input(value.name, value.type);
      remember(*in_float_[id.index], id);
      return;
    }
    const std::uint32_t group = group_of(id);
    TensorType type = type_in(id, group);
    if (config_.inputs == IoType::kInt8) {
      quantized_[{id, group}] = out_.add_input(value.name, std::move(type));
      remember(quantized_[{id, group}], id);
      return;
    }
    TensorType io_type{DType::kU8, value.type.shape, unsigned_quant(plan_.groups[group].quant)};
    const ValueId input = out_.add_input(value.name, std::move(io_type));
    remember(input, id);
    quantized_[{id, group}] = emit(Op::kRescale, NoAttrs{}, input, value.name + ".quantized", std::move(type), id);
  }

  Expected<void> add_state(const GraphState& state) {
    const Value& value = graph_[state.value];
    if (!is_made_quantized(state.value)) {
      in_float_[state.value.index] = out_.add_state(value.name, value.type, state.initial);
      remember(*in_float_[state.value.index], state.value);
      return {};
    }
    const std::uint32_t group = group_of(state.value);
    const TensorType type = type_in(state.value, group);
    Constant quantized = TRY(within(quantize_constant(state.initial, type), [&] { return "state %" + value.name; }));
    const ValueId made = out_.add_state(value.name, type, std::move(quantized));
    quantized_[{state.value, group}] = made;
    remember(made, state.value);
    return {};
  }

  ValueId as_float(ValueId id) {
    std::optional<ValueId>& known = in_float_[id.index];
    if (known) return *known;
    if (const Constant* constant = graph_.constant(id)) {
      known = out_.add_constant(graph_[id].name, graph_.type(id), *constant);
    } else {
      known = dequantized(quantized_.at({id, group_of(id)}), graph_[id].name + ".float", graph_.type(id), id);
    }
    return *known;
  }

  ValueId as_quantized(ValueId id, std::uint32_t group) {
    const auto found = quantized_.find({id, group});
    if (found != quantized_.end()) return found->second;
    TensorType type = type_in(id, group);
    ValueId made{};
    if (!is_made_quantized(id)) {
      QuantizeAttrs attrs;
      attrs.dtype = type.dtype;
      attrs.min = quantized_range(type.dtype).min;
      attrs.max = quantized_range(type.dtype).max;
      made = emit(Op::kQuantize, attrs, *in_float_[id.index], graph_[id].name + ".quantized", std::move(type), id);
    } else {
      made = rescaled(id, quantized_.at({id, group_of(id)}), type);
    }
    return quantized_[{id, group}] = made;
  }

  // In several steps where the device has none that is large enough.
  ValueId rescaled(ValueId id, ValueId from, const TensorType& to) {
    constexpr double kHair = 1 + 0x1p-20;  // inside of a limit, whatever f32 rounds
    const auto limits = limits_of(target_.integers, Op::kRescale);
    while (!limits.empty()) {
      const auto scale = static_cast<double>(out_.type(from).quant->scale());
      const double ratio = scale / static_cast<double>(to.quant->scale());
      const RatioLimit& limit = *limits[0];
      if (ratio >= limit.min && ratio * (limit.includes_max ? 1 : kHair) <= limit.max) break;
      Quant step = *to.quant;
      step.scales = {static_cast<float>(ratio < limit.min ? scale / limit.min / kHair : scale / limit.max * kHair)};
      from = emit(Op::kRescale, NoAttrs{}, from, graph_[id].name + ".rescaled", {to.dtype, to.shape, step}, id);
    }
    return emit(Op::kRescale, NoAttrs{}, from, graph_[id].name + ".rescaled", to, id);
  }

  // Large constant data of a float node are kept quantized: a quarter of the file, for one conversion in each run.
  bool is_kept_quantized(const Node& node, std::size_t i) const {
    constexpr std::int64_t kMinElements = 4096;
    const Constant* constant = graph_.constant(node.inputs[i]);
    return plan_.has_ranges && target_.integers.has_float && constant != nullptr && constant->data &&
           constant->data->dtype == DType::kF32 && constant->data->element_count() >= kMinElements &&
           is_data_input(node.op, i) && !node.in_float;
  }
  // Nothing where some have no quantized value.
  Expected<std::optional<ValueId>> kept_quantized(ValueId id) {
    const Tensor data = Tensor::from(*graph_.constant(id)->data);
    const Moments moments = measure(data.data<float>());
    if (moments.nans + moments.infinities > 0) return std::optional<ValueId>();
    const Range range{static_cast<double>(moments.min), static_cast<double>(moments.max)};
    return TRY(quantized_constant(id, parameters_of(range, DType::kI8), DType::kI8));
  }
  Expected<ValueId> from_quantized(ValueId id) {
    const auto quantized = TRY(kept_quantized(id));
    if (!quantized) return as_float(id);
    return dequantized(*quantized, graph_[id].name + ".float", graph_.type(id), id);
  }

  // Rows of a table whose numbers lose too much in 8 bits are kept in two parts, so that one lookup picks both. False
  // where that cannot be, or need not.
  Expected<bool> add_picked_halves(const Node& node) {
    const auto* along = std::get_if<AxisAttrs>(&node.attrs);
    const ValueId output = node.outputs[0];
    const TensorView& data = *graph_.constant(node.inputs[0])->data;
    const auto rank = static_cast<std::int64_t>(data.sizes.size());
    const bool picks_rows =
        along != nullptr && rank >= 2 && along->axis + 1 < rank && node.inputs.size() == 2 &&
        graph_.type(output).rank() + 1 == graph_.type(node.inputs[0]).rank() + graph_.type(node.inputs[1]).rank();
    if (!picks_rows) return false;
    const auto parts = in_two_parts(data);
    if (!parts) return false;
    const std::vector<std::int64_t>& sizes = parts->numbers.sizes;
    const Quant& quant = parts->quant;
    const Constant constant{graph_.constant(node.inputs[0])->fqn, parts->numbers, std::nullopt};
    const ValueId table = out_.add_constant(out_.unused_name(graph_[node.inputs[0]].name + ".quantized"),
                                            {DType::kI8, Shape(sizes.begin(), sizes.end()), quant}, constant);
    Shape shape = graph_.type(output).shape;
    shape.back() = Dim(sizes.back());
    const std::string& name = graph_[output].name;
    const NodeId picked =
        out_.add_node(node.op, node.attrs, {table, as_float(node.inputs[1])},
                      {{out_.unused_name(name + ".quantized"), {DType::kI8, shape, quant}}}, node.origin);
    const ValueId halves = dequantized(out_[picked].outputs[0], name + ".halves", {DType::kF32, shape});
    Emitter emitter(out_);
    emitter.begin(node.origin, name);
    in_float_[output.index] = TRY(sum_of_halves(emitter, halves, parts->factor));
    return true;
  }

  // Of a table, only what is picked is converted: the quantized values are picked first. False where that cannot be.
  Expected<bool> add_picked_quantized(const Node& node) {
    if (node.op == Op::kForeign || !picks_elements(node.op) || !is_kept_quantized(node, 0)) return false;
    if (config_.widen > 0 && TRY(add_picked_halves(node))) return true;
    const auto table = TRY(kept_quantized(node.inputs[0]));
    if (!table) return false;
    std::vector<ValueId> inputs{*table};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(as_float(node.inputs[i]));
    const ValueId output = node.outputs[0];
    const TensorType& type = graph_.type(output);
    const NodeId made = out_.add_node(
        node.op, node.attrs, std::move(inputs),
        {{out_.unused_name(graph_[output].name + ".quantized"), {DType::kI8, type.shape, out_.type(*table).quant}}},
        node.origin);
    remember(out_[made].outputs[0], output);
    in_float_[output.index] = dequantized(out_[made].outputs[0], graph_[output].name, type, output);
    return true;
  }

  Expected<void> add_float_node(const Node& node) {
    // Its readers quantize each row, or nothing.
    if (node.op != Op::kForeign && def(node.op).flow == QFlow::kPinsAsItRuns) {
      const ValueId made = as_float(node.inputs[0]);
      in_float_[node.outputs[0].index] = made;
      hand_on(node.inputs[0], made, node.outputs[0]);
      return {};
    }
    if (TRY(add_picked_quantized(node))) return {};
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      inputs.push_back(is_kept_quantized(node, i) ? TRY(from_quantized(input)) : as_float(input));
    }
    std::vector<Result> results;
    for (const ValueId output : node.outputs) {
      results.push_back({out_.unused_name(graph_[output].name), graph_.type(output)});
    }
    const NodeId made = out_.add_node(node.op, node.attrs, std::move(inputs), std::move(results), node.origin);
    if (node.in_float) out_.keep_in_float(made);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      in_float_[node.outputs[i].index] = out_[made].outputs[i];
      remember(out_[made].outputs[i], node.outputs[i]);
    }
    return {};
  }

  // Quantized constant data.
  Expected<ValueId> quantized_constant(ValueId id, const Quant& quant, DType storage) {
    const TensorType type{storage, graph_.type(id).shape, quant};
    Constant quantized =
        TRY(within(quantize_constant(*graph_.constant(id), type), [&] { return "constant %" + graph_[id].name; }));
    return out_.add_constant(out_.unused_name(graph_[id].name + ".quantized"), type, std::move(quantized));
  }
  Expected<Constant> quantize_constant(const Constant& constant, const TensorType& type) const {
    if (!plan_.has_ranges) return without_data(constant);
    if (!constant.data) return bad_input("it has no data");
    return Constant{constant.fqn, isthmus::quantized_tensor(Tensor::from(*constant.data), type).view(), std::nullopt};
  }

  Expected<ValueId> data_input(NodeId id, std::size_t i) {
    const Node& node = graph_[id];
    const ValueId value = node.inputs[i];
    const bool is_tied = must_share(target_.integers, node.op);
    if (graph_.constant(value) != nullptr) {
      if (is_tied) {
        const Group& group = plan_.groups[group_of(node.outputs[0])];
        return quantized_constant(value, group.quant, group.storage);
      }
      const ReaderParams& params = plan_.constants.at({id, i});
      return quantized_constant(value, params.quant, params.storage);
    }
    if (graph_.type(value).dtype != DType::kF32) return as_float(value);
    const ValueId quantized = as_quantized(value, group_of(is_tied ? node.outputs[0] : value));
    const auto fewer = plan_.narrowed.find({id, i});
    if (fewer == plan_.narrowed.end()) return quantized;
    // All readers that take fewer bits take the same.
    const auto [found, is_new] = narrowed_.try_emplace(value);
    if (is_new) {
      found->second =
          rescaled(value, quantized, {fewer->second.storage, graph_.type(value).shape, fewer->second.quant});
    }
    return found->second;
  }

  // A clamp whose bounds lie at or beyond the ends of the quantized values does nothing.
  bool is_dropped(const Node& node) const {
    const auto* clamp = std::get_if<ClampAttrs>(&node.attrs);
    if (clamp == nullptr || !plan_.has_ranges) return false;
    const std::uint32_t group = group_of(node.outputs[0]);
    const ValueId input = node.inputs[0];
    if (!is_made_quantized(input) || group_of(input) != group) return false;
    const Quant& quant = plan_.groups[group].quant;
    const QuantizedRange limits = quantized_range(plan_.groups[group].storage);
    return nearest_quantized(clamp->min, quant) <= limits.min && nearest_quantized(clamp->max, quant) >= limits.max;
  }

  Expected<void> add_quantized_node(NodeId id) {
    const Node& node = graph_[id];
    const ValueId output = node.outputs[0];
    if (def(node.op).flow == QFlow::kPins) {
      const ValueId made = TRY(data_input(id, 0));
      quantized_[{output, group_of(output)}] = made;
      if (graph_.constant(node.inputs[0]) == nullptr) hand_on(node.inputs[0], made, output);
      return {};
    }
    if (is_dropped(node)) {
      const ValueId made = quantized_.at({node.inputs[0], group_of(output)});
      quantized_[{output, group_of(output)}] = made;
      hand_on(node.inputs[0], made, output);
      return {};
    }
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Role role = role_of(node.op, i);
      if (role == Role::kWeight) {
        layers_.add_quantized(node, settings_[id.index].per_channel, inputs);
        break;
      }
      inputs.push_back(role == Role::kData ? TRY(data_input(id, i)) : as_float(node.inputs[i]));
    }
    const bool is_real = graph_.type(output).dtype == DType::kF32;  // else it is bool
    const NodeId made = out_.add_node(
        node.op, node.attrs, std::move(inputs),
        {{out_.unused_name(graph_[output].name), is_real ? type_in(output, group_of(output)) : graph_.type(output)}},
        node.origin);
    const ValueId result = out_[made].outputs[0];
    if (is_real) {
      quantized_[{output, group_of(output)}] = result;
    } else {
      in_float_[output.index] = result;
    }
    remember(result, output);
    return {};
  }

  // Floats in and out; only the weight is quantized.
  Expected<void> add_rows_node(NodeId id) {
    const Node& node = graph_[id];
    std::vector<ValueId> inputs{as_float(node.inputs[0])};
    layers_.add_rows(node, inputs);
    if (!plan_.has_ranges && node.inputs.size() > 2) inputs.push_back(as_float(node.inputs[2]));
    const ValueId output = node.outputs[0];
    const NodeId made = out_.add_node(node.op, node.attrs, std::move(inputs),
                                      {{out_.unused_name(graph_[output].name), graph_.type(output)}}, node.origin);
    in_float_[output.index] = out_[made].outputs[0];
    remember(out_[made].outputs[0], output);
    return {};
  }

  void add_outputs() {
    for (const Output& output : graph_.outputs()) {
      Output made = output;
      if (const auto* id = std::get_if<ValueId>(&output.value)) {
        made.value = output.kind == OutputKind::kResult ? io_value(config_.outputs, *id)
                                                        : written_value(*graph_.find(output.target), *id);
      }
      out_.add_output(std::move(made));
    }
  }
  // What the model writes back to a state or an input, in the form that has.
  ValueId written_value(ValueId target, ValueId id) {
    if (graph_.state(target) == nullptr) return io_value(config_.inputs, id, plan_.group_of[target.index]);
    return is_made_quantized(target) ? as_quantized(id, group_of(target)) : as_float(id);
  }
  ValueId io_value(IoType type, ValueId id, std::optional<std::uint32_t> wanted = {}) {
    const bool can_be_quantized = graph_.type(id).dtype == DType::kF32 && plan_.group_of[id.index].has_value();
    if (type == IoType::kFloat || !can_be_quantized) return as_float(id);
    const std::uint32_t group = wanted.value_or(group_of(id));
    const ValueId quantized = as_quantized(id, group);
    if (type == IoType::kInt8) return quantized;
    return emit(Op::kRescale, NoAttrs{}, quantized, graph_[id].name + ".io",
                {DType::kU8, graph_.type(id).shape, unsigned_quant(plan_.groups[group].quant)}, id);
  }

  const Graph& graph_;
  const QuantPlan& plan_;
  const TargetDesc& target_;
  const QuantConfig& config_;
  Graph out_;
  LayerWriter layers_;
  std::vector<NodeSettings> settings_;
  std::vector<std::optional<ValueId>> in_float_;  // by value of the float graph
  std::map<Place, ValueId> quantized_;
  std::map<ValueId, ValueId> narrowed_;
  std::vector<std::size_t> readers_;  // by value of the float graph
  std::vector<std::optional<ValueId>> source_;
};

}  // namespace

Expected<Quantized> apply(const Graph& graph, const QuantPlan& plan, const TargetDesc& target,
                          const Statistics* statistics, const QuantConfig& config, const InputMoments* moments,
                          LayerCache* cache) {
  return Applier(graph, plan, target, statistics, config, moments, cache).run();
}

}  // namespace isthmus
