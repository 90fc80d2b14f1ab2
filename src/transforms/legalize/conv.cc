// Convolutions that the delegate lacks, by those over two axes with constant filters.
#include <algorithm>
#include <iterator>

#include "ops/known.h"
#include "transforms/legalize/pick.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

constexpr std::int64_t kMaxTaps = 64;

// A bias per channel, added to an image.
Expected<ValueId> with_bias(Emitter& emitter, ValueId image, ValueId bias) {
  return emitter.binary(Op::kAdd, image, TRY(emitter.reshape(bias, {1, emitter.size(bias, 0), 1, 1})));
}

// More on a side where the number is positive, less where it is negative; nothing where that leaves no element.
Replacement grown(Emitter& emitter, ValueId x, std::int64_t axis, Sides sides) {
  const std::int64_t begin = std::max<std::int64_t>(-sides.before, 0);
  const std::int64_t end = emitter.size(x, axis).value() - std::max<std::int64_t>(-sides.after, 0);
  if (begin >= end) return unchanged();
  const Sides more{std::max<std::int64_t>(sides.before, 0), std::max<std::int64_t>(sides.after, 0)};
  return replaced_by(padded(emitter, TRY(emitter.slice(x, axis, begin, end)), axis, more));
}

// Every place that a tap of the filter sees: from `first` on, at equal distances.
Replacement seen(const Site& site, ValueId x, std::int64_t axis, std::int64_t first, std::int64_t step, Dim count) {
  Ints positions;
  for (std::int64_t i = 0; i < count.value(); ++i) positions.push_back(first + i * step);
  return pick(site, x, axis, positions);
}

// Images [N, C, H, W] that one filter sees together: their channels one behind the other, within each group.
Expected<ValueId> stacked(Emitter& emitter, std::vector<ValueId> images, std::int64_t groups) {
  if (images.size() == 1) return images[0];
  const Shape shape = emitter.shape(images[0]);
  const std::int64_t channels = shape[1].value();
  const std::int64_t count = std::ssize(images);
  if (groups > 1) {
    for (ValueId& image : images) {
      image = TRY(emitter.reshape(image, {shape[0], groups, channels / groups, shape[2], shape[3]}));
    }
  }
  const ValueId whole = TRY(emitter.cat(std::move(images), groups > 1 ? 2 : 1));
  return emitter.reshape(whole, {shape[0], channels * count, shape[2], shape[3]});
}

// Volumes [N, C, D, H, W] as images [N * D, C, H, W]: so that channels that lie innermost stay there.
Expected<ValueId> as_images(Emitter& emitter, ValueId volume) {
  const Shape shape = emitter.shape(volume);
  const ValueId turned = TRY(emitter.permute(volume, {0, 2, 1, 3, 4}));
  return emitter.reshape(turned, {emitter.exprs().multiply(shape[0], shape[2]), shape[1], shape[3], shape[4]});
}
Expected<ValueId> as_volume(Emitter& emitter, ValueId images, const Shape& wanted) {
  const ValueId apart = TRY(emitter.reshape(images, {wanted[0], wanted[2], wanted[1], wanted[3], wanted[4]}));
  return emitter.permute(apart, {0, 2, 1, 3, 4});
}

// The inputs of a convolution over two axes: images and filters in place of the node's, and its bias.
std::vector<ValueId> with_own_bias(const Site& site, ValueId images, ValueId filters) {
  std::vector<ValueId> inputs{images, filters};
  if (site.inputs.size() > 2) inputs.push_back(site.inputs[2]);
  return inputs;
}

bool has_fixed_depth(const Site& site, const Shape& filters) {
  const Shape shape = site.emitter.shape(site.inputs[0]);
  return shape[1].is_fixed() && shape[2].is_fixed() && site.result().shape[2].is_fixed() &&
         site.result().shape[2].value() <= kMaxElements && filters[2].value() <= kMaxTaps && can_reshape(shape);
}

