// Walks the demands of the device's description, and those of its products of quantized values.
#include "targets/xnnpack/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/table.h"
#include "targets/integers.h"
#include "targets/xnnpack/desc.h"

namespace isthmus::xnnpack {
namespace {

constexpr std::int32_t kQuantMin = -128;
constexpr std::int32_t kQuantMax = 127;

// The scale of a bias is a product that was rounded elsewhere.
constexpr float kBiasTolerance = 0x1p-20F;

std::string quant_text(const Quant& quant) {
  if (quant.axis >= 0) return fmt::format("{} scales along axis {}", quant.scales.size(), quant.axis);
  return fmt::format("scale {} and zero point {}", quant.scale(), quant.zero_point);
}

// The demands on one node.
class QuantizedNode {
 public:
  QuantizedNode(const Graph& graph, const Node& node, const FormRow& form) : graph_(graph), node_(node), form_(form) {}

  std::optional<Reason> refusal() const {
    if (!is_quantized()) return std::nullopt;
    if (form_.quantizes_rows && !result().quant && !type(node_.inputs[0]).quant) return weights_alone();
    if (auto reason = kinds()) return reason;
    if (auto reason = sharing()) return reason;
    if (auto reason = products()) return reason;
    if (form_.quantization_refusal != nullptr) {
      if (auto reason = form_.quantization_refusal(graph_, node_)) return reason;
    }
    return ratios();
  }

 private:
  const TensorType& type(ValueId id) const { return graph_.type(id); }
  const TensorType& result() const { return type(node_.outputs[0]); }
  std::string named(ValueId id) const {
    const TensorType& of = type(id);
    return typed_name(graph_, id) + (of.quant ? " with " + quant_text(*of.quant) : "");
  }
  bool is_quantized() const {
    return result().quant || std::ranges::any_of(node_.inputs, [&](ValueId id) { return type(id).quant.has_value(); });
  }

  // The form takes quantized values, all or none of its data are quantized, and those have one scale and 8 bits.
  std::optional<Reason> kinds() const {
    if (form_.quantized == QuantizedForm::kNone) {
      return Reason{ReasonCode::kNoForm, fmt::format("{} of int8 values", name_of(node_.op))};
    }
    const auto refuse = [&](ValueId id) -> std::optional<Reason> {
      const TensorType& of = type(id);
      // Unsigned values are only there to be converted, at a model input or output.
      const bool converts = form_.quantized == QuantizedForm::kConverts;
      const bool is_quantized = of.dtype == DType::kI8 || (of.dtype == DType::kU8 && converts);
      const bool fits = of.quant ? is_quantized && of.quant->axis < 0 : converts;
      return fits ? std::nullopt : std::optional(Reason{ReasonCode::kDType, named(id)});
    };
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!is_data_input(node_.op, i)) continue;
      if (auto reason = refuse(node_.inputs[i])) return reason;
    }
    return refuse(node_.outputs[0]);
  }

