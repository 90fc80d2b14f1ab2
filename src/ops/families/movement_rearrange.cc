// Names that turn, rotate and shuffle: flip, roll, rot90, pixel_shuffle, channel_shuffle.
#include <fmt/format.h>

#include <algorithm>

#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

// Axes of one element have nothing to flip.
Expected<ValueId> flipped(Emitter& emitter, ValueId value, Ints axes) {
  std::erase_if(axes, [&](std::int64_t axis) { return emitter.size(value, axis).is(1); });
  if (axes.empty()) return value;
  return emitter.emit(Op::kFlip, AxesAttrs{std::move(axes)}, {value});
}

Expected<std::vector<ValueId>> read_flip(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(flipped(call, self, TRY(normal_axes(TRY(call.integers("dims")), call.rank(self), false))));
}

template <std::int64_t axis>
Expected<std::vector<ValueId>> read_flip_axis(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) <= axis)
    return bad_input(fmt::format("axis {} is out of range for rank {}", axis, call.rank(self)));
  return one(flipped(call, self, {axis}));
}

Expected<ValueId> rolled(Call& call, ValueId value, std::int64_t axis, Dim shift) {
  Exprs& exprs = call.exprs();
  const Dim size = call.size(value, axis);
  if (size.is(0) || shift.is(0)) return value;
  // A shift that is surely shorter than the axis needs no modulo.
  const bool is_short = shift.is_fixed() && shift.value() > -kMaxElements && shift.value() < kMaxElements &&
                        !size.is_fixed() && exprs.bounds(size).min.value_or(0) >= std::abs(shift.value());
  const Dim moved = !is_short ? exprs.modulo(shift, size) : shift.value() >= 0 ? shift : exprs.add(shift, size);
  if (moved.is(0)) return value;
  const Dim cut = exprs.subtract(size, moved);
  const ValueId tail = TRY(call.slice(value, axis, cut, size));
  return call.cat({tail, TRY(call.slice(value, axis, 0, cut))}, axis);
}

Expected<std::vector<ValueId>> read_roll(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Dims shifts = TRY(call.dims("shifts"));
  const Ints axes = TRY(call.integers("dims", Ints{}));
  const Shape shape = call.shape(self);
  if (axes.empty()) {
    if (shifts.size() != 1) return bad_input(fmt::format("{} shifts for one axis", shifts.size()));
    const ValueId flat = TRY(call.reshape(self, {call.exprs().product(shape)}));
    return one(call.reshape(TRY(rolled(call, flat, 0, shifts[0])), shape));
  }
  if (shifts.size() != axes.size()) return bad_input(fmt::format("{} shifts for {} axes", shifts.size(), axes.size()));
  ValueId value = self;
  for (std::size_t i = 0; i < axes.size() && !shape.empty(); ++i) {
    value = TRY(rolled(call, value, TRY(normal_axis(axes[i], call.rank(self))), shifts[i]));
  }
  return one(value);
}

Expected<std::vector<ValueId>> read_rot90(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t quarters = ((TRY(call.integer("k", 1)) % 4) + 4) % 4;
  const Ints axes = TRY(call.integers("dims", Ints{0, 1}));
  if (axes.size() != 2 || call.rank(self) < 2) return bad_input("rot90 needs two axes");
  const std::int64_t a = TRY(normal_axis(axes[0], call.rank(self)));
  const std::int64_t b = TRY(normal_axis(axes[1], call.rank(self)));
  if (a == b) return bad_input("rot90 needs two different axes");
  if (quarters == 0) return one(self);
  if (quarters == 2) return one(flipped(call, self, {std::min(a, b), std::max(a, b)}));
  const ValueId turned = TRY(flipped(call, self, {quarters == 1 ? b : a}));
  return one(transpose(call, turned, a, b));
}

// Axes that are cut in two, brought into another order, and joined again.
Expected<ValueId> shuffled(Call& call, ValueId value, Shape apart, Ints order, Shape joined) {
  const ValueId parts = TRY(call.reshape(value, std::move(apart)));
  return call.reshape(TRY(call.permute(parts, std::move(order))), std::move(joined));
}

