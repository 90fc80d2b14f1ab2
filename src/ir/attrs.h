// What an op needs to know besides its inputs: one plain struct per set of attributes.
#pragma once

#include <compare>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "ir/dim.h"

namespace isthmus {

// A named member of an attribute struct. `fields()` of a struct lists them in the order in which they are printed;
// printer, parser and verifier need nothing else.
template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::*member;
};
template <class Struct, class Member>
Field(const char*, Member Struct::*) -> Field<Struct, Member>;

struct NoAttrs {
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const NoAttrs&) const = default;
};

using Ints = std::vector<std::int64_t>;
using Dims = std::vector<Dim>;

// Enumerations among the attributes; `words` are their names in the text form, in order.
enum class PadMode : std::uint8_t { kConstant, kReflect, kReplicate };
enum class ResizeMode : std::uint8_t { kNearest, kNearestExact, kLinear, kCubic };
enum class GridPadding : std::uint8_t { kZeros, kBorder, kReflection };
enum class ScatterMode : std::uint8_t { kSet, kAdd, kMultiply, kMin, kMax };
enum class ScaleChoice : std::uint8_t { kTensor, kTensorSymmetric, kRows, kRowsSymmetric };

inline std::span<const std::string_view> words(PadMode) {
  static constexpr std::string_view kWords[] = {"constant", "reflect", "replicate"};
  return kWords;
}
inline std::span<const std::string_view> words(ResizeMode) {
  static constexpr std::string_view kWords[] = {"nearest", "nearest_exact", "linear", "cubic"};
  return kWords;
}
inline std::span<const std::string_view> words(GridPadding) {
  static constexpr std::string_view kWords[] = {"zeros", "border", "reflection"};
  return kWords;
}
inline std::span<const std::string_view> words(ScatterMode) {
  static constexpr std::string_view kWords[] = {"set", "add", "multiply", "min", "max"};
  return kWords;
}
inline std::span<const std::string_view> words(ScaleChoice) {
  static constexpr std::string_view kWords[] = {"tensor", "tensor_symmetric", "rows", "rows_symmetric"};
  return kWords;
}

