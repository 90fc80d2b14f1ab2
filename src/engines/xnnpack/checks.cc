// The demands of the library, by value and by form of node.
#include "engines/xnnpack/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace isthmus::xnnpack {
namespace {

using xnn::DataType;
using xnn::NodeKind;
using xnn::PerTensor;

constexpr std::uint32_t kMaxField = 1u << 24;

bool is_usable(float scale) { return std::isnormal(scale) && scale > 0; }
bool is_8_bit(const xnn::Value& value) { return value.datatype == DataType::kQI8 || value.datatype == DataType::kQU8; }
bool is_float(const xnn::Value& value) { return value.datatype == DataType::kF32; }
const PerTensor& params_of(const xnn::Value& value) { return std::get<PerTensor>(value.quant); }

long quantized_value(float bound, const xnn::Value& value) {
  return nearest_quantized(bound, params_of(value), value.datatype == DataType::kQI8 ? -128.0f : 0.0f);
}

class NodeCheck {
 public:
  NodeCheck(const xnn::Graph& graph, const xnn::Node& node, const std::vector<ValueFacts>& facts)
      : graph_(graph), node_(node), facts_(facts) {}

  Expected<void> run() const {
    TRY(check_bounds());
    TRY(check_flags());
    switch (xnn::form_of(node_.kind)) {
      case xnn::Form::kUnary:
        return unary();
      case xnn::Form::kBinary:
        return binary();
      case xnn::Form::kConcat:
      case xnn::Form::kTranspose:
      case xnn::Form::kReshape:
      case xnn::Form::kSlice:
        return moves_quantized();
      case xnn::Form::kPad:
        if (!is_padding(std::get<xnn::PadFields>(node_.fields).value)) return bad_input("its padding value is NaN");
        return moves_quantized();
      case xnn::Form::kResizeBilinear: {
        const auto& fields = std::get<xnn::ResizeFields>(node_.fields);
        TRY(check_fields({fields.height, fields.width}, {}));
        return moves_quantized();
      }
      case xnn::Form::kFullyConnected:
      case xnn::Form::kConv:
        return product();
      case xnn::Form::kPool:
      case xnn::Form::kArgMaxPool:
        return pool();
      case xnn::Form::kLeakyRelu:
        return leaky_relu();
      case xnn::Form::kElu:
        if (!(std::get<xnn::SlopeFields>(node_.fields).slope > 0) ||
            !is_usable(std::get<xnn::SlopeFields>(node_.fields).slope)) {
          return bad_input("alpha is not positive");
        }
        return same_type();
      case xnn::Form::kDead:
        break;
    }
    return fail(ErrorKind::kUnsupported, "XNNPACK has no such node");
  }

 private:
  const xnn::Value& in(std::size_t i = 0) const { return graph_.values[node_.inputs[i]]; }
  const xnn::Value& out(std::size_t i = 0) const { return graph_.values[node_.outputs[i]]; }

  tl::unexpected<Error> refuse_types() const {
    std::vector<std::string_view> names;
    for (const std::uint32_t input : node_.inputs) {
      names.push_back(input == xnn::kNone ? "nothing" : xnn::name_of(graph_.values[input].datatype));
    }
    return fail(ErrorKind::kUnsupported,
                fmt::format("it cannot compute {} from {}", xnn::name_of(out().datatype), fmt::join(names, ", ")));
  }

