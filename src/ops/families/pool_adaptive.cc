// Pools that are told the size of their result: means and plain pools where the windows come out equal.
#include <fmt/format.h>

#include <algorithm>

#include "ops/demands.h"
#include "ops/families/pool.h"

namespace isthmus {
namespace {

struct AdaptivePool {
  PoolInput input;
  Dims size;
};

Expected<AdaptivePool> read_adaptive(Call& call, std::size_t spatial) {
  AdaptivePool pool{TRY(pool_input(call, spatial)), TRY(call.dims("output_size"))};
  if (pool.size.size() == 1) pool.size.resize(spatial, pool.size[0]);
  if (pool.size.size() != spatial) {
    return bad_input(fmt::format("{}: {} sizes, expected {}", call.target(), pool.size.size(), spatial));
  }
  if (spatial == 1) pool.size.insert(pool.size.begin(), Dim(1));
  return pool;
}

// The average of everything is a mean, written as users write it.
Expected<std::optional<ValueId>> mean_instead(Call& call, std::size_t spatial) {
  const Dims size = TRY(call.dims("output_size"));
  const ValueId self = TRY(call.tensor("self"));
  const auto rank = static_cast<std::size_t>(call.rank(self));
  const bool is_to_one = std::ranges::all_of(size, [](Dim dim) { return dim.is(1); });
  if (!is_to_one || size.empty() || rank < spatial) return std::nullopt;
  ReduceAttrs attrs{{}, true};
  for (std::size_t i = rank - spatial; i < rank; ++i) attrs.axes.push_back(static_cast<std::int64_t>(i));
  return TRY(call.emit(Op::kMean, std::move(attrs), {self}));
}

// The window that all places of the result share; nothing where windows differ.
std::optional<Ints> equal_windows(Call& call, const AdaptivePool& pool) {
  Ints window;
  for (std::size_t i = 0; i < pool.size.size(); ++i) {
    const Dim from = call.shape(pool.input.value)[i + 2];
    const Dim to = pool.size[i];
    // An axis that keeps its size, or goes down to one that divides it.
    if (from == to) {
      window.push_back(1);
    } else if (from.is_fixed() && to.is_fixed() && to.value() > 0 && from.value() % to.value() == 0 &&
               from.value() > 0) {
      window.push_back(from.value() / to.value());
    } else {
      return std::nullopt;
    }
  }
  return window;
}

bool keeps_size(const Ints& window) {
  return std::ranges::all_of(window, [](std::int64_t size) { return size == 1; });
}

// A pool over three axes is one over the last two, then one over the first with the others as one that keeps its size.
Expected<ValueId> pool_in_two_steps(Call& call, const AdaptivePool& pool, Op op) {
  const Shape shape = call.shape(pool.input.value);
  Exprs& exprs = call.exprs();
  ValueId value =
      TRY(call.reshape(pool.input.value, {shape[0], exprs.multiply(shape[1], shape[2]), shape[3], shape[4]}));
  value = TRY(call.emit(op, SizeAttrs{{pool.size[1], pool.size[2]}}, {value}));
  const Dim plane = exprs.multiply(pool.size[1], pool.size[2]);
  value = TRY(call.reshape(value, {shape[0], shape[1], shape[2], plane}));
  value = TRY(call.emit(op, SizeAttrs{{pool.size[0], plane}}, {value}));
  return call.reshape(value, {shape[0], shape[1], pool.size[0], pool.size[1], pool.size[2]});
}

Expected<Values> read_average(Call& call, std::size_t spatial) {
  if (const auto mean = TRY(mean_instead(call, spatial))) return Values{*mean};
  const AdaptivePool pool = TRY(read_adaptive(call, spatial));
  const ValueId input = pool.input.value;
  ValueId result = input;
  const auto window = equal_windows(call, pool);
  if (window && keeps_size(*window)) {
    result = input;
  } else if (window) {
    AvgPoolAttrs attrs{.kernel = *window, .stride = *window, .padding = Ints(2 * window->size(), 0)};
    result = TRY(call.emit(spatial == 3 ? Op::kAvgPool3d : Op::kAvgPool2d, std::move(attrs), {input}));
  } else if (spatial == 3) {
    result = TRY(pool_in_two_steps(call, pool, Op::kAdaptiveAvgPool2d));
  } else {
    result = TRY(call.emit(Op::kAdaptiveAvgPool2d, SizeAttrs{pool.size}, {input}));
  }
  return one(pool_result(call, pool.input, result));
}

// Values and positions.
Expected<Values> read_greatest(Call& call, std::size_t spatial) {
  const AdaptivePool pool = TRY(read_adaptive(call, spatial));
  const ValueId input = pool.input.value;
  Values results;
  if (const auto window = equal_windows(call, pool)) {
    const MaxPoolAttrs attrs{.kernel = *window,
                             .stride = *window,
                             .padding = Ints(2 * window->size(), 0),
                             .dilation = Ints(window->size(), 1)};
    results.push_back(TRY(call.emit(spatial == 3 ? Op::kMaxPool3d : Op::kMaxPool2d, attrs, {input})));
    results.push_back(TRY(call.emit(spatial == 3 ? Op::kMaxPool3dIndices : Op::kMaxPool2dIndices, attrs, {input})));
  } else if (spatial == 3) {
    return Call::unsupported("adaptive max_pool3d with indices and unequal windows is not supported");
  } else {
    results.push_back(TRY(call.emit(Op::kAdaptiveMaxPool2d, SizeAttrs{pool.size}, {input})));
    results.push_back(TRY(call.emit(Op::kAdaptiveMaxPool2dIndices, SizeAttrs{pool.size}, {input})));
  }
  for (ValueId& result : results) result = TRY(pool_result(call, pool.input, result));
  return results;
}

}  // namespace

Expected<Values> read_adaptive_avg_pool1d(Call& call) { return read_average(call, 1); }
Expected<Values> read_adaptive_avg_pool2d(Call& call) { return read_average(call, 2); }
Expected<Values> read_adaptive_avg_pool3d(Call& call) { return read_average(call, 3); }
Expected<Values> read_adaptive_max_pool1d(Call& call) { return read_greatest(call, 1); }
Expected<Values> read_adaptive_max_pool2d(Call& call) { return read_greatest(call, 2); }
Expected<Values> read_adaptive_max_pool3d(Call& call) { return read_greatest(call, 3); }

}  // namespace isthmus
