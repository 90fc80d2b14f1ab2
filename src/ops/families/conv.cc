// Convolutions over 1 to 3 axes, forward and transposed.
#include <fmt/format.h>

#include <algorithm>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Expected<void> demand_conv_inputs(const InferContext& context, std::size_t spatial, std::int64_t groups) {
  const TensorType& input = context.inputs[0];
  const TensorType& weight = context.inputs[1];
  TRY(demand_summable(input));
  TRY(demand_same_dtype(input, weight));
  TRY(demand_rank(input, spatial + 2));
  TRY(demand_rank(weight, spatial + 2));
  if (groups < 1) return bad_input(fmt::format("{} groups", groups));
  for (std::size_t i = 0; i < weight.rank(); ++i) {
    if (weight.shape[i].is_fixed() && weight.shape[i].value() >= (i < 2 ? 0 : 1)) continue;
    return fail(ErrorKind::kUnsupported, "the weight of a convolution needs a static shape");
  }
  if (!weight.shape[0].is_fixed() || weight.shape[0].value() % groups != 0) {
    return bad_input(fmt::format("{} filters in {} groups", weight.shape[0].value(), groups));
  }
  return {};
}

Expected<void> demand_bias(const InferContext& context, Dim channels) {
  if (context.inputs.size() < 3) return {};
  TRY(demand_rank(context.inputs[2], 1));
  TRY(demand_same_dtype(context.inputs[2], context.inputs[0]));
  return demand_equal(context.exprs, context.inputs[2].shape[0], channels, "size of the bias");
}

Expected<TensorType> infer_conv(const InferContext& context, std::size_t spatial) {
  const auto& attrs = context.as<ConvAttrs>();
  TRY(demand_conv_inputs(context, spatial, attrs.groups));
  TRY(demand_list(attrs.stride, spatial, 1, "stride"));
  TRY(demand_list(attrs.dilation, spatial, 1, "dilation"));
  TRY(demand_list(attrs.padding, 2 * spatial, 0, "padding"));
  const Shape& input = context.inputs[0].shape;
  const Shape& weight = context.inputs[1].shape;
  const Dim channels = context.exprs.multiply(weight[1], attrs.groups);
  TRY(demand_equal(context.exprs, input[1], channels, "number of input channels"));
  TRY(demand_bias(context, weight[0]));
  TensorType result{context.inputs[0].dtype, {input[0], weight[0]}};
  for (std::size_t i = 0; i < spatial; ++i) {
    TRY(demand_list({weight[i + 2].value()}, 1, 1, "kernel"));
    const Window window{weight[i + 2].value(), attrs.stride[i], attrs.padding[2 * i], attrs.padding[2 * i + 1],
                        attrs.dilation[i]};
    const Dim size = window_count(context.exprs, input[i + 2], window);
    if (size.is_fixed() && size.value() < 1) {
      return bad_input(fmt::format("a kernel of size {} does not fit into an input of size {}", window.kernel,
                                   context.exprs.text(input[i + 2])));
    }
    result.shape.push_back(size);
  }
  return result;
}

Expected<TensorType> infer_conv2d(const InferContext& context) { return infer_conv(context, 2); }
Expected<TensorType> infer_conv3d(const InferContext& context) { return infer_conv(context, 3); }

Expected<TensorType> infer_conv_transpose(const InferContext& context, std::size_t spatial) {
  const auto& attrs = context.as<ConvTransposeAttrs>();
  TRY(demand_conv_inputs(context, spatial, attrs.groups));
  TRY(demand_list(attrs.stride, spatial, 1, "stride"));
  TRY(demand_list(attrs.dilation, spatial, 1, "dilation"));
  // Less than nothing is cut where output_padding adds more than padding takes.
  TRY(demand_list(attrs.padding, 2 * spatial, -(std::int64_t{1} << 30), "padding"));
  const Shape& input = context.inputs[0].shape;
  const Shape& weight = context.inputs[1].shape;
  TRY(demand_equal(context.exprs, input[1], weight[0], "number of input channels"));
  const Dim channels = context.exprs.multiply(weight[1], attrs.groups);
  TRY(demand_bias(context, channels));
  TensorType result{context.inputs[0].dtype, {input[0], channels}};
  Exprs& exprs = context.exprs;
  for (std::size_t i = 0; i < spatial; ++i) {
    TRY(demand_list({weight[i + 2].value()}, 1, 1, "kernel"));
    const std::int64_t reach = attrs.dilation[i] * (weight[i + 2].value() - 1) + 1;
    const Dim full = exprs.add(exprs.multiply(exprs.add(input[i + 2], -1), attrs.stride[i]), reach);
    const Dim size = exprs.add(full, -attrs.padding[2 * i] - attrs.padding[2 * i + 1]);
    if (size.is_fixed() && size.value() < 1) {
      return bad_input(fmt::format("the output would be empty for size {}", exprs.text(input[i + 2])));
    }
    result.shape.push_back(size);
  }
  return result;
}

