// Reference kernel that samples an image at the places that a grid names.
#include "interpret/kernels/grid_sample.h"

#include <algorithm>
#include <cmath>

namespace isthmus {
namespace {

// From [-1, 1] to pixels; the corners are centres of pixels or their outer edges.
template <class Real>
Real to_pixels(Real at, std::int64_t size, bool align_corners) {
  const auto pixels = static_cast<Real>(size);
  return align_corners ? (at + 1) / 2 * (pixels - 1) : ((at + 1) * pixels - 1) / 2;
}

template <class Real>
Real reflected(Real at, Real low, Real high) {
  const Real span = high - low;
  if (span <= 0) return 0;
  const Real distance = std::abs(at - low);
  const Real rest = std::fmod(distance, span);
  const bool is_mirrored = std::fmod(std::floor(distance / span), Real{2}) != 0;
  return is_mirrored ? span - rest + low : rest + low;
}

template <class Real>
Real padded(Real at, std::int64_t size, const GridSampleAttrs& attrs) {
  const auto last = static_cast<Real>(size - 1);
  switch (attrs.padding) {
    case GridPadding::kZeros:
      return at;
    case GridPadding::kBorder:
      break;
    case GridPadding::kReflection:
      at = attrs.align_corners ? reflected<Real>(at, 0, last) : reflected<Real>(at, Real(-0.5), last + Real(0.5));
      break;
  }
  // Written so that NaN becomes 0.
  return std::min(at > 0 ? at : Real{0}, last);
}

template <class Number>
struct Plane {
  const Number* numbers;
  std::int64_t height;
  std::int64_t width;

  // What lies outside is 0. A float too large for an integer lies outside as well.
  double at(Number y, Number x) const {
    const bool is_inside =
        y >= 0 && x >= 0 && y <= static_cast<Number>(height - 1) && x <= static_cast<Number>(width - 1);
    if (!is_inside) return 0;
    return static_cast<double>(numbers[static_cast<std::int64_t>(y) * width + static_cast<std::int64_t>(x)]);
  }
};

template <class Number>
double sample(const Plane<Number>& plane, Number x, Number y, const GridSampleAttrs& attrs) {
  x = to_pixels(x, plane.width, attrs.align_corners);
  y = to_pixels(y, plane.height, attrs.align_corners);
  if (attrs.mode == ResizeMode::kCubic) {
    // Here each neighbour is padded, not the place itself.
    const Number left = std::floor(x);
    const Number top = std::floor(y);
    const auto columns = cubic_weights(static_cast<double>(x - left));
    const auto rows = cubic_weights(static_cast<double>(y - top));
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const Number row = padded(top + static_cast<Number>(i) - 1, plane.height, attrs);
      for (std::size_t j = 0; j < 4; ++j) {
        const Number column = padded(left + static_cast<Number>(j) - 1, plane.width, attrs);
        sum += rows[i] * columns[j] * plane.at(std::nearbyint(row), std::nearbyint(column));
      }
    }
    return sum;
  }
  x = padded(x, plane.width, attrs);
  y = padded(y, plane.height, attrs);
  if (attrs.mode == ResizeMode::kNearest) return plane.at(std::nearbyint(y), std::nearbyint(x));
  const Number left = std::floor(x);
  const Number top = std::floor(y);
  const double right_share = static_cast<double>(x - left);
  const double bottom_share = static_cast<double>(y - top);
  return (1 - bottom_share) * ((1 - right_share) * plane.at(top, left) + right_share * plane.at(top, left + 1)) +
         bottom_share * ((1 - right_share) * plane.at(top + 1, left) + right_share * plane.at(top + 1, left + 1));
}

}  // namespace

Expected<Tensor> grid_sample(const KernelContext& context) {
  const auto& attrs = context.as<GridSampleAttrs>();
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    const Tensor& input = context.inputs[0];
    if (result.count() == 0) return result;
    if (input.count() == 0) return bad_input("grid_sample: the image is empty");
    const std::int64_t plane_size = input.size(2) * input.size(3);
    const std::int64_t points = result.size(2) * result.size(3);
    const Number* in = input.data<Number>().data();
    const Number* grid = context.inputs[1].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    for (std::int64_t n = 0; n < result.size(0); ++n) {
      for (std::int64_t c = 0; c < result.size(1); ++c) {
        const Plane<Number> plane{in + (n * result.size(1) + c) * plane_size, input.size(2), input.size(3)};
        for (std::int64_t i = 0; i < points; ++i) {
          const Number* point = grid + 2 * (n * points + i);
          *out++ = static_cast<Number>(sample(plane, point[0], point[1], attrs));
        }
      }
    }
    return result;
  });
}

}  // namespace isthmus
