// Reference kernels that run along one axis and keep its size: softmax, running sums, sorting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/portable_math.h"
#include "interpret/kernels/accumulate.h"
#include "interpret/kernels/along_axis.h"
#include "interpret/kernels/reduce.h"

namespace isthmus {
namespace {

template <class Number>
double greatest_of(const Number* line, std::int64_t stride, std::int64_t size) {
  auto greatest = static_cast<double>(line[0]);
  for (std::int64_t i = 1; i < size; ++i) {
    const auto number = static_cast<double>(line[i * stride]);
    if (number > greatest || std::isnan(number)) greatest = number;
  }
  return greatest;
}

template <bool kLog>
Expected<Tensor> softmax_like(const KernelContext& context) {
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    const Number* numbers = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    std::vector<double> powers;
    for_each_line(result, context.as<AxisAttrs>().axis,
                  [&](std::int64_t first, std::int64_t stride, std::int64_t size) {
                    const double greatest = greatest_of(numbers + first, stride, size);
                    powers.resize(static_cast<std::size_t>(size));
                    double total = 0;
                    for (std::int64_t i = 0; i < size; ++i) {
                      const double shifted = static_cast<double>(numbers[first + i * stride]) - greatest;
                      const double power = portable::exp(shifted);
                      powers[static_cast<std::size_t>(i)] = kLog ? shifted : power;
                      total += power;
                    }
                    const double logarithm = portable::log(total);
                    for (std::int64_t i = 0; i < size; ++i) {
                      const double power = powers[static_cast<std::size_t>(i)];
                      out[first + i * stride] = static_cast<Number>(kLog ? power - logarithm : power / total);
                    }
                  });
    return result;
  });
}

// Each number joined with all before it.
template <class Join>
Expected<Tensor> running(const KernelContext& context, Join join) {
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    using Sum = Accumulator<Number>;
    Tensor result = context.result();
    const Number* numbers = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    for_each_line(result, context.as<AxisAttrs>().axis,
                  [&](std::int64_t first, std::int64_t stride, std::int64_t size) {
                    auto total = static_cast<Sum>(numbers[first]);
                    out[first] = numbers[first];
                    for (std::int64_t i = 1; i < size; ++i) {
                      total = join(total, static_cast<Sum>(numbers[first + i * stride]));
                      out[first + i * stride] = static_cast<Number>(total);
                    }
                  });
    return result;
  });
}

// Calls use(line, order) with the positions of each line in sorted order; equal numbers stay in theirs.
template <class Number, class Use>
void for_each_order(const KernelContext& context, Use use) {
  const auto& attrs = context.as<SortAttrs>();
  const Tensor& input = context.inputs[0];
  const Number* numbers = input.data<Number>().data();
  std::vector<std::int64_t> order;
  for_each_line(input, attrs.axis, [&](std::int64_t first, std::int64_t stride, std::int64_t size) {
    order.resize(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    const auto at = [&](std::int64_t i) { return numbers[first + i * stride]; };
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return attrs.descending ? is_less(at(b), at(a)) : is_less(at(a), at(b));
    });
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t from = order[static_cast<std::size_t>(i)];
      use(first + i * stride, first + from * stride, from);
    }
  });
}

}  // namespace

Expected<Tensor> softmax(const KernelContext& context) { return softmax_like<false>(context); }
Expected<Tensor> log_softmax(const KernelContext& context) { return softmax_like<true>(context); }

Expected<Tensor> cumsum(const KernelContext& context) {
  return running(context, [](auto total, auto number) { return total + number; });
}
Expected<Tensor> cumprod(const KernelContext& context) {
  return running(context, [](auto total, auto number) { return total * number; });
}

Expected<Tensor> sort(const KernelContext& context) {
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    const Number* numbers = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    for_each_order<Number>(context, [&](std::int64_t to, std::int64_t from, std::int64_t) { out[to] = numbers[from]; });
    return result;
  });
}

Expected<Tensor> argsort(const KernelContext& context) {
  return dispatch(context.inputs[0].dtype(), [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    std::int64_t* out = result.mutable_data<std::int64_t>().data();
    for_each_order<Number>(context, [&](std::int64_t to, std::int64_t, std::int64_t position) { out[to] = position; });
    return result;
  });
}

}  // namespace isthmus