  Expected<void> check_bounds() const {
    if (!node_.bounds) {
      if (node_.kind == NodeKind::kClamp) return bad_input("it has no bounds");
      return {};
    }
    const xnn::Bounds bounds = *node_.bounds;
    if (!(bounds.min < bounds.max)) return bad_input(fmt::format("bounds {} and {}", bounds.min, bounds.max));
    if (node_.kind == NodeKind::kGlobalAvgPool2d) return fail(ErrorKind::kUnsupported, "it has bounds");
    const bool has_float_bounds =
        xnn::form_of(node_.kind) == xnn::Form::kConv || node_.kind == NodeKind::kFullyConnected;
    if (is_8_bit(out()) && !has_float_bounds &&
        quantized_value(bounds.min, out()) >= quantized_value(bounds.max, out())) {
      return bad_input(fmt::format("its bounds {} and {} quantize to the same value at scale {} and zero point {}",
                                   bounds.min, bounds.max, params_of(out()).scale, params_of(out()).zero_point));
    }
    return {};
  }
  Expected<void> check_flags() const {
    std::uint32_t allowed = 0;
    if (node_.kind == NodeKind::kFullyConnected || node_.kind == NodeKind::kBatchMatmul) allowed = 1;  // transposed
    if (node_.kind == NodeKind::kGlobalAvgPool2d) allowed = 0x40;                                      // keep dims
    if (node_.kind == NodeKind::kResizeBilinear) allowed = 8;                                          // align corners
    if ((node_.flags & ~allowed) == 0) return {};
    return fail(ErrorKind::kUnsupported, fmt::format("flags {:#x}", node_.flags));
  }
  Expected<void> check_fields(std::initializer_list<std::uint32_t> positive,
                              std::initializer_list<std::uint32_t> any) const {
    for (const std::uint32_t field : positive) {
      if (field == 0 || field > kMaxField) return bad_input(fmt::format("a size, stride or dilation of {}", field));
    }
    for (const std::uint32_t field : any) {
      if (field > kMaxField) return bad_input(fmt::format("a padding of {}", field));
    }
    return {};
  }

