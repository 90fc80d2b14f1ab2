#include "cli/media_options.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>

#include "cli/common_flags.h"

namespace isthmus {
namespace {

constexpr int kMaxSide = 1 << 14;
constexpr const char* kGroup = "Images and sound";
constexpr const char* kNchw = "nchw";
constexpr const char* kNhwc = "nhwc";

// "224x256" as height and width; "256" as one number.
std::optional<PixelSize> read_size(const std::string& text) {
  PixelSize size;
  const char* const end = text.data() + text.size();
  std::from_chars_result read = std::from_chars(text.data(), end, size.height);
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == 'x') {
    read = std::from_chars(read.ptr + 1, end, size.width);
    if (size.width < 1) return std::nullopt;
  }
  const bool is_sane = read.ec == std::errc() && read.ptr == end && size.height >= 1 && size.height <= kMaxSide &&
                       size.width <= kMaxSide;
  return is_sane ? std::optional(size) : std::nullopt;
}

PixelSize demanded_size(const std::string& option, const std::string& text) {
  const auto size = read_size(text);
  if (!size) {
    throw CLI::ValidationError(
        option, fmt::format("{}: expected a number of pixels such as 224, or HEIGHTxWIDTH such as 224x256, at most {}",
                            text, kMaxSide));
  }
  return *size;
}

}  // namespace

void add_media_options(CLI::App& command, MediaOptions& options) {
  command
      .add_option_function<std::string>(
          "--resize",
          [&options](const std::string& text) {
            const PixelSize size = demanded_size("--resize", text);
            if (size.width == 0) {
              options.shorter_side = size.height;
            } else {
              options.resize = size;
            }
          },
          "resize images: the shorter side to this many pixels, or to HEIGHTxWIDTH; bilinear with antialiasing, "
          "bit-exact with Pillow and torchvision")
      ->group(kGroup);
  command
      .add_option_function<std::string>(
          "--crop",
          [&options](const std::string& text) {
            PixelSize size = demanded_size("--crop", text);
            if (size.width == 0) size.width = size.height;
            options.crop = size;
          },
          "then crop the center: a square of this many pixels, or HEIGHTxWIDTH")
      ->group(kGroup);
  command
      .add_option("--white", options.white,
                  "then scale pixels so that 255 becomes this number; default 1; 255 keeps pixels as they are")
      ->check(CLI::PositiveNumber)
      ->group(kGroup);
  command.add_option("--mean", options.mean, "then subtract: one number, or one per channel (0.485,0.456,0.406)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(kGroup);
  command.add_option("--std", options.stddev, "then divide: one number, or one per channel")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber)
      ->group(kGroup);
  command
      .add_option_function<std::string>(
          "--layout",
          [&options](const std::string& name) {
            options.layout = name == kNhwc ? ImageLayout::kNhwc : ImageLayout::kNchw;
          },
          "the axis order of image inputs; default: told by their shape")
      ->check(CLI::IsMember({kNchw, kNhwc}))
      ->group(kGroup);
  command.add_option("--sample-rate", options.sample_rate, "refuse sound files with another sample rate, in Hz")
      ->check(at_least(1))
      ->group(kGroup);
}

}  // namespace isthmus
