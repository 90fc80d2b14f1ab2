// Joins: cat and where, and every name that comes down to them.
#include <fmt/format.h>

#include <algorithm>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"
#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

Expected<TensorType> infer_cat(const InferContext& context) {
  TensorType result = context.inputs[0];
  const std::int64_t axis = context.as<AxisAttrs>().axis;
  if (axis < 0 || axis >= static_cast<std::int64_t>(result.rank())) {
    return bad_input(fmt::format("axis {} is out of range for rank {}", axis, result.rank()));
  }
  Dim total = 0;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    const TensorType& input = context.inputs[i];
    TRY(demand_same_dtype(result, input));
    TRY(demand_rank(input, result.rank()));
    for (std::size_t other = 0; other < result.rank(); ++other) {
      Dim& size = result.shape[other];
      if (static_cast<std::int64_t>(other) == axis) continue;
      if (surely_differ(context.exprs, size, input.shape[other])) {
        return bad_input(fmt::format("inputs 0 and {} differ in dimension {}: {} and {}", i, other,
                                     context.exprs.text(size), context.exprs.text(input.shape[other])));
      }
      if (!size.is_fixed()) size = input.shape[other].is_fixed() ? input.shape[other] : size;
    }
    total = context.exprs.add(total, input.shape[static_cast<std::size_t>(axis)]);
  }
  result.shape[static_cast<std::size_t>(axis)] = total;
  TRY(demand_countable(result));
  return result;
}

Expected<TensorType> infer_where(const InferContext& context) {
  if (context.inputs[0].dtype != DType::kBool) {
    return bad_input(fmt::format("the condition is {}, expected bool", name_of(context.inputs[0].dtype)));
  }
  TRY(demand_same_dtype(context.inputs[1], context.inputs[2]));
  Shape shape = TRY(broadcast(context.exprs, context.inputs[1].shape, context.inputs[2].shape));
  shape = TRY(broadcast(context.exprs, context.inputs[0].shape, shape));
  return TensorType{context.inputs[1].dtype, std::move(shape)};
}

// PyTorch has always let tensors of shape [0] take part in any cat, as nothing.
bool is_legacy_empty(const Shape& shape) { return shape.size() == 1 && shape[0].is(0); }

Expected<void> promote(Call& call, std::vector<ValueId>& tensors) {
  if (tensors.empty()) return bad_input("there are no tensors to concatenate");
  DType dtype = call.type(tensors[0]).dtype;
  for (const ValueId tensor : tensors) dtype = promoted(dtype, false, call.type(tensor).dtype, false);
  for (ValueId& tensor : tensors) tensor = TRY(call.cast(tensor, dtype));
  return {};
}

// `axis` may count from the end; it is of the result.
Expected<ValueId> joined(Call& call, std::vector<ValueId> tensors, std::int64_t axis) {
  TRY(promote(call, tensors));
  const ValueId first = tensors[0];
  const auto has_rank = std::ranges::find_if(tensors, [&](ValueId id) { return !is_legacy_empty(call.shape(id)); });
  if (has_rank == tensors.end()) return first;
  const std::int64_t rank = call.rank(*has_rank);
  if (rank == 0) return bad_input("0-d tensors cannot be concatenated");
  axis = TRY(normal_axis(axis, rank));
  std::erase_if(tensors, [&](ValueId id) { return is_legacy_empty(call.shape(id)); });
  return call.cat(std::move(tensors), axis);
}

Expected<std::vector<ValueId>> read_cat(Call& call) {
  const bool is_named_axis = call.has("axis");
  return one(joined(call, TRY(call.tensors("tensors")), TRY(call.integer(is_named_axis ? "axis" : "dim", 0))));
}

