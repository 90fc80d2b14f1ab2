// Pools whose windows the delegate does not take as they are: counted otherwise, over three axes, of sizes that differ.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "ops/known.h"
#include "transforms/legalize/pick.h"
#include "transforms/legalize/rewrites.h"

namespace isthmus::rewrites {
namespace {

// How far the last window reaches beyond the input and its padding, by image axis; nothing where a size is not fixed.
std::optional<Ints> reach_beyond(const Site& site, const Ints& kernel, const Ints& stride, const Ints& padding,
                                 const Ints& dilation) {
  Ints result;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Dim before = site.graph().type(site.inputs[0]).shape[i + 2];
    const Dim after = site.result().shape[i + 2];
    if (!before.is_fixed() || !after.is_fixed()) return std::nullopt;
    const std::int64_t end = (after.value() - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1;
    result.push_back(std::max<std::int64_t>(0, end - before.value() - padding[2 * i] - padding[2 * i + 1]));
  }
  return result;
}

// Every stride-th element of both axes: a window of one.
Expected<ValueId> thinned(const Site& site, const Ints& stride) {
  ValueId value = site.inputs[0];
  for (std::int64_t i = 0; i < 2; ++i) {
    value =
        TRY(site.emitter.slice(value, i + 2, 0, site.emitter.size(value, i + 2), stride[static_cast<std::size_t>(i)]));
  }
  return value;
}

// Only those rows and columns that windows read, where they leave some out between them.
Replacement without_gaps(const Site& site, const MaxPoolAttrs& attrs) {
  ValueId value = site.inputs[0];
  MaxPoolAttrs dense = attrs;
  for (std::size_t i = 0; i < 2; ++i) {
    if (attrs.stride[i] <= attrs.kernel[i]) continue;
    const Dim count = site.result().shape[i + 2];
    if (!count.is_fixed()) return unchanged();
    Ints positions;
    for (std::int64_t window = 0; window < count.value(); ++window) {
      for (std::int64_t tap = 0; tap < attrs.kernel[i]; ++tap) {
        positions.push_back(window * attrs.stride[i] + tap * attrs.dilation[i]);
      }
    }
    const auto part = TRY(pick(site, value, static_cast<std::int64_t>(i) + 2, positions));
    if (!part) return part;
    value = *part;
    dense.stride[i] = dense.kernel[i];
    dense.dilation[i] = 1;
  }
  return replaced_by(site.emitter.emit(Op::kMaxPool2d, std::move(dense), {value}));
}

Replacement max_pool2d(const Site& site) {
  const auto& attrs = site.attrs<MaxPoolAttrs>();
  const bool has_gaps = attrs.stride[0] > attrs.kernel[0] || attrs.stride[1] > attrs.kernel[1];
  const bool is_dilated = attrs.dilation != Ints{1, 1};
  const bool has_padding = std::ranges::any_of(attrs.padding, [](auto side) { return side != 0; });
  if (attrs.kernel == Ints{1, 1}) return replaced_by(thinned(site, attrs.stride));
  if (!attrs.ceil_mode && !has_gaps && !(is_dilated && has_padding)) return unchanged();
  const auto beyond = attrs.ceil_mode ? reach_beyond(site, attrs.kernel, attrs.stride, attrs.padding, attrs.dilation)
                                      : std::optional(Ints{0, 0});
  if (!beyond) return unchanged();
  // Written out, so that every window lies inside.
  ValueId value = site.inputs[0];
  MaxPoolAttrs plain = attrs;
  plain.ceil_mode = false;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t after = attrs.padding[2 * i + 1] + (*beyond)[i];
    const bool is_native = !has_gaps && !is_dilated && after <= attrs.kernel[i] / 2;
    if (is_native) {
      plain.padding[2 * i + 1] = after;
      continue;
    }
    const Sides sides{attrs.padding[2 * i], after};
    value = TRY(
        padded(site.emitter, value, static_cast<std::int64_t>(i) + 2, sides, -std::numeric_limits<double>::infinity()));
    plain.padding[2 * i] = plain.padding[2 * i + 1] = 0;
  }
  if (value != site.inputs[0] || plain != attrs) {
    return replaced_by(site.emitter.emit(Op::kMaxPool2d, std::move(plain), {value}));
  }
  return without_gaps(site, attrs);
}

// By how many elements the sum of each window is divided, along one axis.
Ints counts_along(const AvgPoolAttrs& attrs, std::size_t axis, std::int64_t size, std::int64_t windows) {
  const std::int64_t before = attrs.padding[2 * axis];
  const std::int64_t low = attrs.count_include_pad ? -before : 0;
  const std::int64_t high = attrs.count_include_pad ? size + attrs.padding[2 * axis + 1] : size;
  Ints result;
  for (std::int64_t i = 0; i < windows; ++i) {
    const std::int64_t first = i * attrs.stride[axis] - before;
    result.push_back(std::min(first + attrs.kernel[axis], high) - std::max(first, low));
  }
  return result;
}

// The delegate divides by what of a window lies inside the image; other means are its mean over an image with zeros
// around it, times a number for each window.
Replacement avg_pool2d(const Site& site) {
  const auto& attrs = site.attrs<AvgPoolAttrs>();
  Emitter& emitter = site.emitter;
  if (attrs.kernel == Ints{1, 1}) {
    const ValueId value = TRY(thinned(site, attrs.stride));
    if (attrs.divisor == 0) return std::optional(value);
    return replaced_by(with_number(emitter, Op::kMul, value, 1.0 / static_cast<double>(attrs.divisor)));
  }
  const bool has_padding = std::ranges::any_of(attrs.padding, [](auto side) { return side != 0; });
  if (!attrs.ceil_mode && attrs.divisor == 0 && !(attrs.count_include_pad && has_padding)) return unchanged();
  const auto beyond = attrs.ceil_mode ? reach_beyond(site, attrs.kernel, attrs.stride, attrs.padding, {1, 1})
                                      : std::optional(Ints{0, 0});
  if (!beyond) return unchanged();
  AvgPoolAttrs plain{.kernel = attrs.kernel, .stride = attrs.stride, .padding = {0, 0, 0, 0}};
  ValueId value = site.inputs[0];
  for (std::size_t i = 0; i < 2; ++i) {
    const Sides sides{attrs.padding[2 * i], attrs.padding[2 * i + 1] + (*beyond)[i]};
    value = TRY(padded(emitter, value, static_cast<std::int64_t>(i) + 2, sides));
  }
  value = TRY(emitter.emit(Op::kAvgPool2d, std::move(plain), {value}));
  const auto area = static_cast<double>(attrs.kernel[0] * attrs.kernel[1]);
  if (attrs.divisor != 0) {
    return replaced_by(with_number(emitter, Op::kMul, value, area / static_cast<double>(attrs.divisor)));
  }
  if (!attrs.ceil_mode) return std::optional(value);
  Ints counts[2];
  for (std::size_t i = 0; i < 2; ++i) {
    counts[i] = counts_along(attrs, i, emitter.size(site.inputs[0], static_cast<std::int64_t>(i) + 2).value(),
                             site.result().shape[i + 2].value());
  }
  std::vector<double> factors;
  for (const std::int64_t row : counts[0]) {
    for (const std::int64_t column : counts[1]) factors.push_back(area / static_cast<double>(row * column));
  }
  const ValueId map = emitter.floats(factors, DType::kF32, {1, 1, std::ssize(counts[0]), std::ssize(counts[1])});
  return replaced_by(emitter.binary(Op::kMul, value, map));
}

template <class T>
std::vector<T> part(const std::vector<T>& list, std::size_t first, std::size_t count) {
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// A pool over three axes is one over the last two of each slice, then one over the first.
template <class A, class Split>
Replacement in_two_steps(const Site& site, Op op, Split split) {
  Emitter& emitter = site.emitter;
  Exprs& exprs = emitter.exprs();
  const Shape shape = emitter.shape(site.inputs[0]);
  if (!can_reshape(shape) || !can_reshape(site.result().shape)) return unchanged();
  const auto& attrs = site.attrs<A>();
  // Slices in the batch: so an image whose channels lie innermost stays as it is.
  const ValueId turned = TRY(emitter.permute(site.inputs[0], {0, 2, 1, 3, 4}));
  ValueId value = TRY(emitter.reshape(turned, {exprs.multiply(shape[0], shape[2]), shape[1], shape[3], shape[4]}));
  value = TRY(emitter.emit(op, split(attrs, true), {value}));
  const Shape planes = emitter.shape(value);
  value = TRY(emitter.reshape(value, {shape[0], shape[2], shape[1], planes[2], planes[3]}));
  value = TRY(emitter.permute(value, {0, 2, 1, 3, 4}));
  value = TRY(emitter.reshape(value, {shape[0], shape[1], shape[2], exprs.multiply(planes[2], planes[3])}));
  value = TRY(emitter.emit(op, split(attrs, false), {value}));
  return replaced_by(emitter.reshape(value, site.result().shape));
}

Replacement max_pool3d(const Site& site) {
  return in_two_steps<MaxPoolAttrs>(site, Op::kMaxPool2d, [](const MaxPoolAttrs& attrs, bool is_plane) {
    MaxPoolAttrs result = attrs;
    if (is_plane) {
      result.kernel = part(attrs.kernel, 1, 2);
      result.stride = part(attrs.stride, 1, 2);
      result.padding = part(attrs.padding, 2, 4);
      result.dilation = part(attrs.dilation, 1, 2);
    } else {
      result.kernel = {attrs.kernel[0], 1};
      result.stride = {attrs.stride[0], 1};
      result.padding = {attrs.padding[0], attrs.padding[1], 0, 0};
      result.dilation = {attrs.dilation[0], 1};
    }
    return result;
  });
}

Replacement avg_pool3d(const Site& site) {
  return in_two_steps<AvgPoolAttrs>(site, Op::kAvgPool2d, [](const AvgPoolAttrs& attrs, bool is_plane) {
    AvgPoolAttrs result = attrs;
    if (is_plane) {
      result.kernel = part(attrs.kernel, 1, 2);
      result.stride = part(attrs.stride, 1, 2);
      result.padding = part(attrs.padding, 2, 4);
      // A sum here, divided in the end.
      if (attrs.divisor != 0) result.divisor = 1;
    } else {
      result.kernel = {attrs.kernel[0], 1};
      result.stride = {attrs.stride[0], 1};
      result.padding = {attrs.padding[0], attrs.padding[1], 0, 0};
    }
    return result;
  });
}

// The windows of a pool that is told the size of its result, along one axis.
struct Span {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const { return end - begin; }
};
struct Windows {
  std::vector<Span> spans;

  std::int64_t stride() const { return spans.size() > 1 ? spans[1].begin - spans[0].begin : 1; }
  // All of one size, at equal distances.
  bool are_even() const {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].begin != static_cast<std::int64_t>(i) * stride() || spans[i].size() != spans[0].size()) return false;
    }
    return stride() > 0;
  }
};

