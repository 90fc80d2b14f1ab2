// Resizing and sampling of images.
#include <fmt/format.h>

#include <cmath>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Expected<TensorType> infer_resize2d(const InferContext& context) {
  const auto& attrs = context.as<ResizeAttrs>();
  const TensorType& input = context.inputs[0];
  const bool moves_only = attrs.mode == ResizeMode::kNearest || attrs.mode == ResizeMode::kNearestExact;
  if (moves_only) {
    TRY(demand_numbers(input));
  } else {
    TRY(demand_floats(input));
  }
  TRY(demand_rank(input, 4));
  if (attrs.size.size() != 2) return bad_input(fmt::format("{} sizes, expected 2", attrs.size.size()));
  if (!attrs.scales.empty() && attrs.scales.size() != 2) return bad_input("expected 2 scales");
  for (const double scale : attrs.scales) {
    if (!(scale > 0) || !std::isfinite(scale)) return bad_input(fmt::format("scale {} is out of range", scale));
  }
  if (attrs.align_corners && moves_only) return bad_input("align_corners needs a linear or cubic mode");
  for (std::size_t i = 0; i < 2; ++i) {
    if (attrs.size[i].is_fixed() && attrs.size[i].value() < 1) {
      return bad_input(fmt::format("size {} is out of range", attrs.size[i].value()));
    }
    if (input.shape[i + 2].is(0)) return bad_input("the image is empty");
  }
  return TensorType{input.dtype, {input.shape[0], input.shape[1], attrs.size[0], attrs.size[1]}};
}

Expected<TensorType> infer_grid_sample(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const TensorType& grid = context.inputs[1];
  TRY(demand_floats(input));
  TRY(demand_same_dtype(grid, input));
  TRY(demand_rank(input, 4));
  TRY(demand_rank(grid, 4));
  TRY(demand_equal(context.exprs, grid.shape[0], input.shape[0], "batch size of the grid"));
  TRY(demand_equal(context.exprs, grid.shape[3], 2, "last dimension of the grid"));
  if (input.shape[2].is(0) || input.shape[3].is(0)) return bad_input("the image is empty");
  if (context.as<GridSampleAttrs>().mode == ResizeMode::kNearestExact)
    return bad_input("nearest-exact is a mode of resize only");
  return TensorType{input.dtype, {input.shape[0], input.shape[1], grid.shape[1], grid.shape[2]}};
}

// What is wanted of one axis: its new size, and the factor that the user gave, if any.
struct ResizeTarget {
  Dim size = 1;
  std::optional<double> scale;
};

// size * scale, rounded down. A symbolic size needs a factor that is a fraction with a small power of two below.
Expected<Dim> scaled_size(Call& call, Dim size, double scale) {
  constexpr double kMax = 1 << 20;
  if (!(scale > 0) || scale > kMax) return bad_input(fmt::format("{}: scale {} is out of range", call.target(), scale));
  if (size.is_fixed()) return Dim(static_cast<std::int64_t>(static_cast<double>(size.value()) * scale));
  for (std::int64_t below = 1; below <= 1024; below *= 2) {
    const double above = scale * static_cast<double>(below);
    if (above != std::floor(above)) continue;
    return call.exprs().floor_divide(call.exprs().multiply(size, static_cast<std::int64_t>(above)), below);
  }
  return Call::unsupported("the image size must be static");
}

