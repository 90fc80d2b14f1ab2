// Convolutions and products whose form the devices lack, by those that they have.
#include <algorithm>
#include <utility>

#include "ops/families/movement.h"
#include "targets/ethos_u/legalize/legalize.h"
#include "targets/ethos_u/limits.h"
#include "transforms/legalize/pick.h"

namespace isthmus::ethos_u {
namespace {

using rewrites::padded;

// Zeros before and after an axis, or less of it where a number is negative.
Expected<ValueId> grown(Emitter& emitter, ValueId x, std::int64_t axis, std::int64_t before, std::int64_t after) {
  const std::int64_t begin = std::max<std::int64_t>(-before, 0);
  const std::int64_t end = emitter.size(x, axis).value() - std::max<std::int64_t>(-after, 0);
  const ValueId part = TRY(emitter.slice(x, axis, begin, end));
  return padded(emitter, part, axis, {std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0)});
}

// Each group by itself.
Replacement by_groups(const Site& site) {
  ConvAttrs attrs = site.attrs<ConvAttrs>();
  Emitter& emitter = site.emitter;
  const std::int64_t groups = std::exchange(attrs.groups, 1);
  const std::int64_t inputs = emitter.size(site.inputs[0], 1).value() / groups;
  const std::int64_t outputs = emitter.size(site.inputs[1], 0).value() / groups;
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < groups; ++i) {
    std::vector<ValueId> operands{TRY(emitter.slice(site.inputs[0], 1, i * inputs, (i + 1) * inputs)),
                                  TRY(emitter.slice(site.inputs[1], 0, i * outputs, (i + 1) * outputs))};
    if (site.inputs.size() > 2) {
      operands.push_back(TRY(emitter.slice(site.inputs[2], 0, i * outputs, (i + 1) * outputs)));
    }
    parts.push_back(TRY(emitter.emit(Op::kConv2d, attrs, std::move(operands))));
  }
  return replaced_by(emitter.cat(std::move(parts), 1));
}

// Both image axes of [N, C, H, W] cut into blocks, whose elements become channels.
Expected<ValueId> blocks_to_channels(Emitter& emitter, ValueId x, const Ints& block) {
  const Shape shape = emitter.shape(x);
  const std::int64_t height = shape[2].value() / block[0];
  const std::int64_t width = shape[3].value() / block[1];
  const ValueId cut = TRY(emitter.reshape(x, {shape[0], shape[1], height, block[0], width, block[1]}));
  const ValueId turned = TRY(emitter.permute(cut, {0, 1, 3, 5, 2, 4}));
  return emitter.reshape(turned, {shape[0], shape[1].value() * block[0] * block[1], height, width});
}

// Steps longer than the device makes become steps of one over blocks of that size.
Replacement by_blocks(const Site& site) {
  ConvAttrs attrs = site.attrs<ConvAttrs>();
  Emitter& emitter = site.emitter;
  Ints block{1, 1};
  ValueId image = site.inputs[0];
  ValueId filters = site.inputs[1];
  for (std::size_t i = 0; i < 2; ++i) {
    if (attrs.stride[i] <= kMaxStride) continue;
    if (attrs.dilation[i] != 1) return unchanged();
    const auto axis = static_cast<std::int64_t>(i) + 2;
    block[i] = attrs.stride[i];
    const std::int64_t kernel = emitter.size(filters, axis).value();
    const std::int64_t whole = (kernel + block[i] - 1) / block[i] * block[i];
    const std::int64_t length = (site.result().shape[i + 2].value() - 1) * block[i] + whole;
    const std::int64_t before = attrs.padding[2 * i];
    image = TRY(grown(emitter, image, axis, before, length - before - emitter.size(image, axis).value()));
    filters = TRY(grown(emitter, filters, axis, 0, whole - kernel));
    attrs.stride[i] = 1;
    attrs.padding[2 * i] = attrs.padding[2 * i + 1] = 0;
  }
  std::vector<ValueId> operands{TRY(blocks_to_channels(emitter, image, block)),
                                TRY(blocks_to_channels(emitter, filters, block))};
  if (site.inputs.size() > 2) operands.push_back(site.inputs[2]);
  return replaced_by(emitter.emit(Op::kConv2d, std::move(attrs), std::move(operands)));
}

