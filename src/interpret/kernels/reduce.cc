// Reference kernels of reductions over axes.
#include "interpret/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/portable_math.h"
#include "interpret/kernels/accumulate.h"

namespace isthmus {
namespace {

// Where elements lie: the offset of each kept position, and of each reduced one relative to it.
struct Places {
  std::vector<std::int64_t> kept;
  std::vector<std::int64_t> reduced;
};

Places places_of(const std::vector<std::int64_t>& sizes, const Ints& axes) {
  Places places{{0}, {0}};
  const std::vector<std::int64_t> strides = row_major_strides(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool is_reduced = std::ranges::binary_search(axes, static_cast<std::int64_t>(i));
    std::vector<std::int64_t>& list = is_reduced ? places.reduced : places.kept;
    std::vector<std::int64_t> next;
    next.reserve(list.size() * static_cast<std::size_t>(sizes[i]));
    for (const std::int64_t place : list) {
      for (std::int64_t k = 0; k < sizes[i]; ++k) next.push_back(place + k * strides[i]);
    }
    list = std::move(next);
  }
  return places;
}

// The numbers that one element of the result reduces.
template <class Number>
class Members {
 public:
  Members(const Number* numbers, std::int64_t first, const std::vector<std::int64_t>& offsets)
      : numbers_(numbers), first_(first), offsets_(offsets) {}
  std::size_t size() const { return offsets_.size(); }
  Number operator[](std::size_t i) const { return numbers_[first_ + offsets_[i]]; }
  template <class Use>
  void for_each(Use use) const {
    for (const std::int64_t offset : offsets_) use(numbers_[first_ + offset]);
  }

 private:
  const Number* numbers_;
  std::int64_t first_;
  const std::vector<std::int64_t>& offsets_;
};

// Calls of(members) for each element of the result.
template <class Number, class Result, class Of>
Tensor reduce(const KernelContext& context, const Ints& axes, Of of) {
  Tensor result = context.result();
  const Tensor& input = context.inputs[0];
  const Places places = places_of(input.sizes(), axes);
  const Number* numbers = input.data<Number>().data();
  const std::span<Result> out = result.mutable_data<Result>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = of(Members<Number>(numbers, places.kept[i], places.reduced));
  return result;
}

template <class Number>
Number sum_of(const Members<Number>& members) {
  Accumulator<Number> sum{};
  members.for_each([&](Number number) { sum += static_cast<Accumulator<Number>>(number); });
  return static_cast<Number>(sum);
}

Expected<Tensor> sum(const KernelContext& context) {
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, Number>(context, context.as<ReduceAttrs>().axes, sum_of<Number>);
  });
}

Expected<Tensor> prod(const KernelContext& context) {
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, Number>(context, context.as<ReduceAttrs>().axes, [](const Members<Number>& members) {
      Accumulator<Number> product{1};
      members.for_each([&](Number number) { product *= static_cast<Accumulator<Number>>(number); });
      return static_cast<Number>(product);
    });
  });
}

template <class Number>
double mean_of(const Members<Number>& members) {
  double total = 0;
  members.for_each([&](Number number) { total += static_cast<double>(number); });
  return total / static_cast<double>(members.size());
}

Expected<Tensor> mean(const KernelContext& context) {
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, Number>(context, context.as<ReduceAttrs>().axes,
                                  [](const Members<Number>& members) { return static_cast<Number>(mean_of(members)); });
  });
}

// The first of the greatest (or smallest) numbers; NaN is greater and smaller than all others.
template <bool kGreatest, class Number>
std::size_t extreme_of(const Members<Number>& members) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_nan(members[best])) break;
    const bool is_better = kGreatest ? members[i] > members[best] : members[i] < members[best];
    if (is_better || is_nan(members[i])) best = i;
  }
  return best;
}

bool has_members(const KernelContext& context) {
  const Tensor& input = context.inputs[0];
  return input.count() > 0;
}

template <bool kGreatest>
Expected<Tensor> extreme(const KernelContext& context) {
  if (!has_members(context)) return bad_input("the maximum or minimum of an empty tensor is undefined");
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, Number>(context, context.as<ReduceAttrs>().axes, [](const Members<Number>& members) {
      return members[extreme_of<kGreatest>(members)];
    });
  });
}

