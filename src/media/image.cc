// What needs no library: channels, crops, and the choice of a decoder.
#include "media/image.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "media/decoders.h"

namespace isthmus {
namespace {

bool begins_with(std::span<const std::byte> file, std::string_view magic) {
  return file.size() >= magic.size() &&
         std::string_view(reinterpret_cast<const char*>(file.data()), magic.size()) == magic;
}

std::size_t offset_of(const Image& image, int row, int column) {
  return (static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(column)) *
         static_cast<std::size_t>(image.channels);
}

// Half of what is left over, to the nearest even number.
int half_of(int rest) { return static_cast<int>(std::nearbyint(rest / 2.0)); }

}  // namespace

Image blank_image(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  image.pixels.resize(offset_of(image, height, 0));
  return image;
}

Expected<Image> decode_image(std::span<const std::byte> file) {
  if (begins_with(file, "\xff\xd8\xff")) return decode_jpeg(file);
  if (begins_with(file, "\x89PNG\r\n\x1a\n")) return decode_png(file);
  return bad_input("neither a JPEG nor a PNG image");
}

Image with_channels(const Image& image, int channels) {
  if (image.channels == channels) return image;
  Image result = blank_image(image.width, image.height, channels);
  const std::size_t count = offset_of(image, image.height, 0) / static_cast<std::size_t>(image.channels);
  for (std::size_t i = 0; i < count; ++i) {
    if (channels == 3) {
      std::fill_n(result.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, image.pixels[i]);
    } else {
      // 0.299, 0.587 and 0.114 in 65536ths
      const std::uint8_t* const rgb = &image.pixels[3 * i];
      result.pixels[i] =
          static_cast<std::uint8_t>((19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 32768U) >> 16U);
    }
  }
  return result;
}

Image crop_middle(const Image& image, int width, int height) {
  Image result = blank_image(width, height, image.channels);
  // Where the image is smaller it is padded first, with the smaller half before it.
  const int left = image.width >= width ? half_of(image.width - width) : -((width - image.width) / 2);
  const int top = image.height >= height ? half_of(image.height - height) : -((height - image.height) / 2);
  const int first = std::max(left, 0);
  const int last = std::min(left + width, image.width);
  for (int row = std::max(top, 0); row < std::min(top + height, image.height); ++row) {
    const auto from = image.pixels.begin() + static_cast<std::ptrdiff_t>(offset_of(image, row, first));
    std::copy(from, from + static_cast<std::ptrdiff_t>(last - first) * image.channels,
              result.pixels.begin() + static_cast<std::ptrdiff_t>(offset_of(result, row - top, first - left)));
  }
  return result;
}

}  // namespace isthmus
