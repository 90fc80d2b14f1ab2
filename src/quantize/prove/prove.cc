// The demands of the device, each derived again from its description and the op table.
#include "quantize/prove/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/literals.h"
#include "ir/quantized.h"
#include "ops/table.h"
#include "quantize/prove/prove_parts.h"
#include "quantize/prove/prove_scales.h"

namespace isthmus {
namespace proof {
namespace {

// Weights are symmetric: the quantized value that has no opposite is not used.
constexpr std::int8_t kMinWeight = -127;

class Proof {
 public:
  Proof(const Graph& graph, const TargetDesc& target, bool has_ranges)
      : graph_(graph),
        target_(target),
        rules_(target.integers),
        has_ranges_(has_ranges),
        is_returned_(graph.values().size(), false) {
    for (const Output& output : graph.outputs()) {
      if (const auto* id = std::get_if<ValueId>(&output.value)) is_returned_[id->index] = true;
    }
    find_compared();
  }

  Expected<void> whole() const {
    for (std::uint32_t i = 0; i < graph_.values().size(); ++i) TRY(value(ValueId{i}));
    for (const Node& node : graph_.nodes()) TRY(checked(node));
    return {};
  }

 private:
  tl::unexpected<Error> broken(const Node& node, std::string_view demand, std::string_view found) const {
    return proof::broken(graph_, node, demand, found);
  }
  std::string described(ValueId id) const { return proof::described(graph_, id); }
  const Quant& quant(ValueId id) const { return *graph_.type(id).quant; }
  bool is_quantized(ValueId id) const { return proof::is_quantized(graph_, id); }

  void find_compared() {
    for (std::size_t i = 0; i < is_returned_.size(); ++i) is_only_compared_.push_back(!is_returned_[i]);
    for (std::size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      const QFlow flow = node.op == Op::kForeign ? QFlow::kComputes : def(node.op).flow;
      if (flow == QFlow::kNarrowsRange) continue;
      if (flow == QFlow::kMovesData && is_only_compared_[node.outputs[0].index]) continue;
      for (const ValueId input : node.inputs) is_only_compared_[input.index] = false;
    }
  }

  // What parameters are, whatever uses them.
  Expected<void> value(ValueId id) const {
    const TensorType& type = graph_.type(id);
    if (!type.quant) return {};
    const auto wrong = [&](std::string_view demand) {
      const Node* producer = graph_.producer(id);
      if (producer != nullptr) return broken(*producer, demand, described(id));
      const ValueKind of_value = graph_[id].kind;
      const std::string_view kind = of_value == ValueKind::kInput   ? "input"
                                    : of_value == ValueKind::kState ? "state"
                                                                    : "const";
      return bad_input(fmt::format("{} %{}: {}: {}", kind, graph_[id].name, demand, described(id)));
    };
    const QuantizedType* limits = quantized_type(type.dtype);
    if (limits == nullptr) return wrong("quantized values are i8, u8, i16 or i32");
    const auto is_scale = [](float scale) { return std::isnormal(scale) && scale > 0; };
    if (type.quant->scales.empty() || !std::ranges::all_of(type.quant->scales, is_scale)) {
      return wrong("a scale is a positive normal number");
    }
    const std::int32_t zero_point = type.quant->zero_point;
    if (zero_point < limits->min || zero_point > limits->max)
      return wrong("the zero point is in the range of its type");
    if (limits->is_symmetric && zero_point != 0) return wrong("the zero point of int16 is 0");
    const std::int32_t axis = type.quant->axis;
    if (axis < 0) return type.quant->scales.size() == 1 ? Expected<void>() : wrong("several scales belong to an axis");
    if (zero_point != 0) return wrong("the zero point of per-channel values is 0");
    if (static_cast<std::size_t>(axis) >= type.rank() ||
        !type.shape[static_cast<std::size_t>(axis)].is(static_cast<std::int64_t>(type.quant->scales.size()))) {
      return wrong("there are as many scales as the axis has elements");
    }
    return {};
  }

  Expected<void> checked(const Node& node) const {
    if (is_conversion(node)) return converts(node);
    const auto is_of_quantized = [&](ValueId id) { return is_quantized(id); };
    const bool reads_quantized = std::ranges::any_of(node.inputs, is_of_quantized);
    const bool makes_quantized = std::ranges::any_of(node.outputs, is_of_quantized);
    if (!reads_quantized && !makes_quantized) return {};
    if (node.op == Op::kForeign || node.outputs.size() != 1) {
      return broken(node, "does not support quantized values", described(*find_quantized(node)));
    }
    if (node.in_float) return broken(node, "stays in float", described(*find_quantized(node)));
    bool has_data = makes_quantized;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      has_data = has_data || (is_data_input(node.op, i) && is_quantized(node.inputs[i]));
    }
    if (!has_data) return rows(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) TRY(input(node, i));
    TRY(result(node));
    TRY(shares(node));
    if (has_ranges_) TRY(keeps_ratios(graph_, rules_, node));
    TRY(keeps_sums(graph_, rules_, node));
    TRY(keeps_pins(node));
    for (const OwnDemand& row : kOwnDemands) {
      if (row.op == node.op) TRY((this->*row.check)(node));
    }
    return {};
  }

