// Two slices, a product and a sum.
#include "ops/halves.h"

#include <cstring>

namespace isthmus {
namespace {

// One number, with as many axes as what it is multiplied with: some devices ask for that.
ValueId number_of_rank(Emitter& emitter, double number, std::int64_t rank) {
  const auto narrow = static_cast<float>(number);
  std::vector<std::byte> bytes(sizeof(narrow));
  std::memcpy(bytes.data(), &narrow, sizeof(narrow));
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(rank), 1);
  return emitter.constant({DType::kF32, ones, ones, 0, Blob::owning(std::move(bytes))});
}

}  // namespace

Expected<ValueId> sum_of_halves(Emitter& emitter, ValueId value, double factor) {
  const std::int64_t axis = emitter.rank(value) - 1;
  const std::int64_t size = emitter.size(value, axis).value();
  const ValueId first = TRY(emitter.slice(value, axis, 0, size / 2));
  const ValueId second = TRY(emitter.slice(value, axis, size / 2, size));
  const ValueId scale = number_of_rank(emitter, factor, emitter.rank(value));
  return emitter.binary(Op::kAdd, first, TRY(emitter.binary(Op::kMul, second, scale)));
}

}  // namespace isthmus