// Joined along the axis that the new one is put before, then cut there: the form of fewest ops.
Expected<std::vector<ValueId>> read_stack(Call& call) {
  std::vector<ValueId> tensors = TRY(call.tensors("tensors"));
  TRY(promote(call, tensors));
  const std::int64_t rank = call.rank(tensors[0]);
  for (const ValueId tensor : tensors) {
    if (call.rank(tensor) != rank) return bad_input("tensors to stack differ in rank");
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (surely_differ(call.exprs(), call.size(tensor, axis), call.size(tensors[0], axis))) {
        return bad_input("tensors to stack differ in shape");
      }
    }
  }
  const std::int64_t axis = TRY(call.axis("dim", rank + 1, 0));
  if (axis == rank) {
    for (ValueId& tensor : tensors) tensor = TRY(unsqueeze(call, tensor, axis));
    return one(call.cat(std::move(tensors), axis));
  }
  Shape shape = call.shape(tensors[0]);
  shape.insert(shape.begin() + axis, Dim(static_cast<std::int64_t>(tensors.size())));
  return one(call.reshape(TRY(call.cat(std::move(tensors), axis)), std::move(shape)));
}

// Each tensor with at least `rank` axes; new ones stand where the stacking names want them.
Expected<std::vector<ValueId>> with_axes(Call& call, std::size_t rank) {
  std::vector<ValueId> tensors = TRY(call.tensors("tensors"));
  if (tensors.empty()) return bad_input("there are no tensors to concatenate");
  for (ValueId& tensor : tensors) {
    Shape shape = call.shape(tensor);
    if (shape.empty()) shape.push_back(1);
    if (rank >= 2 && shape.size() == 1) shape.insert(shape.begin(), Dim(1));
    if (rank >= 3 && shape.size() == 2) shape.push_back(1);
    tensor = TRY(call.reshape(tensor, std::move(shape)));
  }
  return tensors;
}

Expected<std::vector<ValueId>> read_hstack(Call& call) {
  const auto tensors = TRY(with_axes(call, 1));
  return one(joined(call, tensors, call.rank(tensors[0]) == 1 ? 0 : 1));
}
Expected<std::vector<ValueId>> read_vstack(Call& call) { return one(joined(call, TRY(with_axes(call, 2)), 0)); }
Expected<std::vector<ValueId>> read_dstack(Call& call) { return one(joined(call, TRY(with_axes(call, 3)), 2)); }

Expected<std::vector<ValueId>> read_column_stack(Call& call) {
  std::vector<ValueId> tensors = TRY(call.tensors("tensors"));
  for (ValueId& tensor : tensors) {
    if (call.rank(tensor) > 1) continue;
    const Dim size = call.rank(tensor) == 0 ? Dim(1) : call.size(tensor, 0);
    tensor = TRY(call.reshape(tensor, {size, Dim(1)}));
  }
  return one(joined(call, std::move(tensors), 1));
}

// Sequences of different lengths, filled up to the longest and stacked.
Expected<std::vector<ValueId>> read_pad_sequence(Call& call) {
  std::vector<ValueId> tensors = TRY(call.tensors("sequences"));
  const double filler = TRY(call.number("padding_value", 0));
  const bool batch_first = TRY(call.flag("batch_first", false));
  if (TRY(call.text("padding_side", "right")) != "right")
    return Call::unsupported("pad_sequence with padding on the left is not supported");
  TRY(promote(call, tensors));
  std::int64_t longest = 0;
  for (const ValueId tensor : tensors) {
    if (call.rank(tensor) == 0) return bad_input("pad_sequence needs at least one dimension");
    if (!call.size(tensor, 0).is_fixed()) return Call::unsupported("pad_sequence needs static sizes");
    longest = std::max(longest, call.size(tensor, 0).value());
  }
  for (ValueId& tensor : tensors) {
    const std::int64_t missing = longest - call.size(tensor, 0).value();
    if (missing > 0) {
      PadAttrs pad{PadMode::kConstant, Ints(static_cast<std::size_t>(call.rank(tensor)), 0), {}, filler};
      pad.after = pad.before;
      pad.after[0] = missing;
      tensor = TRY(call.emit(Op::kPad, std::move(pad), {tensor}));
    }
    tensor = TRY(unsqueeze(call, tensor, batch_first ? 0 : 1));
  }
  return one(call.cat(std::move(tensors), batch_first ? 0 : 1));
}