// What the taps along the depth see becomes channels of one image.
Replacement conv3d(const Site& site) {
  const auto& attrs = site.attrs<ConvAttrs>();
  Emitter& emitter = site.emitter;
  const Shape filters = emitter.shape(site.inputs[1]);  // [O, I / groups, D, H, W]
  if (!has_fixed_depth(site, filters)) return unchanged();
  const Sides sides{attrs.padding[0], attrs.padding[1]};
  const ValueId volume = TRY(padded(emitter, site.inputs[0], 2, sides));
  std::vector<ValueId> images;
  for (std::int64_t tap = 0; tap < filters[2].value(); ++tap) {
    const auto part = TRY(seen(site, volume, 2, tap * attrs.dilation[0], attrs.stride[0], site.result().shape[2]));
    if (!part) return part;
    images.push_back(TRY(as_images(emitter, *part)));
  }
  const ValueId image = TRY(stacked(emitter, std::move(images), attrs.groups));
  const ValueId turned = TRY(emitter.permute(site.inputs[1], {0, 2, 1, 3, 4}));
  const Shape flat{filters[0], emitter.exprs().multiply(filters[1], filters[2]), filters[3], filters[4]};
  const ValueId weights = TRY(emitter.reshape(turned, flat));
  ConvAttrs plain{{attrs.stride[1], attrs.stride[2]},
                  {attrs.padding.begin() + 2, attrs.padding.end()},
                  {attrs.dilation[1], attrs.dilation[2]},
                  attrs.groups};
  const ValueId result = TRY(emitter.emit(Op::kConv2d, std::move(plain), with_own_bias(site, image, weights)));
  return replaced_by(as_volume(emitter, result, site.result().shape));
}

// Along the depth a transposed convolution is a plain one, backwards, over a volume with zeros between its slices.
Replacement conv_transpose3d(const Site& site) {
  const auto& attrs = site.attrs<ConvTransposeAttrs>();
  Emitter& emitter = site.emitter;
  const Shape filters = emitter.shape(site.inputs[1]);  // [I, O / groups, D, H, W]
  if (!has_fixed_depth(site, filters)) return unchanged();
  const Shape shape = emitter.shape(site.inputs[0]);
  const std::int64_t stride = attrs.stride[0];
  const std::int64_t taps = filters[2].value();
  const ValueId slices = TRY(emitter.reshape(site.inputs[0], with_axis(shape, 2, {shape[2], 1})));
  const ValueId spread = TRY(padded(emitter, slices, 3, {0, stride - 1}));
  const ValueId whole = TRY(emitter.reshape(spread, with_axis(shape, 2, {shape[2].value() * stride})));
  const std::int64_t reach = (taps - 1) * attrs.dilation[0];
  const auto volume =
      TRY(grown(emitter, whole, 2, {reach - attrs.padding[0], reach - attrs.padding[1] - (stride - 1)}));
  if (!volume) return volume;
  std::vector<ValueId> images;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const auto part = TRY(seen(site, *volume, 2, (taps - 1 - tap) * attrs.dilation[0], 1, site.result().shape[2]));
    if (!part) return part;
    images.push_back(TRY(as_images(emitter, *part)));
  }
  const ValueId image = TRY(stacked(emitter, std::move(images), attrs.groups));
  const Dim inputs = filters[0].value() / attrs.groups;
  const ValueId grouped =
      TRY(emitter.reshape(site.inputs[1], {attrs.groups, inputs, filters[1], filters[2], filters[3], filters[4]}));
  const ValueId turned = TRY(emitter.permute(grouped, {0, 3, 1, 2, 4, 5}));
  const Shape flat{emitter.exprs().multiply(filters[0], filters[2]), filters[1], filters[3], filters[4]};
  const ValueId weights = TRY(emitter.reshape(turned, flat));
  ConvTransposeAttrs plain{{attrs.stride[1], attrs.stride[2]},
                           {attrs.padding.begin() + 2, attrs.padding.end()},
                           {attrs.dilation[1], attrs.dilation[2]},
                           attrs.groups};
  const ValueId result = TRY(emitter.emit(Op::kConvTranspose2d, std::move(plain), with_own_bias(site, image, weights)));
  return replaced_by(as_volume(emitter, result, site.result().shape));
}

// More rows and columns than the delegate adds: zeros that only the bias reaches.
Replacement conv_transpose2d(const Site& site) {
  const auto& attrs = site.attrs<ConvTransposeAttrs>();
  Emitter& emitter = site.emitter;
  ConvTransposeAttrs plain = attrs;
  Sides sides[2];
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& before = plain.padding[2 * i];
    std::int64_t& after = plain.padding[2 * i + 1];
    sides[i] = {std::max<std::int64_t>(-before, 0), -after >= attrs.stride[i] ? -after : 0};
    before += sides[i].before;
    after += sides[i].after;
    const Dim size = site.result().shape[i + 2];
    if (size.is_fixed() && size.value() <= sides[i].before + sides[i].after) return unchanged();
  }
  if (plain == attrs || site.constant(1) == nullptr) return unchanged();
  ValueId value = TRY(emitter.emit(Op::kConvTranspose2d, std::move(plain), {site.inputs[0], site.inputs[1]}));
  for (std::size_t i = 0; i < 2; ++i) value = TRY(padded(emitter, value, static_cast<std::int64_t>(i) + 2, sides[i]));
  return site.inputs.size() > 2 ? replaced_by(with_bias(emitter, value, site.inputs[2])) : std::optional(value);
}

