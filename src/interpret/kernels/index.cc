// Reference kernels that pick or place elements by index, and the sum of overlapping windows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "interpret/kernel.h"

namespace isthmus {
namespace {

using Sizes = std::vector<std::int64_t>;

// The indices as positions along an axis of this size; negative ones count from its end.
Expected<Sizes> positions(const Tensor& index, std::int64_t size) {
  Sizes result(static_cast<std::size_t>(index.count()));
  dispatch(index.dtype(), [&]<class Number>(Number) {
    const auto from = index.data<Number>();
    for (std::size_t i = 0; i < from.size(); ++i) result[i] = static_cast<std::int64_t>(from[i]);
  });
  for (std::int64_t& position : result) {
    if (position < -size || position >= size) {
      return bad_input(fmt::format("index {} is out of range for size {}", position, size));
    }
    if (position < 0) position += size;
  }
  return result;
}

// The product of sizes before, at and after an axis.
struct Around {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};
Around around(const Sizes& sizes, std::int64_t axis) {
  Around result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (static_cast<std::int64_t>(i) < axis) result.outer *= sizes[i];
    if (static_cast<std::int64_t>(i) > axis) result.inner *= sizes[i];
  }
  return result;
}

Expected<Tensor> index_select(const KernelContext& context) {
  const Tensor& input = context.inputs[0];
  const std::int64_t axis = context.as<AxisAttrs>().axis;
  const Sizes picked = TRY(positions(context.inputs[1], input.size(axis)));
  Tensor result = context.result();
  const Around sizes = around(input.sizes(), axis);
  const std::size_t block = static_cast<std::size_t>(sizes.inner) * size_of(context.dtype);
  if (result.count() == 0) return result;
  std::byte* to = result.mutable_bytes().data();
  for (std::int64_t i = 0; i < sizes.outer; ++i) {
    for (const std::int64_t position : picked) {
      std::memcpy(to, input.bytes().data() + static_cast<std::size_t>(i * input.size(axis) + position) * block, block);
      to += block;
    }
  }
  return result;
}

// Calls `use` with the number of each element of the index, and the offset in `other` of the element that it means:
// the same indices, but along `axis` the position.
template <class Use>
void for_each_meant(const Sizes& sizes, const Sizes& found, const Tensor& other, std::int64_t axis, Use use) {
  const Sizes strides = row_major_strides(other.sizes());
  Sizes index(sizes.size(), 0);
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      offset += strides[k] * (static_cast<std::int64_t>(k) == axis ? found[i] : index[k]);
    }
    use(i, static_cast<std::size_t>(offset));
    for (std::size_t k = sizes.size(); k-- > 0;) {
      if (++index[k] < sizes[k]) break;
      index[k] = 0;
    }
  }
}

Expected<void> demand_inside(const Sizes& index, const Sizes& sizes, std::int64_t free_axis) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (static_cast<std::int64_t>(i) != free_axis && index[i] > sizes[i]) {
      return bad_input(fmt::format("the index has size {}, the input {}", index[i], sizes[i]));
    }
  }
  return {};
}

Expected<Tensor> gather(const KernelContext& context) {
  const Tensor& input = context.inputs[0];
  const Tensor& index = context.inputs[1];
  const std::int64_t axis = context.as<AxisAttrs>().axis;
  TRY(demand_inside(index.sizes(), input.sizes(), axis));
  const Sizes found = TRY(positions(index, input.size(axis)));
  Tensor result = context.result();
  const std::size_t bytes = size_of(context.dtype);
  for_each_meant(index.sizes(), found, input, axis, [&](std::size_t i, std::size_t offset) {
    std::memcpy(result.mutable_bytes().data() + i * bytes, input.bytes().data() + offset * bytes, bytes);
  });
  return result;
}

// Calls `use` with the offsets of an element of the result and the element of the source that is put there.
template <class Use>
Expected<void> for_each_put(const KernelContext& context, Use use) {
  const Tensor& self = context.inputs[0];
  const Tensor& index = context.inputs[1];
  const Tensor& source = context.inputs[2];
  const std::int64_t axis = context.as<ScatterAttrs>().axis;
  TRY(demand_inside(index.sizes(), self.sizes(), axis));
  TRY(demand_inside(index.sizes(), source.sizes(), -1));
  const Sizes found = TRY(positions(index, self.size(axis)));
  std::vector<std::size_t> targets(found.size());
  for_each_meant(index.sizes(), found, self, axis, [&](std::size_t i, std::size_t offset) { targets[i] = offset; });
  // Along no axis: every element of the index means the one of the source at its own place.
  for_each_meant(index.sizes(), found, source, -1, [&](std::size_t i, std::size_t offset) { use(targets[i], offset); });
  return {};
}