Expected<TensorType> infer_conv_transpose2d(const InferContext& context) { return infer_conv_transpose(context, 2); }
Expected<TensorType> infer_conv_transpose3d(const InferContext& context) { return infer_conv_transpose(context, 3); }

// What all spellings of a convolution come down to before it is written with the ops that there are.
struct Conv {
  ValueId input;
  ValueId weight;
  std::optional<ValueId> bias;
  std::size_t spatial = 2;
  Ints stride = {};
  Ints padding = {};  // before and after of each axis
  Ints dilation = {};
  std::int64_t groups = 1;
  bool is_transposed = false;
};

Expected<Ints> per_axis(Call& call, std::string_view name, std::size_t spatial, std::int64_t otherwise) {
  Ints list = TRY(call.integers(name, Ints{otherwise}));
  if (list.size() == 1) list.resize(spatial, list[0]);
  if (list.size() != spatial) {
    return bad_input(fmt::format("{}: {} has {} values, expected {}", call.target(), name, list.size(), spatial));
  }
  return list;
}

// A shape with axes of size 1 put in at a place.
Shape with_ones(const Shape& shape, std::size_t place, std::size_t count) {
  Shape result = shape;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(place), count, Dim(1));
  return result;
}

// Convolution of one axis is convolution of two of which the first has size 1.
Expected<ValueId> emit_conv(Call& call, Conv conv) {
  TRY(demand_list(conv.stride, conv.spatial, 1, "stride"));
  TRY(demand_list(conv.dilation, conv.spatial, 1, "dilation"));
  const bool is_unbatched = call.shape(conv.input).size() == conv.spatial + 1;
  if (is_unbatched) conv.input = TRY(call.reshape(conv.input, with_ones(call.shape(conv.input), 0, 1)));
  const bool is_1d = conv.spatial == 1;
  if (is_1d) {
    if (call.rank(conv.input) != 3 || call.rank(conv.weight) != 3) {
      return bad_input(fmt::format("{}: the input has rank {} and the weight rank {}, expected 3", call.target(),
                                   call.rank(conv.input), call.rank(conv.weight)));
    }
    conv.input = TRY(call.reshape(conv.input, with_ones(call.shape(conv.input), 2, 1)));
    conv.weight = TRY(call.reshape(conv.weight, with_ones(call.shape(conv.weight), 2, 1)));
    conv.stride.insert(conv.stride.begin(), 1);
    conv.dilation.insert(conv.dilation.begin(), 1);
    conv.padding.insert(conv.padding.begin(), 2, 0);
  }
  Values inputs{conv.input, conv.weight};
  if (conv.bias) inputs.push_back(*conv.bias);
  const bool is_3d = conv.spatial == 3;
  ValueId result;
  if (conv.is_transposed) {
    ConvTransposeAttrs attrs{conv.stride, conv.padding, conv.dilation, conv.groups};
    const Op op = is_3d ? Op::kConvTranspose3d : Op::kConvTranspose2d;
    result = TRY(call.emit(op, std::move(attrs), std::move(inputs)));
  } else {
    ConvAttrs attrs{conv.stride, conv.padding, conv.dilation, conv.groups};
    result = TRY(call.emit(is_3d ? Op::kConv3d : Op::kConv2d, std::move(attrs), std::move(inputs)));
  }
  Shape shape = call.shape(result);
  if (is_1d) shape.erase(shape.begin() + 2);
  if (is_unbatched) shape.erase(shape.begin());
  return call.reshape(result, std::move(shape));
}

Expected<Conv> read_common(Call& call, std::size_t spatial) {
  Conv conv{.input = TRY(call.tensor("input")), .weight = TRY(call.tensor("weight")), .bias = call.tensor_if("bias")};
  conv.spatial = spatial;
  conv.stride = TRY(per_axis(call, "stride", spatial, 1));
  conv.dilation = TRY(per_axis(call, "dilation", spatial, 1));
  conv.groups = TRY(call.integer("groups", 1));
  return conv;
}

Expected<Ints> same_padding(Call& call, const Conv& conv) {
  if (std::ranges::any_of(conv.stride, [](std::int64_t stride) { return stride != 1; })) {
    return bad_input(call.target() + ": padding='same' with a stride is not supported");
  }
  TRY(demand_list(conv.dilation, conv.spatial, 1, "dilation"));
  Ints padding;
  for (std::size_t i = 0; i < conv.spatial; ++i) {
    const Shape& weight = call.shape(conv.weight);
    if (weight.size() != conv.spatial + 2)
      return bad_input(call.target() + ": the weight and the input differ in rank");
    if (!weight[i + 2].is_fixed()) return Call::unsupported("the kernel needs a static size");
    TRY(demand_list({weight[i + 2].value()}, 1, 1, "kernel"));
    // An odd total puts the larger half after.
    const std::int64_t total = conv.dilation[i] * (weight[i + 2].value() - 1);
    padding.push_back(total / 2);
    padding.push_back(total - total / 2);
  }
  return padding;
}

