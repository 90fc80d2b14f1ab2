// Matrix products: linear, matmul, and the names for products of certain ranks.
#include "ops/families/product.h"

#include <fmt/format.h>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Expected<TensorType> infer_linear(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const TensorType& weight = context.inputs[1];
  TRY(demand_summable(input));
  TRY(demand_same_dtype(input, weight));
  TRY(demand_rank(weight, 2));
  if (input.rank() < 1) return bad_input("the input of linear is a 0-d tensor");
  TRY(demand_equal(context.exprs, input.shape.back(), weight.shape[1], "last dimension of the input"));
  if (context.inputs.size() > 2) {
    TRY(demand_same_dtype(context.inputs[2], input));
    TRY(demand_rank(context.inputs[2], 1));
    TRY(demand_equal(context.exprs, context.inputs[2].shape[0], weight.shape[0], "size of the bias"));
  }
  TensorType result = input;
  result.shape.back() = weight.shape[0];
  return result;
}

Expected<TensorType> infer_matmul(const InferContext& context) {
  const TensorType& a = context.inputs[0];
  const TensorType& b = context.inputs[1];
  TRY(demand_summable(a));
  TRY(demand_same_dtype(a, b));
  if (a.rank() < 2 || b.rank() < 2) {
    return bad_input(fmt::format("inputs have ranks {} and {}, expected at least 2", a.rank(), b.rank()));
  }
  TRY(demand_equal(context.exprs, b.shape[b.rank() - 2], a.shape.back(), "the inner dimension"));
  TensorType result{a.dtype, TRY(broadcast(context.exprs, Shape(a.shape.begin(), a.shape.end() - 2),
                                           Shape(b.shape.begin(), b.shape.end() - 2)))};
  result.shape.push_back(a.shape[a.rank() - 2]);
  result.shape.push_back(b.shape.back());
  return result;
}

Expected<Values> read_linear(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const ValueId weight = TRY(call.tensor("weight"));
  const auto bias = call.tensor_if("bias");
  if (call.rank(weight) == 1) {
    const ValueId product = TRY(matmul(call, input, weight));
    return one(bias ? call.binary(Op::kAdd, product, *bias) : product);
  }
  if (!bias) return one(call.emit(Op::kLinear, NoAttrs{}, {input, weight}));
  if (call.rank(*bias) == 1 && call.size(*bias, 0) == call.size(weight, 0)) {
    return one(call.emit(Op::kLinear, NoAttrs{}, {input, weight, *bias}));
  }
  const ValueId product = TRY(call.emit(Op::kLinear, NoAttrs{}, {input, weight}));
  return one(call.binary(Op::kAdd, product, *bias));
}

Expected<Values> read_matmul(Call& call) {
  return one(matmul(call, TRY(call.tensor("self")), TRY(call.tensor("other"))));
}
Expected<Values> read_mm(Call& call) { return one(matmul(call, TRY(call.tensor("self")), TRY(call.tensor("mat2")))); }
Expected<Values> read_mv(Call& call) { return one(matmul(call, TRY(call.tensor("self")), TRY(call.tensor("vec")))); }
Expected<Values> read_dot(Call& call) {
  return one(matmul(call, TRY(call.tensor("self")), TRY(call.tensor("tensor"))));
}
Expected<Values> read_vdot(Call& call) {
  return one(matmul(call, TRY(call.tensor("self")), TRY(call.tensor("other"))));
}

// The last axes of both are summed over.
Expected<Values> read_inner(Call& call) {
  const ValueId a = TRY(call.tensor("self"));
  const ValueId b = TRY(call.tensor("other"));
  if (call.rank(a) == 0 || call.rank(b) == 0) return one(call.binary(Op::kMul, a, b));
  Labels a_labels, b_labels, result;
  for (std::int64_t i = 0; i + 1 < call.rank(a); ++i) result.push_back(a_labels.emplace_back(i + 1));
  for (std::int64_t i = 0; i + 1 < call.rank(b); ++i) result.push_back(b_labels.emplace_back(1000 + i));
  a_labels.push_back(0);
  b_labels.push_back(0);
  return one(contract(call, {{a, a_labels}, {b, b_labels}}, result));
}

Expected<ValueId> outer(Call& call, ValueId a, ValueId b) {
  if (call.rank(a) != 1 || call.rank(b) != 1) return bad_input(call.target() + ": the inputs are not vectors");
  const DType dtype = promoted(call.type(a).dtype, false, call.type(b).dtype, false);
  const ValueId column = TRY(call.cast(TRY(call.reshape(a, {call.size(a, 0), 1})), dtype));
  const ValueId row = TRY(call.cast(TRY(call.reshape(b, {1, call.size(b, 0)})), dtype));
  return call.binary(Op::kMul, column, row);
}

Expected<Values> read_outer(Call& call) { return one(outer(call, TRY(call.tensor("self")), TRY(call.tensor("vec2")))); }

