// Integer kernels of convolutions. What each place of the result sees of the input is gathered into a row, padding as
// zeros, and multiplied with the rows of the weights; a transposed convolution sees other places, and that is all.
#include <algorithm>
#include <array>

#include "interpret/quantized_types.h"
#include "targets/xnnpack/integers/product.h"

namespace isthmus::xnnpack {
namespace {

// Depth, height, width; what a convolution of two axes lacks is 1.
struct SeenAxis {
  std::int64_t input = 1;
  std::int64_t taps = 1;
  std::int64_t output = 1;
  std::vector<std::int64_t> places = {0};  // by place of the result and tap: where in the input, -1: outside
};
using SeenAxes = std::array<SeenAxis, 3>;

// place(position in the result, tap, axis)
template <class Place>
SeenAxes seen_axes(const IntegerContext& context, Place place) {
  SeenAxes axes;
  const std::size_t spatial = context.plain.sizes.size() - 2;
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto at = static_cast<std::int64_t>(i + 2);
    SeenAxis& axis = axes[3 - spatial + i];
    axis = {context.input(0).size(at), context.input(1).size(at), context.plain.sizes[i + 2], {}};
    for (std::int64_t position = 0; position < axis.output; ++position) {
      for (std::int64_t tap = 0; tap < axis.taps; ++tap) {
        const std::int64_t seen = place(position, tap, i);
        axis.places.push_back(seen >= 0 && seen < axis.input ? seen : -1);
      }
    }
  }
  return axes;
}

// Places in a plane of the input that the result's places first, first + 1, ... see, tap by tap; -1: none.
void see(const SeenAxes& axes, std::int64_t first, std::int64_t count, std::int64_t* to) {
  for (std::int64_t position = first; position < first + count; ++position) {
    const std::int64_t x = position % axes[2].output;
    const std::int64_t y = position / axes[2].output % axes[1].output;
    const std::int64_t z = position / axes[2].output / axes[1].output;
    for (std::int64_t i = 0; i < axes[0].taps; ++i) {
      const std::int64_t at_z = axes[0].places[static_cast<std::size_t>(z * axes[0].taps + i)];
      for (std::int64_t j = 0; j < axes[1].taps; ++j) {
        const std::int64_t at_y = axes[1].places[static_cast<std::size_t>(y * axes[1].taps + j)];
        for (std::int64_t k = 0; k < axes[2].taps; ++k) {
          const std::int64_t at_x = axes[2].places[static_cast<std::size_t>(x * axes[2].taps + k)];
          const bool is_inside = at_z >= 0 && at_y >= 0 && at_x >= 0;
          *to++ = is_inside ? (at_z * axes[1].input + at_y) * axes[2].input + at_x : -1;
        }
      }
    }
  }
}

struct Layer {
  SeenAxes axes;
  std::int64_t groups = 1;
  std::int64_t channels = 1;  // of the input, in one group
  std::int64_t results = 1;   // in one group
  std::vector<float> scales;  // by result of all groups
  Int8Rows weights;           // by result of all groups: channel by channel, tap by tap
};

Expected<Tensor> run_layer(const IntegerContext& context, const Layer& layer) {
  // Places at a time: few enough that their rows stay in the cache while the weights go past.
  constexpr std::int64_t kBlock = 64;
  Tensor result = context.plain.result();
  if (result.count() == 0) return result;
  const SeenAxes& axes = layer.axes;
  const std::int64_t taps = axes[0].taps * axes[1].taps * axes[2].taps;
  const std::int64_t input_plane = axes[0].input * axes[1].input * axes[2].input;
  const std::int64_t plane = axes[0].output * axes[1].output * axes[2].output;
  const std::int64_t channels = layer.groups * layer.results;
  const auto requantizers = layer_requantizers(context, layer.scales);
  const std::vector<std::int64_t> bias = layer_bias(context, channels);
  const std::int32_t zero_point = context.quant(0).zero_point;
  Int8Rows rows(kBlock, layer.channels * taps);
  std::vector<std::int64_t> places(static_cast<std::size_t>(kBlock * taps));
  const auto gather = [&]<class Int>(const Int* input, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int16_t* row = rows.row(i);
      const std::int64_t* seen = places.data() + i * taps;
      for (std::int64_t c = 0; c < layer.channels; ++c) {
        const Int* from = input + c * input_plane;
        for (std::int64_t k = 0; k < taps; ++k) {
          *row++ = seen[k] < 0 ? std::int16_t{0} : static_cast<std::int16_t>(std::int32_t{from[seen[k]]} - zero_point);
        }
      }
    }
  };
  with_quantized_type(context.input(0).dtype(), [&]<class In>(In) {
    with_quantized_type(context.plain.dtype, [&]<class Out>(Out) {
      const In* const input = context.input(0).data<In>().data();
      Out* const out = result.mutable_data<Out>().data();
      for (std::int64_t first = 0; first < plane; first += kBlock) {
        const std::int64_t count = std::min(kBlock, plane - first);
        see(axes, first, count, places.data());
        for (std::int64_t item = 0; item < context.plain.sizes[0] * layer.groups; ++item) {
          gather(input + item * layer.channels * input_plane, count);
          const std::int64_t group = item % layer.groups;
          for (std::int64_t filter = 0; filter < layer.results; ++filter) {
            const auto channel = static_cast<std::size_t>(group * layer.results + filter);
            const std::int16_t* weights = layer.weights.row(static_cast<std::int64_t>(channel));
            Out* const to = out + (item * layer.results + filter) * plane + first;
            for (std::int64_t i = 0; i < count; ++i) {
              const std::int64_t sum = dot(rows.row(i), weights, rows.stride) + bias[channel];
              to[i] = static_cast<Out>(requantizers[channel](sum));
            }
          }
        }
      }
    });
  });
  return result;
}

}  // namespace

