// Convolutions: their rules, and plain loops that say what they mean.
#include "targets/tosa/kernels/conv.h"

#include <fmt/format.h>

#include "base/untrusted_text.h"
#include "targets/tosa/arithmetic.h"
#include "targets/tosa/rules.h"

namespace isthmus::tosa {
namespace {

Expected<void> check_operands(const Site& site, std::int64_t out_channels, Type acc_type) {
  const Operand& bias = site.inputs[2];
  TRY(want_rank(bias, "the bias", 1));
  if (bias.size(0) != 1 && bias.size(0) != out_channels) {
    return bad_input(fmt::format("the bias {} is {} for {} channels", shown(bias.name), text_of(bias), out_channels));
  }
  if (acc_type != site.output.type) {
    return bad_input(fmt::format("sums in {} instead of {}", name_of(acc_type), name_of(site.output.type)));
  }
  TRY(want_zero_point(site.inputs[3], "the zero point of the input"));
  TRY(want_zero_point(site.inputs[4], "the zero point of the weights"));
  const Operand& output = site.output;
  return want_sizes(output, "the output", {site.inputs[0].size(0), output.size(1), output.size(2), out_channels});
}
Expected<void> check_ranks(const Site& site) {
  TRY(want_rank(site.inputs[0], "the input", 4));
  TRY(want_rank(site.inputs[1], "the weights", 4));
  return want_rank(site.output, "the output", 4);
}

template <std::size_t kernel_axis>
Expected<void> check_steps(const Site& site) {
  const auto& fields = site.fields<Conv>();
  TRY(check_ranks(site));
  TRY(want_numbers(fields.pad, "the padding", 4, 0, kMaxKernel));
  TRY(want_numbers(fields.stride, "the stride", 2, 1, kMaxStride));
  TRY(want_numbers(fields.dilation, "the dilation", 2, 1, kMaxKernel));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t kernel = site.inputs[1].size(kernel_axis + i);
    const std::int64_t dilation = fields.dilation[i];
    if (kernel > kMaxKernel / dilation) {
      return bad_input(
          fmt::format("a kernel of {} with a dilation of {}, and level 8K allows {}", kernel, dilation, kMaxKernel));
    }
    TRY(want_steps(site.output, i + 1,
                   site.inputs[0].size(i + 1) - 1 + fields.pad[2 * i] + fields.pad[2 * i + 1] - (kernel - 1) * dilation,
                   fields.stride[i]));
  }
  return {};
}
Expected<void> want_channels(const Site& site, std::int64_t channels) {
  if (site.inputs[0].size(3) == channels) return {};
  return bad_input(fmt::format("the weights {} {} do not fit {} channels of the input", shown(site.inputs[1].name),
                               text_of(site.inputs[1]), site.inputs[0].size(3)));
}

Expected<void> check_conv(const Site& site) {
  TRY(check_steps<kConvKernel>(site));
  TRY(want_channels(site, site.inputs[1].size(3)));
  return check_operands(site, site.inputs[1].size(0), site.fields<Conv>().acc_type);
}
Expected<void> check_depthwise(const Site& site) {
  TRY(check_steps<kDepthwiseKernel>(site));
  TRY(want_channels(site, site.inputs[1].size(2)));
  return check_operands(site, site.inputs[1].size(2) * site.inputs[1].size(3), site.fields<Conv>().acc_type);
}
Expected<void> check_transpose_conv(const Site& site) {
  const auto& fields = site.fields<TransposeConv>();
  TRY(check_ranks(site));
  TRY(want_numbers(fields.out_pad, "the padding of the output", 4, -kMaxKernel, kMaxKernel));
  TRY(want_numbers(fields.stride, "the stride", 2, 1, kMaxStride));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t kernel = site.inputs[1].size(kConvKernel + i);
    const std::int64_t before = fields.out_pad[2 * i];
    const std::int64_t after = fields.out_pad[2 * i + 1];
    if (kernel > kMaxKernel)
      return bad_input(fmt::format("a kernel of {}, and level 8K allows {}", kernel, kMaxKernel));
    if (before <= -kernel || after <= -kernel) {
      return bad_input(fmt::format("a padding of {} and {} takes all of a kernel of {}", before, after, kernel));
    }
    TRY(want_steps(site.output, i + 1,
                   (site.inputs[0].size(i + 1) - 1) * fields.stride[i] + before + after + kernel - 1, 1));
  }
  TRY(want_channels(site, site.inputs[1].size(3)));
  return check_operands(site, site.inputs[1].size(0), fields.acc_type);
}

std::uint64_t conv_work(const Site& site) {
  const Operand& weights = site.inputs[1];
  return static_cast<std::uint64_t>(site.output.count) * static_cast<std::uint64_t>(weights.count / weights.size(0));
}
std::uint64_t depthwise_work(const Site& site) {
  const Operand& weights = site.inputs[1];
  return static_cast<std::uint64_t>(site.output.count) * static_cast<std::uint64_t>(weights.size(0) * weights.size(1));
}

bool is_inside(std::int64_t position, std::int64_t size) { return position >= 0 && position < size; }

// Calls use(batch, channel) -> sum for each element of the output, and adds the bias.
template <class Out, class Sum>
void for_each_output(const Convolution& c, const Call& call, Sum sum) {
  const Out* bias = call.input<Out>(2);
  Out* out = call.result<Out>();
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t oy = 0; oy < c.y.out; ++oy) {
      for (std::int64_t ox = 0; ox < c.x.out; ++ox) {
        for (std::int64_t oc = 0; oc < c.out_channels; ++oc) {
          *out++ = from_sum<Out>(sum(n, oy, ox, oc) + bias[c.has_one_bias ? 0 : oc]);
        }
      }
    }
  }
}