// Sizes or factors of the overload that has lists of both, or of the one that has a number per axis.
Expected<std::vector<ResizeTarget>> read_targets(Call& call, ValueId input, std::size_t spatial) {
  static constexpr std::string_view kNames[3][3] = {
      {"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}};
  if (call.shape(input).size() != spatial + 2) {
    return bad_input(fmt::format("{}: unsupported input of rank {}", call.target(), call.rank(input)));
  }
  std::vector<ResizeTarget> targets(spatial);
  if (call.has("output_size")) {
    const Dims sizes = TRY(call.dims("output_size"));
    if (sizes.size() != spatial) return bad_input(call.target() + ": output_size has the wrong length");
    for (std::size_t i = 0; i < spatial; ++i) {
      targets[i].size = sizes[i];
      const std::string_view name = kNames[spatial - 1][i];
      if (call.has(name)) targets[i].scale = TRY(call.number(name));
    }
  } else {
    const std::vector<double> scales = TRY(call.numbers("scale_factors"));
    if (scales.size() != spatial) return bad_input(call.target() + ": scale_factors has the wrong length");
    for (std::size_t i = 0; i < spatial; ++i) {
      targets[i] = {TRY(scaled_size(call, call.shape(input)[i + 2], scales[i])), scales[i]};
    }
  }
  return targets;
}

// Whether the given factor says what the sizes say already.
bool is_said_by_sizes(Dim from, const ResizeTarget& target) {
  if (!target.scale || !(*target.scale > 0)) return true;
  const double scale = *target.scale;
  if (scale >= 1 && scale == std::floor(scale)) return true;
  if (!from.is_fixed() || !target.size.is_fixed() || target.size.value() < 1) return false;
  return 1 / scale == static_cast<double>(from.value()) / static_cast<double>(target.size.value());
}

Expected<ValueId> resize(Call& call, ValueId input, ResizeMode mode, bool align_corners, const ResizeTarget& height,
                         const ResizeTarget& width) {
  ResizeAttrs attrs{mode, {height.size, width.size}, {}, align_corners};
  const bool has_scales =
      !is_said_by_sizes(call.size(input, 2), height) || !is_said_by_sizes(call.size(input, 3), width);
  if (has_scales && !align_corners) {
    for (const auto& [target, from] : {std::pair(height, call.size(input, 2)), std::pair(width, call.size(input, 3))}) {
      if (!target.scale && !(from == target.size))
        return Call::unsupported("a scale for only one axis is not supported");
      attrs.scales.push_back(target.scale.value_or(1));
    }
  }
  if (attrs.size[0] == call.size(input, 2) && attrs.size[1] == call.size(input, 3) && attrs.scales.empty())
    return input;
  return call.emit(Op::kResize2d, std::move(attrs), {input});
}

// Images of one axis have a height of 1; those of three are resized in a plane, then along the first axis.
Expected<Values> read_resize(Call& call, ResizeMode mode, std::size_t spatial) {
  const ValueId self = TRY(call.tensor("self"));
  const std::vector<ResizeTarget> targets = TRY(read_targets(call, self, spatial));
  const bool align_corners = TRY(call.flag("align_corners", false));
  const Shape shape = call.shape(self);
  if (spatial == 2) return one(resize(call, self, mode, align_corners, targets[0], targets[1]));
  if (spatial == 1) {
    const ValueId flat = TRY(call.reshape(self, {shape[0], shape[1], 1, shape[2]}));
    const ValueId result = TRY(resize(call, flat, mode, align_corners, {1, {}}, targets[0]));
    return one(call.reshape(result, {shape[0], shape[1], targets[0].size}));
  }
  Exprs& exprs = call.exprs();
  const ValueId planes = TRY(call.reshape(self, {shape[0], exprs.multiply(shape[1], shape[2]), shape[3], shape[4]}));
  ValueId result = TRY(resize(call, planes, mode, align_corners, targets[1], targets[2]));
  const Dim plane = exprs.multiply(targets[1].size, targets[2].size);
  result = TRY(call.reshape(result, {shape[0], shape[1], shape[2], plane}));
  result = TRY(resize(call, result, mode, align_corners, targets[0], {plane, {}}));
  return one(call.reshape(result, {shape[0], shape[1], targets[0].size, targets[1].size, targets[2].size}));
}

Expected<Values> read_nearest1d(Call& call) { return read_resize(call, ResizeMode::kNearest, 1); }
Expected<Values> read_nearest2d(Call& call) { return read_resize(call, ResizeMode::kNearest, 2); }
Expected<Values> read_nearest3d(Call& call) { return read_resize(call, ResizeMode::kNearest, 3); }
Expected<Values> read_exact1d(Call& call) { return read_resize(call, ResizeMode::kNearestExact, 1); }
Expected<Values> read_exact2d(Call& call) { return read_resize(call, ResizeMode::kNearestExact, 2); }
Expected<Values> read_exact3d(Call& call) { return read_resize(call, ResizeMode::kNearestExact, 3); }
Expected<Values> read_linear1d(Call& call) { return read_resize(call, ResizeMode::kLinear, 1); }
Expected<Values> read_bilinear2d(Call& call) { return read_resize(call, ResizeMode::kLinear, 2); }
Expected<Values> read_trilinear3d(Call& call) { return read_resize(call, ResizeMode::kLinear, 3); }
Expected<Values> read_bicubic2d(Call& call) { return read_resize(call, ResizeMode::kCubic, 2); }

Expected<Values> read_grid_sampler(Call& call) {
  static constexpr ResizeMode kModes[] = {ResizeMode::kLinear, ResizeMode::kNearest, ResizeMode::kCubic};
  static constexpr GridPadding kPaddings[] = {GridPadding::kZeros, GridPadding::kBorder, GridPadding::kReflection};
  const ValueId input = TRY(call.tensor("input"));
  const ValueId grid = TRY(call.tensor("grid"));
  const std::int64_t mode = TRY(call.integer("interpolation_mode", 0));
  const std::int64_t padding = TRY(call.integer("padding_mode", 0));
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return bad_input(call.target() + ": unknown mode");
  if (call.rank(input) != 4) return Call::unsupported("sampling of 5-d inputs is not supported");
  GridSampleAttrs attrs{kModes[mode], kPaddings[padding], TRY(call.flag("align_corners", false))};
  return one(call.emit(Op::kGridSample, attrs, {input, grid}));
}

// Coordinates from -1 to 1, at the corners or at the centres of the outer pixels.
std::vector<float> coordinates(std::int64_t count, bool align_corners) {
  std::vector<float> result(static_cast<std::size_t>(count));
  const auto steps = static_cast<double>(align_corners ? count - 1 : count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = 2.0 * static_cast<double>(i) + (align_corners ? 0 : 1);
    result[static_cast<std::size_t>(i)] = count == 1 ? 0.0F : static_cast<float>(at / steps - 1);
  }
  return result;
}

// Every pixel's (x, y, 1) times the matrix of its image.
Expected<Values> read_affine_grid(Call& call) {
  constexpr std::int64_t kMaxPixels = 1 << 24;
  const ValueId theta = TRY(call.tensor("theta"));
  const Dims size = TRY(call.dims("size"));
  const bool align_corners = TRY(call.flag("align_corners", false));
  if (size.size() != 4 || call.rank(theta) != 3) return Call::unsupported("grids for 5-d inputs are not supported");
  if (!size[2].is_fixed() || !size[3].is_fixed()) return Call::unsupported("the grid needs a static size");
  TRY(demand_list({size[2].value(), size[3].value()}, 2, 1, "size"));
  const std::int64_t height = size[2].value();
  const std::int64_t width = size[3].value();
  if (height * width > kMaxPixels) return Call::unsupported("the grid has too many pixels");
  const std::vector<float> ys = coordinates(height, align_corners);
  const std::vector<float> xs = coordinates(width, align_corners);
  std::vector<float> pixels;
  for (const float y : ys) {
    for (const float x : xs) pixels.insert(pixels.end(), {x, y, 1.0F});
  }
  const ValueId base = call.constant(pixels, {1, height * width, 3});
  const ValueId typed = TRY(call.cast(base, call.type(theta).dtype));
  const ValueId grid = TRY(call.binary(Op::kMatmul, typed, TRY(call.permute(theta, {0, 2, 1}))));
  return one(call.reshape(grid, {call.size(theta, 0), height, width, 2}));
}

}  // namespace

Family image_family() {
  static const OpDef kOps[] = {
      {.op = Op::kResize2d,
       .flow = QFlow::kNarrowsRange,
       .roles = {Role::kData},
       .infer = infer_resize2d,
       .spellings = {{"aten.upsample_nearest1d", read_nearest1d},
                     {"aten.upsample_nearest2d", read_nearest2d},
                     {"aten._upsample_nearest_exact1d", read_exact1d},
                     {"aten._upsample_nearest_exact2d", read_exact2d},
                     {"aten.upsample_linear1d", read_linear1d},
                     {"aten.upsample_bilinear2d", read_bilinear2d},
                     {"aten.upsample_bicubic2d", read_bicubic2d}}},
      {.op = Op::kGridSample,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kIndex},
       .required = 2,
       .infer = infer_grid_sample,
       .spellings = {{"aten.grid_sampler", read_grid_sampler}, {"aten.grid_sampler_2d", read_grid_sampler}}},
  };
  static const Spelling kCompounds[] = {
      {"aten.upsample_nearest3d", read_nearest3d},
      {"aten._upsample_nearest_exact3d", read_exact3d},
      {"aten.upsample_trilinear3d", read_trilinear3d},
      {"aten.affine_grid_generator", read_affine_grid},
  };
  return {"image", kOps, kCompounds};
}

}  // namespace isthmus
