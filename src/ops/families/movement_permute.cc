// Names of permute: transpose, moveaxis and the others that only change the order of axes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/families/movement.h"

namespace isthmus {
namespace {

Expected<std::vector<ValueId>> read_permute(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  Ints axes = TRY(call.integers("dims"));
  for (std::int64_t& axis : axes) axis = TRY(normal_axis(axis, call.rank(self)));
  return one(call.permute(self, std::move(axes)));
}

Expected<std::vector<ValueId>> read_transpose(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const bool is_named_axis = call.has("axis0");
  const std::int64_t a = TRY(call.axis(is_named_axis ? "axis0" : "dim0", call.rank(self)));
  const std::int64_t b = TRY(call.axis(is_named_axis ? "axis1" : "dim1", call.rank(self)));
  return one(transpose(call, self, a, b));
}

Expected<std::vector<ValueId>> read_t(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) > 2)
    return bad_input(fmt::format("t() needs at most rank 2, the input has rank {}", call.rank(self)));
  return one(call.rank(self) < 2 ? self : transpose(call, self, 0, 1));
}

Expected<std::vector<ValueId>> read_reversed(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  Ints axes(static_cast<std::size_t>(call.rank(self)));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return one(call.permute(self, std::move(axes)));
}

Expected<std::vector<ValueId>> read_matrix_transpose(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) < 2) return bad_input(fmt::format("expected a matrix, the input has rank {}", call.rank(self)));
  return one(transpose(call, self, call.rank(self) - 2, call.rank(self) - 1));
}

// The transpose of a matrix with its conjugates, which are the same numbers where they are real.
Expected<std::vector<ValueId>> read_adjoint(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (is_complex(call.type(self).dtype)) return Call::unsupported("complex arithmetic is not supported");
  return call.rank(self) == 0 ? one(self) : read_matrix_transpose(call);
}

Expected<std::vector<ValueId>> read_moveaxis(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t rank = call.rank(self);
  const Ints from = TRY(call.integers("source"));
  const Ints to = TRY(call.integers("destination"));
  if (from.size() != to.size()) {
    return bad_input(fmt::format("{} source axes for {} destinations", from.size(), to.size()));
  }
  constexpr std::int64_t kFree = -1;
  Ints axes(static_cast<std::size_t>(std::max<std::int64_t>(rank, 1)), kFree);
  std::vector<bool> is_moved(axes.size(), false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto source = static_cast<std::size_t>(TRY(normal_axis(from[i], rank)));
    const auto target = static_cast<std::size_t>(TRY(normal_axis(to[i], rank)));
    if (is_moved[source] || axes[target] != kFree) return bad_input("an axis occurs twice");
    is_moved[source] = true;
    axes[target] = static_cast<std::int64_t>(source);
  }
  if (rank == 0) return one(self);
  // The axes that do not move keep their order in the places that are left.
  std::size_t next = 0;
  for (std::int64_t& axis : axes) {
    if (axis != kFree) continue;
    while (is_moved[next]) ++next;
    axis = static_cast<std::int64_t>(next++);
  }
  return one(call.permute(self, std::move(axes)));
}

}  // namespace

std::vector<Spelling> permute_spellings() {
  return {
      {"aten.permute", read_permute, Aliasing::kView},
      {"aten.transpose", read_transpose, Aliasing::kView},
      {"aten.swapaxes", read_transpose, Aliasing::kView},
      {"aten.swapdims", read_transpose, Aliasing::kView},
      {"aten.t", read_t, Aliasing::kView},
      {"aten.numpy_T", read_reversed, Aliasing::kView},
      {"aten.mT", read_matrix_transpose, Aliasing::kView},
      {"aten.mH", read_adjoint, Aliasing::kView},
      {"aten.matrix_H", read_adjoint, Aliasing::kView},
      {"aten.adjoint", read_adjoint, Aliasing::kView},
      {"aten.moveaxis", read_moveaxis, Aliasing::kView},
      {"aten.movedim", read_moveaxis, Aliasing::kView},
  };
}

}  // namespace isthmus