struct AxisAttrs {
  std::int64_t axis = 0;
  static constexpr auto fields() { return std::tuple{Field{"axis", &AxisAttrs::axis}}; }
  bool operator==(const AxisAttrs&) const = default;
};
struct AxesAttrs {
  Ints axes;
  static constexpr auto fields() { return std::tuple{Field{"axes", &AxesAttrs::axes}}; }
  bool operator==(const AxesAttrs&) const = default;
};
struct ShapeAttrs {
  Dims shape;
  static constexpr auto fields() { return std::tuple{Field{"shape", &ShapeAttrs::shape}}; }
  bool operator==(const ShapeAttrs&) const = default;
};
// Elements start, start + step, ... below end of one axis; 0 <= start <= end <= size.
struct SliceAttrs {
  std::int64_t axis = 0;
  Dim start = 0;
  Dim end = 0;
  std::int64_t step = 1;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &SliceAttrs::axis}, Field{"start", &SliceAttrs::start},
                      Field{"end", &SliceAttrs::end}, Field{"step", &SliceAttrs::step}};
  }
  bool operator==(const SliceAttrs&) const = default;
};
// Elements added before and after each axis; never negative.
struct PadAttrs {
  PadMode mode = PadMode::kConstant;
  Ints before;
  Ints after;
  double value = 0;
  static constexpr auto fields() {
    return std::tuple{Field{"mode", &PadAttrs::mode}, Field{"before", &PadAttrs::before},
                      Field{"after", &PadAttrs::after}, Field{"value", &PadAttrs::value}};
  }
  bool operator==(const PadAttrs&) const = default;
};
struct DTypeAttrs {
  DType dtype = DType::kF32;
  static constexpr auto fields() { return std::tuple{Field{"dtype", &DTypeAttrs::dtype}}; }
  bool operator==(const DTypeAttrs&) const = default;
};
struct ClampAttrs {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  static constexpr auto fields() { return std::tuple{Field{"min", &ClampAttrs::min}, Field{"max", &ClampAttrs::max}}; }
  bool operator==(const ClampAttrs&) const = default;
};
// Axes are sorted, each once, never negative; all of them are listed when everything is reduced.
struct ReduceAttrs {
  Ints axes;
  bool keepdim = false;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &ReduceAttrs::axes}, Field{"keepdim", &ReduceAttrs::keepdim}};
  }
  bool operator==(const ReduceAttrs&) const = default;
};
struct VarianceAttrs {
  Ints axes;
  bool keepdim = false;
  double correction = 1;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &VarianceAttrs::axes}, Field{"keepdim", &VarianceAttrs::keepdim},
                      Field{"correction", &VarianceAttrs::correction}};
  }
  bool operator==(const VarianceAttrs&) const = default;
};
struct VectorNormAttrs {
  Ints axes;
  bool keepdim = false;
  double order = 2;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &VectorNormAttrs::axes}, Field{"keepdim", &VectorNormAttrs::keepdim},
                      Field{"order", &VectorNormAttrs::order}};
  }
  bool operator==(const VectorNormAttrs&) const = default;
};
struct SortAttrs {
  std::int64_t axis = 0;
  bool descending = false;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &SortAttrs::axis}, Field{"descending", &SortAttrs::descending}};
  }
  bool operator==(const SortAttrs&) const = default;
};
// Padding is before and after of each spatial axis in turn: [top, bottom, left, right].
struct ConvAttrs {
  Ints stride;
  Ints padding;
  Ints dilation;
  std::int64_t groups = 1;
  static constexpr auto fields() {
    return std::tuple{Field{"stride", &ConvAttrs::stride}, Field{"padding", &ConvAttrs::padding},
                      Field{"dilation", &ConvAttrs::dilation}, Field{"groups", &ConvAttrs::groups}};
  }
  bool operator==(const ConvAttrs&) const = default;
};
// Padding as in ConvAttrs: what is cut from the full result; output_padding is already in it.
struct ConvTransposeAttrs {
  Ints stride;
  Ints padding;
  Ints dilation;
  std::int64_t groups = 1;
  static constexpr auto fields() {
    return std::tuple{Field{"stride", &ConvTransposeAttrs::stride}, Field{"padding", &ConvTransposeAttrs::padding},
                      Field{"dilation", &ConvTransposeAttrs::dilation}, Field{"groups", &ConvTransposeAttrs::groups}};
  }
  bool operator==(const ConvTransposeAttrs&) const = default;
};
// Padding as in ConvAttrs.
struct MaxPoolAttrs {
  Ints kernel;
  Ints stride;
  Ints padding;
  Ints dilation;
  bool ceil_mode = false;
  static constexpr auto fields() {
    return std::tuple{Field{"kernel", &MaxPoolAttrs::kernel}, Field{"stride", &MaxPoolAttrs::stride},
                      Field{"padding", &MaxPoolAttrs::padding}, Field{"dilation", &MaxPoolAttrs::dilation},
                      Field{"ceil_mode", &MaxPoolAttrs::ceil_mode}};
  }
  bool operator==(const MaxPoolAttrs&) const = default;
};
// Padding as in ConvAttrs; a divisor of 0 means the size of the window.
struct AvgPoolAttrs {
  Ints kernel;
  Ints stride;
  Ints padding;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::int64_t divisor = 0;
  static constexpr auto fields() {
    return std::tuple{Field{"kernel", &AvgPoolAttrs::kernel},
                      Field{"stride", &AvgPoolAttrs::stride},
                      Field{"padding", &AvgPoolAttrs::padding},
                      Field{"ceil_mode", &AvgPoolAttrs::ceil_mode},
                      Field{"count_include_pad", &AvgPoolAttrs::count_include_pad},
                      Field{"divisor", &AvgPoolAttrs::divisor}};
  }
  bool operator==(const AvgPoolAttrs&) const = default;
};
struct SizeAttrs {
  Dims size;
  static constexpr auto fields() { return std::tuple{Field{"size", &SizeAttrs::size}}; }
  bool operator==(const SizeAttrs&) const = default;
};
struct EpsAttrs {
  double eps = 1e-5;
  static constexpr auto fields() { return std::tuple{Field{"eps", &EpsAttrs::eps}}; }
  bool operator==(const EpsAttrs&) const = default;
};
// Over the last `axes` axes.
struct LayerNormAttrs {
  std::int64_t axes = 1;
  double eps = 1e-5;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &LayerNormAttrs::axes}, Field{"eps", &LayerNormAttrs::eps}};
  }
  bool operator==(const LayerNormAttrs&) const = default;
};
struct GroupNormAttrs {
  std::int64_t groups = 1;
  double eps = 1e-5;
  static constexpr auto fields() {
    return std::tuple{Field{"groups", &GroupNormAttrs::groups}, Field{"eps", &GroupNormAttrs::eps}};
  }
  bool operator==(const GroupNormAttrs&) const = default;
};
struct GeluAttrs {
  bool tanh = false;
  static constexpr auto fields() { return std::tuple{Field{"tanh", &GeluAttrs::tanh}}; }
  bool operator==(const GeluAttrs&) const = default;
};
// x > 0: scale * x, else scale * alpha * (exp(input_scale * x) - 1)
struct EluAttrs {
  double alpha = 1;
  double scale = 1;
  double input_scale = 1;
  static constexpr auto fields() {
    return std::tuple{Field{"alpha", &EluAttrs::alpha}, Field{"scale", &EluAttrs::scale},
                      Field{"input_scale", &EluAttrs::input_scale}};
  }
  bool operator==(const EluAttrs&) const = default;
};
struct SlopeAttrs {
  double slope = 0.01;
  static constexpr auto fields() { return std::tuple{Field{"slope", &SlopeAttrs::slope}}; }
  bool operator==(const SlopeAttrs&) const = default;
};
struct SoftplusAttrs {
  double beta = 1;
  double threshold = 20;
  static constexpr auto fields() {
    return std::tuple{Field{"beta", &SoftplusAttrs::beta}, Field{"threshold", &SoftplusAttrs::threshold}};
  }
  bool operator==(const SoftplusAttrs&) const = default;
};
struct LambdaAttrs {
  double lambda = 0.5;
  static constexpr auto fields() { return std::tuple{Field{"lambda", &LambdaAttrs::lambda}}; }
  bool operator==(const LambdaAttrs&) const = default;
};
struct NanToNumAttrs {
  double nan = 0;
  double posinf = 0;
  double neginf = 0;
  static constexpr auto fields() {
    return std::tuple{Field{"nan", &NanToNumAttrs::nan}, Field{"posinf", &NanToNumAttrs::posinf},
                      Field{"neginf", &NanToNumAttrs::neginf}};
  }
  bool operator==(const NanToNumAttrs&) const = default;
};
// A scale of 0 means 1 / sqrt(size of the last axis of the query).
struct AttentionAttrs {
  double scale = 0;
  bool is_causal = false;
  static constexpr auto fields() {
    return std::tuple{Field{"scale", &AttentionAttrs::scale}, Field{"is_causal", &AttentionAttrs::is_causal}};
  }
  bool operator==(const AttentionAttrs&) const = default;
};
// Scales are what the user gave (output over input, one per spatial axis), or empty: then the sizes decide.
struct ResizeAttrs {
  ResizeMode mode = ResizeMode::kNearest;
  Dims size;
  std::vector<double> scales;
  bool align_corners = false;
  static constexpr auto fields() {
    return std::tuple{Field{"mode", &ResizeAttrs::mode}, Field{"size", &ResizeAttrs::size},
                      Field{"scales", &ResizeAttrs::scales}, Field{"align_corners", &ResizeAttrs::align_corners}};
  }
  bool operator==(const ResizeAttrs&) const = default;
};
struct GridSampleAttrs {
  ResizeMode mode = ResizeMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
  static constexpr auto fields() {
    return std::tuple{Field{"mode", &GridSampleAttrs::mode}, Field{"padding", &GridSampleAttrs::padding},
                      Field{"align_corners", &GridSampleAttrs::align_corners}};
  }
  bool operator==(const GridSampleAttrs&) const = default;
};
// Only where its length is symbolic: start, start + step, ... below end.
struct ArangeAttrs {
  Dim start = 0;
  Dim end = 0;
  std::int64_t step = 1;
  DType dtype = DType::kI64;
  static constexpr auto fields() {
    return std::tuple{Field{"start", &ArangeAttrs::start}, Field{"end", &ArangeAttrs::end},
                      Field{"step", &ArangeAttrs::step}, Field{"dtype", &ArangeAttrs::dtype}};
  }
  bool operator==(const ArangeAttrs&) const = default;
};
// An axis of -1 means one scale for the tensor. min and max bound the quantized values.
struct QuantizeAttrs {
  std::int64_t axis = -1;
  std::int64_t min = -128;
  std::int64_t max = 127;
  DType dtype = DType::kI8;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &QuantizeAttrs::axis}, Field{"min", &QuantizeAttrs::min},
                      Field{"max", &QuantizeAttrs::max}, Field{"dtype", &QuantizeAttrs::dtype}};
  }
  bool operator==(const QuantizeAttrs&) const = default;
};
// The axis as in QuantizeAttrs.
struct DequantizeAttrs {
  std::int64_t axis = -1;
  DType dtype = DType::kF32;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &DequantizeAttrs::axis}, Field{"dtype", &DequantizeAttrs::dtype}};
  }
  bool operator==(const DequantizeAttrs&) const = default;
};
// Quantized values of one scale, from min to max, that the numbers are rounded to.
struct FakeQuantizeAttrs {
  double scale = 1;
  std::int64_t zero_point = 0;
  std::int64_t min = -128;
  std::int64_t max = 127;
  DType dtype = DType::kI8;
  static constexpr auto fields() {
    return std::tuple{Field{"scale", &FakeQuantizeAttrs::scale}, Field{"zero_point", &FakeQuantizeAttrs::zero_point},
                      Field{"min", &FakeQuantizeAttrs::min}, Field{"max", &FakeQuantizeAttrs::max},
                      Field{"dtype", &FakeQuantizeAttrs::dtype}};
  }
  bool operator==(const FakeQuantizeAttrs&) const = default;
};
// How scale and zero point follow from the numbers of a tensor, or of each row along its last axis, as the model runs.
// min and max bound the quantized values; no scale is less than eps.
struct DynamicAttrs {
  ScaleChoice choice = ScaleChoice::kTensor;
  std::int64_t min = -128;
  std::int64_t max = 127;
  double eps = 0;
  DType dtype = DType::kI8;
  static constexpr auto fields() {
    return std::tuple{Field{"choice", &DynamicAttrs::choice}, Field{"min", &DynamicAttrs::min},
                      Field{"max", &DynamicAttrs::max}, Field{"eps", &DynamicAttrs::eps},
                      Field{"dtype", &DynamicAttrs::dtype}};
  }
  bool operator==(const DynamicAttrs&) const = default;
};
// kSet belongs to scatter, the other modes to scatter_reduce.
struct ScatterAttrs {
  std::int64_t axis = 0;
  ScatterMode mode = ScatterMode::kSet;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &ScatterAttrs::axis}, Field{"mode", &ScatterAttrs::mode}};
  }
  bool operator==(const ScatterAttrs&) const = default;
};
struct FoldAttrs {
  Ints size;
  Ints kernel;
  Ints stride;
  Ints padding;
  Ints dilation;
  static constexpr auto fields() {
    return std::tuple{Field{"size", &FoldAttrs::size}, Field{"kernel", &FoldAttrs::kernel},
                      Field{"stride", &FoldAttrs::stride}, Field{"padding", &FoldAttrs::padding},
                      Field{"dilation", &FoldAttrs::dilation}};
  }
  bool operator==(const FoldAttrs&) const = default;
};