Expected<Dim> divided(Call& call, Dim size, std::int64_t divisor) {
  const auto quotient = call.exprs().divide_exactly(size, divisor);
  if (quotient) return *quotient;
  if (size.is_fixed()) return bad_input(fmt::format("size {} is not divisible by {}", size.value(), divisor));
  return call.exprs().floor_divide(size, divisor);
}

// Factors beyond this have squares that no size can be divided by.
constexpr std::int64_t kMaxFactor = std::int64_t{1} << 20;

struct Image {
  ValueId value;
  Shape lead;  // all axes before channels
  Dim channels, height, width;
  std::int64_t factor;
};

Expected<Image> image_of(Call& call, std::string_view factor_name) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t factor = TRY(call.integer(factor_name));
  const Shape shape = call.shape(self);
  if (shape.size() < 3) return bad_input(fmt::format("the image has unsupported rank {}", shape.size()));
  if (factor < 1 || factor > kMaxFactor) return bad_input(fmt::format("invalid factor {}", factor));
  const std::size_t rank = shape.size();
  return Image{self, Shape(shape.begin(), shape.end() - 3), shape[rank - 3], shape[rank - 2], shape[rank - 1], factor};
}

Shape operator+(Shape lead, const Shape& rest) {
  lead.insert(lead.end(), rest.begin(), rest.end());
  return lead;
}

Ints order_after(std::size_t lead, const Ints& rest) {
  Ints order;
  for (std::size_t i = 0; i < lead; ++i) order.push_back(static_cast<std::int64_t>(i));
  for (const std::int64_t axis : rest) order.push_back(static_cast<std::int64_t>(lead) + axis);
  return order;
}

Expected<std::vector<ValueId>> read_pixel_shuffle(Call& call) {
  const Image image = TRY(image_of(call, "upscale_factor"));
  const std::int64_t r = image.factor;
  const Dim channels = TRY(divided(call, image.channels, r * r));
  Exprs& exprs = call.exprs();
  return one(shuffled(call, image.value, image.lead + Shape{channels, r, r, image.height, image.width},
                      order_after(image.lead.size(), {0, 3, 1, 4, 2}),
                      image.lead + Shape{channels, exprs.multiply(image.height, r), exprs.multiply(image.width, r)}));
}

Expected<std::vector<ValueId>> read_pixel_unshuffle(Call& call) {
  const Image image = TRY(image_of(call, "downscale_factor"));
  const std::int64_t r = image.factor;
  const Dim height = TRY(divided(call, image.height, r));
  const Dim width = TRY(divided(call, image.width, r));
  return one(shuffled(call, image.value, image.lead + Shape{image.channels, height, r, width, r},
                      order_after(image.lead.size(), {0, 2, 4, 1, 3}),
                      image.lead + Shape{call.exprs().multiply(image.channels, r * r), height, width}));
}

Expected<std::vector<ValueId>> read_channel_shuffle(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t groups = TRY(call.integer("groups"));
  const Shape shape = call.shape(self);
  if (shape.size() < 3) return bad_input(fmt::format("the image has unsupported rank {}", shape.size()));
  if (groups < 1) return bad_input(fmt::format("{} groups", groups));
  const Dim channels = TRY(divided(call, shape[1], groups));
  Ints order = {0, 2, 1};
  for (std::size_t i = 2; i < shape.size(); ++i) order.push_back(static_cast<std::int64_t>(i) + 1);
  return one(shuffled(call, self, with_axis(shape, 1, {groups, channels}), std::move(order), shape));
}

}  // namespace

std::vector<Spelling> flip_spellings() {
  return {
      {"aten.flip", read_flip},
      {"aten.flipud", read_flip_axis<0>},
      {"aten.fliplr", read_flip_axis<1>},
  };
}

std::vector<Spelling> rearrange_spellings() {
  return {
      {"aten.roll", read_roll},
      {"aten.rot90", read_rot90},
      {"aten.pixel_shuffle", read_pixel_shuffle},
      {"aten.pixel_unshuffle", read_pixel_unshuffle},
      {"aten.channel_shuffle", read_channel_shuffle},
      {"aten.native_channel_shuffle", read_channel_shuffle},
  };
}

}  // namespace isthmus