Tensor copy_of(const KernelContext& context, const Tensor& input) {
  Tensor result = context.result();
  if (result.count() > 0) std::memcpy(result.mutable_bytes().data(), input.bytes().data(), input.bytes().size());
  return result;
}

Expected<Tensor> scatter(const KernelContext& context) {
  Tensor result = copy_of(context, context.inputs[0]);
  const std::size_t bytes = size_of(context.dtype);
  const std::span<const std::byte> source = context.inputs[2].bytes();
  TRY(for_each_put(context, [&](std::size_t to, std::size_t from) {
    std::memcpy(result.mutable_bytes().data() + to * bytes, source.data() + from * bytes, bytes);
  }));
  return result;
}

// Integers wrap, NaN wins over any number, and bools stay bools.
template <class Number>
Number combine(Number a, Number b, ScatterMode mode, bool is_bool) {
  if (mode == ScatterMode::kMin) return is_nan(a) || (!is_nan(b) && a < b) ? a : b;
  if (mode == ScatterMode::kMax) return is_nan(a) || (!is_nan(b) && a > b) ? a : b;
  if constexpr (std::is_floating_point_v<Number>) {
    return mode == ScatterMode::kAdd ? a + b : a * b;
  } else {
    const auto wide_a = static_cast<std::uint64_t>(a);
    const auto wide_b = static_cast<std::uint64_t>(b);
    const std::uint64_t wide = mode == ScatterMode::kAdd ? wide_a + wide_b : wide_a * wide_b;
    return is_bool ? static_cast<Number>(wide != 0) : static_cast<Number>(wide);
  }
}

Expected<Tensor> scatter_reduce(const KernelContext& context) {
  Tensor result = copy_of(context, context.inputs[0]);
  const ScatterMode mode = context.as<ScatterAttrs>().mode;
  const bool is_bool = context.dtype == DType::kBool;
  TRY(dispatch(context.dtype, [&]<class Number>(Number) -> Expected<void> {
    const auto to = result.mutable_data<Number>();
    const auto from = context.inputs[2].data<Number>();
    return for_each_put(context, [&](std::size_t target, std::size_t source) {
      to[target] = combine(to[target], from[source], mode, is_bool);
    });
  }));
  return result;
}

Expected<Tensor> col2im(const KernelContext& context) {
  const FoldAttrs& fold = context.as<FoldAttrs>();
  const Tensor& input = context.inputs[0];
  const std::int64_t rows =
      (fold.size[0] + 2 * fold.padding[0] - fold.dilation[0] * (fold.kernel[0] - 1) - 1) / fold.stride[0] + 1;
  const std::int64_t columns =
      (fold.size[1] + 2 * fold.padding[1] - fold.dilation[1] * (fold.kernel[1] - 1) - 1) / fold.stride[1] + 1;
  const std::int64_t planes = context.sizes[0] * context.sizes[1];
  const std::int64_t plane = fold.size[0] * fold.size[1];
  const std::int64_t kernel = fold.kernel[0] * fold.kernel[1];
  if (input.count() != planes * kernel * rows * columns) return bad_input("the windows do not cover the image");
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    const Number* from = input.data<Number>().data();
    const auto to = result.mutable_data<Number>();
    std::vector<double> sums(static_cast<std::size_t>(plane));
    for (std::int64_t p = 0; p < planes; ++p) {
      std::ranges::fill(sums, 0.0);
      for (std::int64_t k = 0; k < kernel; ++k) {
        for (std::int64_t i = 0; i < rows; ++i) {
          const std::int64_t y = i * fold.stride[0] - fold.padding[0] + k / fold.kernel[1] * fold.dilation[0];
          for (std::int64_t j = 0; j < columns; ++j, ++from) {
            const std::int64_t x = j * fold.stride[1] - fold.padding[1] + k % fold.kernel[1] * fold.dilation[1];
            const bool is_inside = y >= 0 && y < fold.size[0] && x >= 0 && x < fold.size[1];
            if (is_inside) sums[static_cast<std::size_t>(y * fold.size[1] + x)] += static_cast<double>(*from);
          }
        }
      }
      for (std::int64_t i = 0; i < plane; ++i) {
        to[static_cast<std::size_t>(p * plane + i)] = static_cast<Number>(sums[static_cast<std::size_t>(i)]);
      }
    }
    return result;
  });
}

}  // namespace

std::span<const KernelDef> index_kernels() {
  static constexpr KernelDef kKernels[] = {
      {Op::kIndexSelect, index_select, HalfPrecision::kAsBytes},
      {Op::kGather, gather, HalfPrecision::kAsBytes},
      {Op::kScatter, scatter, HalfPrecision::kAsBytes},
      {Op::kScatterReduce, scatter_reduce, HalfPrecision::kAsFloat},
      {Op::kCol2im, col2im, HalfPrecision::kAsFloat},
  };
  return kKernels;
}

}  // namespace isthmus
