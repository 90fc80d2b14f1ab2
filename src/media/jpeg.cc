// JPEG by libjpeg-turbo, with its defaults: the accurate integer DCT and smooth upsampling of chroma.
#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <utility>

// after <cstdio>, whose FILE it uses
#include <jerror.h>
#include <jpeglib.h>

#include "media/decoders.h"

namespace isthmus {
namespace {

// A small file can ask for any number of passes over a large image.
constexpr int kMaxScans = 200;

struct Failure {
  jpeg_error_mgr manager{};
  std::jmp_buf back{};
  char text[JMSG_LENGTH_MAX] = {};
  bool ends_early = false;  // the library makes up what is missing and only warns of it
};

struct ScanLimit {
  jpeg_progress_mgr manager{};
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* const failure = reinterpret_cast<Failure*>(info->err);
  info->err->format_message(info, failure->text);
  std::longjmp(failure->back, 1);
}

void on_message(j_common_ptr info, int) {
  auto* const failure = reinterpret_cast<Failure*>(info->err);
  if (info->err->msg_code == JWRN_JPEG_EOF) failure->ends_early = true;
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  auto* const failure = reinterpret_cast<Failure*>(info->err);
  std::snprintf(failure->text, sizeof failure->text, "more than %d scans", kMaxScans);
  std::longjmp(failure->back, 1);
}

// Nothing in these two functions has a destructor: an error leaves them by longjmp. False: see `failure.text`.
bool read_header(jpeg_decompress_struct& info, Failure& failure, std::span<const std::byte> file) {
  if (setjmp(failure.back) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  return true;
}

bool read_rows(jpeg_decompress_struct& info, Failure& failure, std::uint8_t* pixels) {
  if (setjmp(failure.back) != 0) return false;
  jpeg_start_decompress(&info);
  const std::size_t stride = std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + info.output_scanline * stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

// Frees what the library holds.
struct Decompressor {
  jpeg_decompress_struct info{};
  ~Decompressor() { jpeg_destroy_decompress(&info); }
};

}  // namespace

Expected<Image> decode_jpeg(std::span<const std::byte> file) {
  Decompressor decompressor;
  jpeg_decompress_struct& info = decompressor.info;
  Failure failure;
  info.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = on_error;
  failure.manager.emit_message = on_message;
  const auto refuse = [&] { return bad_input(fmt::format("damaged JPEG image: {}", failure.text)); };
  if (!read_header(info, failure, file)) return refuse();
  ScanLimit limit;
  limit.manager.progress_monitor = on_progress;
  info.progress = &limit.manager;
  TRY(check_image_size(info.image_width, info.image_height));
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK) {
    return fail(ErrorKind::kUnsupported, "a CMYK image: convert it to RGB");
  }
  const bool is_gray = info.jpeg_color_space == JCS_GRAYSCALE;
  info.out_color_space = is_gray ? JCS_GRAYSCALE : JCS_RGB;
  Image image = blank_image(static_cast<int>(info.image_width), static_cast<int>(info.image_height), is_gray ? 1 : 3);
  if (!read_rows(info, failure, image.pixels.data())) return refuse();
  if (failure.ends_early) return bad_input("damaged JPEG image: the file ends early");
  return image;
}

}  // namespace isthmus
