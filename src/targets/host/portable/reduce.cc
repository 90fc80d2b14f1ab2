// ExecuTorch's reductions: one number after the other, in the type of the result.
#include <algorithm>
#include <cmath>
#include <optional>

#include "interpret/kernels/along_axis.h"
#include "targets/host/portable/kernels.h"

namespace isthmus::executorch_kernels {
namespace {

// The elements that one element of the result reduces are `size` blocks apart by `stride`; results beside each other
// reduce elements beside each other.
struct Block {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;
};

// Axes that stand beside each other are one.
std::optional<Block> block_of(const std::vector<std::int64_t>& sizes, const Ints& axes) {
  Block block;
  if (axes.empty()) return std::nullopt;
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) return std::nullopt;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    (axis < axes.front() ? block.outer : axis > axes.back() ? block.inner : block.size) *= sizes[i];
  }
  return block;
}

// The input with the reduced axes last, each result's elements in a row and in their order.
Tensor with_axes_last(const Tensor& input, const Ints& axes) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < input.rank(); ++i) {
    if (!std::ranges::binary_search(axes, i)) order.push_back(i);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  std::vector<std::int64_t> sizes;
  for (const std::int64_t axis : order) sizes.push_back(input.size(axis));
  const Attrs attrs = AxesAttrs{order};
  const auto moved = kernel_def(Op::kPermute).kernel({{&input, 1}, attrs, input.dtype(), sizes});
  CHECK(moved.has_value(), "axes in another order");
  return *moved;
}

// state[j] = add(state[j], element) for each element of result j, in order, from `first` on.
template <class Number, class State, class Add>
void for_each_block(const Tensor& input, const Ints& axes, State first, std::span<State> states, Add add) {
  std::ranges::fill(states, first);
  std::optional<Block> block = block_of(input.sizes(), axes);
  Tensor moved = input;
  if (!block) {
    moved = with_axes_last(input, axes);
    const auto results = static_cast<std::int64_t>(states.size());
    block = Block{results, input.count() / std::max<std::int64_t>(results, 1), 1};
  }
  const Number* numbers = moved.data<Number>().data();
  const auto [outer, size, inner] = *block;
  if (inner == 1) {
    for (std::int64_t o = 0; o < outer; ++o, numbers += size) {
      State state = first;
      for (std::int64_t i = 0; i < size; ++i) state = add(state, numbers[i], o);
      states[static_cast<std::size_t>(o)] = state;
    }
    return;
  }
  for (std::int64_t o = 0; o < outer; ++o) {
    State* const row = states.data() + o * inner;
    for (std::int64_t i = 0; i < size; ++i, numbers += inner) {
      for (std::int64_t k = 0; k < inner; ++k) row[k] = add(row[k], numbers[k], o * inner + k);
    }
  }
}

template <class Number>
void add_up(const KernelContext& context, const Ints& axes, std::span<Number> sums) {
  for_each_block<Number, Number>(context.inputs[0], axes, Number{0}, sums,
                                 [](Number sum, Number number, std::int64_t) { return sum + number; });
}

Expected<Tensor> reference(Op op, const KernelContext& context) { return kernel_def(op).kernel(context); }

Expected<Tensor> sum(const KernelContext& context) {
  if (!is_floating(context.dtype)) return reference(Op::kSum, context);
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    add_up<Number>(context, context.as<ReduceAttrs>().axes, result.mutable_data<Number>());
  });
  return result;
}

std::int64_t reduced_count(const KernelContext& context, const Ints& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= context.inputs[0].size(axis);
  return count;
}

// The number of elements is a float.
Expected<Tensor> mean(const KernelContext& context) {
  const Ints& axes = context.as<ReduceAttrs>().axes;
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const auto out = result.mutable_data<Number>();
    add_up<Number>(context, axes, out);
    const auto count = static_cast<float>(reduced_count(context, axes));
    for (Number& number : out) number /= static_cast<Number>(count);
  });
  return result;
}

Expected<Tensor> prod(const KernelContext& context) {
  if (!is_floating(context.dtype)) return reference(Op::kProd, context);
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    for_each_block<Number, Number>(context.inputs[0], context.as<ReduceAttrs>().axes, Number{1},
                                   result.mutable_data<Number>(),
                                   [](Number product, Number number, std::int64_t) { return product * number; });
  });
  return result;
}

