#include "calibrate/media_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "media/audio.h"

namespace isthmus {
namespace {

constexpr float kMaxPixel = 255;

struct ImageAxes {
  std::size_t channel, height, width;
};
constexpr ImageAxes kNchwAxes{1, 2, 3};
constexpr ImageAxes kNhwcAxes{3, 1, 2};
constexpr ImageAxes axes_of(ImageLayout layout) { return layout == ImageLayout::kNhwc ? kNhwcAxes : kNchwAxes; }

bool has_channels(Dim dim) { return dim.is(1) || dim.is(3); }

std::string text_of(const Value& input) {
  std::vector<std::string> sizes;
  for (const Dim dim : input.type.shape) sizes.push_back(dim.is_fixed() ? std::to_string(dim.value()) : "?");
  return fmt::format("input {} is {}[{}]", input.name, name_of(input.type.dtype), fmt::join(sizes, ","));
}

// The number for one channel, where all may share one.
float of_channel(const std::vector<float>& numbers, std::size_t channel, float none) {
  if (numbers.empty()) return none;
  return numbers[numbers.size() == 1 ? 0 : channel];
}

Expected<void> check_channels(const std::vector<float>& numbers, std::string_view option, int channels) {
  if (numbers.size() <= 1 || numbers.size() == static_cast<std::size_t>(channels)) return {};
  return bad_input(fmt::format("{} has {} values for an input of {} channel{}: give one value, or one per channel",
                               option, numbers.size(), channels, channels == 1 ? "" : "s"));
}

// Calls `visit` with the place in the tensor, the pixel's byte and its channel.
template <class Visit>
void each_pixel(const Image& image, ImageLayout layout, Visit visit) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t count = image.pixels.size() / channels;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      visit(layout == ImageLayout::kNhwc ? i * channels + channel : channel * count + i, i * channels + channel,
            channel);
    }
  }
}

std::vector<std::int64_t> sizes_of(const Image& image, ImageLayout layout) {
  if (layout == ImageLayout::kNhwc) return {image.height, image.width, image.channels};
  return {image.channels, image.height, image.width};
}

Expected<Tensor> image_row(const std::string& path, const Value& input, const MediaOptions& options) {
  const ImageLayout layout = TRY(image_layout(input, options));
  const ImageAxes axes = axes_of(layout);
  const int channels = static_cast<int>(input.type.shape[axes.channel].value());
  TRY(check_channels(options.mean, "--mean", channels));
  TRY(check_channels(options.stddev, "--std", channels));
  const Image image = TRY(read_image(path, options, channels));
  const Dim height = input.type.shape[axes.height];
  const Dim width = input.type.shape[axes.width];
  if ((height.is_fixed() && !height.is(image.height)) || (width.is_fixed() && !width.is(image.width))) {
    return bad_input(fmt::format("the image has {} x {} pixels (width x height), but {}: give --resize or --crop",
                                 image.width, image.height, text_of(input)));
  }
  if (input.type.dtype == DType::kU8) {
    if (!options.mean.empty() || !options.stddev.empty() || options.white != 1) {
      return bad_input(fmt::format("{}, which takes raw pixels: remove --mean, --std and --white", text_of(input)));
    }
    Tensor row(DType::kU8, sizes_of(image, layout));
    const auto numbers = row.mutable_data<std::uint8_t>();
    each_pixel(image, layout, [&](std::size_t to, std::size_t from, std::size_t) { numbers[to] = image.pixels[from]; });
    return row;
  }
  Tensor row(DType::kF32, sizes_of(image, layout));
  const auto numbers = row.mutable_data<float>();
  const auto white = static_cast<float>(options.white);
  each_pixel(image, layout, [&](std::size_t to, std::size_t from, std::size_t channel) {
    // The steps of torchvision's ToTensor and Normalize, each rounded to a float.
    const auto pixel = static_cast<float>(image.pixels[from]);
    const float number = white == kMaxPixel ? pixel : pixel / kMaxPixel * white;
    numbers[to] = (number - of_channel(options.mean, channel, 0)) / of_channel(options.stddev, channel, 1);
  });
  return row;
}

// Sound is [T], or [C,T]; a longer file is cut, a shorter one is followed by silence.
Expected<Tensor> sound_row(const std::string& path, const Value& input, const MediaOptions& options) {
  const std::vector<Dim>& shape = input.type.shape;
  if (input.type.dtype != DType::kF32 || (shape.size() != 2 && shape.size() != 3)) {
    return bad_input(fmt::format("{}: sound needs f32[N,T] or f32[N,C,T]", text_of(input)));
  }
  const Dim length = shape.back();
  const std::int64_t limit = length.is_fixed() ? length.value() : std::numeric_limits<std::int64_t>::max();
  Audio audio = TRY(read_audio(path, limit));
  if (options.sample_rate && audio.rate != *options.sample_rate) {
    return bad_input(fmt::format("the sample rate is {} Hz, but --sample-rate is {}: resample the file", audio.rate,
                                 *options.sample_rate));
  }
  const bool is_mono = shape.size() == 2 || shape[1].is(1);
  if (is_mono) audio = mixed_to_one(audio);
  if (!is_mono && shape[1].is_fixed() && !shape[1].is(audio.channels)) {
    return bad_input(fmt::format("{} channels, and {}", audio.channels, text_of(input)));
  }
  const std::int64_t frames = length.is_fixed() ? length.value() : audio.frames;
  std::vector<std::int64_t> sizes{frames};
  if (shape.size() == 3) sizes.insert(sizes.begin(), audio.channels);
  Tensor row(DType::kF32, sizes);
  for (std::int64_t channel = 0; channel < audio.channels; ++channel) {
    std::copy_n(audio.channel_data.begin() + channel * audio.frames, audio.frames,
                row.mutable_data<float>().begin() + channel * frames);
  }
  return row;
}