Expected<ValueId> condition_of(Call& call, std::string_view name) {
  return call.cast(TRY(call.tensor(name)), DType::kBool);
}

Expected<std::vector<ValueId>> read_where(Call& call) {
  if (!call.has("self")) return Call::unsupported("the output size depends on the values of the condition");
  const DType dtype = call.result().dtype;
  const ValueId condition = TRY(condition_of(call, "condition"));
  const ValueId self = TRY(call.operand("self", dtype));
  const ValueId other = TRY(call.operand("other", dtype));
  const ValueId chosen = TRY(call.emit(Op::kWhere, NoAttrs{}, {condition, self, other}));
  return one(chosen);
}

Expected<TensorType> infer_branch(const InferContext& context) {
  if (context.inputs[0].dtype != DType::kBool) return bad_input("the predicate is not a bool");
  for (const Dim size : context.inputs[0].shape) TRY(demand_equal(context.exprs, size, 1, "size of the predicate"));
  if (context.inputs[1] != context.inputs[2]) return bad_input("its branches have results of different types");
  return context.inputs[1];
}

// The two branches have been inlined.
Expected<std::vector<ValueId>> read_branch(Call& call) {
  const ValueId if_true = TRY(call.tensor("if_true"));
  const ValueId if_false = TRY(call.tensor("if_false"));
  if (call.is_scalar("pred")) return Values{TRY(call.flag("pred")) ? if_true : if_false};
  const ValueId predicate = TRY(call.cast(TRY(call.tensor("pred")), DType::kBool));
  return one(call.emit(Op::kBranch, NoAttrs{}, {predicate, if_true, if_false}));
}

Expected<std::vector<ValueId>> read_masked_fill(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId mask = TRY(condition_of(call, "mask"));
  const ValueId value = TRY(call.operand("value", call.type(self).dtype));
  if (call.rank(value) != 0) return bad_input("masked_fill needs a scalar value");
  return one(call.emit(Op::kWhere, NoAttrs{}, {mask, value, self}));
}

}  // namespace

Family join_family() {
  static const OpDef kOps[] = {
      {.op = Op::kCat,
       .flow = QFlow::kJoinsInputs,
       .roles = {Role::kData},
       .is_variadic = true,
       .infer = infer_cat,
       .spellings =
           {
               {"aten.cat", read_cat},
               {"aten.concat", read_cat},
               {"aten.concatenate", read_cat},
               {"aten.hstack", read_hstack},
               {"aten.vstack", read_vstack},
               {"aten.row_stack", read_vstack},
               {"aten.dstack", read_dstack},
               {"aten.column_stack", read_column_stack},
           },
       .channels = ChannelAxis::kOfJoining},
      {.op = Op::kWhere,
       .flow = QFlow::kJoinsInputs,
       .roles = {Role::kCondition, Role::kData, Role::kData},
       .required = 3,
       .infer = infer_where,
       .spellings =
           {
               {"aten.where", read_where},
               {"aten.masked_fill", read_masked_fill},
           },
       .is_elementwise = true,
       .broadcasts = true},
      {.op = Op::kBranch,
       .flow = QFlow::kJoinsInputs,
       .roles = {Role::kCondition, Role::kData, Role::kData},
       .required = 3,
       .infer = infer_branch,
       .spellings = {{"higher_order.cond", read_branch}}},
  };
  static const Spelling kCompounds[] = {
      {"aten.stack", read_stack},
      {"aten.pad_sequence", read_pad_sequence},
  };
  return {"join", kOps, kCompounds};
}

}  // namespace isthmus