Expected<Values> read_conv(Call& call, std::size_t spatial) {
  Conv conv = TRY(read_common(call, spatial));
  const ArgValue* padding = call.find("padding");
  if (padding != nullptr && std::holds_alternative<std::string>(padding->value)) {
    const std::string word = TRY(call.text("padding"));
    if (word == "same") {
      conv.padding = TRY(same_padding(call, conv));
    } else if (word == "valid") {
      conv.padding.assign(2 * spatial, 0);
    } else {
      return bad_input(fmt::format("{}: padding '{}', expected 'same' or 'valid'", call.target(), word));
    }
  } else {
    for (const std::int64_t pad : TRY(per_axis(call, "padding", spatial, 0))) {
      conv.padding.insert(conv.padding.end(), 2, pad);
    }
  }
  return one(emit_conv(call, std::move(conv)));
}

Expected<Values> read_transposed(Call& call, std::size_t spatial) {
  Conv conv = TRY(read_common(call, spatial));
  conv.is_transposed = true;
  const Ints padding = TRY(per_axis(call, "padding", spatial, 0));
  const Ints added = TRY(per_axis(call, "output_padding", spatial, 0));
  TRY(demand_list(padding, spatial, 0, "padding"));
  TRY(demand_list(added, spatial, 0, "output_padding"));
  for (std::size_t i = 0; i < spatial; ++i) {
    conv.padding.push_back(padding[i]);
    conv.padding.push_back(padding[i] - added[i]);
  }
  return one(emit_conv(call, std::move(conv)));
}

Expected<Values> read_conv1d(Call& call) { return read_conv(call, 1); }
Expected<Values> read_conv2d(Call& call) { return read_conv(call, 2); }
Expected<Values> read_conv3d(Call& call) { return read_conv(call, 3); }
Expected<Values> read_conv_transpose1d(Call& call) { return read_transposed(call, 1); }
Expected<Values> read_conv_transpose2d(Call& call) { return read_transposed(call, 2); }
Expected<Values> read_conv_transpose3d(Call& call) { return read_transposed(call, 3); }

// The one form of all convolutions that decompositions leave: the weight's rank says how many axes it is over.
Expected<Values> read_convolution(Call& call) {
  const std::int64_t rank = call.rank(TRY(call.tensor("weight")));
  if (rank < 3 || rank > 5) return bad_input(fmt::format("{}: unsupported weight of rank {}", call.target(), rank));
  const auto spatial = static_cast<std::size_t>(rank - 2);
  return TRY(call.flag("transposed", false)) ? read_transposed(call, spatial) : read_conv(call, spatial);
}

}  // namespace

Family conv_family() {
  static const std::vector<Role> kRoles = {Role::kData, Role::kWeight, Role::kBias};
  constexpr WeightAxes kOutputsFirst{.outputs = 0, .inputs = 1};
  constexpr WeightAxes kInputsFirst{.outputs = 1, .inputs = 0};
  static const OpDef kOps[] = {
      {.op = Op::kConv2d,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .required = 2,
       .infer = infer_conv2d,
       .spellings = {{"aten.conv2d", read_conv2d}, {"aten.conv1d", read_conv1d}},
       .channels = ChannelAxis::kSecond,
       .weight_axes = kOutputsFirst},
      {.op = Op::kConv3d,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .required = 2,
       .infer = infer_conv3d,
       .spellings = {{"aten.conv3d", read_conv3d}},
       .channels = ChannelAxis::kSecond,
       .weight_axes = kOutputsFirst},
      {.op = Op::kConvTranspose2d,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .required = 2,
       .infer = infer_conv_transpose2d,
       .spellings = {{"aten.conv_transpose2d", read_conv_transpose2d},
                     {"aten.conv_transpose1d", read_conv_transpose1d}},
       .channels = ChannelAxis::kSecond,
       .weight_axes = kInputsFirst},
      {.op = Op::kConvTranspose3d,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .required = 2,
       .infer = infer_conv_transpose3d,
       .spellings = {{"aten.conv_transpose3d", read_conv_transpose3d}},
       .channels = ChannelAxis::kSecond,
       .weight_axes = kInputsFirst},
  };
  static const Spelling kCompounds[] = {
      {"aten.convolution", read_convolution},
      {"aten._convolution", read_convolution},
      {"aten._convolution_mode", read_convolution},
      {"aten.mkldnn_convolution", read_convolution},
      {"aten._conv_depthwise2d", read_conv2d},
      {"aten.thnn_conv2d", read_conv2d},
      {"aten.slow_conv3d", read_conv3d},
      {"aten.slow_conv_dilated2d", read_conv2d},
      {"aten.slow_conv_dilated3d", read_conv3d},
  };
  return {"conv", kOps, kCompounds};
}

}  // namespace isthmus