std::optional<Windows> adaptive_windows(Dim from, Dim to) {
  constexpr std::int64_t kMax = std::int64_t{1} << 24;
  if (!from.is_fixed() || !to.is_fixed() || to.value() < 1 || from.value() > kMax || to.value() > kMax) {
    return std::nullopt;
  }
  Windows windows;
  for (std::int64_t i = 0; i < to.value(); ++i) {
    windows.spans.push_back({i * from.value() / to.value(), ((i + 1) * from.value() + to.value() - 1) / to.value()});
  }
  return windows;
}

// As one plain pool of the axes whose windows are even, then `uneven` of each other axis.
template <class Even, class Uneven>
Replacement adaptive(const Site& site, Even even, Uneven uneven) {
  const auto& size = site.attrs<SizeAttrs>().size;
  Ints kernel{1, 1}, stride{1, 1};
  std::vector<std::pair<std::int64_t, Windows>> others;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    const Dim from = site.emitter.size(site.inputs[0], axis);
    if (from == size[i]) continue;
    const auto windows = adaptive_windows(from, size[i]);
    if (!windows) return unchanged();
    if (windows->are_even()) {
      kernel[i] = windows->spans[0].size();
      stride[i] = windows->stride();
    } else {
      others.emplace_back(axis, *windows);
    }
  }
  std::optional<ValueId> value = site.inputs[0];
  if (kernel != Ints{1, 1}) value = TRY(even(*value, kernel, stride));
  for (const auto& [axis, windows] : others) {
    value = TRY(uneven(*value, axis, windows));
    if (!value) return unchanged();
  }
  return value;
}

