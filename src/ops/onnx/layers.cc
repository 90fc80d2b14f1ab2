// Convolutions and products of ONNX.
#include "ops/onnx/layers.h"

#include <fmt/format.h>

#include "ops/demands.h"
#include "ops/families/product.h"
#include "ops/known.h"
#include "ops/onnx/families.h"

namespace isthmus::onnx_ops {

Expected<Ints> per_axis(Call& call, std::string_view name, std::size_t spatial, std::int64_t otherwise) {
  Ints list = TRY(call.integers(name, Ints(spatial, otherwise)));
  if (list.size() == spatial) return list;
  return bad_input(fmt::format("{}: {} has {} values, expected {}", call.target(), name, list.size(), spatial));
}

// ONNX lists what comes before every axis, then what comes after.
Ints paired(const Ints& pads) {
  const std::size_t spatial = pads.size() / 2;
  Ints result;
  for (std::size_t i = 0; i < spatial; ++i) result.insert(result.end(), {pads[i], pads[i + spatial]});
  return result;
}

Expected<Ints> window_pads(Call& call, const Shape& input, const Ints& kernel, const Ints& stride,
                           const Ints& dilation) {
  const std::size_t spatial = kernel.size();
  const std::string mode = TRY(call.text("auto_pad", "NOTSET"));
  if (mode == "NOTSET") {
    const Ints pads = TRY(call.integers("pads", Ints(2 * spatial, 0)));
    if (pads.size() == 2 * spatial) return paired(pads);
    return bad_input(fmt::format("{}: {} pads, expected {}", call.target(), pads.size(), 2 * spatial));
  }
  if (mode == "VALID") return Ints(2 * spatial, 0);
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") return bad_input(fmt::format("auto_pad '{}'", mode));
  TRY(demand_list(kernel, spatial, 1, "kernel"));
  TRY(demand_list(stride, spatial, 1, "strides"));
  TRY(demand_list(dilation, spatial, 1, "dilations"));
  Ints result;
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dim size = input[i + 2];
    const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    if (!size.is_fixed() && stride[i] != 1) return Call::unsupported("auto_pad needs a static size");
    std::int64_t total = reach - 1;
    if (size.is_fixed()) {
      const std::int64_t count = (size.value() + stride[i] - 1) / stride[i];
      total = std::max<std::int64_t>((count - 1) * stride[i] + reach - size.value(), 0);
    }
    const std::int64_t less = total / 2;
    result.insert(result.end(),
                  {mode == "SAME_UPPER" ? less : total - less, mode == "SAME_UPPER" ? total - less : less});
  }
  return result;
}

Expected<ValueId> emit_window(Call& call, Window2d window) {
  const bool is_1d = window.stride.size() == 1;
  if (is_1d) {
    for (ValueId* value : {&window.input, &window.weight}) {
      Shape shape = call.shape(*value);
      if (shape.size() != 3) return bad_input(fmt::format("{}: rank {}, expected 3", call.target(), shape.size()));
      shape.insert(shape.begin() + 2, Dim(1));
      *value = TRY(call.reshape(*value, std::move(shape)));
    }
    window.stride.insert(window.stride.begin(), 1);
    window.dilation.insert(window.dilation.begin(), 1);
    window.padding.insert(window.padding.begin(), 2, 0);
  }
  Values inputs{window.input, window.weight};
  if (window.bias) inputs.push_back(*window.bias);
  const bool is_3d = window.stride.size() == 3;
  ValueId result;
  if (window.is_transposed) {
    const ConvTransposeAttrs attrs{window.stride, window.padding, window.dilation, window.groups};
    result = TRY(call.emit(is_3d ? Op::kConvTranspose3d : Op::kConvTranspose2d, attrs, std::move(inputs)));
  } else {
    const ConvAttrs attrs{window.stride, window.padding, window.dilation, window.groups};
    result = TRY(call.emit(is_3d ? Op::kConv3d : Op::kConv2d, attrs, std::move(inputs)));
  }
  if (!is_1d) return result;
  Shape shape = call.shape(result);
  shape.erase(shape.begin() + 2);
  return call.reshape(result, std::move(shape));
}

Expected<Window2d> window_of(Call& call, ValueId input, ValueId weight, std::optional<ValueId> bias) {
  const Shape shape = call.shape(weight);
  if (shape.size() < 3 || shape.size() > 5 || call.rank(input) != call.rank(weight)) {
    return bad_input(
        fmt::format("{}: the input has rank {} and the weight rank {}", call.target(), call.rank(input), shape.size()));
  }
  const std::size_t spatial = shape.size() - 2;
  const auto kernel = fixed_sizes(Shape(shape.begin() + 2, shape.end()));
  if (!kernel) return Call::unsupported("the weight of a convolution needs a static shape");
  Window2d window{.input = input, .weight = weight, .bias = bias};
  window.stride = TRY(per_axis(call, "strides", spatial, 1));
  window.dilation = TRY(per_axis(call, "dilations", spatial, 1));
  window.groups = TRY(call.integer("group", 1));
  window.kernel = *kernel;
  return window;
}

Expected<ValueId> conv(Call& call, ValueId input, ValueId weight, std::optional<ValueId> bias) {
  Window2d window = TRY(window_of(call, input, weight, bias));
  window.padding = TRY(window_pads(call, call.shape(input), window.kernel, window.stride, window.dilation));
  return emit_window(call, std::move(window));
}

