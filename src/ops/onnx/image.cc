// Resizing and sampling of images as ONNX has it. What PyTorch has as well becomes the same op; every other way to
// place pixels is a choice of pixels, or a matrix for each axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/families/index.h"
#include "ops/families/movement.h"
#include "ops/known.h"
#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {
namespace {

enum class Kind : std::uint8_t { kNearest, kLinear, kCubic };

struct Resize {
  Kind kind = Kind::kNearest;
  std::string coordinates;
  std::string rounding;
  double cubic = -0.75;
  bool excludes_outside = false;
  bool antialiases = false;
  double outside = 0;  // of pixels that a crop has outside of the image
  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

struct AxisResize {
  std::int64_t axis;
  std::int64_t from;
  std::int64_t to;
  double scale;
  double start = 0;  // of a crop, in shares of the image
  double end = 1;
};

// The place in the input of a pixel of the result.
double source(const Resize& resize, const AxisResize& axis, std::int64_t at) {
  const auto x = static_cast<double>(at);
  if (resize.coordinates == "asymmetric") return x / axis.scale;
  if (resize.coordinates == "align_corners") {
    const double length = axis.scale * static_cast<double>(axis.from);
    return axis.to == 1 || length <= 1 ? 0 : x * static_cast<double>(axis.from - 1) / (length - 1);
  }
  if (resize.crops()) {
    const auto last = static_cast<double>(axis.from - 1);
    if (axis.to == 1) return 0.5 * (axis.start + axis.end) * last;
    return axis.start * last + x * (axis.end - axis.start) * last / static_cast<double>(axis.to - 1);
  }
  if (resize.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (resize.coordinates == "pytorch_half_pixel" && axis.to == 1) return 0;
  if (resize.coordinates == "half_pixel_symmetric") {
    const double adjusted = static_cast<double>(axis.to) / (axis.scale * static_cast<double>(axis.from));
    const double centre = static_cast<double>(axis.from) / 2;
    return centre * (1 - adjusted) + (x + 0.5) / axis.scale - 0.5;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

std::int64_t nearest(const Resize& resize, double place) {
  if (resize.rounding == "floor") return static_cast<std::int64_t>(std::floor(place));
  if (resize.rounding == "ceil") return static_cast<std::int64_t>(std::ceil(place));
  const bool is_tie = place - std::floor(place) == 0.5;
  if (is_tie)
    return static_cast<std::int64_t>(resize.rounding == "round_prefer_ceil" ? std::ceil(place) : std::floor(place));
  return static_cast<std::int64_t>(std::round(place));
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// What each pixel of the result takes of each pixel of the input: [to, from].
std::vector<float> matrix(const Resize& resize, const AxisResize& axis) {
  std::vector<float> weights(static_cast<std::size_t>(axis.to * axis.from), 0.0F);
  // Against aliasing, what a pixel takes grows with what it stands for.
  const double share_of_source = resize.antialiases ? std::min(axis.scale, 1.0) : 1.0;
  const auto reach = static_cast<std::int64_t>(std::ceil((resize.kind == Kind::kCubic ? 2 : 1) / share_of_source));
  const bool is_weighed = resize.excludes_outside || resize.antialiases;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double place = source(resize, axis, i);
    const auto first = static_cast<std::int64_t>(std::floor(place));
    std::vector<std::pair<std::int64_t, double>> taken;
    double sum = 0;
    for (std::int64_t at = first - reach + 1; at <= first + reach; ++at) {
      const double distance = (place - static_cast<double>(at)) * share_of_source;
      double weight =
          resize.kind == Kind::kCubic ? cubic_weight(distance, resize.cubic) : std::max(0.0, 1 - std::abs(distance));
      if (resize.excludes_outside && (at < 0 || at >= axis.from)) weight = 0;
      taken.emplace_back(std::clamp<std::int64_t>(at, 0, axis.from - 1), weight);
      sum += weight;
    }
    for (const auto& [at, weight] : taken) {
      const double share = is_weighed && sum != 0 ? weight / sum : weight;
      weights[static_cast<std::size_t>(i * axis.from + at)] += static_cast<float>(share);
    }
  }
  return weights;
}

Expected<ValueId> resize_axis(Call& call, ValueId value, const Resize& resize, const AxisResize& axis) {
  if (resize.kind == Kind::kNearest) {
    Ints places;
    for (std::int64_t i = 0; i < axis.to; ++i) {
      places.push_back(std::clamp<std::int64_t>(nearest(resize, source(resize, axis, i)), 0, axis.from - 1));
    }
    return select_positions(call, value, axis.axis, places);
  }
  if (axis.from > kMaxElements / axis.to) return Call::unsupported("the matrix is too large");
  const ValueId constant =
      TRY(call.cast(call.constant(matrix(resize, axis), {axis.to, axis.from}), call.type(value).dtype));
  const std::int64_t last = call.rank(value) - 1;
  const ValueId turned = TRY(transpose(call, value, axis.axis, last));
  return transpose(call, TRY(call.emit(Op::kLinear, NoAttrs{}, {turned, constant})), axis.axis, last);
}

// The op of PyTorch that places every pixel alike.
std::optional<ResizeMode> torch_mode(const Resize& resize, const std::vector<AxisResize>& axes) {
  if (resize.excludes_outside || resize.antialiases || resize.crops()) return std::nullopt;
  if (resize.kind == Kind::kNearest) {
    for (const AxisResize& axis : axes) {
      for (std::int64_t i = 0; i < axis.to; ++i) {
        const std::int64_t at = std::clamp<std::int64_t>(nearest(resize, source(resize, axis, i)), 0, axis.from - 1);
        if (at != i * axis.from / axis.to) return std::nullopt;
      }
    }
    return ResizeMode::kNearest;
  }
  if (resize.kind == Kind::kCubic && resize.cubic != -0.75) return std::nullopt;
  const bool is_half = resize.coordinates == "half_pixel" || resize.coordinates == "pytorch_half_pixel" ||
                       resize.coordinates == "align_corners";
  if (!is_half) return std::nullopt;
  for (const AxisResize& axis : axes) {
    if (axis.to == 1 && resize.coordinates != "half_pixel") return std::nullopt;
    // Factors that the sizes do not say.
    if (std::abs(axis.scale * static_cast<double>(axis.from) - static_cast<double>(axis.to)) > 1e-6)
      return std::nullopt;
  }
  return resize.kind == Kind::kCubic ? ResizeMode::kCubic : ResizeMode::kLinear;
}

// Pixels of a crop outside of the image have a number of their own.
Expected<ValueId> with_outside(Call& call, ValueId value, const Resize& resize, const AxisResize& axis) {
  std::vector<float> is_inside;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double place = source(resize, axis, i);
    is_inside.push_back(place >= 0 && place <= static_cast<double>(axis.from - 1) ? 1.0F : 0.0F);
  }
  if (std::ranges::find(is_inside, 0.0F) == is_inside.end()) return value;
  Ints sizes(call.shape(value).size(), 1);
  sizes[static_cast<std::size_t>(axis.axis)] = axis.to;
  const ValueId inside = TRY(call.cast(call.constant(is_inside, std::move(sizes)), DType::kBool));
  return call.emit(Op::kWhere, NoAttrs{}, {inside, value, TRY(scalar_like(call, resize.outside, value))});
}

Expected<ValueId> resized(Call& call, ValueId x, const Resize& resize, std::vector<AxisResize> axes) {
  if (!resize.crops()) {
    std::erase_if(axes, [](const AxisResize& axis) { return axis.from == axis.to && axis.scale == 1; });
  }
  const bool is_image =
      call.rank(x) == 4 && std::ranges::all_of(axes, [](const AxisResize& axis) { return axis.axis >= 2; });
  const auto mode = is_image && !axes.empty() ? torch_mode(resize, axes) : std::nullopt;
  if (mode) {
    ResizeAttrs attrs{*mode,
                      {call.size(x, 2), call.size(x, 3)},
                      {},
                      resize.coordinates == "align_corners" && *mode != ResizeMode::kNearest};
    for (const AxisResize& axis : axes) attrs.size[static_cast<std::size_t>(axis.axis - 2)] = axis.to;
    return call.emit(Op::kResize2d, std::move(attrs), {x});
  }
  for (const AxisResize& axis : axes) x = TRY(resize_axis(call, x, resize, axis));
  if (!resize.crops()) return x;
  for (const AxisResize& axis : axes) x = TRY(with_outside(call, x, resize, axis));
  return x;
}

Expected<Values> resize(Call& call, Resize with) {
  const ValueId x = TRY(call.tensor("X"));
  const std::string mode = TRY(call.text("mode", "nearest"));
  if (mode == "linear" || mode == "bilinear") {
    with.kind = Kind::kLinear;
  } else if (mode == "cubic") {
    with.kind = Kind::kCubic;
  } else if (mode != "nearest") {
    return bad_input(fmt::format("mode '{}'", mode));
  }
  with.antialiases = with.kind != Kind::kNearest && TRY(call.flag("antialias", false));
  const std::string aspect = TRY(call.text("keep_aspect_ratio_policy", "stretch"));
  const auto rank = call.shape(x).size();
  Ints places(rank);
  for (std::size_t i = 0; i < rank; ++i) places[i] = static_cast<std::int64_t>(i);
  if (call.has("axes")) {
    places = TRY(call.integers("axes"));
    for (std::int64_t& axis : places) axis = TRY(normal_axis(axis, call.rank(x)));
  }
  std::vector<double> scales;
  if (call.has("scales")) scales = TRY(numbers(call, "scales"));
  Dims wanted;
  if (call.has("sizes")) wanted = TRY(sizes(call, "sizes"));
  const bool has_sizes = !wanted.empty();
  std::vector<double> crop;
  if (with.crops()) {
    crop = TRY(numbers(call, "roi"));
    if (crop.size() != 2 * places.size()) return bad_input(fmt::format("roi has {} values", crop.size()));
  }
  if ((has_sizes ? wanted.size() : scales.size()) != places.size()) {
    return bad_input(
        fmt::format("{} sizes or scales for {} axes", has_sizes ? wanted.size() : scales.size(), places.size()));
  }
  // One scale for all axes: the smallest that the sizes ask for, or the largest.
  if (has_sizes && aspect != "stretch") {
    if (aspect != "not_larger" && aspect != "not_smaller") return bad_input(fmt::format("a policy '{}'", aspect));
    double chosen = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Dim from = call.size(x, places[i]);
      if (!from.is_fixed() || !wanted[i].is_fixed() || from.value() < 1) {
        return Call::unsupported("the image size must be static: fix it with --shape");
      }
      const double scale = static_cast<double>(wanted[i].value()) / static_cast<double>(from.value());
      chosen = i == 0 ? scale : aspect == "not_larger" ? std::min(chosen, scale) : std::max(chosen, scale);
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double size = chosen * static_cast<double>(call.size(x, places[i]).value());
      if (!(size < static_cast<double>(kMaxElements))) return bad_input(fmt::format("invalid axis of size {}", size));
      wanted[i] = static_cast<std::int64_t>(std::floor(size + 0.5));
    }
  }
  std::vector<AxisResize> axes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Dim from = call.size(x, places[i]);
    const bool is_whole = crop.empty() || (crop[i] == 0 && crop[places.size() + i] == 1);
    if (is_whole && (has_sizes ? wanted[i] == from : scales[i] == 1)) continue;
    if (!from.is_fixed() || (has_sizes && !wanted[i].is_fixed())) {
      return Call::unsupported("the image size must be static: fix it with --shape");
    }
    AxisResize axis{places[i], from.value(), 0, 1};
    if (has_sizes) {
      axis.to = wanted[i].value();
      axis.scale = static_cast<double>(axis.to) / static_cast<double>(std::max<std::int64_t>(axis.from, 1));
    } else {
      if (!(scales[i] > 0) || scales[i] > 65536) return bad_input(fmt::format("scale {} is out of range", scales[i]));
      axis.scale = scales[i];
      axis.to = static_cast<std::int64_t>(std::floor(static_cast<double>(axis.from) * scales[i]));
    }
    if (axis.from < 1 || axis.to < 1 || axis.to > kMaxElements) {
      return bad_input(fmt::format("cannot resize an axis of size {} to {}", axis.from, axis.to));
    }
    if (!crop.empty()) {
      axis.start = crop[i];
      axis.end = crop[places.size() + i];
      if (!(std::abs(axis.start) < 65536 && std::abs(axis.end) < 65536)) return bad_input("the crop has no bounds");
    }
    axes.push_back(axis);
  }
  return one(resized(call, x, with, std::move(axes)));
}

Expected<Values> read_resize(Call& call) {
  return resize(call, {.coordinates = TRY(call.text("coordinate_transformation_mode", "half_pixel")),
                       .rounding = TRY(call.text("nearest_mode", "round_prefer_floor")),
                       .cubic = TRY(call.number("cubic_coeff_a", -0.75)),
                       .excludes_outside = TRY(call.flag("exclude_outside", false)),
                       .outside = TRY(call.number("extrapolation_value", 0))});
}
// Opset 10 and Upsample before it place pixels by their upper left corners.
Expected<Values> read_upsample(Call& call) { return resize(call, {.coordinates = "asymmetric", .rounding = "floor"}); }

Expected<Values> read_grid_sample(Call& call) {
  const std::string mode = TRY(call.text("mode", "bilinear"));
  const std::string padding = TRY(call.text("padding_mode", "zeros"));
  return TorchCall(call, "aten.grid_sampler")
      .tensor("input", TRY(call.tensor("X")))
      .tensor("grid", TRY(call.tensor("grid")))
      .integer("interpolation_mode", mode == "nearest"                      ? 1
                                     : mode == "bicubic" || mode == "cubic" ? 2
                                                                            : 0)
      .integer("padding_mode", padding == "border"       ? 1
                               : padding == "reflection" ? 2
                                                         : 0)
      .flag("align_corners", TRY(call.flag("align_corners", false)))
      .read();
}

Expected<Values> read_affine_grid(Call& call) {
  return TorchCall(call, "aten.affine_grid_generator")
      .tensor("theta", TRY(call.tensor("theta")))
      .integers("size", TRY(sizes(call, "size")))
      .flag("align_corners", TRY(call.flag("align_corners", false)))
      .read();
}

// What samples of each region see of the image: `count` bins of `each` samples along one axis.
struct Samples {
  ValueId places;  // [regions, count * each], in pixels
  ValueId inside;  // 1 where the image is not farther away than a pixel
};
Expected<Samples> samples_of(Call& call, ValueId start, ValueId end, std::int64_t count, std::int64_t each, Dim size,
                             bool has_min) {
  const ValueId given = TRY(call.binary(Op::kSub, end, start));
  const ValueId length = has_min ? TRY(call.binary(Op::kMaximum, given, TRY(scalar_like(call, 1, given)))) : given;
  std::vector<float> shares;
  for (std::int64_t i = 0; i < count * each; ++i) {
    shares.push_back((static_cast<float>(i) + 0.5F) / static_cast<float>(count * each));
  }
  const ValueId along = call.constant(shares, {1, count * each});
  const ValueId places = TRY(call.binary(Op::kAdd, start, TRY(call.binary(Op::kMul, length, along))));
  const auto last = static_cast<double>(size.value());
  const ValueId above = TRY(call.binary(Op::kGe, places, TRY(scalar_like(call, -1, places))));
  const ValueId below = TRY(call.binary(Op::kLe, places, TRY(scalar_like(call, last, places))));
  return Samples{places, TRY(call.cast(TRY(call.binary(Op::kLogicalAnd, above, below)), call.type(places).dtype))};
}

// The average of samples in the bins of each region: a grid over the image of each, then a pool.
Expected<Values> roi_align(Call& call, const std::string& coordinates) {
  const ValueId x = TRY(call.tensor("X"));
  const std::int64_t height = TRY(call.integer("output_height", 1));
  const std::int64_t width = TRY(call.integer("output_width", 1));
  const std::int64_t each = TRY(call.integer("sampling_ratio", 0));
  if (call.rank(x) != 4 || !call.size(x, 2).is_fixed() || !call.size(x, 3).is_fixed()) {
    return Call::unsupported("the image size must be static: fix it with --shape");
  }
  if (each == 0) return Call::unsupported("an adaptive sampling_ratio is not supported: set sampling_ratio");
  if (TRY(call.text("mode", "avg")) != "avg") return Call::unsupported("RoiAlign with mode max is not supported");
  constexpr std::int64_t kMax = 4096;
  for (const std::int64_t number : {height, width, each}) {
    if (number < 1 || number > kMax) return bad_input(fmt::format("invalid number of samples or bins: {}", number));
  }
  const bool is_half = coordinates == "half_pixel";
  const double scale = TRY(call.number("spatial_scale", 1));
  ValueId rois = TRY(call.tensor("rois"));
  if (call.rank(rois) != 2 || !call.size(rois, 1).is(4)) return bad_input("the regions are not [count, 4]");
  rois = TRY(call.binary(Op::kMul, rois, TRY(scalar_like(call, scale, rois))));
  if (is_half) rois = TRY(call.binary(Op::kSub, rois, TRY(scalar_like(call, 0.5, rois))));
  const auto corner = [&](std::int64_t i) { return call.slice(rois, 1, i, i + 1); };
  const Dim rows = call.size(x, 2);
  const Dim columns = call.size(x, 3);
  const Samples down = TRY(samples_of(call, TRY(corner(1)), TRY(corner(3)), height, each, rows, !is_half));
  const Samples across = TRY(samples_of(call, TRY(corner(0)), TRY(corner(2)), width, each, columns, !is_half));
  const Dim count = call.size(rois, 0);
  const Shape tall{count, height * each, 1, 1};
  const Shape wide{count, 1, width * each, 1};
  // From pixels to coordinates from -1 to 1 at the outer edges.
  const auto coordinate = [&](ValueId places, const Shape& shape, Dim size) -> Expected<ValueId> {
    const ValueId factor = TRY(scalar_like(call, 2 / static_cast<double>(size.value()), places));
    const ValueId offset = TRY(scalar_like(call, 1 / static_cast<double>(size.value()) - 1, places));
    const ValueId moved = TRY(call.binary(Op::kAdd, TRY(call.binary(Op::kMul, places, factor)), offset));
    return call.expand(TRY(call.reshape(moved, shape)), {count, height * each, width * each, 1});
  };
  const ValueId grid =
      TRY(call.cat({TRY(coordinate(across.places, wide, columns)), TRY(coordinate(down.places, tall, rows))}, 3));
  const ValueId images = TRY(pick(call, x, 0, TRY(call.tensor("batch_indices"))));
  const GridSampleAttrs border{ResizeMode::kLinear, GridPadding::kBorder, false};
  ValueId sampled = TRY(call.emit(Op::kGridSample, border, {images, grid}));
  for (const ValueId inside : {TRY(call.reshape(down.inside, {count, 1, height * each, 1})),
                               TRY(call.reshape(across.inside, {count, 1, 1, width * each}))}) {
    sampled = TRY(call.binary(Op::kMul, sampled, inside));
  }
  if (each == 1) return one(sampled);
  return one(
      call.emit(Op::kAvgPool2d, AvgPoolAttrs{{each, each}, {each, each}, {0, 0, 0, 0}, false, true, 0}, {sampled}));
}
Expected<Values> read_roi_align_10(Call& call) { return roi_align(call, "output_half_pixel"); }
Expected<Values> read_roi_align(Call& call) {
  return roi_align(call, TRY(call.text("coordinate_transformation_mode", "half_pixel")));
}

}  // namespace

Family image_family() {
  static constexpr Row kRows[] = {
      row("onnx.Upsample", "X scales", read_upsample),
      row("onnx.Resize.10", "X scales", read_upsample),
      row("onnx.Resize.11", "X roi scales sizes", read_resize),
      row("onnx.GridSample", "X grid", read_grid_sample),
      row("onnx.AffineGrid", "theta size", read_affine_grid),
      row("onnx.RoiAlign.10", "X rois batch_indices", read_roi_align_10),
      row("onnx.RoiAlign.16", "X rois batch_indices", read_roi_align),
  };
  return family_of("onnx image", kRows);
}

}  // namespace isthmus::onnx_ops