template <bool kGreatest>
Expected<Tensor> position(const KernelContext& context) {
  if (!has_members(context)) return bad_input("argmax and argmin of an empty tensor are undefined");
  return dispatch(context.inputs[0].dtype(), [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, std::int64_t>(context, context.as<ReduceAttrs>().axes, [](const Members<Number>& members) {
      return static_cast<std::int64_t>(extreme_of<kGreatest>(members));
    });
  });
}

// `kAll`: whether none is zero; otherwise whether any is not. NaN is not zero.
template <bool kAll>
Expected<Tensor> boolean(const KernelContext& context) {
  return dispatch(context.inputs[0].dtype(), [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, std::uint8_t>(context, context.as<ReduceAttrs>().axes, [](const Members<Number>& members) {
      bool result = kAll;
      members.for_each([&](Number number) {
        const bool is_true = number != Number{};
        result = kAll ? result && is_true : result || is_true;
      });
      return static_cast<std::uint8_t>(result);
    });
  });
}

Expected<Tensor> variance(const KernelContext& context) {
  const auto& attrs = context.as<VarianceAttrs>();
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, Number>(context, attrs.axes, [&](const Members<Number>& members) {
      const double mean = mean_of(members);
      double squares = 0;
      members.for_each([&](Number number) {
        const double difference = static_cast<double>(number) - mean;
        squares += difference * difference;
      });
      const double degrees = std::max(0.0, static_cast<double>(members.size()) - attrs.correction);
      return static_cast<Number>(squares / degrees);
    });
  });
}

template <class Number>
double norm_of(const Members<Number>& members, double order) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isinf(order)) {
    const bool is_greatest = order > 0;
    double result = is_greatest ? 0 : kInfinity;
    members.for_each([&](Number number) {
      const double size = std::abs(static_cast<double>(number));
      if (std::isnan(size) || (is_greatest ? size > result : size < result))
        result = std::isnan(result) ? result : size;
    });
    return result;
  }
  double total = 0;
  members.for_each([&](Number number) {
    const double size = std::abs(static_cast<double>(number));
    total += order == 0   ? (size != 0 ? 1.0 : 0.0)
             : order == 1 ? size
             : order == 2 ? size * size
                          : portable::pow(size, order);
  });
  return order == 0 || order == 1 ? total : order == 2 ? std::sqrt(total) : portable::pow(total, 1 / order);
}

Expected<Tensor> vector_norm(const KernelContext& context) {
  const auto& attrs = context.as<VectorNormAttrs>();
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, Number>(context, attrs.axes, [&](const Members<Number>& members) {
      return static_cast<Number>(norm_of(members, attrs.order));
    });
  });
}

Expected<Tensor> logsumexp(const KernelContext& context) {
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return reduce<Number, Number>(context, context.as<ReduceAttrs>().axes, [](const Members<Number>& members) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (members.size() == 0) return static_cast<Number>(-kInfinity);
      const auto greatest = static_cast<double>(members[extreme_of<true>(members)]);
      // Infinities would be subtracted from themselves.
      const double shift = std::isinf(greatest) ? 0 : greatest;
      double total = 0;
      members.for_each([&](Number number) { total += portable::exp(static_cast<double>(number) - shift); });
      return static_cast<Number>(portable::log(total) + shift);
    });
  });
}

}  // namespace

std::span<const KernelDef> reduce_kernels() {
  static const KernelDef kKernels[] = {
      {Op::kSum, sum},
      {Op::kMean, mean},
      {Op::kProd, prod},
      {Op::kAmax, extreme<true>},
      {Op::kAmin, extreme<false>},
      {Op::kAny, boolean<false>},
      {Op::kAll, boolean<true>},
      {Op::kArgmax, position<true>},
      {Op::kArgmin, position<false>},
      {Op::kVariance, variance},
      {Op::kVectorNorm, vector_norm},
      {Op::kLogsumexp, logsumexp},
      {Op::kSoftmax, softmax},
      {Op::kLogSoftmax, log_softmax},
      {Op::kCumsum, cumsum},
      {Op::kCumprod, cumprod},
      {Op::kSort, sort},
      {Op::kArgsort, argsort},
  };
  return kKernels;
}

}  // namespace isthmus
