// Loops over elements, one by one or in pairs that broadcast.
#pragma once

#include <array>

#include "interpret/kernel.h"

namespace isthmus {

// A row of the result and its inputs: where each begins, in elements, and how far apart the inputs' are.
struct PairRow {
  std::int64_t at;
  std::array<std::int64_t, 2> from;
  std::array<std::int64_t, 2> step;
  std::int64_t count;
};
// Calls visit(data, row) for all rows of a result that two inputs broadcast to; fails where they do not. This is
// compiled once, not for each of the many types and operations.
Expected<void> for_each_pair_row(const KernelContext& context, void (*visit)(const void* data, const PairRow& row),
                                 const void* data);

// out[i] = apply(a[i], b[i])
template <class In, class Out, class Apply>
Expected<void> map_pairs(const KernelContext& context, Tensor& result, Apply apply) {
  const In* const a = context.inputs[0].data<In>().data();
  const In* const b = context.inputs[1].data<In>().data();
  Out* const out = result.mutable_data<Out>().data();
  const auto map_row = [=, &apply](const PairRow& row) {
    Out* const to = out + row.at;
    const In* const x = a + row.from[0];
    const In* const y = b + row.from[1];
    const auto [step_a, step_b] = row.step;
    const std::int64_t count = row.count;
    if (step_a == 1 && step_b == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = apply(x[i], y[i]);
    } else if (step_a == 1 && step_b == 0) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = apply(x[i], *y);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = apply(x[i * step_a], y[i * step_b]);
    }
  };
  using Map = decltype(map_row);
  return for_each_pair_row(
      context, [](const void* map, const PairRow& row) { (*static_cast<const Map*>(map))(row); }, &map_row);
}

// Functions of one real number.
template <class Apply>
Expected<Tensor> map_floats(const KernelContext& context, Apply apply) {
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const auto in = context.inputs[0].data<Number>();
    const auto out = result.mutable_data<Number>();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = static_cast<Number>(apply(in[i]));
  });
  return result;
}

// Functions of one number of any type.
template <class Apply>
Expected<Tensor> map_numbers(const KernelContext& context, Apply apply) {
  Tensor result = context.result();
  dispatch(context.dtype, [&]<class Number>(Number) {
    const auto in = context.inputs[0].data<Number>();
    const auto out = result.mutable_data<Number>();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = static_cast<Number>(apply(in[i]));
  });
  return result;
}

// Questions about one real number.
template <class Ask>
Expected<Tensor> ask_floats(const KernelContext& context, Ask ask) {
  Tensor result = context.result();
  const auto out = result.mutable_data<std::uint8_t>();
  dispatch_float(context.inputs[0].dtype(), [&]<class Number>(Number) {
    const auto in = context.inputs[0].data<Number>();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = ask(in[i]) ? 1 : 0;
  });
  return result;
}

}  // namespace isthmus