  // Floats in and out, with quantized weights.
  Expected<void> rows(const Node& node) const {
    if (rules_.quantizes_rows == nullptr || !rules_.quantizes_rows(graph_, node)) {
      return broken(node, "computes in float", described(*find_quantized(node)));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (role_of(node.op, i) == Role::kWeight) {
        TRY(weight(node, id));
        if (quant(id).axis < 0) return broken(node, "its weight has a scale for each channel", described(id));
      } else if (is_quantized(id)) {
        return broken(node, "only its weight is quantized", described(id));
      }
    }
    return {};
  }

  const ValueId* find_quantized(const Node& node) const {
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ValueId& id : *values) {
        if (is_quantized(id)) return &id;
      }
    }
    return nullptr;
  }

  Expected<void> converts(const Node& node) const {
    const ConversionRow& row = *conversion(node.op);
    const ValueId from = node.inputs[0];
    const ValueId to = node.outputs[0];
    const auto is_side = [&](ValueId id, bool is_of_quantized) {
      return is_quantized(id) == is_of_quantized && (is_of_quantized || is_floating(graph_.type(id).dtype));
    };
    if (!is_side(from, row.from_quantized)) return broken(node, row.demand, described(from));
    if (!is_side(to, row.to_quantized)) return broken(node, row.demand, described(to));
    if (row.from_quantized) TRY(stored(node, from, graph_[from].kind == ValueKind::kInput));
    if (row.to_quantized) TRY(stored(node, to, is_returned_[to.index]));
    if (const auto* attrs = std::get_if<QuantizeAttrs>(&node.attrs)) {
      const QuantizedType& limits = *quantized_type(graph_.type(to).dtype);
      if (attrs->dtype != limits.dtype || attrs->min != limits.min || attrs->max != limits.max || attrs->axis >= 0) {
        return broken(node, "its attributes are those of its result",
                      fmt::format("quantized values from {} to {} as {}, {}", attrs->min, attrs->max,
                                  name_of(attrs->dtype), described(to)));
      }
    }
    if (row.from_quantized && row.to_quantized && !rules_.has_rescale) {
      return broken(node, fmt::format("{} has no rescale", target_.name), described(to));
    }
    return has_ranges_ ? keeps_ratios(graph_, rules_, node) : Expected<void>();
  }

  // Quantized values of an activation. At the model's inputs and outputs they may be of another 8-bit type, for a
  // conversion to take or make.
  Expected<void> stored(const Node& node, ValueId id, bool is_io) const {
    const DType dtype = graph_.type(id).dtype;
    if (std::ranges::find(rules_.storage, dtype) == rules_.storage.end() && !(is_io && size_of(dtype) == 1)) {
      return broken(node, fmt::format("{} has no {} values", target_.name, name_of(dtype)), described(id));
    }
    if (quant(id).axis >= 0) return broken(node, "an activation has one scale", described(id));
    return {};
  }

  Expected<void> input(const Node& node, std::size_t i) const {
    const ValueId id = node.inputs[i];
    switch (role_of(node.op, i)) {
      case Role::kData:
        if (!is_quantized(id)) return broken(node, "all of its data are quantized", described(id));
        return stored(node, id, false);
      case Role::kWeight:
        return weight(node, id);
      case Role::kBias:
        return bias(node, id);
      case Role::kIndex:
      case Role::kCondition:
        return is_quantized(id) ? broken(node, "indices and conditions are not quantized", described(id))
                                : Expected<void>();
      case Role::kParameter:
        return {};
    }
    return {};
  }

  // Bools and indices (of comparisons, argmax) are what they are; everything else that is made of quantized values is
  // quantized.
  Expected<void> result(const Node& node) const {
    const ValueId id = node.outputs[0];
    if (is_quantized(id)) return stored(node, id, false);
    const DType dtype = graph_.type(id).dtype;
    if (dtype == DType::kBool || dtype == DType::kI64) return {};
    return broken(node, "its result is quantized", described(id));
  }

  Expected<void> weight(const Node& node, ValueId id) const {
    const TensorType& type = graph_.type(id);
    if (!type.quant || type.dtype != DType::kI8) return broken(node, "its weight is i8", described(id));
    if (type.quant->zero_point != 0) return broken(node, "the zero point of its weight is 0", described(id));
    const auto axis = weight_axis(node.op, node.attrs, type.shape);
    if (type.quant->axis >= 0 && type.quant->axis != axis) {
      return broken(node, axis ? fmt::format("its weight has scales along axis {}", *axis) : "its weight has one scale",
                    described(id));
    }
    const Constant* constant = graph_.constant(id);
    if (constant == nullptr || !constant->data) return {};
    const Blob quantized = contiguous_bytes(*constant->data);
    for (const std::byte byte : quantized.bytes()) {
      if (static_cast<std::int8_t>(byte) >= kMinWeight) continue;
      return broken(node, "its quantized weights lie between -127 and 127",
                    fmt::format("%{} has -128", graph_[id].name));
    }
    return {};
  }