  // Only floats have infinities.
  bool is_padding(float value) const { return std::isfinite(value) || (std::isinf(value) && is_float(in())); }
  // Floats, or quantized values with parameters of their own.
  Expected<void> same_type() const {
    if ((is_float(in()) || is_8_bit(in())) && in().datatype == out().datatype) return {};
    return refuse_types();
  }
  // Quantized values are copied, so both sides must mean the same by them.
  Expected<void> moves_quantized() const {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!(is_float(in(i)) || is_8_bit(in(i))) || in(i).datatype != out().datatype) return refuse_types();
      if (is_float(in(i)) || params_of(in(i)) == params_of(out())) continue;
      return bad_input(
          fmt::format("it moves quantized values and cannot rescale them: input {} (value {}) has scale {} and zero "
                      "point {}, the output "
                      "(value {}) scale {} and zero point {}",
                      i, node_.inputs[i], params_of(in(i)).scale, params_of(in(i)).zero_point, node_.outputs[0],
                      params_of(out()).scale, params_of(out()).zero_point));
    }
    return {};
  }
  Expected<void> check_ratio(std::string_view what, double ratio, double min, double max, bool below_max) const {
    if (ratio >= min && (below_max ? ratio < max : ratio <= max)) return {};
    return bad_input(fmt::format("{} is {:.6g}; it must be from {:.6g} to {:.6g}", what, ratio, min, max));
  }

  Expected<void> unary() const {
    switch (node_.kind) {
      case NodeKind::kSoftmax:
        return is_float(in()) && is_float(out()) ? Expected<void>() : refuse_types();
      case NodeKind::kCopy:
        return moves_quantized();
      case NodeKind::kConvert:
        return convert();
      case NodeKind::kClamp: {
        TRY(same_type());
        // Fused into the pool by the library, which then forgets that the parameters differ.
        const xnn::Node* producer = facts_[node_.inputs[0]].producer;
        if (is_8_bit(in()) && producer != nullptr && producer->kind == NodeKind::kMaxPool2d &&
            params_of(in()) != params_of(out())) {
          return bad_input(fmt::format("it rescales the result of max pooling: scale {} and zero point {} to {} and {}",
                                       params_of(in()).scale, params_of(in()).zero_point, params_of(out()).scale,
                                       params_of(out()).zero_point));
        }
        return {};
      }
      default:
        return same_type();
    }
  }
  Expected<void> convert() const {
    if (is_float(in()) && (is_8_bit(out()) || out().datatype == DataType::kQDI8)) return {};
    if (is_8_bit(in()) && is_float(out())) return {};
    if (!is_8_bit(in()) || !is_8_bit(out())) return refuse_types();
    return check_ratio("input scale / output scale", params_of(in()).scale / params_of(out()).scale, 0x1p-8, 0x1p7,
                       false);
  }
  Expected<void> leaky_relu() const {
    TRY(same_type());
    const float slope = std::get<xnn::SlopeFields>(node_.fields).slope;
    if (!std::isfinite(slope)) return bad_input("slope is NaN or infinite");
    if (is_float(in())) return {};
    const float ratio = params_of(in()).scale / params_of(out()).scale;
    TRY(check_ratio("input scale / output scale", ratio, 0x1p-8, 0x1p7, false));
    return check_ratio("|slope| x input scale / output scale", std::abs(slope * ratio), 0x1p-8, 127, false);
  }

  Expected<void> binary() const {
    if (is_float(in(0)) && is_float(in(1)) && is_float(out())) return {};
    const bool is_integer = is_8_bit(out()) && in(0).datatype == out().datatype && in(1).datatype == out().datatype;
    if (!is_integer || node_.kind == NodeKind::kBatchMatmul) return refuse_types();
    const float a = params_of(in(0)).scale;
    const float b = params_of(in(1)).scale;
    const float result = params_of(out()).scale;
    if (node_.kind == NodeKind::kAdd || node_.kind == NodeKind::kSubtract) {
      TRY(check_ratio("scale of input 0 / output scale", a / result, 0x1p-10, 0x1p8, true));
      return check_ratio("scale of input 1 / output scale", b / result, 0x1p-10, 0x1p8, true);
    }
    if (node_.kind == NodeKind::kMultiply) {
      return check_ratio("product of input scales / output scale", a * b / result, 0x1p-16, 0x1p8, true);
    }
    return {};
  }

  Expected<void> pool() const {
    const auto& f = std::get<xnn::PoolFields>(node_.fields);
    TRY(check_fields(
        {f.pooling_height, f.pooling_width, f.stride_height, f.stride_width, f.dilation_height, f.dilation_width},
        {f.padding_top, f.padding_right, f.padding_bottom, f.padding_left}));
    if (std::uint64_t{f.pooling_height} * f.pooling_width == 1) return bad_input("its window has one element");
    if (std::uint64_t{f.pooling_height} * f.pooling_width > kMaxField) return bad_input("its window is too large");
    // A window that lies in the padding alone has no element to choose.
    if (std::max(f.padding_top, f.padding_bottom) >= (f.pooling_height - 1) * std::uint64_t{f.dilation_height} + 1 ||
        std::max(f.padding_left, f.padding_right) >= (f.pooling_width - 1) * std::uint64_t{f.dilation_width} + 1) {
      return bad_input("its padding is as large as its window");
    }
    if (node_.kind == NodeKind::kMaxPool2d) return moves_quantized();
    if (!is_float(in()) || !is_float(out())) return refuse_types();
    if (node_.kind == NodeKind::kArgMaxPool2d && out(1).datatype != DataType::kI32) return refuse_types();
    if (node_.kind == NodeKind::kAvgPool2d && (f.dilation_height != 1 || f.dilation_width != 1)) {
      return fail(ErrorKind::kUnsupported, "average pooling with dilation is not supported");
    }
    return {};
  }

  // Convolutions and fully connected: their constants, and the scales' product.
  Expected<void> product() const {
    const xnn::Value& filter = in(1);
    const xnn::Value* bias = node_.inputs[2] == xnn::kNone ? nullptr : &in(2);
    if (filter.data == 0 || (bias != nullptr && bias->data == 0)) {
      return fail(ErrorKind::kUnsupported, "its filter or bias is not a constant");
    }
    std::uint64_t channels = 0;
    std::uint32_t axis = 0;
    if (node_.kind == NodeKind::kFullyConnected) {
      if (filter.dims.size() != 2) return bad_input("its filter does not have two dimensions");
      channels = filter.dims[node_.flags & 1u];
      axis = node_.flags & 1u;
    } else {
      TRY(conv_fields(filter));
      const auto& f = std::get<xnn::ConvFields>(node_.fields);
      channels = std::uint64_t{f.groups} * f.group_output_channels;
      axis = node_.kind == NodeKind::kDepthwiseConv2d ? 3 : 0;
    }
    if (bias != nullptr && (bias->dims.size() != 1 || bias->dims[0] != channels)) {
      return bad_input(fmt::format("its bias is [{}] for {} channels", fmt::join(bias->dims, ","), channels));
    }
    const auto bias_is = [&](DataType datatype) { return bias == nullptr || bias->datatype == datatype; };
    if (is_float(in()) && is_float(filter) && is_float(out()) && bias_is(DataType::kF32)) return {};
    const auto* per_channel = std::get_if<xnn::PerChannel>(&filter.quant);
    if (per_channel != nullptr && per_channel->axis != axis) {
      return bad_input(fmt::format("its filter has scales along axis {}, not {}", per_channel->axis, axis));
    }
    if (in().datatype == DataType::kQDI8 && filter.datatype == DataType::kQCI8 && is_float(out()) &&
        bias_is(DataType::kF32) && node_.kind != NodeKind::kDepthwiseConv2d &&
        node_.kind != NodeKind::kConvTranspose2d) {
      const std::uint32_t inner = node_.kind == NodeKind::kFullyConnected ? 1 : 3;
      if (std::get<xnn::PerToken>(in().quant).inner_dims != inner) return bad_input("its tokens have the wrong rank");
      return {};
    }
    const bool is_signed = in().datatype == DataType::kQI8 && out().datatype == DataType::kQI8;
    const bool is_unsigned = in().datatype == DataType::kQU8 && out().datatype == DataType::kQU8;
    const bool fits = (is_signed && filter.datatype == DataType::kQI8 && bias_is(DataType::kQI32)) ||
                      (is_signed && filter.datatype == DataType::kQCI8 && bias_is(DataType::kQCI32)) ||
                      (is_unsigned && filter.datatype == DataType::kQU8 && bias_is(DataType::kQI32));
    if (!fits) return refuse_types();
    if (filter.datatype == DataType::kQI8 && params_of(filter).zero_point != 0) {
      return bad_input(fmt::format("its filter has zero point {}, not 0", params_of(filter).zero_point));
    }
    const std::vector<float> single{filter.datatype == DataType::kQCI8 ? 0.0f : params_of(filter).scale};
    const double min = is_unsigned ? 0x1p-32 : 0;
    for (const float scale : filter.datatype == DataType::kQCI8 ? facts_[node_.inputs[1]].scales : single) {
      TRY(check_ratio("input scale x filter scale / output scale",
                      params_of(in()).scale * scale / params_of(out()).scale, min, 256, true));
    }
    return {};
  }
  Expected<void> conv_fields(const xnn::Value& filter) const {
    const auto& f = std::get<xnn::ConvFields>(node_.fields);
    TRY(check_fields(
        {f.kernel_height, f.kernel_width, f.stride_height, f.stride_width, f.dilation_height, f.dilation_width,
         f.groups, f.group_input_channels, f.group_output_channels},
        {f.padding_top, f.padding_right, f.padding_bottom, f.padding_left, f.adjustment_height, f.adjustment_width}));
    const std::uint64_t outputs = std::uint64_t{f.groups} * f.group_output_channels;
    std::vector<std::uint64_t> expected{outputs, f.kernel_height, f.kernel_width, f.group_input_channels};
    if (node_.kind == NodeKind::kDepthwiseConv2d) {
      if (f.group_input_channels != 1) return bad_input("a depthwise convolution needs one input channel per group");
      expected = {1, f.kernel_height, f.kernel_width, outputs};
    }
    if (!std::ranges::equal(filter.dims, expected)) {
      return bad_input(
          fmt::format("its filter is [{}], expected [{}]", fmt::join(filter.dims, ","), fmt::join(expected, ",")));
    }
    if (node_.kind == NodeKind::kConvTranspose2d &&
        (f.adjustment_height >= f.stride_height || f.adjustment_width >= f.stride_width)) {
      return bad_input("its adjustment is not smaller than its stride");
    }
    return {};
  }

  const xnn::Graph& graph_;
  const xnn::Node& node_;
  const std::vector<ValueFacts>& facts_;
};

