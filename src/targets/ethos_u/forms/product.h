// What several forms of convolutions and linear layers share: weights that are rearranged, and the scales behind sums.
#pragma once

#include <functional>
#include <vector>

#include "targets/ethos_u/forms/forms.h"

namespace isthmus::ethos_u {

// Weights of a convolution, [O, H, W, I], which are asked for only where they are written.
struct Filters {
  Ints shape;
  std::function<std::vector<std::int64_t>()> numbers;
};
// A CONV2D of the node's bias and scales, both repeated as often as the filters have the node's result channels.
Expected<Operand> convolved(NodeLowering& lowering, const Operand& image, const Filters& filters, Ints pad, Ints stride,
                            Ints dilation, Ints result);

// Whether two pixels side by side can be one of twice as many channels, and the node of one such pixel: a convolution
// by 1x1, or a linear layer.
bool has_pairs(const NodeForm& form);
Expected<Operand> product_of_pairs(NodeLowering& lowering);

// Whether the columns of a step can be channels of one column, and the convolution of these.
bool has_columns(const NodeForm& form);
Expected<Operand> conv2d_of_columns(NodeLowering& lowering);

// Rows as an image whose sides the device can count, as wide as can be: NPUs compute several columns at once.
Ints image_of_rows(std::int64_t rows);

}  // namespace isthmus::ethos_u
