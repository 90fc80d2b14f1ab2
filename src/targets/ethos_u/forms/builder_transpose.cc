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

// Axes that stay side by side are one, and those of size one are none.
Squeezed joined(const Ints& shape, const Ints& perms) {
  struct Run {
    std::int64_t first, size;
  };
  std::vector<Run> runs;
  std::int64_t next = -1;
  for (const std::int64_t axis : perms) {
    const std::int64_t size = shape[static_cast<std::size_t>(axis)];
    if (size == 1) continue;
    if (axis == next) {
      runs.back().size *= size;
    } else {
      runs.push_back({axis, size});
    }
    next = axis + 1;
    while (next < std::ssize(shape) && shape[static_cast<std::size_t>(next)] == 1) ++next;
  }
  Squeezed result;
  std::vector<Run> by_place = runs;
  std::ranges::sort(by_place, {}, &Run::first);
  for (const Run& run : by_place) result.shape.push_back(run.size);
  for (const Run& run : runs)
    result.perms.push_back(std::ranges::find(by_place, run.first, &Run::first) - by_place.begin());
  return result;
}

}  // namespace

Operand TosaBuilder::transpose(const Operand& given, const Ints& wanted) {
  if (std::ranges::is_sorted(wanted)) return given;
  if (const Squeezed plain = squeezed(given.shape, wanted); plain.perms.size() < wanted.size()) {
    Ints shape;
    for (const std::int64_t axis : wanted) shape.push_back(given.shape[static_cast<std::size_t>(axis)]);
    return reshape(transpose(reshape(given, plain.shape), plain.perms), std::move(shape));
  }
  // U55 turns a matrix in one step, where it makes two of more axes. U85 computes pixel by pixel then.
  if (const Squeezed matrix = joined(given.shape, wanted); device_ == Device::kU55 && matrix.perms == Ints{1, 0} &&
                                                           wanted.size() > 2 &&
                                                           std::ranges::max(matrix.shape) <= kMaxCount) {
    Ints shape;
    for (const std::int64_t axis : wanted) shape.push_back(given.shape[static_cast<std::size_t>(axis)]);
    return reshape(transpose(reshape(given, matrix.shape), matrix.perms), std::move(shape));
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
