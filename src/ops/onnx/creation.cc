// Operators of ONNX that make tensors, and those that ask for sizes.
#include <fmt/format.h>

#include <cmath>

#include "base/portable_math.h"
#include "ops/elementwise.h"
#include "ops/known.h"
#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {
namespace {

Expected<Values> read_constant(Call& call) {
  if (call.has("value")) return one(call.tensor("value"));
  if (call.has("value_float")) return one(call.scalar(TRY(call.number("value_float")), DType::kF32));
  if (call.has("value_int")) return one(call.scalar(TRY(call.integer("value_int")), DType::kI64));
  if (call.has("value_ints")) return one(call.integers(TRY(call.integers("value_ints"))));
  if (call.has("value_floats")) {
    std::vector<float> values;
    for (const double value : TRY(call.numbers("value_floats"))) values.push_back(static_cast<float>(value));
    return one(call.constant(values, {std::ssize(values)}));
  }
  return Call::unsupported("the constant is neither a number nor a tensor");
}

Expected<Values> read_shape(Call& call) {
  const Shape shape = call.shape(TRY(call.tensor("data")));
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = place(TRY(call.integer("start", 0)));
  const std::int64_t end = std::max(start, place(TRY(call.integer("end", rank))));
  return one(tensor_of_sizes(call, Dims(shape.begin() + start, shape.begin() + end)));
}

Expected<Values> read_size(Call& call) {
  const Dim count = call.exprs().product(call.shape(TRY(call.tensor("data"))));
  return one(call.reshape(TRY(tensor_of_sizes(call, {count})), {}));
}

Expected<Values> read_constant_of_shape(Call& call) {
  Dims shape = TRY(sizes(call, "input"));
  for (const Dim dim : shape) {
    if (dim.is_fixed() && dim.value() < 0) return bad_input(fmt::format("size {} is out of range", dim.value()));
  }
  ValueId value = call.scalar(0.0, DType::kF32);
  if (const auto given = call.tensor_if("value")) value = TRY(call.reshape(*given, {}));
  return one(call.expand(value, std::move(shape)));
}

Expected<Values> read_range(Call& call) {
  const DType dtype = call.type(TRY(call.tensor("start"))).dtype;
  if (is_integer(dtype)) {
    const Dims start = TRY(sizes(call, "start"));
    const Dims limit = TRY(sizes(call, "limit"));
    if (start.size() != 1 || limit.size() != 1) return bad_input("the bounds of the range are not scalars");
    return TorchCall(call, "aten.arange.start_step")
        .integer("start", start[0])
        .integer("end", limit[0])
        .integer("step", TRY(integer(call, "delta")))
        .dtype("dtype", dtype)
        .read();
  }
  return TorchCall(call, "aten.arange.start_step")
      .number("start", TRY(number(call, "start")))
      .number("end", TRY(number(call, "limit")))
      .number("step", TRY(number(call, "delta")))
      .dtype("dtype", dtype)
      .read();
}

// A matrix of the input's sizes with ones on a diagonal.
Expected<Values> read_eye_like(Call& call) {
  const TensorType input = call.type(TRY(call.tensor("input")));
  const auto fixed = fixed_sizes(input.shape);
  if (!fixed || fixed->size() != 2) return Call::unsupported("the identity matrix needs a static size");
  const std::int64_t rows = (*fixed)[0];
  const std::int64_t columns = (*fixed)[1];
  if (rows < 0 || columns < 0 || (columns > 0 && rows > kMaxElements / columns)) {
    return Call::unsupported("the identity matrix is too large");
  }
  const std::int64_t shift = TRY(call.integer("k", 0));
  std::vector<float> values(static_cast<std::size_t>(rows * columns), 0.0F);
  for (std::int64_t i = 0; i < rows; ++i) {
    if (shift > columns || shift < -rows) break;
    if (i + shift >= 0 && i + shift < columns) values[static_cast<std::size_t>(i * columns + i + shift)] = 1;
  }
  const ValueId matrix = call.constant(values, {rows, columns});
  return one(call.cast(matrix, TRY(dtype(call, "dtype", input.dtype))));
}

// Windows of signals: sums of cosines over a length that is known.
Expected<Values> read_window(Call& call, const std::vector<double>& factors) {
  const std::int64_t size = TRY(integer(call, "size"));
  if (size < 1 || size > kMaxElements) return bad_input(fmt::format("invalid window of size {}", size));
  const auto period = static_cast<double>(TRY(call.flag("periodic", true)) ? size : size - 1);
  constexpr double kTwoPi = 6.283185307179586;
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) {
    double value = 0;
    for (std::size_t k = 0; k < factors.size(); ++k) {
      value += factors[k] *
               (period == 0 ? 1 : portable::cos(kTwoPi * static_cast<double>(k) * static_cast<double>(i) / period));
    }
    values.push_back(static_cast<float>(value));
  }
  return one(call.cast(call.constant(values, {size}), TRY(dtype(call, "output_datatype", DType::kF32))));
}
Expected<Values> read_hann(Call& call) { return read_window(call, {0.5, -0.5}); }
Expected<Values> read_hamming(Call& call) { return read_window(call, {25.0 / 46, -21.0 / 46}); }
Expected<Values> read_blackman(Call& call) { return read_window(call, {0.42, -0.5, 0.08}); }

Expected<Values> read_random(Call&) { return Call::unsupported("the result is random: make it an input of the model"); }

}  // namespace

Family creation_family() {
  static constexpr Row kRows[] = {
      row("onnx.Constant", "", read_constant),
      row("onnx.Shape", "data", read_shape),
      row("onnx.Size", "data", read_size),
      row("onnx.ConstantOfShape", "input", read_constant_of_shape),
      row("onnx.Range", "start limit delta", read_range),
      row("onnx.EyeLike", "input", read_eye_like),
      row("onnx.HannWindow", "size", read_hann),
      row("onnx.HammingWindow", "size", read_hamming),
      row("onnx.BlackmanWindow", "size", read_blackman),
      row("onnx.RandomNormal", "", read_random),
      row("onnx.RandomNormalLike", "input", read_random),
      row("onnx.RandomUniform", "", read_random),
      row("onnx.RandomUniformLike", "input", read_random),
      row("onnx.Bernoulli", "input", read_random),
      row("onnx.Multinomial", "input", read_random),
  };
  return family_of("onnx creation", kRows);
}

}  // namespace isthmus::onnx_ops
