// What an op does, learned from its reference kernel: forms follow it and need no second account of its rules.
#pragma once

#include <optional>
#include <vector>

#include "interpret/tensor.h"
#include "ir/attrs.h"
#include "ir/op.h"

namespace isthmus::rewrites {

// The result of one op on known numbers; nothing where it fails on them.
std::optional<Tensor> result_of(Op op, Attrs attrs, std::vector<Tensor> inputs);

// 0, 1, 2, ... as many as these sizes make: what a mover makes of them says where it takes each number from.
Tensor counted(DType dtype, std::vector<std::int64_t> sizes);
// The numbers of such a result.
Ints positions_in(const Tensor& moved);

// Of an op that is linear in the pixels of an image [N, C, H, W], its first input: how much of each pixel of the image
// is in each pixel of the result, row by row, as the matrix [pixels after, pixels before].
struct ImageSize {
  std::int64_t height = 1;
  std::int64_t width = 1;
};
std::optional<std::vector<double>> pixel_matrix(Op op, Attrs attrs, ImageSize size, std::vector<Tensor> others = {});

}  // namespace isthmus::rewrites
