// Resizing with a triangle as the filter, which grows with the step between pixels, so that no pixel is skipped.
#include <algorithm>
#include <cmath>

#include "media/image.h"

namespace isthmus {
namespace {

// Weights are integers of this many bits behind the point; a sum of products stays below 31 bits.
constexpr int kWeightBits = 32 - 8 - 2;

// What one pixel of the result is made of.
struct Window {
  int first = 0;                      // pixel of the source
  std::vector<std::int32_t> weights;  // of it and those behind it
};

std::vector<Window> windows(int from, int to) {
  const double step = static_cast<double>(from) / to;
  const double reach = std::max(step, 1.0);
  std::vector<Window> result(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * step;
    const int first = std::max(static_cast<int>(center - reach + 0.5), 0);
    const int last = std::min(static_cast<int>(center + reach + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (int at = first; at < last; ++at) {
      const double distance = std::abs((at - center + 0.5) * (1.0 / reach));
      weights.push_back(distance < 1.0 ? 1.0 - distance : 0.0);
      sum += weights.back();
    }
    Window& window = result[static_cast<std::size_t>(i)];
    window.first = first;
    for (const double weight : weights) {
      const double share = sum == 0 ? weight : weight / sum;
      window.weights.push_back(static_cast<std::int32_t>(0.5 + share * (1 << kWeightBits)));
    }
  }
  return result;
}

std::uint8_t rounded(std::int64_t sum) {
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kWeightBits, 0, 255));
}

// Along one axis, whose elements are `inner` bytes apart; `outer` lines.
std::vector<std::uint8_t> filtered(const std::vector<std::uint8_t>& source, std::size_t outer, int from, int to,
                                   std::size_t inner) {
  const std::vector<Window> table = windows(from, to);
  std::vector<std::uint8_t> result(outer * static_cast<std::size_t>(to) * inner);
  std::uint8_t* out = result.data();
  for (std::size_t line = 0; line < outer; ++line) {
    const std::uint8_t* const begin = source.data() + line * static_cast<std::size_t>(from) * inner;
    for (const Window& window : table) {
      const std::uint8_t* const first = begin + static_cast<std::size_t>(window.first) * inner;
      for (std::size_t byte = 0; byte < inner; ++byte) {
        std::int64_t sum = std::int64_t{1} << (kWeightBits - 1);
        const std::uint8_t* at = first + byte;
        for (const std::int32_t weight : window.weights) {
          sum += std::int64_t{weight} * *at;
          at += inner;
        }
        *out++ = rounded(sum);
      }
    }
  }
  return result;
}

}  // namespace

Image resize_bilinear(const Image& image, int width, int height) {
  Image result = image;
  const auto channels = static_cast<std::size_t>(image.channels);
  if (width != image.width) {
    result.pixels = filtered(result.pixels, static_cast<std::size_t>(image.height), image.width, width, channels);
    result.width = width;
  }
  if (height != image.height) {
    result.pixels = filtered(result.pixels, 1, image.height, height, static_cast<std::size_t>(width) * channels);
    result.height = height;
  }
  return result;
}

}  // namespace isthmus
