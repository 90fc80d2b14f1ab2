// What moves numbers to places that are known now: flips, steps, mirrored pads, nearest neighbours.
#include <algorithm>
#include <iterator>

#include "ops/known.h"
#include "transforms/legalize/pick.h"
#include "transforms/legalize/probe.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

bool is_countable(Dim dim) { return dim.is_fixed() && dim.value() > 0 && dim.value() <= kMaxElements; }

Replacement flipped(const Site& site) {
  ValueId value = site.inputs[0];
  for (const std::int64_t axis : site.attrs<AxesAttrs>().axes) {
    const auto next = TRY(reversed(site, value, axis));
    if (!next) return next;
    value = *next;
  }
  return std::optional(value);
}

// A part of a symbolic axis, as much as a convolution leaves whose filter is 1 at one place: a window that begins where
// the part begins and ends where it leaves the rest of the axis.
Replacement part_of_symbolic(const Site& site) {
  constexpr std::int64_t kMaxWindow = 64;
  constexpr std::int64_t kMaxChannels = 1 << 14;
  const auto& attrs = site.attrs<SliceAttrs>();
  Emitter& emitter = site.emitter;
  const Shape shape = emitter.shape(site.inputs[0]);
  const auto at = static_cast<std::size_t>(attrs.axis);
  const Dim left = emitter.exprs().subtract(shape[at], attrs.end);
  const bool is_never_empty = emitter.exprs().bounds(site.result().shape[at]).min.value_or(0) > 0;
  if (!attrs.start.is_fixed() || !left.is_fixed() || !is_never_empty || !can_reshape(shape)) {
    return unchanged();
  }
  const Dim channels = emitter.exprs().product(with_axis(shape, attrs.axis, {}));
  const std::int64_t window = attrs.start.value() + left.value() + 1;
  if (left.value() < 0 || window > kMaxWindow || !is_countable(channels) || channels.value() > kMaxChannels) {
    return unchanged();
  }
  std::vector<double> filters(static_cast<std::size_t>(channels.value() * window), 0);
  for (std::int64_t i = 0; i < channels.value(); ++i) {
    filters[static_cast<std::size_t>(i * window + attrs.start.value())] = 1;
  }
  const Moved moved = TRY(moved_last(emitter, site.inputs[0], attrs.axis));
  const Shape turned = emitter.shape(moved.value);
  const ValueId image = TRY(emitter.reshape(moved.value, {1, channels, shape[at], 1}));
  const ValueId weights = emitter.floats(filters, DType::kF32, {channels.value(), 1, window, 1});
  const ConvAttrs conv{{attrs.step, 1}, {0, 0, 0, 0}, {1, 1}, channels.value()};
  const ValueId part = TRY(emitter.emit(Op::kConv2d, conv, {image, weights}));
  const Dim size = emitter.size(part, 2);
  if (size != site.result().shape[at]) return unchanged();
  const ValueId lines = TRY(emitter.reshape(part, with_axis(turned, std::ssize(turned) - 1, {size})));
  return replaced_by(emitter.permute(lines, moved.back));
}

Replacement stepped(const Site& site) {
  const auto& attrs = site.attrs<SliceAttrs>();
  const Dim size = site.graph().type(site.inputs[0]).shape[static_cast<std::size_t>(attrs.axis)];
  const Dim count = site.result().shape[static_cast<std::size_t>(attrs.axis)];
  if (!size.is_fixed() && !count.is_fixed()) return part_of_symbolic(site);
  if (attrs.step == 1 || !attrs.start.is_fixed() || !is_countable(count)) return unchanged();
  const std::int64_t start = attrs.start.value();
  Ints positions;
  for (std::int64_t i = 0; i < count.value(); ++i) positions.push_back(start + i * attrs.step);
  if (size.is_fixed()) return pick(site, site.inputs[0], attrs.axis, positions);
  const ValueId part = TRY(site.emitter.slice(site.inputs[0], attrs.axis, start, positions.back() + 1));
  for (std::int64_t& position : positions) position -= start;
  return pick(site, part, attrs.axis, positions);
}