// A channel by itself has no blocks of channels: the largest stride of the device that divides the wanted one, and of
// what comes out at each stride.
Replacement then_thinned(const Site& site) {
  ConvAttrs attrs = site.attrs<ConvAttrs>();
  Ints steps{1, 1};
  for (std::size_t i = 0; i < 2; ++i) {
    if (attrs.stride[i] <= kMaxStride) continue;
    const std::int64_t kept = attrs.stride[i] % 3 == 0 ? 3 : attrs.stride[i] % 2 == 0 ? 2 : 1;
    steps[i] = attrs.stride[i] / kept;
    attrs.stride[i] = kept;
  }
  ValueId value = TRY(site.emitter.emit(Op::kConv2d, attrs, {site.inputs.begin(), site.inputs.end()}));
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    value = TRY(strided_slice(site.emitter, value, axis, 0, site.result().shape[i + 2], steps[i]));
  }
  return std::optional(value);
}

// A window that is the whole image: one product.
Replacement as_linear(const Site& site) {
  Emitter& emitter = site.emitter;
  const Shape image = emitter.shape(site.inputs[0]);
  const Shape filters = emitter.shape(site.inputs[1]);
  const Dim depth = filters[1].value() * filters[2].value() * filters[3].value();
  std::vector<ValueId> operands{TRY(emitter.reshape(site.inputs[0], {image[0], depth})),
                                TRY(emitter.reshape(site.inputs[1], {filters[0], depth}))};
  if (site.inputs.size() > 2) operands.push_back(site.inputs[2]);
  const ValueId product = TRY(emitter.emit(Op::kLinear, NoAttrs{}, std::move(operands)));
  return replaced_by(emitter.reshape(product, site.result().shape));
}

// Devices count a window's height further than its width: the image lies on its side.
Replacement on_its_side(const Site& site) {
  const auto& attrs = site.attrs<ConvAttrs>();
  Emitter& emitter = site.emitter;
  const Ints turn{0, 1, 3, 2};
  ConvAttrs turned{{attrs.stride[1], attrs.stride[0]},
                   {attrs.padding[2], attrs.padding[3], attrs.padding[0], attrs.padding[1]},
                   {attrs.dilation[1], attrs.dilation[0]},
                   attrs.groups};
  std::vector<ValueId> operands{TRY(emitter.permute(site.inputs[0], turn)), TRY(emitter.permute(site.inputs[1], turn))};
  if (site.inputs.size() > 2) operands.push_back(site.inputs[2]);
  const ValueId result = TRY(emitter.emit(Op::kConv2d, std::move(turned), std::move(operands)));
  return replaced_by(emitter.permute(result, turn));
}

}  // namespace

Replacement convolution_forms(const Site& site, Device device) {
  if (site.node.op != Op::kConv2d || site.constant(1) == nullptr) return unchanged();
  const auto reason = refusal_of(site, device);
  if (!reason) return unchanged();
  const auto& attrs = site.attrs<ConvAttrs>();
  const Shape filters = site.emitter.shape(site.inputs[1]);
  const bool is_depthwise = attrs.groups > 1 && filters[1].is(1);
  if (reason->code == ReasonCode::kStride) return is_depthwise ? then_thinned(site) : by_blocks(site);
  if (reason->code == ReasonCode::kKernelSize) {
    const Shape image = site.emitter.shape(site.inputs[0]);
    const bool is_whole =
        attrs.groups == 1 && attrs.padding == Ints{0, 0, 0, 0} && image[2] == filters[2] && image[3] == filters[3];
    if (is_whole) return as_linear(site);
    if (filters[2].value() > kMaxFilterHeight && filters[3].value() <= kMaxFilterHeight) return on_its_side(site);
    return unchanged();
  }
  return attrs.groups > 1 && !is_depthwise ? by_groups(site) : unchanged();
}