Replacement adaptive_avg_pool2d(const Site& site) {
  return adaptive(
      site,
      [&](ValueId value, const Ints& kernel, const Ints& stride) -> Replacement {
        AvgPoolAttrs attrs{.kernel = kernel, .stride = stride, .padding = {0, 0, 0, 0}};
        return replaced_by(site.emitter.emit(Op::kAvgPool2d, std::move(attrs), {value}));
      },
      [&](ValueId value, std::int64_t axis, const Windows& windows) -> Replacement {
        const std::int64_t from = site.emitter.size(value, axis).value();
        if (from > kMaxWeights / std::ssize(windows.spans)) return unchanged();
        std::vector<double> matrix(static_cast<std::size_t>(from) * windows.spans.size(), 0);
        auto row = matrix.begin();
        for (const Span& span : windows.spans) {
          std::fill(row + span.begin, row + span.end, 1.0 / static_cast<double>(span.size()));
          row += from;
        }
        return replaced_by(product_along(site.emitter, value, axis, matrix));
      });
}

// Windows of different sizes are made equal by taking their last element again.
Replacement adaptive_max_pool2d(const Site& site) {
  const auto pooled = [&](ValueId value, const Ints& kernel, const Ints& stride) -> Replacement {
    MaxPoolAttrs attrs{.kernel = kernel, .stride = stride, .padding = {0, 0, 0, 0}, .dilation = {1, 1}};
    return replaced_by(site.emitter.emit(Op::kMaxPool2d, std::move(attrs), {value}));
  };
  return adaptive(site, pooled, [&](ValueId value, std::int64_t axis, const Windows& windows) -> Replacement {
    std::int64_t largest = 0;
    for (const Span& span : windows.spans) largest = std::max(largest, span.size());
    Ints positions;
    for (const Span& span : windows.spans) {
      for (std::int64_t i = 0; i < largest; ++i) positions.push_back(std::min(span.begin + i, span.end - 1));
    }
    const auto picked = TRY(pick(site, value, axis, positions));
    if (!picked) return picked;
    Ints kernel{1, 1};
    kernel[static_cast<std::size_t>(axis - 2)] = largest;
    return pooled(*picked, kernel, kernel);
  });
}

constexpr OpForm kWindowForms[] = {
    {Op::kMaxPool2d, max_pool2d},
    {Op::kAvgPool2d, avg_pool2d},
    {Op::kMaxPool3d, max_pool3d},
    {Op::kAvgPool3d, avg_pool3d},
    {Op::kAdaptiveAvgPool2d, adaptive_avg_pool2d},
    {Op::kAdaptiveMaxPool2d, adaptive_max_pool2d},
};

}  // namespace

Replacement window_forms(const Site& site) { return formed(site, kWindowForms); }

}  // namespace isthmus::rewrites