// The numbers of the axis itself that lie around it.
Replacement mirrored(const Site& site) {
  const auto& attrs = site.attrs<PadAttrs>();
  if (attrs.mode == PadMode::kConstant) return unchanged();
  ValueId value = site.inputs[0];
  for (std::int64_t axis = 0; axis < std::ssize(attrs.before); ++axis) {
    const std::int64_t before = attrs.before[static_cast<std::size_t>(axis)];
    const std::int64_t after = attrs.after[static_cast<std::size_t>(axis)];
    if (before == 0 && after == 0) continue;
    const Dim size = site.emitter.size(value, axis);
    if (!is_countable(size) || std::max(before, after) > kMaxElements) return unchanged();
    const bool is_reflected = attrs.mode == PadMode::kReflect;
    const std::int64_t last = size.value() - 1;
    Ints first_part, last_part;
    for (std::int64_t i = before; i > 0; --i) first_part.push_back(is_reflected ? i : 0);
    for (std::int64_t i = 1; i <= after; ++i) last_part.push_back(is_reflected ? last - i : last);
    std::vector<ValueId> parts{value};
    if (before > 0) {
      const auto part = TRY(pick(site, value, axis, first_part));
      if (!part) return part;
      parts.insert(parts.begin(), *part);
    }
    if (after > 0) {
      const auto part = TRY(pick(site, value, axis, last_part));
      if (!part) return part;
      parts.push_back(*part);
    }
    value = TRY(site.emitter.cat(std::move(parts), axis));
  }
  return std::optional(value);
}

// Which row each row of the result is nearest to.
std::optional<Ints> nearest_rows(const ResizeAttrs& attrs, std::size_t axis, std::int64_t from) {
  ResizeAttrs rows{attrs.mode, {attrs.size[axis], 1}, {}, false};
  if (!attrs.scales.empty()) rows.scales = {attrs.scales[axis], 1};
  const auto moved = result_of(Op::kResize2d, rows, {counted(DType::kF32, {1, 1, from, 1})});
  if (!moved) return std::nullopt;
  return positions_in(*moved);
}

// How often each row comes, where that is the same number for all rows of a size that is not known yet.
std::optional<std::int64_t> repeats_of_symbolic(const Site& site, std::size_t axis) {
  constexpr std::int64_t kMaxRepeats = 16;
  const auto& attrs = site.attrs<ResizeAttrs>();
  Exprs& exprs = site.emitter.exprs();
  const Dim from = site.emitter.size(site.inputs[0], static_cast<std::int64_t>(axis) + 2);
  const Bounds bounds = exprs.bounds(from);
  const auto repeats = exprs.divide_exactly(attrs.size[axis], from);
  if (!repeats || !repeats->is_fixed() || repeats->value() < 1 || repeats->value() > kMaxRepeats || !bounds.max ||
      *bounds.max > kMaxElements / kMaxRepeats) {
    return std::nullopt;
  }
  // Rounding depends on the ratio alone, so the largest size speaks for all.
  ResizeAttrs largest = attrs;
  largest.size[axis] = *bounds.max * repeats->value();
  const auto rows = nearest_rows(largest, axis, *bounds.max);
  if (!rows) return std::nullopt;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    if ((*rows)[i] != static_cast<std::int64_t>(i) / repeats->value()) return std::nullopt;
  }
  return repeats->value();
}

// Pixels of images of any size come several times: a transposed convolution that writes each of them to a tile.
Replacement repeated_pixels(const Site& site) {
  constexpr std::int64_t kMaxChannels = 1 << 12;
  const auto rows = repeats_of_symbolic(site, 0);
  const auto columns = repeats_of_symbolic(site, 1);
  const Dim channels = site.emitter.size(site.inputs[0], 1);
  if (!rows || !columns || !is_countable(channels) || channels.value() > kMaxChannels) return unchanged();
  const std::vector<double> ones(static_cast<std::size_t>(channels.value() * *rows * *columns), 1);
  const ValueId filters = site.emitter.floats(ones, DType::kF32, {channels.value(), 1, *rows, *columns});
  const ConvTransposeAttrs attrs{{*rows, *columns}, {0, 0, 0, 0}, {1, 1}, channels.value()};
  return replaced_by(site.emitter.emit(Op::kConvTranspose2d, attrs, {site.inputs[0], filters}));
}

Replacement nearest(const Site& site) {
  const auto& attrs = site.attrs<ResizeAttrs>();
  if (attrs.mode != ResizeMode::kNearest && attrs.mode != ResizeMode::kNearestExact) return unchanged();
  ValueId value = site.inputs[0];
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    const Dim size = site.emitter.size(value, axis);
    if (!is_countable(size) || !is_countable(attrs.size[i])) return repeated_pixels(site);
    const auto rows = nearest_rows(attrs, i, size.value());
    if (!rows) return unchanged();
    const auto next = TRY(pick(site, value, axis, *rows));
    if (!next) return next;
    value = *next;
  }
  return std::optional(value);
}

constexpr OpForm kSelectForms[] = {
    {Op::kFlip, flipped},
    {Op::kSlice, stepped},
    {Op::kPad, mirrored},
    {Op::kResize2d, nearest},
};

}  // namespace

Replacement selection_forms(const Site& site) { return formed(site, kSelectForms); }

}  // namespace isthmus::rewrites
