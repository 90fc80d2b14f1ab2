// Depthwise convolutions: vectors of channels, over an image that is padded and widened once.
#include <algorithm>
#include <memory>
#include <vector>

#include "targets/tosa/arithmetic.h"
#include "targets/tosa/kernels/conv.h"
#include "targets/tosa/kernels/dot.h"
#include "targets/tosa/parallel.h"
#include "targets/tosa/tiles.h"

namespace isthmus::tosa {
namespace {

std::int64_t padded(const ConvAxis& axis) {
  return (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
}

class FastDepthwise {
 public:
  FastDepthwise(const SharedSite& site, std::size_t parts)
      : site_(site),
        c_(convolution_of(*site, kDepthwiseKernel)),
        parts_(parts),
        multiplier_(c_.out_channels / c_.in_channels) {
    const auto lanes = static_cast<std::int64_t>(depthwise_lanes());
    channels_ = (c_.out_channels + lanes - 1) / lanes * lanes;
    height_ = padded(c_.y);
    width_ = padded(c_.x);
    for (std::int64_t ky = 0; ky < c_.y.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < c_.x.kernel; ++kx) {
        taps_.push_back((ky * c_.y.dilation * width_ + kx * c_.x.dilation) * channels_);
      }
    }
    const bool is_wide = site->output.type == Type::kI48;
    image_ = scratch_.add<std::int16_t>(static_cast<std::size_t>(height_ * width_ * channels_));
    weights_ = scratch_.add<std::int32_t>(taps_.size() * static_cast<std::size_t>(channels_));
    bias_ = scratch_.add<std::int32_t>(static_cast<std::size_t>(channels_));
    sums_ = scratch_.add<std::int32_t>(is_wide ? parts * static_cast<std::size_t>(c_.x.out * c_.out_channels) : 0);
  }
  std::uint64_t scratch_bytes() const { return scratch_.bytes(); }

  template <class In>
  void run(const Call& call) const {
    widen_weights(call);
    for (std::int64_t n = 0; n < c_.batch; ++n) {
      in_parts(call.threads, parts_, height_, [&](std::size_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) widen_line(call.input<In>(0), n, row, image(call));
      });
      in_parts(call.threads, parts_, c_.y.out, [&](std::size_t part, std::int64_t begin, std::int64_t end) {
        for (std::int64_t oy = begin; oy < end; ++oy) compute<In>(call, part, n, oy);
      });
    }
  }

 private:
  std::int16_t* image(const Call& call) const { return scratch_.at<std::int16_t>(call, image_); }

  void widen_weights(const Call& call) const {
    const std::int8_t* from = call.input<std::int8_t>(1);
    auto* to = scratch_.at<std::int32_t>(call, weights_);
    for (std::size_t tap = 0; tap < taps_.size(); ++tap, to += channels_, from += c_.out_channels) {
      for (std::int64_t i = 0; i < c_.out_channels; ++i) to[i] = static_cast<std::int32_t>(from[i] - c_.weight_zero);
      std::fill(to + c_.out_channels, to + channels_, 0);
    }
    auto* bias = scratch_.at<std::int32_t>(call, bias_);
    std::fill_n(bias, channels_, 0);
    if (site_->output.type == Type::kI48) return;  // it is added when the sums have more bits
    for (std::int64_t i = 0; i < c_.out_channels; ++i) bias[i] = call.input<std::int32_t>(2)[c_.has_one_bias ? 0 : i];
  }

  // A line of the padded image, with each channel as often as it has outputs.
  template <class In>
  void widen_line(const In* in, std::int64_t n, std::int64_t row, std::int16_t* image) const {
    std::int16_t* to = image + row * width_ * channels_;
    const std::int64_t y = row - c_.y.before;
    if (y < 0 || y >= c_.y.in) {
      std::fill_n(to, width_ * channels_, std::int16_t{0});
      return;
    }
    const auto zero = static_cast<std::int32_t>(c_.input_zero);
    const In* line = in + (n * c_.y.in + y) * c_.x.in * c_.in_channels;
    for (std::int64_t column = 0; column < width_; ++column, to += channels_) {
      const std::int64_t x = column - c_.x.before;
      if (x < 0 || x >= c_.x.in) {
        std::fill_n(to, channels_, std::int16_t{0});
        continue;
      }
      const In* pixel = line + x * c_.in_channels;
      if (multiplier_ == 1) {
        widen(pixel, static_cast<std::size_t>(c_.in_channels), zero, to);
      } else {
        for (std::int64_t i = 0; i < c_.out_channels; ++i)
          to[i] = static_cast<std::int16_t>(pixel[i / multiplier_] - zero);
      }
      std::fill(to + c_.out_channels, to + channels_, std::int16_t{0});
    }
  }

  template <class In>
  void compute(const Call& call, std::size_t part, std::int64_t n, std::int64_t oy) const {
    const DepthwiseRow row{.image = image(call) + oy * c_.y.stride * width_ * channels_,
                           .step = c_.x.stride * channels_,
                           .taps = taps_.data(),
                           .tap_count = taps_.size(),
                           .weights = scratch_.at<std::int32_t>(call, weights_),
                           .bias = scratch_.at<std::int32_t>(call, bias_),
                           .channels = static_cast<std::size_t>(channels_),
                           .out_channels = static_cast<std::size_t>(c_.out_channels),
                           .out_count = static_cast<std::size_t>(c_.x.out)};
    const std::int64_t count = c_.x.out * c_.out_channels;
    const std::int64_t place = (n * c_.y.out + oy) * count;
    if constexpr (sizeof(In) == 1) {
      depthwise_row(row, call.result<std::int32_t>() + place);
    } else {
      std::int32_t* sums = scratch_.at<std::int32_t>(call, sums_) + static_cast<std::int64_t>(part) * count;
      depthwise_row(row, sums);
      const std::int64_t* bias = call.input<std::int64_t>(2);
      std::int64_t* out = call.result<std::int64_t>() + place;
      for (std::int64_t x = 0; x < c_.x.out; ++x) {
        for (std::int64_t i = 0; i < c_.out_channels; ++i) {
          *out++ = wrapped_48(*sums++ + bias[c_.has_one_bias ? 0 : i]);
        }
      }
    }
  }

  SharedSite site_;
  Convolution c_;
  std::size_t parts_;
  std::int64_t multiplier_;
  std::int64_t channels_ = 0;            // of the output, up to whole vectors
  std::int64_t height_ = 0, width_ = 0;  // of the padded image
  std::vector<std::int64_t> taps_;
  Scratch scratch_;
  std::size_t image_ = 0, weights_ = 0, bias_ = 0, sums_ = 0;  // places in the scratch memory
};

}  // namespace

Expected<Kernel> fast_depthwise_conv(const SharedSite& site, Resources& resources) {
  const Convolution c = convolution_of(*site, kDepthwiseKernel);
  const bool is_narrow = site->inputs[0].type == Type::kI8;
  TRY(resources.take(static_cast<std::uint64_t>(c.y.kernel * c.x.kernel) * sizeof(std::int64_t)));
  const auto conv = std::make_shared<const FastDepthwise>(site, resources.parts);
  const auto run = [conv, is_narrow](const Call& call) -> Expected<void> {
    is_narrow ? conv->run<std::int8_t>(call) : conv->run<std::int16_t>(call);
    return {};
  };
  return Kernel{run, conv->scratch_bytes()};
}

}  // namespace isthmus::tosa