// beta * self + alpha * product; a self that counts nothing is not even read, so that its NaNs do not count.
Expected<Values> scaled_sum(Call& call, ValueId product) {
  const DType dtype = call.type(product).dtype;
  if (TRY(call.number("alpha", 1)) != 1) {
    product = TRY(call.binary(Op::kMul, product, TRY(call.operand("alpha", dtype))));
  }
  const double beta = TRY(call.number("beta", 1));
  ValueId self = TRY(call.tensor("self"));
  if (beta == 0) return one(product);
  if (beta != 1) self = TRY(call.binary(Op::kMul, self, TRY(call.operand("beta", call.type(self).dtype))));
  return one(call.binary(Op::kAdd, product, TRY(call.cast(self, dtype))));
}

Expected<Values> read_addmm(Call& call) {
  return scaled_sum(call, TRY(matmul(call, TRY(call.tensor("mat1")), TRY(call.tensor("mat2")))));
}
Expected<Values> read_addmv(Call& call) {
  return scaled_sum(call, TRY(matmul(call, TRY(call.tensor("mat")), TRY(call.tensor("vec")))));
}
Expected<Values> read_baddbmm(Call& call) {
  return scaled_sum(call, TRY(matmul(call, TRY(call.tensor("batch1")), TRY(call.tensor("batch2")))));
}
Expected<Values> read_addbmm(Call& call) {
  const ValueId products = TRY(matmul(call, TRY(call.tensor("batch1")), TRY(call.tensor("batch2"))));
  return scaled_sum(call, TRY(call.emit(Op::kSum, ReduceAttrs{{0}, false}, {products})));
}
Expected<Values> read_addr(Call& call) {
  return scaled_sum(call, TRY(outer(call, TRY(call.tensor("vec1")), TRY(call.tensor("vec2")))));
}

// [N, I], [N, J] and weights [O, I, J] give [N, O].
Expected<Values> read_bilinear(Call& call) {
  const ValueId a = TRY(call.tensor("input1"));
  const ValueId b = TRY(call.tensor("input2"));
  const ValueId weight = TRY(call.tensor("weight"));
  if (call.rank(a) < 1 || call.rank(a) != call.rank(b) || call.rank(weight) != 3) {
    return bad_input(call.target() + ": unsupported input ranks");
  }
  Labels a_labels, b_labels, result;
  for (std::int64_t i = 0; i + 1 < call.rank(a); ++i) {
    a_labels.push_back(10 + i);
    b_labels.push_back(10 + i);
    result.push_back(10 + i);
  }
  a_labels.push_back(1);
  b_labels.push_back(2);
  result.push_back(0);
  const ValueId product = TRY(contract(call, {{a, a_labels}, {weight, {0, 1, 2}}, {b, b_labels}}, result));
  const auto bias = call.tensor_if("bias");
  return one(bias ? call.binary(Op::kAdd, product, *bias) : product);
}

Expected<ValueId> chain(Call& call, const Values& matrices) {
  if (matrices.empty()) return bad_input(call.target() + ": no matrices");
  ValueId result = matrices[0];
  for (std::size_t i = 1; i < matrices.size(); ++i) result = TRY(matmul(call, result, matrices[i]));
  return result;
}
Expected<Values> read_chain_matmul(Call& call) { return one(chain(call, TRY(call.tensors("matrices")))); }
Expected<Values> read_multi_dot(Call& call) { return one(chain(call, TRY(call.tensors("tensors")))); }

// The numbers of an axis of three from this one on, and those before it behind them.
Expected<ValueId> turned(Call& call, ValueId value, std::int64_t axis, std::int64_t first) {
  return call.cat({TRY(call.slice(value, axis, first, 3)), TRY(call.slice(value, axis, 0, first))}, axis);
}
// Without an axis it is the first of size three.
Expected<Values> read_cross(Call& call) {
  const ValueId a = TRY(call.tensor("self"));
  const ValueId b = TRY(call.tensor("other"));
  const std::int64_t rank = call.rank(a);
  if (rank == 0 || rank != call.rank(b)) return bad_input(call.target() + ": the vectors differ in rank");
  std::int64_t axis = rank - 1;
  if (call.has("dim")) {
    axis = TRY(call.axis("dim", rank));
  } else if (call.target().starts_with("aten.cross")) {
    for (axis = 0; axis < rank && !call.size(a, axis).is(3); ++axis) continue;
  }
  if (axis == rank || !call.size(a, axis).is(3) || !call.size(b, axis).is(3)) {
    return bad_input(call.target() + ": the vectors do not have three elements");
  }
  const ValueId plus = TRY(call.binary(Op::kMul, TRY(turned(call, a, axis, 1)), TRY(turned(call, b, axis, 2))));
  const ValueId minus = TRY(call.binary(Op::kMul, TRY(turned(call, a, axis, 2)), TRY(turned(call, b, axis, 1))));
  return one(call.binary(Op::kSub, plus, minus));
}

