// Which axes of two broadcasting inputs are walked together.
#include "interpret/kernels/elementwise.h"

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

// How two inputs are read while the result is written from front to back. Neighbouring axes that both inputs walk
// alike are one; the last is the row.
struct PairWalk {
  std::vector<std::int64_t> sizes;                   // never empty
  std::array<std::vector<std::int64_t>, 2> strides;  // in elements; 0 where an input repeats
};

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

}  // namespace

Expected<void> for_each_pair_row(const KernelContext& context, void (*visit)(const void* data, const PairRow& row),
                                 const void* data) {
  const PairWalk walk = TRY(walk_pairs(context.sizes, context.inputs[0], context.inputs[1]));
  for (const std::int64_t size : walk.sizes) {
    if (size == 0) return {};
  }
  const std::size_t outer = walk.sizes.size() - 1;
  std::vector<std::int64_t> position(outer, 0);
  PairRow row{0, {0, 0}, {walk.strides[0].back(), walk.strides[1].back()}, walk.sizes.back()};
  while (true) {
    visit(data, row);
    row.at += row.count;
    std::size_t axis = outer;
    while (axis > 0) {
      --axis;
      for (std::size_t k = 0; k < 2; ++k) row.from[k] += walk.strides[k][axis];
      if (++position[axis] < walk.sizes[axis]) break;
      for (std::size_t k = 0; k < 2; ++k) row.from[k] -= walk.strides[k][axis] * walk.sizes[axis];
      position[axis] = 0;
      if (axis == 0) return {};
    }
    if (outer == 0) return {};
  }
}

}  // namespace isthmus
