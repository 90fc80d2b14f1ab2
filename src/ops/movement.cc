// Ops that only move numbers: reshape, permute, expand, slice, flip, and every name that comes down to them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/call.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Expected<TensorType> infer_permute(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const Ints& axes = context.as<AxesAttrs>().axes;
  Ints sorted = axes;
  std::ranges::sort(sorted);
  Ints all(input.rank());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    return bad_input(fmt::format("[{}] is no order of {} axes", fmt::join(axes, ","), input.rank()));
  }
  TensorType result{input.dtype, {}};
  for (const std::int64_t axis : axes) result.shape.push_back(input.shape[static_cast<std::size_t>(axis)]);
  return result;
}

Expected<std::vector<ValueId>> read_permute(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  Ints axes = TRY(call.integers("dims"));
  for (std::int64_t& axis : axes) axis = TRY(normal_axis(axis, call.rank(self)));
  return one(call.permute(self, std::move(axes)));
}

}  // namespace

Family movement_family() {
  static const OpDef kOps[] = {
      {.op = Op::kPermute,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData},
       .infer = infer_permute,
       .spellings =
           {
               {"aten.permute", read_permute, Aliasing::kView},
           }},
  };
  return {"movement", kOps, {}};
}

}  // namespace isthmus