namespace {

Expected<Values> read_conv(Call& call) {
  return one(conv(call, TRY(call.tensor("X")), TRY(call.tensor("W")), call.tensor_if("B")));
}

// What is cut from the full result, where the file gives the size of the result instead.
Expected<Ints> transposed_pads(Call& call, const Window2d& window, const Ints& added) {
  const std::size_t spatial = window.kernel.size();
  const Shape input = call.shape(window.input);
  const std::string mode = TRY(call.text("auto_pad", "NOTSET"));
  const bool is_same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!call.has("output_shape") && !is_same) {
    Ints pads = mode == "VALID" ? Ints(2 * spatial, 0) : paired(TRY(call.integers("pads", Ints(2 * spatial, 0))));
    if (pads.size() != 2 * spatial) return bad_input(fmt::format("{}: {} pads", call.target(), pads.size()));
    for (std::size_t i = 0; i < spatial; ++i) pads[2 * i + 1] -= added[i];
    return pads;
  }
  Ints wanted;
  if (call.has("output_shape")) wanted = TRY(call.integers("output_shape"));
  Ints pads;
  for (std::size_t i = 0; i < spatial; ++i) {
    if (!input[i + 2].is_fixed()) return Call::unsupported("output_shape needs a static input size");
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
    const std::int64_t full = (input[i + 2].value() - 1) * window.stride[i] + added[i] + reach;
    std::int64_t size = input[i + 2].value() * window.stride[i];
    if (!wanted.empty()) {
      if (wanted.size() < spatial) return bad_input(call.target() + ": output_shape has the wrong length");
      size = wanted[wanted.size() - spatial + i];
    }
    const std::int64_t total = full - size;
    // A result that is larger than the full one grows at its end.
    const std::int64_t before = total < 0 ? 0 : mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads.insert(pads.end(), {before, total - before - added[i]});
  }
  return pads;
}

Expected<Values> read_conv_transpose(Call& call) {
  Window2d window = TRY(window_of(call, TRY(call.tensor("X")), TRY(call.tensor("W")), call.tensor_if("B")));
  window.is_transposed = true;
  const Ints added = TRY(per_axis(call, "output_padding", window.kernel.size(), 0));
  TRY(demand_list(window.stride, window.kernel.size(), 1, "strides"));
  TRY(demand_list(window.dilation, window.kernel.size(), 1, "dilations"));
  TRY(demand_list(added, window.kernel.size(), 0, "output_padding"));
  window.padding = TRY(transposed_pads(call, window, added));
  return one(emit_window(call, std::move(window)));
}

Expected<Values> read_gemm(Call& call) {
  const ValueId a = TRY(call.tensor("A"));
  const ValueId b = TRY(call.tensor("B"));
  return one(gemm(call, a, b, call.tensor_if("C")));
}

Expected<Values> read_matmul(Call& call) { return one(matmul(call, TRY(call.tensor("A")), TRY(call.tensor("B")))); }

Expected<Values> read_einsum(Call& call) {
  return TorchCall(call, "aten.einsum")
      .text("equation", TRY(call.text("equation")))
      .tensors("tensors", TRY(call.tensors("inputs")))
      .read();
}

}  // namespace

// alpha * A * B + beta * C. A weight [O, I] that is transposed, with a bias [O], is a layer.
Expected<ValueId> gemm(Call& call, ValueId a, ValueId b, std::optional<ValueId> c) {
  const double alpha = TRY(call.number("alpha", 1));
  const double beta = TRY(call.number("beta", 1));
  if (call.rank(a) != 2 || call.rank(b) != 2) return bad_input(call.target() + ": an operand is not a matrix");
  const DType dtype = call.type(a).dtype;
  if (TRY(call.flag("transA", false))) a = TRY(call.permute(a, {1, 0}));
  const bool b_is_transposed = TRY(call.flag("transB", false));
  const auto scaled = [&](ValueId value, double factor) -> Expected<ValueId> {
    if (factor == 1) return value;
    return call.binary(Op::kMul, value, call.scalar(factor, dtype));
  };
  if (c && beta == 0) c.reset();
  const Dim outputs = call.size(b, b_is_transposed ? 0 : 1);
  const bool has_layer_bias = !c || (call.shape(*c) == Shape{outputs}) || (call.shape(*c) == Shape{1, outputs});
  const bool is_layer = call.graph().constant(b) != nullptr && has_layer_bias && is_floating(dtype) && alpha == 1;
  if (is_layer) {
    Values inputs{a, b_is_transposed ? b : TRY(call.permute(b, {1, 0}))};
    if (c) inputs.push_back(TRY(call.reshape(TRY(scaled(*c, beta)), {outputs})));
    return call.emit(Op::kLinear, NoAttrs{}, std::move(inputs));
  }
  if (b_is_transposed) b = TRY(call.permute(b, {1, 0}));
  const ValueId product = TRY(scaled(TRY(call.binary(Op::kMatmul, a, b)), alpha));
  if (!c) return product;
  return call.binary(Op::kAdd, product, TRY(scaled(*c, beta)));
}

Family layer_family() {
  static constexpr Row kRows[] = {
      row("onnx.Conv", "X W B", read_conv),         row("onnx.ConvTranspose", "X W B", read_conv_transpose),
      row("onnx.Gemm", "A B C", read_gemm),         row("onnx.MatMul", "A B", read_matmul),
      row("onnx.Einsum", "inputs...", read_einsum),
  };
  return family_of("onnx layers", kRows);
}

}  // namespace isthmus::onnx_ops
