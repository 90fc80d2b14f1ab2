// Which axes of two broadcasting inputs are walked together.
#include "exec/elementwise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isthmus {
namespace {

// One stride for each axis of the result.
Expected<std::vector<std::int64_t>> strides_of(const std::vector<std::int64_t>& sizes, const Tensor& input) {
  const auto refuse = [&] {
    return bad_input(
        fmt::format("[{}] does not broadcast to [{}]", fmt::join(input.sizes(), ","), fmt::join(sizes, ",")));
  };
  if (input.sizes().size() > sizes.size()) return refuse();
  const std::size_t lead = sizes.size() - input.sizes().size();
  std::vector<std::int64_t> strides(sizes.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t axis = sizes.size(); axis-- > lead;) {
    const std::int64_t size = input.sizes()[axis - lead];
    if (size != 1 && size != sizes[axis]) return refuse();
    if (size != 1) strides[axis] = stride;
    stride *= size;
  }
  return strides;
}

}  // namespace

Expected<PairWalk> walk_pairs(const std::vector<std::int64_t>& sizes, const Tensor& a, const Tensor& b) {
  std::array<std::vector<std::int64_t>, 2> strides;
  strides[0] = TRY(strides_of(sizes, a));
  strides[1] = TRY(strides_of(sizes, b));
  PairWalk walk;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 1) continue;
    bool continues = !walk.sizes.empty();
    for (std::size_t k = 0; k < 2 && continues; ++k) {
      continues = walk.strides[k].back() == strides[k][axis] * sizes[axis];
    }
    if (continues) {
      walk.sizes.back() *= sizes[axis];
      for (std::size_t k = 0; k < 2; ++k) walk.strides[k].back() = strides[k][axis];
    } else {
      walk.sizes.push_back(sizes[axis]);
      for (std::size_t k = 0; k < 2; ++k) walk.strides[k].push_back(strides[k][axis]);
    }
  }
  if (walk.sizes.empty()) {
    walk.sizes = {1};
    walk.strides = {std::vector<std::int64_t>{0}, std::vector<std::int64_t>{0}};
  }
  return walk;
}

}  // namespace isthmus
