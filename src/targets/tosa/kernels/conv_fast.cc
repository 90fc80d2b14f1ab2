// Convolutions as products of matrices: a row for each pixel of the output, with all that its window holds.
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

// For each position of the output and of the kernel the position of the input, or -1.
std::vector<std::int32_t> sources(const ConvAxis& axis) {
  std::vector<std::int32_t> result;
  result.reserve(static_cast<std::size_t>(axis.out * axis.kernel));
  for (std::int64_t o = 0; o < axis.out; ++o) {
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t source = axis.source(o, k);
      result.push_back(source >= 0 && source < axis.in ? static_cast<std::int32_t>(source) : -1);
    }
  }
  return result;
}

class FastConv {
 public:
  FastConv(const SharedSite& site, std::size_t parts)
      : site_(site),
        c_(convolution_of(*site, kConvKernel)),
        shape_{static_cast<std::size_t>(c_.y.kernel * c_.x.kernel * c_.in_channels),
               static_cast<std::size_t>(c_.out_channels)},
        tiles_(shape_.depth, c_.batch * c_.y.out * c_.x.out, parts),
        parts_(parts),
        has_fixed_weights_(site->inputs[1].constant != nullptr) {
    right_ = scratch_.add<std::int16_t>(has_fixed_weights_ ? 0 : shape_.numbers());
    bias_ = scratch_.add<std::int32_t>(shape_.padded_columns());
    left_ = scratch_.add<std::int16_t>(tiles_.numbers());
  }
  // In what `prepare` makes.
  std::uint64_t bytes() const {
    const std::uint64_t numbers = has_fixed_weights_ ? shape_.numbers() : 0;
    return numbers * sizeof(std::int16_t) +
           static_cast<std::uint64_t>(c_.y.out * c_.y.kernel + c_.x.out * c_.x.kernel) * sizeof(std::int32_t);
  }
  std::uint64_t scratch_bytes() const { return scratch_.bytes(); }

  void prepare() {
    rows_ = sources(c_.y);
    columns_ = sources(c_.x);
    if (!has_fixed_weights_) return;
    weights_.resize(shape_.numbers());
    pack_weights(site_->inputs[1].constants<std::int8_t>(), weights_.data());
  }

  template <class In>
  void run(const Call& call) const {
    const std::int16_t* right = weights_.data();
    if (!has_fixed_weights_) {
      auto* packed = scratch_.at<std::int16_t>(call, right_);
      pack_weights(call.input<std::int8_t>(1), packed);
      right = packed;
    }
    auto* bias = scratch_.at<std::int32_t>(call, bias_);
    if constexpr (sizeof(In) == 1) {
      for (std::int64_t i = 0; i < c_.out_channels; ++i) bias[i] = call.input<std::int32_t>(2)[c_.has_one_bias ? 0 : i];
      std::fill(bias + c_.out_channels, bias + shape_.padded_columns(), 0);
    }
    in_parts(call.threads, parts_, tiles_.count(), [&](std::size_t part, std::int64_t begin, std::int64_t end) {
      std::int16_t* rows = scratch_.at<std::int16_t>(call, left_) + part * tiles_.numbers_of_one();
      for (std::int64_t tile = begin; tile < end; ++tile) compute<In>(call, tile, rows, right, bias);
    });
  }

 private:
  void pack_weights(const std::int8_t* weights, std::int16_t* to) const {
    pack(shape_, to, [&](std::size_t row, std::size_t column) {
      return static_cast<std::int16_t>(weights[column * shape_.depth + row] - c_.weight_zero);
    });
  }

  template <class In>
  void compute(const Call& call, std::int64_t tile, std::int16_t* rows, const std::int16_t* right,
               const std::int32_t* bias) const {
    const std::int64_t first = tile * tiles_.rows();
    const std::int64_t count = std::min(tiles_.rows(), c_.batch * c_.y.out * c_.x.out - first);
    for (std::int64_t r = 0; r < count; ++r) {
      unfold(call.input<In>(0), first + r, rows + static_cast<std::size_t>(r) * tiles_.stride());
    }
    const LeftRows left{rows, tiles_.stride(), static_cast<std::size_t>(count)};
    if constexpr (sizeof(In) == 1) {
      multiply(left, shape_, right, bias, call.result<std::int32_t>() + first * c_.out_channels, shape_.columns);
    } else {
      std::int64_t* out = call.result<std::int64_t>() + first * c_.out_channels;
      const std::int64_t* wide_bias = call.input<std::int64_t>(2);
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t i = 0; i < c_.out_channels; ++i) {
          out[r * c_.out_channels + i] = wide_bias[c_.has_one_bias ? 0 : i];
        }
      }
      multiply_add(left, shape_, right, out, shape_.columns);
      for (std::int64_t i = 0; i < count * c_.out_channels; ++i) out[i] = wrapped_48(out[i]);
    }
  }

  // The window of one pixel of the output, with 0 where it is outside of the input.
  template <class In>
  void unfold(const In* in, std::int64_t pixel, std::int16_t* to) const {
    const std::int64_t ox = pixel % c_.x.out;
    const std::int64_t oy = pixel / c_.x.out % c_.y.out;
    const std::int64_t n = pixel / (c_.x.out * c_.y.out);
    const auto channels = static_cast<std::size_t>(c_.in_channels);
    const auto zero = static_cast<std::int32_t>(c_.input_zero);
    const std::int32_t* xs = columns_.data() + ox * c_.x.kernel;
    std::int16_t* const end = to + shape_.depth;
    for (std::int64_t ky = 0; ky < c_.y.kernel; ++ky) {
      const std::int64_t y = rows_[static_cast<std::size_t>(oy * c_.y.kernel + ky)];
      if (y < 0) {
        to = std::fill_n(to, static_cast<std::size_t>(c_.x.kernel) * channels, std::int16_t{0});
        continue;
      }
      const In* line = in + (n * c_.y.in + y) * c_.x.in * c_.in_channels;
      for (std::int64_t kx = 0; kx < c_.x.kernel;) {
        // As many as lie side by side, inside or outside.
        std::int64_t run = 1;
        const std::int32_t step = xs[kx] < 0 ? 0 : 1;
        while (kx + run < c_.x.kernel && xs[kx + run] == xs[kx + run - 1] + step) ++run;
        const std::size_t numbers = static_cast<std::size_t>(run) * channels;
        if (xs[kx] < 0) {
          std::fill_n(to, numbers, std::int16_t{0});
        } else {
          widen(line + xs[kx] * c_.in_channels, numbers, zero, to);
        }
        to += numbers;
        kx += run;
      }
    }
    if (tiles_.stride() != shape_.depth) *end = 0;
  }

  SharedSite site_;
  Convolution c_;
  PackedShape shape_;
  Tiles tiles_;
  std::size_t parts_;
  bool has_fixed_weights_;
  Scratch scratch_;
  std::size_t right_ = 0, bias_ = 0, left_ = 0;  // places in the scratch memory
  std::vector<std::int32_t> rows_, columns_;
  std::vector<std::int16_t> weights_;
};

}  // namespace

Expected<Kernel> fast_conv(const SharedSite& site, Resources& resources) {
  auto conv = std::make_shared<FastConv>(site, resources.parts);
  TRY(resources.take(conv->bytes()));
  conv->prepare();
  const bool is_narrow = site->inputs[0].type == Type::kI8;
  const auto run = [conv, is_narrow](const Call& call) -> Expected<void> {
    is_narrow ? conv->run<std::int8_t>(call) : conv->run<std::int16_t>(call);
    return {};
  };
  return Kernel{run, conv->scratch_bytes()};
}

}  // namespace isthmus::tosa