// By squares.
Expected<Values> read_matrix_power(Call& call) {
  ValueId power = TRY(call.tensor("self"));
  std::int64_t left = TRY(call.integer("n"));
  if (call.rank(power) < 2) return bad_input(call.target() + ": the input is not a matrix");
  if (left < 1) return Call::unsupported("a matrix_power below 1 needs an inverse");
  std::optional<ValueId> result;
  for (; left > 0; left /= 2) {
    if (left % 2 == 1) result = result ? TRY(matmul(call, *result, power)) : power;
    if (left > 1) power = TRY(matmul(call, power, power));
  }
  return Values{*result};
}

// Every element of one times every element of the other, block by block.
Expected<Values> read_kron(Call& call) {
  const ValueId a = TRY(call.tensor("self"));
  const ValueId b = TRY(call.tensor("other"));
  const std::int64_t rank = std::max(call.rank(a), call.rank(b));
  Shape a_shape, b_shape, result;
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t a_axis = i - (rank - call.rank(a));
    const std::int64_t b_axis = i - (rank - call.rank(b));
    const Dim a_size = a_axis < 0 ? Dim(1) : call.size(a, a_axis);
    const Dim b_size = b_axis < 0 ? Dim(1) : call.size(b, b_axis);
    a_shape.insert(a_shape.end(), {a_size, 1});
    b_shape.insert(b_shape.end(), {1, b_size});
    result.push_back(call.exprs().multiply(a_size, b_size));
  }
  const DType dtype = promoted(call.type(a).dtype, call.rank(a) == 0, call.type(b).dtype, call.rank(b) == 0);
  const ValueId a_blocks = TRY(call.cast(TRY(call.reshape(a, std::move(a_shape))), dtype));
  const ValueId b_blocks = TRY(call.cast(TRY(call.reshape(b, std::move(b_shape))), dtype));
  return one(call.reshape(TRY(call.binary(Op::kMul, a_blocks, b_blocks)), std::move(result)));
}

}  // namespace

Expected<ValueId> matmul(Call& call, ValueId a, ValueId b) {
  if (call.rank(a) == 0 || call.rank(b) == 0) return bad_input(call.target() + ": an input is a 0-d tensor");
  const bool a_is_vector = call.rank(a) == 1;
  const bool b_is_vector = call.rank(b) == 1;
  if (a_is_vector) a = TRY(call.reshape(a, {1, call.size(a, 0)}));
  if (b_is_vector) b = TRY(call.reshape(b, {call.size(b, 0), 1}));
  const ValueId product = TRY(call.binary(Op::kMatmul, a, b));
  Shape shape = call.shape(product);
  if (b_is_vector) shape.pop_back();
  if (a_is_vector) shape.erase(shape.end() - (b_is_vector ? 1 : 2));
  return call.reshape(product, std::move(shape));
}

Family product_family() {
  static const OpDef kOps[] = {
      {.op = Op::kLinear,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kWeight, Role::kBias},
       .required = 2,
       .infer = infer_linear,
       .spellings = {{"aten.linear", read_linear}},
       .channels = ChannelAxis::kLast,
       .weight_axes = WeightAxes{.outputs = 0, .inputs = 1}},
      {.op = Op::kMatmul,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kData},
       .required = 2,
       .infer = infer_matmul,
       .spellings = {{"aten.matmul", read_matmul},
                     {"aten.linalg_matmul", read_matmul},
                     {"aten.__matmul__", read_matmul},
                     {"aten.mm", read_mm},
                     {"aten.bmm", read_mm},
                     {"aten.mv", read_mv},
                     {"aten.dot", read_dot},
                     {"aten.vdot", read_vdot}},
       .channels = ChannelAxis::kLast,
       .noise = NoiseFlow::kSumsProducts,
       .broadcasts = true},
  };
  static const Spelling kCompounds[] = {
      {"aten.inner", read_inner},
      {"aten.outer", read_outer},
      {"aten.ger", read_outer},
      {"aten.addmm", read_addmm},
      {"aten.addmv", read_addmv},
      {"aten.addbmm", read_addbmm},
      {"aten.addr", read_addr},
      {"aten.baddbmm", read_baddbmm},
      {"aten.bilinear", read_bilinear},
      {"aten.chain_matmul", read_chain_matmul},
      {"aten.linalg_multi_dot", read_multi_dot},
      {"aten.linalg_cross", read_cross},
      {"aten.cross", read_cross},
      {"aten.matrix_power", read_matrix_power},
      {"aten.linalg_matrix_power", read_matrix_power},
      {"aten.kron", read_kron},
      {"aten.einsum", read_einsum},
      {"aten.tensordot", read_tensordot},
  };
  return {"product", kOps, kCompounds};
}

}  // namespace isthmus
