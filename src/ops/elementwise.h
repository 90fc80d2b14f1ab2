// What the families of element-wise ops share: PyTorch's promotion of types, inference, and readers of plain calls.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ops/call.h"
#include "ops/op_def.h"

namespace isthmus {

// The kinds of numbers that an op computes with.
enum class Numbers : std::uint8_t {
  kAll,       // bool as well
  kNoBool,    // integers and floats
  kFloats,    // f16 to f64
  kIntegers,  // without bool
  kBools,     // bool only
};
Expected<void> demand(Numbers numbers, const TensorType& type);

// One input; the result has its type.
template <Numbers kNumbers>
Expected<TensorType> infer_unary(const InferContext& context) {
  TRY(demand(kNumbers, context.inputs[0]));
  return context.inputs[0];
}

// Two inputs of one element type that broadcast.
Expected<TensorType> infer_broadcast(Numbers numbers, const InferContext& context);
template <Numbers kNumbers>
Expected<TensorType> infer_binary(const InferContext& context) {
  return infer_broadcast(kNumbers, context);
}

// The element type in which PyTorch computes with the named arguments, tensors or numbers: tensors with axes come
// first, then 0-d tensors, then numbers; a later group counts only where its category is higher.
Expected<DType> common_dtype(const Call& call, std::initializer_list<std::string_view> names);
// Functions of real numbers take integers as f32.
inline DType as_float(DType dtype) { return is_floating(dtype) || is_complex(dtype) ? dtype : DType::kF32; }

// The type to compute in so that a number of the call keeps its precision: PyTorch does not round it to half precision
// before it multiplies, divides or adds.
DType scalar_dtype(const Call& call, DType dtype, std::initializer_list<std::string_view> names);

// A number in every element of a shape; the 0-d constant itself where there are no axes.
Expected<ValueId> filled(Emitter& emitter, double value, DType dtype, Shape shape);

// "self" alone.
template <Op kOp>
Expected<std::vector<ValueId>> read_unary(Call& call) {
  return one(call.unary(kOp, TRY(call.tensor("self"))));
}
// "self" alone; integers become f32.
Expected<ValueId> float_self(Call& call);
template <Op kOp>
Expected<std::vector<ValueId>> read_float_unary(Call& call) {
  return one(call.unary(kOp, TRY(float_self(call))));
}
// "self" and "other", promoted.
Expected<std::vector<ValueId>> read_promoted(Call& call, Op op);
template <Op kOp>
Expected<std::vector<ValueId>> read_binary(Call& call) {
  return read_promoted(call, kOp);
}
// The same; integers become f32.
Expected<std::vector<ValueId>> read_promoted_float(Call& call, Op op);
template <Op kOp>
Expected<std::vector<ValueId>> read_float_binary(Call& call) {
  return read_promoted_float(call, kOp);
}

}  // namespace isthmus
