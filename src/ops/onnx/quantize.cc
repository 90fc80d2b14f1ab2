// Quantized operators of ONNX. Those that compute with integers are read as what they stand for: numbers are
// dequantized, computed with and quantized again, as models with QuantizeLinear and DequantizeLinear write it.
#include <fmt/format.h>

#include <algorithm>

#include "ops/elementwise.h"
#include "ops/families/product.h"
#include "ops/integer_range.h"
#include "ops/known.h"
#include "ops/onnx/families.h"
#include "ops/onnx/layers.h"

namespace isthmus::onnx_ops {
namespace {

// Scale and zero point of a tensor, or of each slice of an axis.
struct Parameters {
  ValueId scale;
  ValueId zero_point;
  std::int64_t axis = -1;
};

Expected<Parameters> parameters(Call& call, ValueId data, ValueId scale, std::optional<ValueId> zero_point,
                                std::int64_t axis) {
  const Dim count = call.exprs().product(call.shape(scale));
  const bool is_by_axis = call.rank(scale) == 1 && !count.is(1);
  if (call.rank(scale) > 1) return Call::unsupported("blockwise scales are not supported");
  Parameters result{scale, scale, is_by_axis ? TRY(normal_axis(axis, call.rank(data))) : -1};
  result.scale = TRY(call.reshape(TRY(call.cast(scale, DType::kF64)), is_by_axis ? Shape{count} : Shape{}));
  if (!zero_point) {
    result.zero_point = TRY(filled(call, 0, DType::kI64, call.shape(result.scale)));
  } else {
    const ValueId wide = TRY(call.cast(*zero_point, DType::kI64));
    const bool is_one = call.exprs().product(call.shape(wide)).is(1);
    result.zero_point = is_by_axis && is_one ? TRY(call.expand(TRY(call.reshape(wide, {})), {count}))
                                             : TRY(call.reshape(wide, call.shape(result.scale)));
  }
  return result;
}

Expected<ValueId> dequantized(Call& call, ValueId data, ValueId scale, std::optional<ValueId> zero_point,
                              std::int64_t axis = 1) {
  const Parameters with = TRY(parameters(call, data, scale, zero_point, axis));
  const DType dtype = call.type(scale).dtype;
  return call.emit(Op::kDequantize, DequantizeAttrs{with.axis, dtype}, {data, with.scale, with.zero_point});
}

Expected<ValueId> quantized(Call& call, ValueId data, ValueId scale, std::optional<ValueId> zero_point, DType dtype,
                            std::int64_t axis = 1) {
  if (!is_integer(dtype)) return Call::unsupported(fmt::format("unsupported quantized type {}", name_of(dtype)));
  const IntegerRange all = integer_range(dtype);
  if (call.graph().constant(scale) == nullptr && call.exprs().product(call.shape(scale)).is(1)) {
    // A scale that is computed: no pin, so that it is written out as ONNX defines it.
    const DType wide = call.type(data).dtype;
    const ValueId steps = TRY(call.binary(Op::kDiv, data, TRY(call.cast(TRY(call.reshape(scale, {})), wide))));
    ValueId moved = TRY(call.unary(Op::kRound, steps));
    if (zero_point) {
      moved = TRY(call.binary(Op::kAdd, moved, TRY(call.cast(TRY(call.reshape(*zero_point, {})), wide))));
    }
    const ClampAttrs bounds{static_cast<double>(all.min), static_cast<double>(all.max)};
    return call.cast(TRY(call.emit(Op::kClamp, bounds, {moved})), dtype);
  }
  const Parameters with = TRY(parameters(call, data, scale, zero_point, axis));
  return call.emit(Op::kQuantize, QuantizeAttrs{with.axis, all.min, all.max, dtype},
                   {data, with.scale, with.zero_point});
}

Expected<Values> read_quantize(Call& call) {
  const auto zero_point = call.tensor_if("y_zero_point");
  DType into = zero_point ? call.type(*zero_point).dtype : DType::kU8;
  if (!zero_point && TRY(call.integer("output_dtype", 0)) != 0) into = TRY(dtype(call, "output_dtype"));
  if (TRY(call.integer("block_size", 0)) != 0) return Call::unsupported("blockwise scales are not supported");
  ValueId x = TRY(call.tensor("x"));
  const ValueId scale = TRY(call.tensor("y_scale"));
  if (!is_floating(call.type(x).dtype)) x = TRY(call.cast(x, call.type(scale).dtype));
  return one(quantized(call, x, scale, zero_point, into, TRY(call.integer("axis", 1))));
}

Expected<Values> read_dequantize(Call& call) {
  if (TRY(call.integer("block_size", 0)) != 0) return Call::unsupported("blockwise scales are not supported");
  return one(dequantized(call, TRY(call.tensor("x")), TRY(call.tensor("x_scale")), call.tensor_if("x_zero_point"),
                         TRY(call.integer("axis", 1))));
}

// An operand with its scale and zero point, under names that begin alike.
Expected<ValueId> operand(Call& call, const std::string& name, std::int64_t axis = 1) {
  return dequantized(call, TRY(call.tensor(name)), TRY(call.tensor(name + "_scale")),
                     call.tensor_if(name + "_zero_point"), axis);
}
Expected<Values> result(Call& call, ValueId numbers, DType otherwise, const std::string& name = "y") {
  const auto zero_point = call.tensor_if(name + "_zero_point");
  const DType into = zero_point ? call.type(*zero_point).dtype : otherwise;
  return one(quantized(call, numbers, TRY(call.tensor(name + "_scale")), zero_point, into));
}

// A bias of int32 has the product of both scales.
Expected<std::optional<ValueId>> bias_of(Call& call, const std::string& name, const std::string& a,
                                         const std::string& b) {
  const auto bias = call.tensor_if(name);
  if (!bias) return std::optional<ValueId>();
  const ValueId a_scale = TRY(call.reshape(TRY(call.tensor(a + "_scale")), {}));
  const ValueId b_scale = TRY(call.tensor(b + "_scale"));
  const Dim count = call.exprs().product(call.shape(b_scale));
  ValueId scale = TRY(call.binary(Op::kMul, a_scale, TRY(call.reshape(b_scale, count.is(1) ? Shape{} : Shape{count}))));
  return std::optional(TRY(dequantized(call, *bias, scale, {}, 0)));
}

Expected<Values> read_qlinear_conv(Call& call) {
  const ValueId x = TRY(operand(call, "x"));
  const ValueId w = TRY(operand(call, "w", 0));
  const auto bias = TRY(bias_of(call, "B", "x", "w"));
  return result(call, TRY(conv(call, x, w, bias)), call.type(TRY(call.tensor("x"))).dtype);
}

// The scales of a matrix on the right are of its columns.
Expected<Values> read_qlinear_matmul(Call& call) {
  const ValueId a = TRY(operand(call, "a", -2));
  const ValueId b = TRY(operand(call, "b", -1));
  return result(call, TRY(matmul(call, a, b)), call.type(TRY(call.tensor("a"))).dtype);
}

Expected<Values> read_qgemm(Call& call) {
  const ValueId a = TRY(operand(call, "a"));
  const ValueId b = TRY(operand(call, "b", TRY(call.flag("transB", false)) ? 0 : 1));
  const auto bias = TRY(bias_of(call, "C", "a", "b"));
  const ValueId sum = TRY(gemm(call, a, b, bias));
  if (!call.has("y_scale")) return one(sum);
  return result(call, sum, call.type(TRY(call.tensor("a"))).dtype);
}

template <Op kOp>
Expected<Values> read_qlinear_binary(Call& call) {
  const ValueId a = TRY(operand(call, "a"));
  const ValueId numbers = TRY(call.binary(kOp, a, TRY(operand(call, "b"))));
  return result(call, numbers, call.type(TRY(call.tensor("a"))).dtype);
}

// The operator of floats with the same attributes, between the two conversions.
Expected<Values> read_between(Call& call, std::string target, std::string input) {
  const ValueId x = TRY(operand(call, "x"));
  const ValueId numbers = TRY(TorchCall(call, std::move(target)).tensor(std::move(input), x).attributes().read_one());
  return result(call, numbers, call.type(TRY(call.tensor("x"))).dtype);
}
Expected<Values> read_qlinear_sigmoid(Call& call) { return read_between(call, "onnx.Sigmoid.13", "X"); }
Expected<Values> read_qlinear_leaky_relu(Call& call) { return read_between(call, "onnx.LeakyRelu.13", "X"); }
Expected<Values> read_qlinear_softmax(Call& call) {
  const bool is_old = TRY(call.integer("opset", 13)) < 13;
  return read_between(call, is_old ? "onnx.Softmax.11" : "onnx.Softmax.13", "input");
}
Expected<Values> read_qlinear_reduce_mean(Call& call) { return read_between(call, "onnx.ReduceMean.13", "data"); }
Expected<Values> read_qlinear_pool(Call& call, std::string target) {
  if (TRY(call.flag("channels_last", false))) return Call::unsupported("channels_last images are not supported");
  return read_between(call, std::move(target), "X");
}
Expected<Values> read_qlinear_average_pool(Call& call) { return read_qlinear_pool(call, "onnx.AveragePool.13"); }
Expected<Values> read_qlinear_global_pool(Call& call) { return read_qlinear_pool(call, "onnx.GlobalAveragePool.13"); }

// Inputs in threes behind the parameters of the result.
Expected<Values> read_qlinear_concat(Call& call) {
  const Values inputs = TRY(call.tensors("inputs"));
  if (inputs.size() < 3 || inputs.size() % 3 != 0)
    return bad_input(call.target() + ": the inputs are not triples of value, scale and zero point");
  Values parts;
  for (std::size_t i = 0; i < inputs.size(); i += 3) {
    parts.push_back(TRY(dequantized(call, inputs[i], inputs[i + 1], inputs[i + 2])));
  }
  const std::int64_t axis = TRY(call.axis("axis", call.rank(parts[0])));
  const ValueId joined = parts.size() == 1 ? parts[0] : TRY(call.cat(std::move(parts), axis));
  return result(call, joined, call.type(inputs[0]).dtype);
}

// Integers without their zero point, as numbers to multiply.
Expected<ValueId> centred(Call& call, ValueId value, std::optional<ValueId> zero_point, std::int64_t axis) {
  const ValueId wide = TRY(call.cast(value, DType::kI32));
  if (!zero_point) return wide;
  ValueId offset = TRY(call.cast(*zero_point, DType::kI32));
  const Dim count = call.exprs().product(call.shape(offset));
  if (count.is(1)) {
    offset = TRY(call.reshape(offset, {}));
  } else if (call.rank(offset) == 1) {
    Shape shape(call.shape(value).size(), Dim(1));
    shape[static_cast<std::size_t>(TRY(normal_axis(axis, call.rank(value))))] = count;
    offset = TRY(call.reshape(offset, std::move(shape)));
  }
  return call.binary(Op::kSub, wide, offset);
}

Expected<Values> read_matmul_integer(Call& call) {
  const ValueId a = TRY(centred(call, TRY(call.tensor("A")), call.tensor_if("a_zero_point"), -2));
  const ValueId b = TRY(centred(call, TRY(call.tensor("B")), call.tensor_if("b_zero_point"), -1));
  return one(matmul(call, a, b));
}

// What ONNX Runtime's optimizer makes of dynamically quantized products: data with the scale that follows from them.
Expected<Values> read_matmul_integer_to_float(Call& call) {
  const ValueId a = TRY(operand(call, "a", -2));
  ValueId product = TRY(matmul(call, a, TRY(operand(call, "b", -1))));
  if (const auto bias = call.tensor_if("bias")) product = TRY(call.binary(Op::kAdd, product, *bias));
  return one(product);
}
Expected<Values> read_dynamic_quantize_matmul(Call& call) {
  const IntegerRange range = integer_range(DType::kU8);
  const DynamicAttrs as_it_runs{ScaleChoice::kTensor, range.min, range.max, 0, DType::kU8};
  const ValueId a = TRY(call.emit(Op::kDynamicQuantize, as_it_runs, {TRY(call.tensor("A"))}));
  ValueId product = TRY(matmul(call, a, TRY(operand(call, "b", -1))));
  if (const auto bias = call.tensor_if("bias")) product = TRY(call.binary(Op::kAdd, product, *bias));
  return one(product);
}

Expected<Values> read_conv_integer(Call& call) {
  const ValueId x = TRY(centred(call, TRY(call.tensor("x")), call.tensor_if("x_zero_point"), 1));
  const ValueId w = TRY(centred(call, TRY(call.tensor("w")), call.tensor_if("w_zero_point"), 0));
  return one(conv(call, x, w, {}));
}

// Scale and zero point follow from the numbers as the model runs; 0 is always among them.
Expected<Values> read_dynamic_quantize(Call& call) {
  const ValueId x = TRY(call.tensor("x"));
  if (call.type(x).dtype != DType::kF32) return Call::unsupported("dynamic quantization is supported only from f32");
  Ints axes(call.shape(x).size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  const ValueId zero = call.scalar(0.0, DType::kF32);
  const auto extreme = [&](Op reduction, Op with_zero) -> Expected<ValueId> {
    const ValueId value = axes.empty() ? x : TRY(call.emit(reduction, ReduceAttrs{axes, false}, {x}));
    return call.binary(with_zero, value, zero);
  };
  const ValueId min = TRY(extreme(Op::kAmin, Op::kMinimum));
  const ValueId max = TRY(extreme(Op::kAmax, Op::kMaximum));
  const ValueId range = TRY(call.binary(Op::kSub, max, min));
  const ValueId scale = TRY(call.binary(Op::kDiv, range, call.scalar(255.0, DType::kF32)));
  const ValueId start = TRY(call.binary(Op::kDiv, TRY(call.unary(Op::kNeg, min)), scale));
  const ValueId place = TRY(call.unary(Op::kRound, TRY(call.emit(Op::kClamp, ClampAttrs{0, 255}, {start}))));
  const ValueId zero_point = TRY(call.cast(place, DType::kU8));
  const ValueId steps = TRY(call.unary(Op::kRound, TRY(call.binary(Op::kDiv, x, scale))));
  const ValueId moved = TRY(call.binary(Op::kAdd, steps, place));
  const ValueId y = TRY(call.cast(TRY(call.emit(Op::kClamp, ClampAttrs{0, 255}, {moved})), DType::kU8));
  return Values{y, scale, zero_point};
}

}  // namespace

Family quantize_family() {
  static constexpr Row kRows[] = {
      row("onnx.QuantizeLinear", "x y_scale y_zero_point", read_quantize),
      row("onnx.DequantizeLinear", "x x_scale x_zero_point", read_dequantize),
      row("onnx.com.microsoft.QuantizeLinear", "x y_scale y_zero_point", read_quantize),
      row("onnx.com.microsoft.DequantizeLinear", "x x_scale x_zero_point", read_dequantize),
      row("onnx.DynamicQuantizeLinear", "x", read_dynamic_quantize),
      row("onnx.QLinearConv", "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B",
          read_qlinear_conv),
      row("onnx.QLinearMatMul", "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point",
          read_qlinear_matmul),
      row("onnx.MatMulInteger", "A B a_zero_point b_zero_point", read_matmul_integer),
      row("onnx.ConvInteger", "x w x_zero_point w_zero_point", read_conv_integer),
      row("onnx.com.microsoft.MatMulIntegerToFloat", "a b a_scale b_scale a_zero_point b_zero_point bias",
          read_matmul_integer_to_float),
      row("onnx.com.microsoft.DynamicQuantizeMatMul", "A b b_scale b_zero_point bias", read_dynamic_quantize_matmul),
      row("onnx.com.microsoft.QGemm", "a a_scale a_zero_point b b_scale b_zero_point C y_scale y_zero_point",
          read_qgemm),
      row("onnx.com.microsoft.QLinearAdd", "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point",
          read_qlinear_binary<Op::kAdd>),
      row("onnx.com.microsoft.QLinearMul", "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point",
          read_qlinear_binary<Op::kMul>),
      row("onnx.com.microsoft.QLinearSigmoid", "x x_scale x_zero_point y_scale y_zero_point", read_qlinear_sigmoid),
      row("onnx.com.microsoft.QLinearLeakyRelu", "x x_scale x_zero_point y_scale y_zero_point",
          read_qlinear_leaky_relu),
      row("onnx.com.microsoft.QLinearSoftmax", "x x_scale x_zero_point y_scale y_zero_point", read_qlinear_softmax),
      row("onnx.com.microsoft.QLinearReduceMean", "x x_scale x_zero_point y_scale y_zero_point",
          read_qlinear_reduce_mean),
      row("onnx.com.microsoft.QLinearAveragePool", "x x_scale x_zero_point y_scale y_zero_point",
          read_qlinear_average_pool),
      row("onnx.com.microsoft.QLinearGlobalAveragePool", "x x_scale x_zero_point y_scale y_zero_point",
          read_qlinear_global_pool),
      row("onnx.com.microsoft.QLinearConcat", "y_scale y_zero_point inputs...", read_qlinear_concat),
  };
  return family_of("onnx quantize", kRows);
}

}  // namespace isthmus::onnx_ops
