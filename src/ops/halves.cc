// Two slices, a product and a sum.
#include "ops/halves.h"

namespace isthmus {
Expected<ValueId> sum_of_halves(Emitter& emitter, ValueId value, double factor) {
  const std::int64_t axis = emitter.rank(value) - 1;
  const std::int64_t size = emitter.size(value, axis).value();
  const ValueId first = TRY(emitter.slice(value, axis, 0, size / 2));
  const ValueId second = TRY(emitter.slice(value, axis, size / 2, size));
  // With as many axes as what it is multiplied with: some devices ask for that.
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(emitter.rank(value)), 1);
  const ValueId scale = emitter.floats({factor}, DType::kF32, ones);
  return emitter.binary(Op::kAdd, first, TRY(emitter.binary(Op::kMul, second, scale)));
}

}  // namespace isthmus