  // Of rows that the delegate quantizes as it runs: scales of each channel, a bias in float.
  std::optional<Reason> weights_alone() const {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const TensorType& of = type(node_.inputs[i]);
      const bool fits = role_of(node_.op, i) == Role::kWeight
                            ? of.quant && of.dtype == DType::kI8 && of.quant->axis == form_.weight_axis
                            : !of.quant;
      if (!fits) return Reason{ReasonCode::kDType, named(node_.inputs[i])};
    }
    // The library counts its axes from behind, and wants rows.
    if (type(node_.inputs[0]).rank() >= 2) return std::nullopt;
    return Reason{ReasonCode::kRanks, named(node_.inputs[0])};
  }

  std::optional<Reason> sharing() const {
    const SharingRow* row = sharing_of(desc().integers, node_.op);
    if (row == nullptr || row->sharing == Sharing::kFree) return std::nullopt;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!is_data_input(node_.op, i) || type(node_.inputs[i]).quant == result().quant) continue;
      return Reason{ReasonCode::kSharingBroken, fmt::format("{} {}; {}, {}", name_of(node_.op), row->because,
                                                            named(node_.inputs[i]), named(node_.outputs[0]))};
    }
    return std::nullopt;
  }

  // Weights of 8 bits around zero, and a bias whose quantized values count in products of input and weight.
  std::optional<Reason> products() const {
    const Quant* weight = nullptr;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const ValueId id = node_.inputs[i];
      const Role role = role_of(node_.op, i);
      if (role != Role::kWeight && role != Role::kBias) continue;
      const std::optional<Quant>& quant = type(id).quant;
      const DType expected = role == Role::kWeight ? DType::kI8 : DType::kI32;
      if (!quant || type(id).dtype != expected || quant->zero_point != 0) return Reason{ReasonCode::kDType, named(id)};
      if (role == Role::kWeight) {
        const bool fits = quant->axis < 0 || quant->axis == form_.weight_axis ||
                          quant->axis == weight_axis(node_.op, node_.attrs, type(id).shape);
        if (!fits) return Reason{ReasonCode::kDType, named(id)};
        weight = &*quant;
      } else if (auto reason = bias(id, *quant, weight)) {
        return reason;
      }
    }
    return std::nullopt;
  }
  std::optional<Reason> bias(ValueId id, const Quant& quant, const Quant* weight) const {
    if (weight == nullptr || (quant.axis >= 0) != (weight->axis >= 0)) return Reason{ReasonCode::kDType, named(id)};
    const float input = type(node_.inputs[0]).quant->scale();
    for (std::size_t i = 0; i < quant.scales.size(); ++i) {
      // Where the weights have groups, they repeat.
      const float expected = input * weight->scales[i % weight->scales.size()];
      if (std::abs(quant.scales[i] - expected) <= kBiasTolerance * expected) continue;
      return Reason{ReasonCode::kSharingBroken, fmt::format("{}: scale {} is {}, not input scale x weight scale, {}",
                                                            named(id), i, quant.scales[i], expected)};
    }
    return std::nullopt;
  }

  std::optional<Reason> ratios() const {
    for (const RatioLimit& limit : desc().integers.ratios) {
      if (limit.op != node_.op) continue;
      for (const float ratio : ratios(limit.of)) {
        if (ratio >= limit.min && (limit.includes_max ? ratio <= limit.max : ratio < limit.max)) continue;
        return Reason{
            ReasonCode::kIllegalRatio,
            fmt::format("{} {}: the scale ratio {:.6g} of {} is not between {:.6g} and {:.6g}", name_of(node_.op),
                        limit.because, ratio, named(node_.outputs[0]), limit.min, limit.max)};
      }
    }
    return std::nullopt;
  }
  // In f32 and in the order in which the library computes them.
  std::vector<float> ratios(RatioOf of) const {
    const float to = result().quant->scale();
    std::vector<float> scales;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!is_data_input(node_.op, i) && (of != RatioOf::kProduct || role_of(node_.op, i) != Role::kWeight)) continue;
      const std::vector<float>& own = type(node_.inputs[i]).quant->scales;
      if (of == RatioOf::kProduct && !scales.empty()) {
        const float before = scales[0];
        scales = own;
        for (float& scale : scales) scale *= before;
      } else {
        scales.insert(scales.end(), own.begin(), own.end());
      }
    }
    for (float& scale : scales) scale /= to;
    if (of == RatioOf::kSlopedInput) {
      const auto slope = static_cast<float>(std::get<SlopeAttrs>(node_.attrs).slope);
      for (float& scale : scales) scale = std::abs(scale * slope);
    }
    return scales;
  }

  const Graph& graph_;
  const Node& node_;
  const FormRow& form_;
};

}  // namespace

std::optional<Reason> parameters_refusal(const Graph& graph, ValueId id) {
  const TensorType& type = graph.type(id);
  const Quant& quant = *type.quant;
  const auto refuse = [&](std::string_view what) {
    return Reason{ReasonCode::kDType, fmt::format("{} with {}", typed_name(graph, id), what)};
  };
  const bool is_bias = type.dtype == DType::kI32 && graph.constant(id) != nullptr;
  if (type.dtype != DType::kI8 && type.dtype != DType::kU8 && !is_bias) return refuse("scales");
  if (!std::ranges::all_of(quant.scales, [](float scale) { return std::isnormal(scale) && scale > 0; })) {
    return refuse("scale is not a positive finite number");
  }
  const std::int32_t min = type.dtype == DType::kU8 ? 0 : kQuantMin;
  const bool is_zero_point = is_bias || quant.axis >= 0
                                 ? quant.zero_point == 0
                                 : quant.zero_point >= min && quant.zero_point <= min + kQuantMax - kQuantMin;
  if (!is_zero_point) return refuse(fmt::format("zero point {}", quant.zero_point));
  if (quant.axis < 0) return quant.scales.size() == 1 ? std::nullopt : std::optional(refuse("several scales"));
  const auto axis = static_cast<std::size_t>(quant.axis);
  if (graph.constant(id) == nullptr) return refuse("a scale for each channel, and is not a constant");
  if (axis >= type.rank() || !type.shape[axis].is(static_cast<std::int64_t>(quant.scales.size()))) {
    return refuse(quant_text(quant));
  }
  return std::nullopt;
}

std::optional<Reason> quantization_refusal(const Graph& graph, const Node& node, const FormRow& form) {
  return QuantizedNode(graph, node, form).refusal();
}

}  // namespace isthmus::xnnpack