Expected<Tensor> convolve_quantized(const IntegerContext& context) {
  const auto& attrs = context.as<ConvAttrs>();
  const Tensor& weight = context.input(1);
  const std::int64_t filters = weight.size(0);
  const std::int64_t depth = filters == 0 ? 0 : weight.count() / filters;
  Layer layer{seen_axes(context,
                        [&](std::int64_t position, std::int64_t tap, std::size_t axis) {
                          return position * attrs.stride[axis] - attrs.padding[2 * axis] + tap * attrs.dilation[axis];
                        }),
              attrs.groups,
              weight.size(1),
              filters / attrs.groups,
              channel_scales(context.quant(1), filters, [](std::int64_t filter) { return filter; }),
              Int8Rows(filters, depth)};
  for (std::int64_t filter = 0; filter < filters; ++filter) {
    center(weight, filter * depth, 1, depth, context.quant(1).zero_point, layer.weights.row(filter));
  }
  return run_layer(context, layer);
}

Expected<Tensor> spread_values(const IntegerContext& context) {
  const auto& attrs = context.as<ConvTransposeAttrs>();
  const Tensor& weight = context.input(1);
  const std::int64_t channels = weight.size(0) / attrs.groups;
  const std::int64_t results = weight.size(1);
  const std::int64_t taps = weight.count() == 0 ? 0 : weight.count() / (weight.size(0) * results);
  Layer layer{seen_axes(context,
                        [&](std::int64_t position, std::int64_t tap, std::size_t axis) -> std::int64_t {
                          const std::int64_t at = position + attrs.padding[2 * axis] - tap * attrs.dilation[axis];
                          return at >= 0 && at % attrs.stride[axis] == 0 ? at / attrs.stride[axis] : -1;
                        }),
              attrs.groups,
              channels,
              results,
              channel_scales(context.quant(1), attrs.groups * results,
                             [&](std::int64_t result) {
                               return context.quant(1).axis == 0 ? result / results * channels : result % results;
                             }),
              Int8Rows(attrs.groups * results, channels * taps)};
  for (std::int64_t result = 0; result < attrs.groups * results; ++result) {
    const std::int64_t group = result / results;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t filter = (group * channels + c) * results + result % results;
      center(weight, filter * taps, 1, taps, context.quant(1).zero_point, layer.weights.row(result) + c * taps);
    }
  }
  return run_layer(context, layer);
}

}  // namespace isthmus::xnnpack
