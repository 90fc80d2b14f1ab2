// Layers of few channels, several pixels of which become one: NPUs compute many channels at once, and weights of zero
// cost less than places that stay empty. The sums are the same.
#include <algorithm>
#include <optional>
#include <span>

#include "targets/ethos_u/forms/form_families.h"
#include "targets/ethos_u/forms/product.h"

namespace isthmus::ethos_u {
namespace {

// Of a / b.
std::int64_t rounded_down(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

std::int64_t rows_of(const Ints& sizes, std::size_t channel_axis) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) rows *= i == channel_axis ? 1 : sizes[i];
  return rows;
}

}  // namespace

bool has_pairs(const NodeForm& form) {
  const Ints weight = form.sizes(1);  // [O, I], and for images [H, W] too
  if (weight.size() == 2) return rows_of(form.sizes(0), form.sizes(0).size() - 1) % 2 == 0;
  const auto& attrs = form.attrs<ConvAttrs>();
  return attrs.groups == 1 && weight[2] == 1 && weight[3] == 1 && attrs.stride == Ints{1, 1} &&
         attrs.padding == Ints{0, 0, 0, 0} && rows_of(form.sizes(0), 1) % 2 == 0;
}

Expected<Operand> product_of_pairs(NodeLowering& lowering) {
  constexpr std::int64_t kPixels = 2;
  TosaBuilder& out = lowering.out;
  const Ints weight = lowering.sizes(1);
  const Operand& x = lowering.inputs[0];
  const Ints image = image_of_rows(rows_of(x.shape, x.shape.size() - 1) / kPixels);
  const Operand pairs = out.reshape(x, {1, image[0], image[1], kPixels * weight[1]});
  const Filters filters{{kPixels * weight[0], 1, 1, kPixels * weight[1]}, [&] {
                          const auto plain = lowering.integers(1, weight.size() == 2 ? Order{0, 1} : Order{0, 2, 3, 1});
                          std::vector<std::int64_t> both(kPixels * kPixels * plain.size(), 0);
                          const auto length = static_cast<std::size_t>(weight[1]);
                          for (std::size_t i = 0; i < plain.size(); ++i) {
                            const std::size_t row = i / length * kPixels * length + i % length;
                            for (std::size_t p = 0; p < kPixels; ++p) {
                              both[row + p * (kPixels * plain.size() + length)] = plain[i];
                            }
                          }
                          return both;
                        }};
  const Operand made = TRY(
      convolved(lowering, pairs, filters, {0, 0, 0, 0}, {1, 1}, {1, 1}, {1, image[0], image[1], kPixels * weight[0]}));
  return out.reshape(made, lowering.result_shape());
}

// A window takes steps of s columns: s columns side by side are one column of s times the channels, over which the
// window takes steps of one. What it does not reach of its first and last ones has weights of zero.
namespace {

struct Columns {
  std::int64_t first = 0, last = 0;  // of the window, from the one that its result stands at
  std::int64_t past = 0;             // the padding behind the image
};
std::optional<Columns> columns_of(const NodeForm& form) {
  const auto& attrs = form.attrs<ConvAttrs>();
  const Ints weight = form.sizes(1);  // [O, I, H, W]
  const std::int64_t step = attrs.stride[1];
  const std::int64_t width = form.sizes(0)[3];
  if (attrs.groups != 1 || step < 2 || width % step != 0 || attrs.dilation[1] != 1) return std::nullopt;
  const std::int64_t before = attrs.padding[2];
  Columns columns{rounded_down(-before, step), rounded_down(weight[3] - 1 - before, step), 0};
  columns.past = form.sizes()[3] - width / step + columns.last;
  if (columns.past < 0) return std::nullopt;
  return columns;
}

}  // namespace

// The images of a U85 lie in bricks of 16 channels. To write them otherwise takes longer than this saves for 8 bits;
// with 16 bits, bricks of an image of few channels are also far larger than the image.
bool has_columns(const NodeForm& form) {
  return (form.device != Device::kU85 || form.type(0).dtype == DType::kI16) && columns_of(form).has_value();
}

Expected<Operand> conv2d_of_columns(NodeLowering& lowering) {
  TosaBuilder& out = lowering.out;
  const auto& attrs = lowering.attrs<ConvAttrs>();
  const Columns columns = *columns_of(lowering);
  const Ints weight = lowering.sizes(1);
  const Ints result = lowering.result_shape();
  const std::int64_t step = attrs.stride[1];
  const std::int64_t width = columns.last - columns.first + 1;
  const Operand& image = lowering.inputs[0];
  const Fitted fit =
      TRY(fitted(image.shape, result, {weight[2], weight[3]}, attrs.stride, attrs.padding, attrs.dilation));
  const Operand rows = out.slice(image, {0, 0, 0, 0}, {image.shape[0], fit.image[1], image.shape[2], image.shape[3]});
  const Operand wide = out.reshape(rows, {rows.shape[0], rows.shape[1], rows.shape[2] / step, step * rows.shape[3]});
  const Filters filters{{weight[0], weight[2], width, step * weight[1]}, [&] {
                          const auto plain = lowering.integers(1, Order{0, 2, 3, 1});  // [O, H, W, I]
                          const auto length = static_cast<std::size_t>(weight[1]);
                          const auto taps = static_cast<std::size_t>(weight[3]);
                          const std::size_t lines = plain.size() / (taps * length);
                          const auto line = static_cast<std::size_t>(width * step * weight[1]);
                          const auto before = static_cast<std::size_t>(-attrs.padding[2] - columns.first * step);
                          std::vector<std::int64_t> folded(lines * line, 0);
                          for (std::size_t i = 0; i < lines; ++i) {
                            std::ranges::copy(std::span(plain).subspan(i * taps * length, taps * length),
                                              folded.begin() + static_cast<std::ptrdiff_t>(i * line + before * length));
                          }
                          return folded;
                        }};
  return convolved(lowering, wide, filters, {fit.pad[0], fit.pad[1], -columns.first, columns.past},
                   {attrs.stride[0], 1}, {attrs.dilation[0], 1}, result);
}

}  // namespace isthmus::ethos_u
