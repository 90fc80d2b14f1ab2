// PNG by libpng.
#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "media/decoders.h"

namespace isthmus {
namespace {

struct Source {
  const std::byte* at = nullptr;
  std::size_t left = 0;
  char text[128] = {};
};

void on_error(png_structp png, png_const_charp message) {
  auto* const source = static_cast<Source*>(png_get_error_ptr(png));
  std::snprintf(source->text, sizeof source->text, "%s", message);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* const source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->left) png_error(png, "the file ends early");
  std::memcpy(to, source->at, count);
  source->at += count;
  source->left -= count;
}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

// Nothing in these two functions has a destructor: an error leaves them by longjmp. False: see the source's text.
bool read_header(const Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_info(reader.png, reader.info);
  return true;
}

bool read_rows(const Reader& reader, std::uint8_t* pixels, std::size_t stride, std::uint32_t height) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  const int passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  if (png_get_rowbytes(reader.png, reader.info) != stride) png_error(reader.png, "rows of an unexpected size");
  for (int pass = 0; pass < passes; ++pass) {
    for (std::uint32_t row = 0; row < height; ++row) png_read_row(reader.png, pixels + row * stride, nullptr);
  }
  png_read_end(reader.png, nullptr);
  return true;
}

void append(png_structp png, png_bytep from, std::size_t count) {
  auto& bytes = *static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  const auto* const begin = reinterpret_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), begin, begin + count);
}

}  // namespace

Expected<void> check_image_size(std::uint64_t width, std::uint64_t height) {
  if (width != 0 && height != 0 && width <= static_cast<std::uint64_t>(kMaxPixels) / height) return {};
  return bad_input(
      fmt::format("an image of {} x {} pixels: at most {} pixels are supported", width, height, kMaxPixels));
}

Expected<Image> decode_png(std::span<const std::byte> file) {
  Source source{file.data(), file.size(), {}};
  Reader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, on_error, on_warning);
  CHECK(reader.png != nullptr, "libpng has no memory, or its headers are of another version");
  reader.info = png_create_info_struct(reader.png);
  CHECK(reader.info != nullptr, "libpng has no memory");
  png_set_read_fn(reader.png, &source, read_bytes);
  const auto refuse = [&] { return bad_input(fmt::format("damaged PNG image: {}", source.text)); };
  if (!read_header(reader)) return refuse();
  const std::uint32_t width = png_get_image_width(reader.png, reader.info);
  const std::uint32_t height = png_get_image_height(reader.png, reader.info);
  TRY(check_image_size(width, height));
  const auto kind = png_get_color_type(reader.png, reader.info);
  const bool is_gray = (kind & PNG_COLOR_MASK_COLOR) == 0;
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  Image image = blank_image(static_cast<int>(width), static_cast<int>(height), is_gray ? 1 : 3);
  if (!read_rows(reader, image.pixels.data(), image.pixels.size() / height, height)) return refuse();
  return image;
}

std::vector<std::byte> encode_png(const Image& image) {
  std::vector<std::byte> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, on_warning);
  CHECK(png != nullptr, "libpng has no memory, or its headers are of another version");
  png_infop info = png_create_info_struct(png);
  CHECK(info != nullptr, "libpng has no memory");
  png_set_write_fn(png, &bytes, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
               image.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const std::size_t stride = image.pixels.size() / static_cast<std::size_t>(image.height);
  for (std::size_t row = 0; row < static_cast<std::size_t>(image.height); ++row) {
    png_write_row(png, image.pixels.data() + row * stride);
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

}  // namespace isthmus