// Zeros between the pixels, and the filters backwards.
Replacement transposed_convolution_forms(const Site& site, Device device) {
  if (site.node.op != Op::kConvTranspose2d || site.constant(1) == nullptr || !refusal_of(site, device)) {
    return unchanged();
  }
  const auto& attrs = site.attrs<ConvTransposeAttrs>();
  Emitter& emitter = site.emitter;
  const Shape shape = emitter.shape(site.inputs[0]);
  ValueId image = site.inputs[0];
  if (attrs.stride != Ints{1, 1}) {
    image = TRY(emitter.reshape(image, {shape[0], shape[1], shape[2], 1, shape[3], 1}));
    image = TRY(padded(emitter, image, 3, {0, attrs.stride[0] - 1}));
    image = TRY(padded(emitter, image, 5, {0, attrs.stride[1] - 1}));
    image = TRY(emitter.reshape(
        image, {shape[0], shape[1], shape[2].value() * attrs.stride[0], shape[3].value() * attrs.stride[1]}));
  }
  const Shape filters = emitter.shape(site.inputs[1]);  // [I, O / groups, H, W]
  ConvAttrs plain{{1, 1}, {}, attrs.dilation, attrs.groups};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = attrs.dilation[i] * (filters[i + 2].value() - 1);
    Ints sides{reach - attrs.padding[2 * i], reach - attrs.padding[2 * i + 1] - (attrs.stride[i] - 1)};
    const Ints cut{std::min<std::int64_t>(sides[0], 0), std::min<std::int64_t>(sides[1], 0)};
    if (emitter.size(image, static_cast<std::int64_t>(i) + 2).value() + cut[0] + cut[1] < 1) return unchanged();
    image = TRY(grown(emitter, image, static_cast<std::int64_t>(i) + 2, cut[0], cut[1]));
    for (const std::int64_t side : sides) plain.padding.push_back(std::max<std::int64_t>(side, 0));
  }
  const Dim inputs = filters[0].value() / attrs.groups;
  const Dim outputs = filters[1].value() * attrs.groups;
  ValueId turned = TRY(emitter.reshape(site.inputs[1], {attrs.groups, inputs, filters[1], filters[2], filters[3]}));
  turned = TRY(emitter.permute(turned, {0, 2, 1, 3, 4}));
  turned = TRY(emitter.reshape(turned, {outputs, inputs, filters[2], filters[3]}));
  turned = TRY(emitter.emit(Op::kFlip, AxesAttrs{{2, 3}}, {turned}));
  std::vector<ValueId> operands{image, turned};
  if (site.inputs.size() > 2) operands.push_back(site.inputs[2]);
  return replaced_by(emitter.emit(Op::kConv2d, std::move(plain), std::move(operands)));
}

Replacement matmul_of_batches(const Site& site, Device) {
  if (site.node.op != Op::kMatmul) return unchanged();
  Emitter& emitter = site.emitter;
  const Shape a = emitter.shape(site.inputs[0]);
  const Shape b = emitter.shape(site.inputs[1]);
  if (a.size() == 3 && b.size() == 3 && a[0] == b[0]) return unchanged();
  const Shape& result = site.result().shape;
  const Shape batch(result.begin(), result.end() - 2);
  const Dim count = emitter.exprs().product(batch);
  const auto batch_of = [&](const Shape& shape) {
    return emitter.exprs().product(Shape(shape.begin(), shape.end() - 2)).value();
  };
  const auto matrices = [&](ValueId x, const Shape& shape) -> Expected<ValueId> {
    Shape full = batch;
    full.insert(full.end(), shape.end() - 2, shape.end());
    return emitter.reshape(TRY(emitter.expand(x, full)), {count, shape[shape.size() - 2], shape.back()});
  };
  ValueId left = site.inputs[0];
  ValueId right = site.inputs[1];
  if (batch_of(b) == 1) {  // one matrix for all rows
    left = TRY(emitter.reshape(left, {1, batch_of(a) * a[a.size() - 2].value(), a.back()}));
    right = TRY(emitter.reshape(right, {1, b[b.size() - 2], b.back()}));
  } else {
    left = TRY(matrices(left, a));
    right = TRY(matrices(right, b));
  }
  return replaced_by(emitter.reshape(TRY(emitter.binary(Op::kMatmul, left, right)), result));
}

}  // namespace isthmus::ethos_u