Expected<Tensor> raw_row(const std::string& path, const Value& input) {
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 1; axis < input.type.rank(); ++axis) {
    if (!input.type.shape[axis].is_fixed()) {
      return bad_input(fmt::format("{}: raw files need static shapes: fix them with --shape", text_of(input)));
    }
    sizes.push_back(input.type.shape[axis].value());
  }
  const Blob file = TRY(map_file(path));
  Tensor row(input.type.dtype, sizes);
  if (file.size() != row.bytes().size()) {
    return bad_input(
        fmt::format("{} bytes, but a sample of {} has {}", file.size(), text_of(input), row.bytes().size()));
  }
  std::memcpy(row.mutable_bytes().data(), file.bytes().data(), file.size());
  return row;
}

}  // namespace

std::string MediaOptions::text() const {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : " ") + std::move(part); };
  if (shorter_side) add(fmt::format("--resize {}", *shorter_side));
  if (resize) add(fmt::format("--resize {}x{}", resize->height, resize->width));
  if (crop) add(fmt::format("--crop {}x{}", crop->height, crop->width));
  if (white != 1) add(fmt::format("--white {}", white));
  if (!mean.empty()) add(fmt::format("--mean {}", fmt::join(mean, ",")));
  if (!stddev.empty()) add(fmt::format("--std {}", fmt::join(stddev, ",")));
  if (layout != ImageLayout::kByShape) add(layout == ImageLayout::kNchw ? "--layout nchw" : "--layout nhwc");
  if (sample_rate) add(fmt::format("--sample-rate {}", *sample_rate));
  return text;
}

Expected<Image> read_image(const std::string& path, const MediaOptions& options, int channels) {
  Image image = with_channels(TRY(decode_image(TRY(map_file(path)).bytes())), channels);
  if (options.shorter_side) {
    const std::int64_t side = *options.shorter_side;
    const std::int64_t width = image.width;
    const std::int64_t height = image.height;
    const std::int64_t longer = side * std::max(width, height) / std::min(width, height);
    if (longer > kMaxPixels / side)
      return bad_input(fmt::format("--resize {} makes {} pixels of the longer side", side, longer));
    image = resize_bilinear(image, static_cast<int>(width <= height ? side : longer),
                            static_cast<int>(width <= height ? longer : side));
  }
  if (options.resize) image = resize_bilinear(image, options.resize->width, options.resize->height);
  if (options.crop) image = crop_middle(image, options.crop->width, options.crop->height);
  return image;
}

Expected<ImageLayout> image_layout(const Value& input, const MediaOptions& options) {
  const auto refuse = [&](std::string_view why) {
    return bad_input(fmt::format("{}: images need {}", text_of(input), why));
  };
  if (input.type.dtype != DType::kF32 && input.type.dtype != DType::kU8) return refuse("f32 or u8");
  if (input.type.rank() != 4) return refuse("[N,C,H,W] or [N,H,W,C]");
  const std::vector<Dim>& shape = input.type.shape;
  const bool is_nchw = has_channels(shape[kNchwAxes.channel]);
  const bool is_nhwc = has_channels(shape[kNhwcAxes.channel]);
  switch (options.layout) {
    case ImageLayout::kNchw:
      return is_nchw ? Expected<ImageLayout>(ImageLayout::kNchw) : refuse("1 or 3 channels behind N for --layout nchw");
    case ImageLayout::kNhwc:
      return is_nhwc ? Expected<ImageLayout>(ImageLayout::kNhwc)
                     : refuse("1 or 3 channels at the end for --layout nhwc");
    case ImageLayout::kByShape:
      break;
  }
  if (is_nchw) return ImageLayout::kNchw;
  if (is_nhwc) return ImageLayout::kNhwc;
  return refuse("1 or 3 channels");
}

Image seen_image(const Tensor& row, const MediaOptions& options, ImageLayout layout) {
  const ImageAxes axes = axes_of(layout);
  const auto size = [&](std::size_t axis) { return static_cast<int>(row.sizes()[axis - 1]); };
  Image image = blank_image(size(axes.width), size(axes.height), size(axes.channel));
  const auto white = static_cast<float>(options.white);
  each_pixel(image, layout, [&](std::size_t from, std::size_t to, std::size_t channel) {
    if (row.dtype() == DType::kU8) {
      image.pixels[to] = row.data<std::uint8_t>()[from];
      return;
    }
    const float number =
        row.data<float>()[from] * of_channel(options.stddev, channel, 1) + of_channel(options.mean, channel, 0);
    image.pixels[to] = static_cast<std::uint8_t>(std::lround(std::clamp(number / white * kMaxPixel, 0.0F, kMaxPixel)));
  });
  return image;
}

Expected<Tensor> read_media(const std::string& path, MediaKind kind, const Value& input, const MediaOptions& options) {
  const auto row = [&]() -> Expected<Tensor> {
    switch (kind) {
      case MediaKind::kImages:
        return image_row(path, input, options);
      case MediaKind::kSound:
        return sound_row(path, input, options);
      case MediaKind::kRaw:
        return raw_row(path, input);
      case MediaKind::kArrays:
        break;
    }
    return bad_input("not an image, a sound or a raw file");
  };
  return within(row(), path);
}

}  // namespace isthmus
