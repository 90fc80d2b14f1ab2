// Images that are sampled at places known now: products with constant matrices of weights.
#include <algorithm>

#include "transforms/legalize/pick.h"
#include "transforms/legalize/probe.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

// Both the matrix and the unit vectors by which it is found.
bool is_reasonable(std::int64_t from, std::int64_t to) {
  return from > 0 && to > 0 && std::max(from, to) <= kMaxWeights / from;
}

// Along the rows, then along the columns.
Replacement resized(const Site& site) {
  const auto& attrs = site.attrs<ResizeAttrs>();
  if (attrs.mode != ResizeMode::kLinear && attrs.mode != ResizeMode::kCubic) return unchanged();
  ValueId value = site.inputs[0];
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t axis = static_cast<std::int64_t>(i) + 2;
    const Dim from = site.emitter.size(value, axis);
    if (!from.is_fixed() || !attrs.size[i].is_fixed() || !is_reasonable(from.value(), attrs.size[i].value())) {
      return unchanged();
    }
    ResizeAttrs rows{attrs.mode, {attrs.size[i], 1}, {}, attrs.align_corners};
    if (!attrs.scales.empty()) rows.scales = {attrs.scales[i], 1};
    const auto matrix = pixel_matrix(Op::kResize2d, std::move(rows), {from.value(), 1});
    if (!matrix) return unchanged();
    value = TRY(product_along(site.emitter, value, axis, *matrix));
  }
  return std::optional(value);
}

// The grid of all images where it is known and the same for each of them; its first size is one.
std::optional<Tensor> common_grid(const Site& site) {
  const Node* producer = site.producer(1);
  const bool is_expanded = producer != nullptr && producer->op == Op::kExpand;
  const Constant* constant = site.graph().constant(is_expanded ? producer->inputs[0] : site.inputs[1]);
  if (constant == nullptr || !constant->data || constant->data->dtype != DType::kF32) return std::nullopt;
  if (constant->data->sizes.size() != 4) return std::nullopt;
  const Tensor grid = Tensor::from(*constant->data);
  const std::vector<std::int64_t> sizes{1, grid.size(1), grid.size(2), 2};
  const Shape& wanted = site.result().shape;
  if (grid.size(3) != 2 || wanted[2] != Dim(sizes[1]) || wanted[3] != Dim(sizes[2])) return std::nullopt;
  Tensor result(DType::kF32, sizes);
  const auto all = grid.data<float>();
  const std::size_t count = result.data<float>().size();
  if (count == 0) return std::nullopt;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != all[i % count]) return std::nullopt;
  }
  std::copy_n(all.begin(), count, result.mutable_data<float>().begin());
  return result;
}

// All pixels of an image at once.
Replacement sampled(const Site& site) {
  Emitter& emitter = site.emitter;
  const Shape shape = emitter.shape(site.inputs[0]);
  const auto grid = common_grid(site);
  if (!grid || !shape[2].is_fixed() || !shape[3].is_fixed() || !can_reshape(shape)) return unchanged();
  const ImageSize size{shape[2].value(), shape[3].value()};
  if (size.height > kMaxWeights || size.width > kMaxWeights) return unchanged();
  const std::int64_t pixels = size.height * size.width;
  if (!is_reasonable(pixels, grid->size(1) * grid->size(2))) return unchanged();
  const auto matrix = pixel_matrix(Op::kGridSample, site.node.attrs, size, {*grid});
  if (!matrix) return unchanged();
  const ValueId lines = TRY(emitter.reshape(site.inputs[0], {shape[0], shape[1], pixels}));
  return replaced_by(emitter.reshape(TRY(product_along(emitter, lines, 2, *matrix)), site.result().shape));
}

constexpr OpForm kResizeForms[] = {
    {Op::kResize2d, resized},
    {Op::kGridSample, sampled},
};

}  // namespace

Replacement sampling_forms(const Site& site) { return formed(site, kResizeForms); }

}  // namespace isthmus::rewrites
