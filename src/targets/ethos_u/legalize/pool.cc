// Pools whose windows the devices do not take: each window's elements side by side, and what a reduction makes of them.
#include <algorithm>
#include <optional>

#include "ops/families/movement.h"
#include "ops/known.h"
#include "targets/ethos_u/legalize/legalize.h"
#include "transforms/legalize/pick.h"

namespace isthmus::ethos_u {
namespace {

// More images than this are pooled as the channels of one.
constexpr std::int64_t kMaxImages = 64;

// Along one image axis, from which positions the elements of each window come. Those outside of the image are replaced
// by one of the same window, which no extreme minds. Nothing where a window has none inside, or there are too many.
std::optional<Ints> positions_of(const MaxPoolAttrs& attrs, std::size_t axis, std::int64_t size, std::int64_t windows) {
  if (windows > kMaxElements / attrs.kernel[axis]) return std::nullopt;
  Ints positions;
  for (std::int64_t window = 0; window < windows; ++window) {
    const std::int64_t first = window * attrs.stride[axis] - attrs.padding[2 * axis];
    const auto at = [&](std::int64_t tap) { return first + tap * attrs.dilation[axis]; };
    const auto is_inside = [&](std::int64_t position) { return position >= 0 && position < size; };
    std::int64_t inside = 0;
    while (inside < attrs.kernel[axis] && !is_inside(at(inside))) ++inside;
    if (inside == attrs.kernel[axis]) return std::nullopt;
    for (std::int64_t tap = 0; tap < attrs.kernel[axis]; ++tap) {
      positions.push_back(is_inside(at(tap)) ? at(tap) : at(inside));
    }
  }
  return positions;
}

// An axis as [windows, elements of a window].
Replacement windows_along(const Site& site, ValueId value, std::int64_t axis, const Ints& positions,
                          std::int64_t kernel) {
  Emitter& emitter = site.emitter;
  const auto picked = TRY(rewrites::pick(site, value, axis, positions));
  if (!picked) return picked;
  const std::int64_t windows = std::ssize(positions) / kernel;
  return replaced_by(emitter.reshape(*picked, with_axis(emitter.shape(*picked), axis, {windows, kernel})));
}

// One axis after the other.
Replacement greatest_of_windows(const Site& site) {
  const auto& attrs = site.attrs<MaxPoolAttrs>();
  ValueId value = site.inputs[0];
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    if (attrs.kernel[i] == 1 && attrs.stride[i] == 1) continue;
    const auto positions =
        positions_of(attrs, i, site.emitter.size(value, axis).value(), site.result().shape[i + 2].value());
    if (!positions) return unchanged();
    const auto windows = TRY(windows_along(site, value, axis, *positions, attrs.kernel[i]));
    if (!windows) return windows;
    value = TRY(site.emitter.emit(Op::kAmax, ReduceAttrs{{axis + 1}, false}, {*windows}));
  }
  return std::optional(value);
}

// A pool does not mix channels, so that those of all images may stand beside each other.
Replacement images_as_channels(const Site& site) {
  Shape shape = site.emitter.shape(site.inputs[0]);
  shape[1] = shape[0].value() * shape[1].value();
  shape[0] = 1;
  const ValueId image = TRY(site.emitter.reshape(site.inputs[0], std::move(shape)));
  const ValueId pooled = TRY(site.emitter.emit(site.node.op, site.node.attrs, {image}));
  return replaced_by(site.emitter.reshape(pooled, site.result().shape));
}

Replacement image_by_image(const Site& site) {
  const std::int64_t images = site.emitter.size(site.inputs[0], 0).value();
  if (images > kMaxImages) return images_as_channels(site);
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < images; ++i) {
    const ValueId image = TRY(site.emitter.slice(site.inputs[0], 0, i, i + 1));
    parts.push_back(TRY(site.emitter.emit(site.node.op, site.node.attrs, {image})));
  }
  return replaced_by(site.emitter.cat(std::move(parts), 0));
}

// Both axes at once: so that the sum is rounded only once.
Replacement mean_of_windows(const Site& site) {
  const auto& attrs = site.attrs<AvgPoolAttrs>();
  if (attrs.padding != Ints{0, 0, 0, 0} || attrs.ceil_mode || attrs.divisor != 0) return unchanged();
  const MaxPoolAttrs windows{attrs.kernel, attrs.stride, attrs.padding, {1, 1}, false};
  ValueId value = site.inputs[0];
  for (const std::size_t i : {1u, 0u}) {  // from the end, so that axes keep their numbers
    const auto axis = static_cast<std::int64_t>(i) + 2;
    const auto positions =
        positions_of(windows, i, site.emitter.size(value, axis).value(), site.result().shape[i + 2].value());
    if (!positions) return unchanged();
    const auto next = TRY(windows_along(site, value, axis, *positions, attrs.kernel[i]));
    if (!next) return next;
    value = *next;
  }
  return replaced_by(site.emitter.emit(Op::kMean, ReduceAttrs{{3, 5}, false}, {value}));
}

}  // namespace

Replacement pool_forms(const Site& site, Device device) {
  if (site.node.op != Op::kMaxPool2d && site.node.op != Op::kAvgPool2d) return unchanged();
  const auto reason = refusal_of(site, device);
  if (!reason || site.result().rank() != 4) return unchanged();
  if (site.node.op == Op::kMaxPool2d) return greatest_of_windows(site);
  return reason->code == ReasonCode::kBatch ? image_by_image(site) : mean_of_windows(site);
}

}  // namespace isthmus::ethos_u