  Expected<void> bias(const Node& node, ValueId id) const {
    const TensorType& type = graph_.type(id);
    if (!type.quant || type.dtype != DType::kI32) return broken(node, "its bias is i32", described(id));
    const ValueId data = node.inputs[0];
    const ValueId weight = node.inputs[1];
    if (type.quant->axis > 0 || type.quant->scales.size() != quant(weight).scales.size()) {
      return broken(node, "its bias has a scale for each of its weight", both(id, weight));
    }
    for (std::size_t c = 0; c < type.quant->scales.size(); ++c) {
      const float expected = bias_scale(quant(data).scale(), quant(weight).scales[c]);
      if (type.quant->scales[c] == expected) continue;
      return broken(node, "the scale of its bias is the product of input and weight",
                    fmt::format("channel {} of %{} has {}, expected {} of {}", c, graph_[id].name,
                                float_text(type.quant->scales[c]), float_text(expected), both(data, weight)));
    }
    return {};
  }

  std::string both(ValueId a, ValueId b) const { return described(a) + ", " + described(b); }
  bool are_equal(ValueId a, ValueId b) const {
    return graph_.type(a).dtype == graph_.type(b).dtype && quant(a) == quant(b);
  }

  Expected<void> shares(const Node& node) const {
    const SharingRow* row = sharing_of(rules_, node.op);
    if (row == nullptr || row->sharing != Sharing::kMustEqual) return {};
    return shares(node, row->because);
  }
  Expected<void> shares(const Node& node, std::string_view because) const {
    const ValueId to = node.outputs[0];
    if (!is_quantized(to)) return {};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data_input(node.op, i) || are_equal(node.inputs[i], to)) continue;
      return broken(node, because, both(node.inputs[i], to));
    }
    return {};
  }

  Expected<void> keeps_pins(const Node& node) const {
    for (const PinRow& pin : rules_.pins) {
      if (pin.op != node.op) continue;
      if (pin.side == Side::kResult) TRY(is_pinned(node, node.outputs[0], pin));
      for (std::size_t i = 0; i < node.inputs.size() && pin.side == Side::kInput; ++i) {
        if (is_data_input(node.op, i)) TRY(is_pinned(node, node.inputs[i], pin));
      }
    }
    return {};
  }
  // The quantized values' ends stand for the range's; int16 values are symmetric and reach both.
  Expected<void> is_pinned(const Node& node, ValueId id, const PinRow& pin) const {
    if (!is_quantized(id)) return {};
    const QuantizedType& limits = *quantized_type(graph_.type(id).dtype);
    const auto min = static_cast<double>(limits.min);
    const auto greatest = static_cast<double>(limits.max);
    const double scale =
        limits.is_symmetric ? std::max(pin.min / min, pin.max / greatest) : (pin.max - pin.min) / (greatest - min);
    const double zero_point = limits.is_symmetric ? 0 : std::nearbyint(min - pin.min / scale);
    if (quant(id).scale() == static_cast<float>(scale) && quant(id).zero_point == zero_point) return {};
    return broken(
        node, pin.because,
        fmt::format("{}, expected scale {} zp {}", described(id), float_text(static_cast<float>(scale)), zero_point));
  }

  // A device that can scale while it clamps still clamps quantized values of its result, not of its input.
  Expected<void> clamps(const Node& node) const { return shares(node, "bounds quantized values of one scale"); }

  Expected<void> pads(const Node& node) const {
    const auto& attrs = std::get<PadAttrs>(node.attrs);
    if (!has_ranges_ || attrs.mode != PadMode::kConstant) return {};
    const ValueId to = node.outputs[0];
    const QuantizedType& limits = *quantized_type(graph_.type(to).dtype);
    // A step beyond an end saturates, as data do in parameters that the archive gives.
    const double q = nearest_quantized(attrs.value, quant(to));
    if (q >= static_cast<double>(limits.min) - 1 && q <= static_cast<double>(limits.max) + 1) return {};
    if (std::isinf(attrs.value) && is_only_compared_[to.index]) return {};
    return broken(node, fmt::format("its value {} is representable", float_text(attrs.value)), described(to));
  }

  // What single ops ask of quantized values on every device.
  struct OwnDemand {
    Op op;
    Expected<void> (Proof::*check)(const Node& node) const;
  };
  static const OwnDemand kOwnDemands[2];

  const Graph& graph_;
  const TargetDesc& target_;
  const IntegerRules& rules_;
  bool has_ranges_;
  std::vector<bool> is_returned_;
  // By value: its numbers are compared with each other and nothing else, so that the last quantized value is as good as
  // infinity.
  std::vector<bool> is_only_compared_;
};

const Proof::OwnDemand Proof::kOwnDemands[] = {
    {Op::kClamp, &Proof::clamps},
    {Op::kPad, &Proof::pads},
};

}  // namespace
}  // namespace proof

Expected<void> prove(const Graph& graph, const TargetDesc& target, bool has_ranges) {
  return proof::Proof(graph, target, has_ranges).whole();
}

}  // namespace isthmus
