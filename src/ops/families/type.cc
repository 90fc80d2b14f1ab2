// Element types, and names that return what they are given.
#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Expected<TensorType> infer_cast(const InferContext& context) {
  const TensorType result{context.as<DTypeAttrs>().dtype, context.inputs[0].shape};
  TRY(demand(Numbers::kAll, context.inputs[0]));
  TRY(demand(Numbers::kAll, result));
  return result;
}

// Wider elements take several of the last axis, narrower ones become several.
Expected<TensorType> infer_bitcast(const InferContext& context) {
  TensorType result = context.inputs[0];
  const std::size_t before = size_of(result.dtype);
  result.dtype = context.as<DTypeAttrs>().dtype;
  const std::size_t after = size_of(result.dtype);
  if (result.dtype == DType::kBool) return fail(ErrorKind::kUnsupported, "bool bytes must be 0 or 1");
  if (before == after) return result;
  if (result.shape.empty()) return bad_input("a 0-d tensor cannot be viewed with another element size");
  Dim& last = result.shape.back();
  if (before > after) {
    last = context.exprs.multiply(last, static_cast<std::int64_t>(before / after));
    return result;
  }
  const auto quotient = context.exprs.divide_exactly(last, static_cast<std::int64_t>(after / before));
  if (!quotient) {
    return bad_input(
        fmt::format("the last axis of size {} is not divisible by {}", context.exprs.text(last), after / before));
  }
  last = *quotient;
  return result;
}

Expected<Values> read_to(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const auto other = call.tensor_if("other");
  const DType otherwise = call.type(other ? *other : self).dtype;
  return one(call.cast(self, TRY(call.dtype("dtype", otherwise))));
}

Expected<Values> read_convert(Call& call) {
  return one(call.cast(TRY(call.tensor(call.has("a") ? "a" : "self")), TRY(call.dtype("dtype"))));
}

Expected<Values> read_bitcast(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const DType dtype = TRY(call.dtype("dtype"));
  if (call.type(self).dtype == dtype) return std::vector<ValueId>{self};
  return one(call.emit(Op::kBitcast, DTypeAttrs{dtype}, {self}));
}

Expected<Values> read_identity(Call& call) { return std::vector<ValueId>{TRY(call.tensor("self"))}; }

// The same for numbers without an imaginary part.
Expected<Values> read_real_part(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (is_complex(call.type(self).dtype)) return Call::unsupported("complex arithmetic is not supported");
  return std::vector<ValueId>{self};
}

// A promise about the model that holds in every archive; there is no result.
Expected<Values> read_check(Call&) { return std::vector<ValueId>{}; }

Expected<bool> is_random(Call& call, bool trains_by_default) {
  if (!TRY(call.flag("train", trains_by_default))) return false;
  return TRY(call.number("p", 0.5)) != 0;
}

tl::unexpected<Error> random() { return Call::training_mode("dropout"); }

Expected<Values> read_dropout(Call& call) {
  if (TRY(is_random(call, false))) return random();
  return read_identity(call);
}

// With the mask of what was kept.
Expected<Values> read_native_dropout(Call& call) {
  if (TRY(is_random(call, true))) return random();
  const ValueId self = TRY(call.tensor("self"));
  return std::vector<ValueId>{self, TRY(filled(call, 1, DType::kBool, call.shape(self)))};
}

// What is written over self: its shape and element type stay.
Expected<Values> read_copy(Call& call) {
  const TensorType target = call.type(TRY(call.tensor("self")));
  const ValueId source = TRY(call.cast(TRY(call.tensor("src")), target.dtype));
  return one(call.expand(source, target.shape));
}

}  // namespace

Family type_family() {
  static const OpDef kOps[] = {
      {.op = Op::kCast,
       .flow = QFlow::kComputes,
       .roles = {Role::kData},
       .infer = infer_cast,
       .spellings =
           {
               {"aten.to", read_to, Aliasing::kSelf},
               {"aten.type_as", read_to, Aliasing::kSelf},
               {"aten._to_copy", read_to},
               {"prims.convert_element_type", read_convert},
               {"quantized_decomposed.convert_element_type", read_convert},
           },
       .is_elementwise = true},
      {.op = Op::kBitcast,
       .flow = QFlow::kComputes,
       .roles = {Role::kData},
       .infer = infer_bitcast,
       .spellings = {{"aten.view.dtype", read_bitcast, Aliasing::kView}}},
  };
  static const Spelling kCompounds[] = {
      {"aten.clone", read_identity},
      {"aten.contiguous", read_identity},  // it is in a graph only where it copies
      {"aten.detach", read_identity, Aliasing::kView},
      {"aten.alias", read_identity, Aliasing::kView},
      {"aten.lift", read_identity, Aliasing::kView},
      {"aten.lift_fresh", read_identity, Aliasing::kView},
      {"aten.lift_fresh_copy", read_identity},
      {"aten.requires_grad", read_identity, Aliasing::kView},
      {"aten.resolve_conj", read_real_part, Aliasing::kView},
      {"aten.resolve_neg", read_real_part, Aliasing::kView},
      {"aten.conj", read_real_part, Aliasing::kView},
      {"aten._conj", read_real_part, Aliasing::kView},
      {"aten.conj_physical", read_real_part},
      {"aten.real", read_real_part, Aliasing::kView},
      {"aten.dropout", read_dropout, Aliasing::kView},
      {"aten.feature_dropout", read_dropout, Aliasing::kView},
      {"aten.alpha_dropout", read_dropout, Aliasing::kView},
      {"aten.feature_alpha_dropout", read_dropout, Aliasing::kView},
      {"aten.native_dropout", read_native_dropout},
      {"aten.copy", read_copy},
      {"aten._assert_tensor_metadata", read_check},
      {"aten._assert_scalar", read_check},
      {"aten._assert_async", read_check},
      {"aten.sym_constrain_range", read_check},
      {"aten.sym_constrain_range_for_size", read_check},
      {"aten._print", read_check},
  };
  return {"type", kOps, kCompounds};
}

}  // namespace isthmus
