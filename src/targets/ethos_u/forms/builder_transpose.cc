// Transposes, in parts where the device counts no further.
#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "targets/ethos_u/forms/builder.h"
#include "targets/ethos_u/limits.h"

namespace isthmus::ethos_u {
namespace {

// Of all axes but two, the largest product: the device counts them together.
std::int64_t counted(Ints shape) {
  std::ranges::sort(shape);
  const auto first = shape.begin() + std::min<std::ptrdiff_t>(2, std::ssize(shape));
  return std::accumulate(first, shape.end(), std::int64_t{1}, std::multiplies<>());
}

// More axes than that make several transposes of one.
constexpr std::size_t kPlainRank = 4;

// The transpose without its first axes of size one, as many as are too many.
struct Squeezed {
  Ints shape;
  Ints perms;
};
Squeezed squeezed(Ints shape, Ints perms) {
  while (perms.size() > kPlainRank) {
    const auto unit = std::ranges::find(shape, 1);
    if (unit == shape.end()) break;
    const std::int64_t axis = unit - shape.begin();
    shape.erase(unit);
    std::erase(perms, axis);
    for (std::int64_t& other : perms) other -= other > axis ? 1 : 0;
  }
  return {std::move(shape), std::move(perms)};
}

}  // namespace

Operand TosaBuilder::transpose(const Operand& given, const Ints& wanted) {
  if (std::ranges::is_sorted(wanted)) return given;
  if (const Squeezed plain = squeezed(given.shape, wanted); plain.perms.size() < wanted.size()) {
    Ints shape;
    for (const std::int64_t axis : wanted) shape.push_back(given.shape[static_cast<std::size_t>(axis)]);
    return reshape(transpose(reshape(given, plain.shape), plain.perms), std::move(shape));
  }
  const Operand& x = given;
  const Ints& perms = wanted;
  const auto at_once = [&](const Operand& part) {
    Ints shape;
    for (const std::int64_t axis : perms) shape.push_back(part.shape[static_cast<std::size_t>(axis)]);
    tosa::Transpose fields;
    fields.perms.assign(perms.begin(), perms.end());
    return emit(tosa::Op::kTranspose, std::move(fields), {part.id}, part.type, std::move(shape));
  };
  const std::int64_t all = counted(x.shape);
  if (device_ != Device::kU55 || all <= kMaxCount) return at_once(x);
  const auto longest = std::ranges::max_element(x.shape) - x.shape.begin();
  const auto at = static_cast<std::size_t>(longest);
  const std::int64_t beside = all / x.shape[at];
  const std::int64_t max = std::max<std::int64_t>(kMaxCount / beside, 1);
  std::vector<Operand> parts;
  for (std::int64_t first = 0; first < x.shape[at]; first += max) {
    Ints start(x.shape.size(), 0);
    Ints size = x.shape;
    start[at] = first;
    size[at] = std::min(max, x.shape[at] - first);
    parts.push_back(at_once(slice(x, start, std::move(size))));
  }
  return concat(parts, std::ranges::find(perms, longest) - perms.begin());
}

}  // namespace isthmus::ethos_u
