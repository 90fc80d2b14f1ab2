// Readers of variances, norms and distances.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/demands.h"
#include "ops/families/reduce.h"

namespace isthmus {
namespace {

struct Variance {
  ValueId input;
  Ints axes;
  bool keepdim = false;
  ValueId variance;
};

Expected<Variance> read_variance(Call& call) {
  Variance result;
  result.input = TRY(call.tensor("self"));
  result.axes = TRY(axes_to_reduce(call, result.input));
  result.keepdim = TRY(call.flag("keepdim", false));
  // The older overloads say whether 1 is taken off, the newer one how much.
  const double correction = TRY(call.number("correction", TRY(call.flag("unbiased", true)) ? 1 : 0));
  if (!std::isfinite(correction)) return bad_input(call.target() + ": correction is NaN or infinite");
  VarianceAttrs attrs{result.axes, result.keepdim, correction};
  result.variance = TRY(call.emit(Op::kVariance, std::move(attrs), {result.input}));
  return result;
}

Expected<ValueId> mean_beside(Call& call, const Variance& variance) {
  return reduce(call, Op::kMean, variance.input, variance.axes, variance.keepdim);
}

Expected<ValueId> as_real(Call& call, std::string_view name) {
  const ValueId value = TRY(call.tensor(name));
  return call.cast(value, TRY(call.dtype("dtype", call.type(value).dtype)));
}

// Infinity comes as a number or as a word.
Expected<double> order_of(Call& call, std::string_view name, double otherwise) {
  const ArgValue* found = call.find(name);
  if (found != nullptr && std::holds_alternative<std::string>(found->value)) {
    const std::string word = TRY(call.text(name));
    if (word == "fro") return 2.0;
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    return Call::unsupported(fmt::format("unsupported norm of order '{}'", word));
  }
  return call.number(name, otherwise);
}

Expected<ValueId> clamped_norm(Call& call, ValueId value, std::int64_t axis, double eps) {
  const ValueId norm = TRY(vector_norm(call, value, 2, call.rank(value) == 0 ? Ints{} : Ints{axis}, true));
  return call.emit(Op::kClamp, ClampAttrs{eps, std::numeric_limits<double>::infinity()}, {norm});
}

Expected<ValueId> difference(Call& call, ValueId a, ValueId b) {
  const DType dtype = promoted(call.type(a).dtype, call.rank(a) == 0, call.type(b).dtype, call.rank(b) == 0);
  return call.binary(Op::kSub, TRY(call.cast(a, dtype)), TRY(call.cast(b, dtype)));
}

// Over all axes but the named one, which stays; an axis of -1 leaves none.
Expected<ValueId> norm_except(Call& call, ValueId value, double order) {
  const std::int64_t named = TRY(call.integer("dim", 0));
  if (named == -1) return vector_norm(call, value, order, TRY(normal_axes({}, call.rank(value), true)), false);
  const std::int64_t kept = TRY(normal_axis(named, call.rank(value)));
  Ints axes;
  for (std::int64_t i = 0; i < call.rank(value); ++i) {
    if (i != kept) axes.push_back(i);
  }
  return vector_norm(call, value, order, std::move(axes), true);
}

// A weight of which direction and length are kept apart: v * (g / |v|).
Expected<Values> weight_and_norm(Call& call) {
  const ValueId direction = TRY(call.tensor("v"));
  const ValueId norm = TRY(norm_except(call, direction, 2));
  const ValueId factor = TRY(call.binary(Op::kDiv, TRY(call.tensor("g")), norm));
  return Values{TRY(call.binary(Op::kMul, direction, factor)), norm};
}

}  // namespace

Expected<ValueId> vector_norm(Call& call, ValueId value, double order, Ints axes, bool keepdim) {
  if (std::isnan(order)) return bad_input(call.target() + ": order is NaN");
  return call.emit(Op::kVectorNorm, VectorNormAttrs{std::move(axes), keepdim, order}, {value});
}

Expected<Values> read_var(Call& call) { return Values{TRY(read_variance(call)).variance}; }

Expected<Values> read_std(Call& call) { return one(call.unary(Op::kSqrt, TRY(read_variance(call)).variance)); }

Expected<Values> read_var_mean(Call& call) {
  const Variance variance = TRY(read_variance(call));
  return Values{variance.variance, TRY(mean_beside(call, variance))};
}

Expected<Values> read_std_mean(Call& call) {
  const Variance variance = TRY(read_variance(call));
  return Values{TRY(call.unary(Op::kSqrt, variance.variance)), TRY(mean_beside(call, variance))};
}

Expected<Values> read_vector_norm(Call& call) {
  const ValueId value = TRY(as_real(call, "self"));
  const double order = TRY(order_of(call, "ord", 2));
  return one(vector_norm(call, value, order, TRY(axes_to_reduce(call, value)), TRY(call.flag("keepdim", false))));
}

Expected<Values> read_norm(Call& call) {
  const ValueId value = TRY(as_real(call, "self"));
  const double order = TRY(order_of(call, "p", 2));
  return one(vector_norm(call, value, order, TRY(axes_to_reduce(call, value)), TRY(call.flag("keepdim", false))));
}

// Of the matrix norms only Frobenius' is one over all elements.
Expected<Values> read_matrix_norm(Call& call) {
  const ValueId value = TRY(as_real(call, "self"));
  const ArgValue* order = call.find("ord");
  const bool is_word = order != nullptr && std::holds_alternative<std::string>(order->value);
  if (order != nullptr && (!is_word || TRY(call.text("ord")) != "fro")) {
    return Call::unsupported("only the Frobenius norm of matrices is supported");
  }
  const Ints axes = TRY(normal_axes(TRY(call.integers("dim", Ints{-2, -1})), call.rank(value), true));
  return one(vector_norm(call, value, 2, axes, TRY(call.flag("keepdim", false))));
}

// Orders are of vectors where one axis is named, of matrices where there are two.
Expected<Values> read_linalg_norm(Call& call) {
  const ValueId value = TRY(as_real(call, "self"));
  const Ints axes = TRY(axes_to_reduce(call, value));
  const ArgValue* order = call.find("ord");
  const bool is_word = order != nullptr && std::holds_alternative<std::string>(order->value);
  if (order != nullptr && !(is_word && TRY(call.text("ord")) == "fro") && axes.size() != 1) {
    return Call::unsupported("only the Frobenius norm of matrices is supported");
  }
  return one(vector_norm(call, value, TRY(order_of(call, "ord", 2)), axes, TRY(call.flag("keepdim", false))));
}

Expected<Values> read_cosine_similarity(Call& call) {
  ValueId a = TRY(call.tensor("x1"));
  ValueId b = TRY(call.tensor("x2"));
  const DType dtype = promoted(call.type(a).dtype, false, call.type(b).dtype, false);
  a = TRY(call.cast(a, dtype));
  b = TRY(call.cast(b, dtype));
  const Shape shape = TRY(broadcast(call.exprs(), call.shape(a), call.shape(b)));
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = TRY(call.axis("dim", rank, 1));
  const double eps = TRY(call.number("eps", 1e-8));
  a = TRY(call.expand(a, shape));
  b = TRY(call.expand(b, shape));
  const ValueId a_unit = TRY(call.binary(Op::kDiv, a, TRY(clamped_norm(call, a, axis, eps))));
  const ValueId b_unit = TRY(call.binary(Op::kDiv, b, TRY(clamped_norm(call, b, axis, eps))));
  const ValueId products = TRY(call.binary(Op::kMul, a_unit, b_unit));
  return one(reduce(call, Op::kSum, products, rank == 0 ? Ints{} : Ints{axis}, false));
}

Expected<Values> read_pairwise_distance(Call& call) {
  const ValueId between = TRY(difference(call, TRY(call.tensor("x1")), TRY(call.tensor("x2"))));
  const ValueId eps = call.scalar(TRY(call.number("eps", 1e-6)), call.type(between).dtype);
  const ValueId shifted = TRY(call.binary(Op::kAdd, between, eps));
  if (call.rank(shifted) == 0) return bad_input(call.target() + ": the inputs are 0-d tensors");
  const Ints axes{call.rank(shifted) - 1};
  return one(vector_norm(call, shifted, TRY(call.number("p", 2)), axes, TRY(call.flag("keepdim", false))));
}

Expected<Values> read_dist(Call& call) {
  const ValueId between = TRY(difference(call, TRY(call.tensor("self")), TRY(call.tensor("other"))));
  const Ints axes = TRY(normal_axes({}, call.rank(between), true));
  return one(vector_norm(call, between, TRY(call.number("p", 2)), axes, false));
}

// Distances of all pairs of rows.
Expected<Values> read_cdist(Call& call) {
  const ValueId a = TRY(call.tensor("x1"));
  const ValueId b = TRY(call.tensor("x2"));
  if (call.rank(a) < 2 || call.rank(b) < 2) return bad_input(call.target() + ": the inputs are not matrices");
  Shape a_shape = call.shape(a);
  a_shape.insert(a_shape.end() - 1, Dim(1));
  Shape b_shape = call.shape(b);
  b_shape.insert(b_shape.end() - 2, Dim(1));
  const ValueId left = TRY(call.reshape(a, std::move(a_shape)));
  const ValueId right = TRY(call.reshape(b, std::move(b_shape)));
  const ValueId between = TRY(difference(call, left, right));
  return one(vector_norm(call, between, TRY(call.number("p", 2)), {call.rank(between) - 1}, false));
}

Expected<Values> read_norm_except_dim(Call& call) {
  return one(norm_except(call, TRY(call.tensor("v")), TRY(call.number("pow", 2))));
}

Expected<Values> read_weight_norm(Call& call) { return Values{TRY(weight_and_norm(call))[0]}; }
Expected<Values> read_weight_norm_interface(Call& call) { return weight_and_norm(call); }

}  // namespace isthmus
