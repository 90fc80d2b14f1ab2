// Tensors made in the graph: filled ones, ranges, and random ones, which are refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/portable_math.h"
#include "ops/elementwise.h"
#include "ops/families.h"

namespace isthmus {
namespace {

// What is larger is not written into the graph as a constant.
constexpr std::int64_t kMaxCreatedElements = std::int64_t{1} << 21;

DType declared(const Call& call) { return call.result_count() > 0 ? call.result().dtype : DType::kF32; }

// A number among the arguments as a 0-d constant; a fraction is cut off where the type has none.
Expected<ValueId> number_as(Call& call, std::string_view name, DType dtype) {
  TRY(demand(Numbers::kAll, {dtype, {}}));
  if (!call.is_float_scalar(name) || is_floating(dtype) || dtype == DType::kBool) return call.operand(name, dtype);
  const double number = TRY(call.number(name));
  if (!(std::abs(number) < 9.2e18))
    return bad_input(fmt::format("cannot reinterpret {} as {}", number, name_of(dtype)));
  return call.scalar(static_cast<std::int64_t>(number), dtype);
}

Expected<Values> fill(Call& call, Expected<ValueId> value, Shape shape) {
  for (const Dim dim : shape) {
    if (dim.is_fixed() && dim.value() < 0) return bad_input(fmt::format("size {} is out of range", dim.value()));
  }
  return one(call.expand(TRY(std::move(value)), std::move(shape)));
}
Expected<ValueId> number(Call& call, double value, DType dtype) { return filled(call, value, dtype, {}); }

template <int kValue>
Expected<Values> read_filled(Call& call) {
  Shape shape = TRY(call.dims("size"));
  return fill(call, number(call, kValue, TRY(call.dtype("dtype", declared(call)))), std::move(shape));
}
Expected<Values> read_full(Call& call) {
  Shape shape = TRY(call.dims("size"));
  return fill(call, number_as(call, "fill_value", TRY(call.dtype("dtype", declared(call)))), std::move(shape));
}

template <int kValue>
Expected<Values> read_filled_like(Call& call) {
  const TensorType type = call.type(TRY(call.tensor("self")));
  return fill(call, number(call, kValue, TRY(call.dtype("dtype", type.dtype))), type.shape);
}
Expected<Values> read_full_like(Call& call) {
  const TensorType type = call.type(TRY(call.tensor("self")));
  return fill(call, number_as(call, "fill_value", TRY(call.dtype("dtype", type.dtype))), type.shape);
}

// "new_": the element type of self, another size.
template <int kValue>
Expected<Values> read_new_filled(Call& call) {
  const DType dtype = call.type(TRY(call.tensor("self"))).dtype;
  Shape shape = TRY(call.dims("size"));
  return fill(call, number(call, kValue, TRY(call.dtype("dtype", dtype))), std::move(shape));
}
Expected<Values> read_new_full(Call& call) {
  const DType dtype = call.type(TRY(call.tensor("self"))).dtype;
  Shape shape = TRY(call.dims("size"));
  return fill(call, number_as(call, "fill_value", TRY(call.dtype("dtype", dtype))), std::move(shape));
}

Expected<Values> read_scalar_tensor(Call& call) {
  return one(number_as(call, "s", TRY(call.dtype("dtype", declared(call)))));
}

// Written over self.
Expected<Values> read_fill(Call& call) {
  const TensorType type = call.type(TRY(call.tensor("self")));
  if (const auto value = call.tensor_if("value")) {
    if (call.rank(*value) != 0) return bad_input("the fill value is not a scalar");
    return fill(call, call.cast(*value, type.dtype), type.shape);
  }
  return fill(call, number_as(call, "value", type.dtype), type.shape);
}

// A constant of numbers computed here, 1-d.
template <class Number>
Expected<ValueId> line_of(Call& call, const std::vector<Number>& values, DType dtype) {
  return call.cast(call.constant(values, {std::ssize(values)}), dtype);
}

// As many as fit below the end.
Dim arange_length(Exprs& exprs, const ArangeAttrs& attrs) {
  const bool is_rising = attrs.step > 0;
  const Dim way = is_rising ? exprs.subtract(attrs.end, attrs.start) : exprs.subtract(attrs.start, attrs.end);
  const Dim step = is_rising ? Dim(attrs.step) : exprs.multiply(attrs.step, -1);
  const Dim length = exprs.floor_divide(exprs.add(way, exprs.subtract(step, 1)), step);
  // Sizes are never negative, so a range up to one of them needs no such care.
  const Bounds bounds = exprs.bounds(length);
  return bounds.min && *bounds.min < 0 ? exprs.max(length, 0) : length;
}

Expected<TensorType> infer_arange(const InferContext& context) {
  const auto& attrs = context.as<ArangeAttrs>();
  if (attrs.step == 0) return bad_input("the step of a range is 0");
  const TensorType result{attrs.dtype, {arange_length(context.exprs, attrs)}};
  TRY(demand(Numbers::kNoBool, result));
  return result;
}

Expected<Values> read_float_arange(Call& call, DType dtype) {
  if (!is_floating(dtype)) return Call::unsupported("an integer range with fractional bounds is not supported");
  const double start = TRY(call.number("start", 0));
  const double end = TRY(call.number("end"));
  const double step = TRY(call.number("step", 1));
  const double length = std::ceil((end - start) / step);
  if (!(length <= static_cast<double>(kMaxCreatedElements)))
    return Call::unsupported("the range has too many elements");
  if (!(length >= 0)) return bad_input(fmt::format("invalid range from {} to {} with step {}", start, end, step));
  std::vector<double> values(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + step * static_cast<double>(i);
  if (dtype == DType::kF64) return one(line_of(call, values, dtype));
  return one(line_of(call, std::vector<float>(values.begin(), values.end()), dtype));
}

Expected<Values> read_arange(Call& call) {
  const DType dtype = TRY(call.dtype("dtype", declared(call)));
  TRY(demand(Numbers::kNoBool, {dtype, {}}));
  for (const std::string_view name : {"start", "end", "step"}) {
    if (call.is_float_scalar(name)) return read_float_arange(call, dtype);
  }
  const ArangeAttrs attrs{TRY(call.dim("start", 0)), TRY(call.dim("end")), TRY(call.integer("step", 1)), dtype};
  if (attrs.step == 0) return bad_input("the step of a range is 0");
  const Dim length = arange_length(call.exprs(), attrs);
  if (!attrs.start.is_fixed() || !length.is_fixed() || length.value() > kMaxCreatedElements) {
    return one(call.emit(Op::kArange, attrs, {}));
  }
  if (length.value() < 0) return bad_input("the range ends before its start");
  std::vector<std::int64_t> values(static_cast<std::size_t>(length.value()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = attrs.start.value() + attrs.step * static_cast<std::int64_t>(i);
  }
  return one(call.cast(call.integers(values), dtype));
}

// Equal steps between two numbers, both of which are met exactly.
template <class Number>
std::vector<Number> even_steps(double from, double to, std::size_t count) {
  const auto start = static_cast<Number>(from);
  const auto end = static_cast<Number>(to);
  const Number step = count > 1 ? (end - start) / static_cast<Number>(count - 1) : Number{0};
  std::vector<Number> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = i < count / 2 || count == 1 ? start + step * static_cast<Number>(i)
                                            : end - step * static_cast<Number>(count - 1 - i);
  }
  return values;
}

Expected<Values> read_even_steps(Call& call, std::optional<double> base) {
  const DType dtype = TRY(call.dtype("dtype", declared(call)));
  if (call.tensor_if("start") || call.tensor_if("end")) {
    return Call::unsupported("the bounds of the range are known only at run time");
  }
  const double start = TRY(call.number("start"));
  const double end = TRY(call.number("end"));
  const std::int64_t steps = TRY(call.integer("steps"));
  if (steps < 0) return bad_input(fmt::format("{} steps", steps));
  if (steps > kMaxCreatedElements) return Call::unsupported("the range has too many elements");
  const auto as_numbers = [&]<class Number>(Number) {
    std::vector<Number> values = even_steps<Number>(start, end, static_cast<std::size_t>(steps));
    if (base) {
      for (Number& value : values) value = portable::pow(static_cast<Number>(*base), value);
    }
    return one(line_of(call, values, dtype));
  };
  // Fractions of f64 are cut off where integers are wanted.
  return is_floating(dtype) && dtype != DType::kF64 ? as_numbers(float{}) : as_numbers(double{});
}
Expected<Values> read_linspace(Call& call) { return read_even_steps(call, std::nullopt); }
Expected<Values> read_logspace(Call& call) { return read_even_steps(call, TRY(call.number("base", 10))); }

Expected<Values> read_eye(Call& call) {
  const DType dtype = TRY(call.dtype("dtype", declared(call)));
  const std::int64_t rows = TRY(call.integer("n"));
  const std::int64_t columns = TRY(call.integer("m", rows));
  if (rows < 0 || columns < 0) return bad_input(fmt::format("invalid matrix of {} by {}", rows, columns));
  if (columns > 0 && rows > kMaxCreatedElements / columns) return Call::unsupported("the identity matrix is too large");
  std::vector<float> values(static_cast<std::size_t>(rows * columns), 0.0F);
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) values[static_cast<std::size_t>(i * columns + i)] = 1;
  return one(call.cast(call.constant(values, {rows, columns}), dtype));
}

Expected<Values> read_random(Call&) { return Call::unsupported("the result is random: make it an input of the model"); }

}  // namespace

Family creation_family() {
  static const OpDef kOps[] = {
      {.op = Op::kArange,
       .flow = QFlow::kComputes,
       .roles = {},
       .required = 0,
       .infer = infer_arange,
       .spellings = {{"aten.arange", read_arange}}},
  };
  static const Spelling kCompounds[] = {
      {"aten.zeros", read_filled<0>},
      {"aten.ones", read_filled<1>},
      {"aten.empty", read_filled<0>},
      {"aten.empty_strided", read_filled<0>},
      {"aten.empty_permuted", read_filled<0>},
      {"aten.full", read_full},
      {"aten.scalar_tensor", read_scalar_tensor},
      {"aten.zeros_like", read_filled_like<0>},
      {"aten.ones_like", read_filled_like<1>},
      {"aten.empty_like", read_filled_like<0>},
      {"aten.full_like", read_full_like},
      {"aten.zero", read_filled_like<0>},
      {"aten.fill", read_fill},
      {"aten.new_zeros", read_new_filled<0>},
      {"aten.new_ones", read_new_filled<1>},
      {"aten.new_empty", read_new_filled<0>},
      {"aten.new_empty_strided", read_new_filled<0>},
      {"aten.new_full", read_new_full},
      {"aten.linspace", read_linspace},
      {"aten.logspace", read_logspace},
      {"aten.eye", read_eye},
      {"aten.rand", read_random},
      {"aten.rand_like", read_random},
      {"aten.randn", read_random},
      {"aten.randn_like", read_random},
      {"aten.randint", read_random},
      {"aten.randint_like", read_random},
      {"aten.randperm", read_random},
      {"aten.bernoulli", read_random},
      {"aten.multinomial", read_random},
      {"aten.normal", read_random},
      {"aten.normal_functional", read_random},
      {"aten.uniform", read_random},
      {"aten.exponential", read_random},
      {"aten.geometric", read_random},
      {"aten.poisson", read_random},
      {"aten.random", read_random},
  };
  return {"creation", kOps, kCompounds};
}

}  // namespace isthmus