// A filter that is computed: what each tap sees side by side, times the filter as a matrix.
Replacement conv2d(const Site& site) {
  const auto& attrs = site.attrs<ConvAttrs>();
  Emitter& emitter = site.emitter;
  if (site.constant(1) != nullptr) {  // then the bias is computed
    if (site.inputs.size() < 3 || site.constant(2) != nullptr) return unchanged();
    const ValueId product = TRY(emitter.emit(Op::kConv2d, attrs, {site.inputs[0], site.inputs[1]}));
    return replaced_by(with_bias(emitter, product, site.inputs[2]));
  }
  const Shape filters = emitter.shape(site.inputs[1]);  // [O, I, H, W]
  const Shape result = site.result().shape;
  const Shape shape = emitter.shape(site.inputs[0]);
  if (attrs.groups != 1 || !shape[2].is_fixed() || !shape[3].is_fixed() || result[2].value() > kMaxElements ||
      result[3].value() > kMaxElements || filters[2].value() * filters[3].value() > kMaxTaps || !can_reshape(shape)) {
    return unchanged();
  }
  ValueId image = TRY(padded(emitter, site.inputs[0], 2, {attrs.padding[0], attrs.padding[1]}));
  image = TRY(padded(emitter, image, 3, {attrs.padding[2], attrs.padding[3]}));
  std::vector<ValueId> images;
  for (std::int64_t y = 0; y < filters[2].value(); ++y) {
    const auto rows = TRY(seen(site, image, 2, y * attrs.dilation[0], attrs.stride[0], result[2]));
    if (!rows) return rows;
    for (std::int64_t x = 0; x < filters[3].value(); ++x) {
      const auto part = TRY(seen(site, *rows, 3, x * attrs.dilation[1], attrs.stride[1], result[3]));
      if (!part) return part;
      images.push_back(*part);
    }
  }
  const ValueId together = TRY(emitter.permute(TRY(stacked(emitter, std::move(images), 1)), {0, 2, 3, 1}));
  const Dim depth = emitter.size(together, 3);
  const ValueId matrix = TRY(emitter.reshape(TRY(emitter.permute(site.inputs[1], {0, 2, 3, 1})), {filters[0], depth}));
  const ValueId product = TRY(emitter.emit(Op::kLinear, NoAttrs{}, with_own_bias(site, together, matrix)));
  return replaced_by(emitter.permute(product, {0, 3, 1, 2}));
}

// Windows that are put back and added up: a transposed convolution whose filters have a 1 where the element belongs.
Replacement col2im(const Site& site) {
  const auto& attrs = site.attrs<FoldAttrs>();
  Emitter& emitter = site.emitter;
  const Shape shape = emitter.shape(site.inputs[0]);
  const Shape result = site.result().shape;
  const std::int64_t taps = attrs.kernel[0] * attrs.kernel[1];
  if (taps > kMaxTaps * kMaxTaps || taps * taps > kMaxWeights || !can_reshape(shape)) return unchanged();
  Ints windows, padding;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = attrs.dilation[i] * (attrs.kernel[i] - 1) + 1;
    windows.push_back((attrs.size[i] + 2 * attrs.padding[i] - reach) / attrs.stride[i] + 1);
    const std::int64_t full = (windows[i] - 1) * attrs.stride[i] + reach;
    padding.push_back(attrs.padding[i]);
    padding.push_back(full - attrs.size[i] - attrs.padding[i]);
  }
  std::vector<double> units(static_cast<std::size_t>(taps * taps), 0);
  for (std::size_t i = 0; i < units.size(); i += static_cast<std::size_t>(taps) + 1) units[i] = 1;
  const ValueId filters = emitter.floats(units, DType::kF32, {taps, 1, attrs.kernel[0], attrs.kernel[1]});
  const Dim planes = emitter.exprs().multiply(result[0], result[1]);
  const ValueId images = TRY(emitter.reshape(site.inputs[0], {planes, taps, windows[0], windows[1]}));
  ConvTransposeAttrs plain{attrs.stride, padding, attrs.dilation, 1};
  return replaced_by(
      emitter.reshape(TRY(emitter.emit(Op::kConvTranspose2d, std::move(plain), {images, filters})), result));
}

constexpr OpForm kConvForms[] = {
    {Op::kConv2d, conv2d},
    {Op::kConv3d, conv3d},
    {Op::kConvTranspose2d, conv_transpose2d},
    {Op::kConvTranspose3d, conv_transpose3d},
    {Op::kCol2im, col2im},
};

}  // namespace

Replacement convolution_forms(const Site& site) { return formed(site, kConvForms); }

}  // namespace isthmus::rewrites
