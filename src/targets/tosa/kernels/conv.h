// What the convolutions have in common.
#pragma once

#include <cstdint>

#include "targets/tosa/kernel.h"

namespace isthmus::tosa {

// Sizes along one spatial axis, and which position of the input meets the output through a position of the kernel.
struct ConvAxis {
  std::int64_t in = 0, kernel = 0, out = 0;
  std::int64_t stride = 1, dilation = 1;
  std::int64_t before = 0;  // padding; of a transposed convolution, what is added to the output
  bool is_transposed = false;

  // Below 0 or not below `in` where there is none.
  std::int64_t source(std::int64_t o, std::int64_t k) const {
    if (!is_transposed) return o * stride - before + k * dilation;
    const std::int64_t place = o - before - k;
    return place < 0 || place % stride != 0 ? -1 : place / stride;
  }
};

struct Convolution {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0;
  ConvAxis y, x;
  std::int64_t input_zero = 0, weight_zero = 0;
  bool has_one_bias = false;  // for all channels
};
// Where the kernel's height is in the sizes of the weights: [out, y, x, in], or [y, x, in, multiplier].
inline constexpr std::size_t kConvKernel = 1;
inline constexpr std::size_t kDepthwiseKernel = 0;
// Of a site that has passed its rules.
Convolution convolution_of(const Site& site, std::size_t kernel_axis);

// Sums of this many products of 16 and 8 bits have room in the 32 bits that the fast depthwise kernel has.
inline constexpr std::int64_t kMaxWideTaps = 256;

Expected<Kernel> fast_conv(const SharedSite& site, Resources& resources);
Expected<Kernel> fast_depthwise_conv(const SharedSite& site, Resources& resources);

}  // namespace isthmus::tosa
