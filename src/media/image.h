// Images of 8 bits: reading JPEG and PNG, resizing, cropping, writing PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"

namespace isthmus {

// Rows from the top, channels of a pixel side by side.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;  // 1: luma, 3: red, green, blue
  std::vector<std::uint8_t> pixels;

  bool operator==(const Image&) const = default;
};

// An image of this size, all zero.
Image blank_image(int width, int height, int channels);

// JPEG or PNG, by content. Palettes, gray, alpha and 16 bits become gray or RGB of 8 bits: alpha is dropped, and 16
// bits keep their upper ones. Fails for CMYK and for more than kMaxPixels pixels.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;
Expected<Image> decode_image(std::span<const std::byte> file);

std::vector<std::byte> encode_png(const Image& image);

// With this many channels: gray is repeated, and luma is that of ITU-R 601 in integers.
Image with_channels(const Image& image, int channels);

// By a bilinear filter as wide as a pixel of the result, in integers, first along rows: the very bytes of Pillow's
// Image.resize(..., BILINEAR), which torchvision's Resize calls.
Image resize_bilinear(const Image& image, int width, int height);

// The middle of an image; black where the image is smaller. As torchvision's CenterCrop.
Image crop_middle(const Image& image, int width, int height);

}  // namespace isthmus