Expected<Tensor> variance(const KernelContext& context) {
  const VarianceAttrs& attrs = context.as<VarianceAttrs>();
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const auto out = result.mutable_data<Number>();
    const auto count = static_cast<double>(reduced_count(context, attrs.axes));
    const double degrees = count - attrs.correction;
    if (!(degrees > 0)) {
      std::ranges::fill(out, std::numeric_limits<Number>::quiet_NaN());
      return;
    }
    std::vector<Number> means(out.size());
    add_up<Number>(context, attrs.axes, means);
    for (Number& number : means) number /= static_cast<Number>(count);
    for_each_block<Number, Number>(context.inputs[0], attrs.axes, Number{0}, out,
                                   [&](Number total, Number number, std::int64_t at) {
                                     const Number difference = number - means[static_cast<std::size_t>(at)];
                                     return total + difference * difference;
                                   });
    for (Number& number : out) number = static_cast<Number>(static_cast<double>(number) / degrees);
  });
  return result;
}

Expected<Tensor> cumsum(const KernelContext& context) {
  if (!is_floating(context.dtype)) return reference(Op::kCumsum, context);
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    const Number* in = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    for_each_line(result, context.as<AxisAttrs>().axis,
                  [&](std::int64_t first, std::int64_t stride, std::int64_t size) {
                    out[first] = in[first];
                    for (std::int64_t i = 1; i < size; ++i) {
                      const std::int64_t at = first + i * stride;
                      out[at] = in[at] + out[at - stride];
                    }
                  });
    return result;
  });
}

template <bool kLog>
Expected<Tensor> softmax(const KernelContext& context) {
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    const Number* in = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    for_each_line(result, context.as<AxisAttrs>().axis,
                  [&](std::int64_t first, std::int64_t stride, std::int64_t size) {
                    const Number* line = in + first;
                    Number greatest = line[0];
                    for (std::int64_t i = 1; i < size; ++i) greatest = std::max(line[i * stride], greatest);
                    Number total = 0;
                    for (std::int64_t i = 0; i < size; ++i) total += std::exp(line[i * stride] - greatest);
                    const Number logarithm = kLog ? std::log(total) : Number{0};
                    for (std::int64_t i = 0; i < size; ++i) {
                      const Number shifted = line[i * stride] - greatest;
                      out[first + i * stride] = kLog ? shifted - logarithm : std::exp(shifted) / total;
                    }
                  });
    return result;
  });
}

constexpr KernelDef kReduceKernels[] = {
    {Op::kSum, sum},
    {Op::kMean, mean},
    {Op::kProd, prod},
    {Op::kVariance, variance},
    {Op::kCumsum, cumsum},
    {Op::kSoftmax, softmax<false>},
    {Op::kLogSoftmax, softmax<true>},
};

}  // namespace

std::span<const KernelDef> reduce_kernels() { return kReduceKernels; }

Sorted topk(const Tensor& input, std::int64_t axis, std::int64_t count, bool largest, bool sorted) {
  std::vector<std::int64_t> sizes = input.sizes();
  if (!sizes.empty()) sizes[static_cast<std::size_t>(axis)] = count;
  Sorted result{Tensor(input.dtype(), sizes), Tensor(DType::kI64, sizes)};
  if (result.numbers.count() == 0) return result;
  dispatch(input.dtype(), [&]<class Number>(Number) {
    const Number* in = input.data<Number>().data();
    Number* numbers = result.numbers.mutable_data<Number>().data();
    std::int64_t* positions = result.positions.mutable_data<std::int64_t>().data();
    using Element = std::pair<Number, std::int64_t>;
    std::vector<Element> queue;
    const auto comes_first = [=](const Element& a, const Element& b) {
      return largest ? is_less(b.first, a.first) : is_less(a.first, b.first);
    };
    const auto sort_line = [&](std::int64_t from, std::int64_t to, std::int64_t stride, std::int64_t size) {
      queue.clear();
      for (std::int64_t i = 0; i < size; ++i) queue.emplace_back(in[from + i * stride], i);
      constexpr std::int64_t kFew = 64;
      if (count * kFew <= size) {
        std::partial_sort(queue.begin(), queue.begin() + count, queue.end(), comes_first);
      } else {
        std::nth_element(queue.begin(), queue.begin() + count - 1, queue.end(), comes_first);
        if (sorted) std::sort(queue.begin(), queue.begin() + count - 1, comes_first);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        numbers[to + i * stride] = queue[static_cast<std::size_t>(i)].first;
        positions[to + i * stride] = queue[static_cast<std::size_t>(i)].second;
      }
    };
    if (input.rank() == 0) return sort_line(0, 0, 1, 1);
    for_each_line(input, axis, [&](std::int64_t first, std::int64_t stride, std::int64_t size) {
      const std::int64_t line = size * stride;
      sort_line(first, first / line * (count * stride) + first % line, stride, size);
    });
  });
  return result;
}

}  // namespace isthmus::executorch_kernels
