// Resizing and sampling of images as ONNX has it. What PyTorch has as well becomes the same op; every other way to
// place pixels is a choice of pixels, or a matrix for each axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
};

struct AxisResize {
  std::int64_t axis;
  std::int64_t from;
  std::int64_t to;
  double scale;
};

// The place in the input of a pixel of the result.
double source(const Resize& resize, const AxisResize& axis, std::int64_t at) {
  const auto x = static_cast<double>(at);
  if (resize.coordinates == "asymmetric") return x / axis.scale;
  if (resize.coordinates == "align_corners") {
    const double length = axis.scale * static_cast<double>(axis.from);
    return axis.to == 1 || length <= 1 ? 0 : x * static_cast<double>(axis.from - 1) / (length - 1);
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
  const std::int64_t reach = resize.kind == Kind::kCubic ? 2 : 1;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double place = source(resize, axis, i);
    const auto first = static_cast<std::int64_t>(std::floor(place));
    std::vector<std::pair<std::int64_t, double>> taken;
    double sum = 0;
    for (std::int64_t at = first - reach + 1; at <= first + reach; ++at) {
      const double distance = place - static_cast<double>(at);
      double weight = resize.kind == Kind::kCubic ? cubic_weight(distance, resize.cubic) : 1 - std::abs(distance);
      if (resize.excludes_outside && (at < 0 || at >= axis.from)) weight = 0;
      taken.emplace_back(std::clamp<std::int64_t>(at, 0, axis.from - 1), weight);
      sum += weight;
    }
    for (const auto& [at, weight] : taken) {
      const double share = resize.excludes_outside && sum != 0 ? weight / sum : weight;
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
  if (axis.from > kMaxElements / axis.to) return Call::unsupported("a matrix of this size");
  const ValueId constant =
      TRY(call.cast(call.constant(matrix(resize, axis), {axis.to, axis.from}), call.type(value).dtype));
  const std::int64_t last = call.rank(value) - 1;
  const ValueId turned = TRY(transpose(call, value, axis.axis, last));
  return transpose(call, TRY(call.emit(Op::kLinear, NoAttrs{}, {turned, constant})), axis.axis, last);
}

// The op of PyTorch that places every pixel alike.
std::optional<ResizeMode> torch_mode(const Resize& resize, const std::vector<AxisResize>& axes) {
  if (resize.excludes_outside) return std::nullopt;
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

Expected<ValueId> resized(Call& call, ValueId x, const Resize& resize, std::vector<AxisResize> axes) {
  std::erase_if(axes, [](const AxisResize& axis) { return axis.from == axis.to && axis.scale == 1; });
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
  if (TRY(call.flag("antialias", false)) && with.kind != Kind::kNearest) return Call::unsupported("antialiasing");
  if (with.coordinates == "tf_crop_and_resize") return Call::unsupported("a crop before it is resized");
  if (TRY(call.text("keep_aspect_ratio_policy", "stretch")) != "stretch") {
    return Call::unsupported("sizes that keep the aspect ratio");
  }
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
  if ((has_sizes ? wanted.size() : scales.size()) != places.size()) {
    return bad_input(
        fmt::format("{} sizes or scales of {} axes", has_sizes ? wanted.size() : scales.size(), places.size()));
  }
  std::vector<AxisResize> axes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Dim from = call.size(x, places[i]);
    if (has_sizes ? wanted[i] == from : scales[i] == 1) continue;
    if (!from.is_fixed() || (has_sizes && !wanted[i].is_fixed())) {
      return Call::unsupported("an image of a size that needs to be fixed");
    }
    AxisResize axis{places[i], from.value(), 0, 1};
    if (has_sizes) {
      axis.to = wanted[i].value();
      axis.scale = static_cast<double>(axis.to) / static_cast<double>(std::max<std::int64_t>(axis.from, 1));
    } else {
      if (!(scales[i] > 0) || scales[i] > 65536) return bad_input(fmt::format("a scale of {}", scales[i]));
      axis.scale = scales[i];
      axis.to = static_cast<std::int64_t>(std::floor(static_cast<double>(axis.from) * scales[i]));
    }
    if (axis.from < 1 || axis.to < 1 || axis.to > kMaxElements) {
      return bad_input(fmt::format("an axis of size {} becomes one of {}", axis.from, axis.to));
    }
    axes.push_back(axis);
  }
  return one(resized(call, x, with, std::move(axes)));
}

Expected<Values> read_resize(Call& call) {
  return resize(call, {.coordinates = TRY(call.text("coordinate_transformation_mode", "half_pixel")),
                       .rounding = TRY(call.text("nearest_mode", "round_prefer_floor")),
                       .cubic = TRY(call.number("cubic_coeff_a", -0.75)),
                       .excludes_outside = TRY(call.flag("exclude_outside", false))});
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

}  // namespace

Family image_family() {
  static constexpr Row kRows[] = {
      row("onnx.Upsample", "X scales", read_upsample),          row("onnx.Resize.10", "X scales", read_upsample),
      row("onnx.Resize.11", "X roi scales sizes", read_resize), row("onnx.GridSample", "X grid", read_grid_sample),
      row("onnx.AffineGrid", "theta size", read_affine_grid),
  };
  return family_of("onnx image", kRows);
}

}  // namespace isthmus::onnx_ops