// An argument of a foreign op, as its frontend wrote it.
struct NoneArg {
  bool operator==(const NoneArg&) const = default;
};
// Stands for the node's next input: the tensors among the arguments, read from left to right, are the node's inputs.
struct TensorArg {
  bool operator==(const TensorArg&) const = default;
};
// A word of the frontend that is neither a number nor a string: "channels_last", "cpu".
struct WordArg {
  std::string word;
  bool operator==(const WordArg&) const = default;
};
struct ArgValue {
  std::variant<NoneArg, TensorArg, Dim, double, bool, std::string, DType, WordArg, std::complex<double>,
               std::vector<ArgValue>>
      value;
  bool operator==(const ArgValue&) const = default;
};
struct Arg {
  std::string name;  // may be empty
  ArgValue value;
  bool operator==(const Arg&) const = default;
};

// The op of a frontend that the table does not know: its name and all of its arguments.
struct ForeignAttrs {
  std::string target;  // "aten.conv2d.default"
  std::vector<Arg> args;
  bool operator==(const ForeignAttrs&) const = default;
};

using AnyAttrs =
    std::variant<NoAttrs, ForeignAttrs, AxisAttrs, AxesAttrs, ShapeAttrs, SliceAttrs, PadAttrs, DTypeAttrs, ClampAttrs,
                 ReduceAttrs, VarianceAttrs, VectorNormAttrs, SortAttrs, ConvAttrs, ConvTransposeAttrs, MaxPoolAttrs,
                 AvgPoolAttrs, SizeAttrs, EpsAttrs, LayerNormAttrs, GroupNormAttrs, GeluAttrs, EluAttrs, SlopeAttrs,
                 SoftplusAttrs, LambdaAttrs, NanToNumAttrs, AttentionAttrs, ResizeAttrs, GridSampleAttrs, ArangeAttrs,
                 QuantizeAttrs, DequantizeAttrs, FakeQuantizeAttrs, DynamicAttrs, ScatterAttrs, FoldAttrs>;

// Copied, moved and destroyed out of line: the code of this many alternatives in every file that holds a node cost a
// fifth of a build.
struct Attrs : AnyAttrs {
  using AnyAttrs::AnyAttrs;
  Attrs();
  Attrs(const Attrs& other);
  Attrs(Attrs&& other) noexcept;
  Attrs& operator=(const Attrs& other);
  Attrs& operator=(Attrs&& other) noexcept;
  ~Attrs();
  bool operator==(const Attrs& other) const;
};

}  // namespace isthmus
