// One function for each image format; `decode_image` chooses.
#pragma once

#include <cstddef>
#include <span>

#include "base/expected.h"
#include "media/image.h"

namespace isthmus {

Expected<Image> decode_jpeg(std::span<const std::byte> file);
Expected<Image> decode_png(std::span<const std::byte> file);

// The size that a header claims, against kMaxPixels.
Expected<void> check_image_size(std::uint64_t width, std::uint64_t height);

}  // namespace isthmus