Expected<void> check_zero_point(const xnn::Value& value, std::int32_t min, std::int32_t max) {
  const auto* params = std::get_if<PerTensor>(&value.quant);
  if (params == nullptr)
    return bad_input(fmt::format("{} without a scale and a zero point", xnn::name_of(value.datatype)));
  if (!is_usable(params->scale)) return bad_input(fmt::format("a scale of {}", params->scale));
  if (params->zero_point < min || params->zero_point > max) {
    return bad_input(fmt::format("a zero point of {} in {}", params->zero_point, xnn::name_of(value.datatype)));
  }
  return {};
}

}  // namespace

long nearest_quantized(float number, const PerTensor& params, float lowest) {
  const float q = number / params.scale + static_cast<float>(params.zero_point);
  return std::lrint(std::min(std::max(q, lowest), lowest + 255.0f));
}

Expected<void> check_value(const xnn::Value& value, const std::vector<float>& scales) {
  const bool is_constant = value.data != 0;
  const auto constant_only = [&]() -> Expected<void> {
    if (is_constant) return {};
    return bad_input(fmt::format("{} that is not a constant", xnn::name_of(value.datatype)));
  };
  switch (value.datatype) {
    case DataType::kF32:
    case DataType::kI32:
      if (!std::holds_alternative<std::monostate>(value.quant)) return bad_input("numbers with a scale");
      if (value.datatype == DataType::kI32 && is_constant) return bad_input("constant integers");
      return {};
    case DataType::kQI8:
      return check_zero_point(value, -128, 127);
    case DataType::kQU8:
      return check_zero_point(value, 0, 255);
    case DataType::kQI32:
      TRY(constant_only());
      return check_zero_point(value, 0, 0);
    case DataType::kQCI8:
    case DataType::kQCI32:
      TRY(constant_only());
      if (!std::holds_alternative<xnn::PerChannel>(value.quant)) return bad_input("per-channel values without scales");
      if (!std::ranges::all_of(scales, is_usable)) return bad_input("scale is not a positive finite number");
      return {};
    case DataType::kQDI8: {
      const auto* quant = std::get_if<xnn::PerToken>(&value.quant);
      if (quant == nullptr || is_constant || value.role != xnn::Role::kInternal || quant->inner_dims == 0 ||
          quant->inner_dims >= value.dims.size()) {
        return bad_input("a dynamically quantized value must be internal and have rows");
      }
      return {};
    }
    case DataType::kF16:
    case DataType::kQCI4:
    case DataType::kQBI4:
    case DataType::kQPI8:
    case DataType::kPF32:
    case DataType::kBF16:
      break;
  }
  return fail(ErrorKind::kUnsupported, fmt::format("Isthmus cannot run {} values", xnn::name_of(value.datatype)));
}

Expected<void> check_node(const xnn::Graph& graph, const xnn::Node& node, const std::vector<ValueFacts>& facts) {
  return NodeCheck(graph, node, facts).run();
}

}  // namespace isthmus::xnnpack