template <class In, class Out>
Kernel plain_sums(const SharedSite& site) {
  return {[c = convolution_of(*site, kConvKernel)](const Call& call) -> Expected<void> {
    const In* in = call.input<In>(0);
    const std::int8_t* weights = call.input<std::int8_t>(1);
    for_each_output<Out>(c, call, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t oc) {
      std::int64_t sum = 0;
      for (std::int64_t ky = 0; ky < c.y.kernel; ++ky) {
        for (std::int64_t kx = 0; kx < c.x.kernel; ++kx) {
          const std::int64_t y = c.y.source(oy, ky);
          const std::int64_t x = c.x.source(ox, kx);
          if (!is_inside(y, c.y.in) || !is_inside(x, c.x.in)) continue;
          const In* pixel = in + ((n * c.y.in + y) * c.x.in + x) * c.in_channels;
          const std::int8_t* tap = weights + ((oc * c.y.kernel + ky) * c.x.kernel + kx) * c.in_channels;
          for (std::int64_t ic = 0; ic < c.in_channels; ++ic) {
            sum += (pixel[ic] - c.input_zero) * (tap[ic] - c.weight_zero);
          }
        }
      }
      return sum;
    });
    return {};
  }};
}
Expected<Kernel> plain_conv(const SharedSite& site, Resources&) {
  if (site->inputs[0].type == Type::kI8) return plain_sums<std::int8_t, std::int32_t>(site);
  return plain_sums<std::int16_t, std::int64_t>(site);
}

template <class In, class Out>
Kernel plain_by_channel(const SharedSite& site) {
  return {[c = convolution_of(*site, kDepthwiseKernel)](const Call& call) -> Expected<void> {
    const In* in = call.input<In>(0);
    const std::int8_t* weights = call.input<std::int8_t>(1);
    const std::int64_t multiplier = c.out_channels / c.in_channels;
    for_each_output<Out>(c, call, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t oc) {
      std::int64_t sum = 0;
      for (std::int64_t ky = 0; ky < c.y.kernel; ++ky) {
        for (std::int64_t kx = 0; kx < c.x.kernel; ++kx) {
          const std::int64_t y = c.y.source(oy, ky);
          const std::int64_t x = c.x.source(ox, kx);
          if (!is_inside(y, c.y.in) || !is_inside(x, c.x.in)) continue;
          const In value = in[((n * c.y.in + y) * c.x.in + x) * c.in_channels + oc / multiplier];
          sum += (value - c.input_zero) * (weights[(ky * c.x.kernel + kx) * c.out_channels + oc] - c.weight_zero);
        }
      }
      return sum;
    });
    return {};
  }};
}
Expected<Kernel> plain_depthwise(const SharedSite& site, Resources&) {
  if (site->inputs[0].type == Type::kI8) return plain_by_channel<std::int8_t, std::int32_t>(site);
  return plain_by_channel<std::int16_t, std::int64_t>(site);
}

Expected<Kernel> fast_depthwise(const SharedSite& site, Resources& resources) {
  const bool is_wide = site->output.type == Type::kI48;
  if (is_wide && site->inputs[1].size(0) * site->inputs[1].size(1) > kMaxWideTaps)
    return plain_depthwise(site, resources);
  return fast_depthwise_conv(site, resources);
}

constexpr std::string_view kTypes = "i8 i8 i32 i8 i8 > i32 | i8 i4 i32 i8 i4 > i32 | i16 i8 i48 i16 i8 > i48";
constexpr Rule kConvRules[] = {
    {.op = Op::kConv2d,
     .types = kTypes,
     .check = check_conv,
     .plain = plain_conv,
     .fast = fast_conv,
     .work = conv_work,
     .counts_products = true},
    {.op = Op::kDepthwiseConv2d,
     .types = kTypes,
     .check = check_depthwise,
     .plain = plain_depthwise,
     .fast = fast_depthwise,
     .work = depthwise_work,
     .counts_products = true},
    {.op = Op::kTransposeConv2d,
     .types = kTypes,
     .check = check_transpose_conv,
     .plain = plain_conv,
     .fast = fast_conv,
     .work = conv_work,
     .counts_products = true},
};

}  // namespace

std::span<const Rule> conv_rules() { return kConvRules; }

Convolution convolution_of(const Site& site, std::size_t kernel_axis) {
  const Operand& input = site.inputs[0];
  const Operand& weights = site.inputs[1];
  const Operand& output = site.output;
  Convolution c;
  c.batch = input.size(0);
  c.in_channels = input.size(3);
  c.out_channels = output.size(3);
  c.input_zero = site.inputs[3].at(0);
  c.weight_zero = site.inputs[4].at(0);
  c.has_one_bias = site.inputs[2].count == 1;
  for (std::size_t i = 0; i < 2; ++i) {
    ConvAxis& axis = i == 0 ? c.y : c.x;
    axis.in = input.size(i + 1);
    axis.out = output.size(i + 1);
    axis.kernel = weights.size(kernel_axis + i);
    if (const auto* fields = std::get_if<Conv>(&site.op->fields)) {
      axis.stride = fields->stride[i];
      axis.dilation = fields->dilation[i];
      axis.before = fields->pad[2 * i];
    } else {
      const auto& transposed = site.fields<TransposeConv>();
      axis.stride = transposed.stride[i];
      axis.before = transposed.out_pad[2 * i];
      axis.is_transposed = true;
    }
  }
  return c;
}

}  // namespace isthmus::tosa
