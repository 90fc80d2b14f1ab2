// Reference kernels of resizing and sampling images.
#include <algorithm>
#include <array>
#include <cmath>

#include "interpret/kernel.h"
#include "interpret/kernels/grid_sample.h"

namespace isthmus {
namespace {

// One place of the result as a weighted sum of up to four places of the input, along one axis.
struct Taps {
  std::array<std::int64_t, 4> places{};
  std::array<double, 4> weights{};
  std::size_t count = 1;
};

// Positions are computed in the element type, as PyTorch does: which neighbour is nearest depends on that rounding.
template <class Real>
std::vector<Taps> taps_of(const ResizeAttrs& attrs, std::int64_t from, std::int64_t to, std::size_t axis) {
  Real step = static_cast<Real>(from) / static_cast<Real>(to);
  if (attrs.align_corners) {
    step = to > 1 ? static_cast<Real>(from - 1) / static_cast<Real>(to - 1) : Real{0};
  } else if (!attrs.scales.empty()) {
    step = static_cast<Real>(1.0 / attrs.scales[axis]);
  }
  const auto clamped = [&](Real place) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::clamp<Real>(place, -4, static_cast<Real>(from + 4))),
                                    0, from - 1);
  };
  std::vector<Taps> result;
  for (std::int64_t i = 0; i < to; ++i) {
    const auto at = static_cast<Real>(i);
    Taps taps;
    switch (attrs.mode) {
      case ResizeMode::kNearest:
        taps.places[0] = clamped(std::floor(at * step));
        taps.weights[0] = 1;
        break;
      case ResizeMode::kNearestExact:
        taps.places[0] = clamped(std::floor((at + Real(0.5)) * step));
        taps.weights[0] = 1;
        break;
      case ResizeMode::kLinear: {
        Real source = attrs.align_corners ? step * at : step * (at + Real(0.5)) - Real(0.5);
        source = std::max<Real>(source, 0);
        const std::int64_t left = clamped(source);
        const Real share = std::clamp<Real>(source - static_cast<Real>(left), 0, 1);
        taps = {{left, std::min(left + 1, from - 1), 0, 0},
                {1 - static_cast<double>(share), static_cast<double>(share), 0, 0},
                2};
        break;
      }
      case ResizeMode::kCubic: {
        const Real source = attrs.align_corners ? step * at : step * (at + Real(0.5)) - Real(0.5);
        const Real floor = std::floor(source);
        taps.weights = cubic_weights(static_cast<double>(source - floor));
        for (std::size_t k = 0; k < 4; ++k) taps.places[k] = clamped(floor + static_cast<Real>(k) - 1);
        taps.count = 4;
        break;
      }
    }
    result.push_back(taps);
  }
  return result;
}

// The nearest neighbours are moved, whatever their type.
template <class Number>
void resize_plane(const Number* in, Number* out, std::int64_t width, const std::vector<Taps>& rows,
                  const std::vector<Taps>& columns) {
  for (const Taps& row : rows) {
    for (const Taps& column : columns) {
      if (row.count == 1) {
        *out++ = in[row.places[0] * width + column.places[0]];
        continue;
      }
      double sum = 0;
      for (std::size_t y = 0; y < row.count; ++y) {
        for (std::size_t x = 0; x < column.count; ++x) {
          const double weight = row.weights[y] * column.weights[x];
          if (weight != 0) sum += weight * static_cast<double>(in[row.places[y] * width + column.places[x]]);
        }
      }
      *out++ = static_cast<Number>(sum);
    }
  }
}

Expected<Tensor> resize2d(const KernelContext& context) {
  const auto& attrs = context.as<ResizeAttrs>();
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;
    Tensor result = context.result();
    const Tensor& input = context.inputs[0];
    if (result.count() == 0) return result;
    if (input.count() == 0) return bad_input("resize2d: the image is empty");
    const std::vector<Taps> rows = taps_of<Real>(attrs, input.size(2), result.size(2), 0);
    const std::vector<Taps> columns = taps_of<Real>(attrs, input.size(3), result.size(3), 1);
    const Number* in = input.data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    for (std::int64_t plane = 0; plane < result.size(0) * result.size(1); ++plane) {
      resize_plane(in, out, input.size(3), rows, columns);
      in += input.size(2) * input.size(3);
      out += result.size(2) * result.size(3);
    }
    return result;
  });
}

}  // namespace

std::array<double, 4> cubic_weights(double share) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(share + 1), near(share), near(1 - share), far(2 - share)};
}

std::span<const KernelDef> image_kernels() {
  static const KernelDef kKernels[] = {
      {Op::kResize2d, resize2d},
      {Op::kGridSample, grid_sample},
  };
  return kKernels;
}

}  // namespace isthmus
