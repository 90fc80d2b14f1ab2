// Loops over elements, one by one or in pairs that broadcast.
#pragma once

#include <array>

#include "exec/kernel.h"

namespace isthmus {

// How two inputs are read while the result is written from front to back. Neighbouring axes that both inputs walk
// alike are one; the last is the row.
struct PairWalk {
  std::vector<std::int64_t> sizes;                   // never empty
  std::array<std::vector<std::int64_t>, 2> strides;  // in elements; 0 where an input repeats
};
// Fails where the inputs do not broadcast to the sizes.
Expected<PairWalk> walk_pairs(const std::vector<std::int64_t>& sizes, const Tensor& a, const Tensor& b);

// Calls visit(index of the result, index of a, index of b) for the beginning of each row.
template <class Visit>
void for_each_row(const PairWalk& walk, Visit visit) {
  for (const std::int64_t size : walk.sizes) {
    if (size == 0) return;
  }
  const std::size_t outer = walk.sizes.size() - 1;
  std::vector<std::int64_t> position(outer, 0);
  std::int64_t at = 0;
  std::array<std::int64_t, 2> from{0, 0};
  while (true) {
    visit(at, from[0], from[1]);
    at += walk.sizes[outer];
    std::size_t axis = outer;
    while (axis > 0) {
      --axis;
      for (std::size_t k = 0; k < 2; ++k) from[k] += walk.strides[k][axis];
      if (++position[axis] < walk.sizes[axis]) break;
      for (std::size_t k = 0; k < 2; ++k) from[k] -= walk.strides[k][axis] * walk.sizes[axis];
      position[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

// out[i] = apply(a[i], b[i])
template <class In, class Out, class Apply>
Expected<void> map_pairs(const KernelContext& context, Tensor& result, Apply apply) {
  const PairWalk walk = TRY(walk_pairs(context.sizes, context.inputs[0], context.inputs[1]));
  const In* const a = context.inputs[0].data<In>().data();
  const In* const b = context.inputs[1].data<In>().data();
  Out* const out = result.mutable_data<Out>().data();
  const std::int64_t count = walk.sizes.back();
  const std::int64_t step_a = walk.strides[0].back();
  const std::int64_t step_b = walk.strides[1].back();
  for_each_row(walk, [&](std::int64_t at, std::int64_t from_a, std::int64_t from_b) {
    Out* const to = out + at;
    const In* const x = a + from_a;
    const In* const y = b + from_b;
    if (step_a == 1 && step_b == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = apply(x[i], y[i]);
    } else if (step_a == 1 && step_b == 0) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = apply(x[i], *y);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = apply(x[i * step_a], y[i * step_b]);
    }
  });
  return {};
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
