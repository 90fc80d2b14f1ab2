// The files of the table, by family of kernels, and what they share.
#pragma once

#include <numeric>
#include <span>

#include "targets/host/kernel.h"
#include "targets/host/names.h"
#include "targets/host/node_writer.h"
#include "targets/host/running_call.h"

namespace isthmus::host {

struct Family {
  std::span<const Kernel> kernels;
  std::span<const WrittenOp> composites;  // ops that calls of several kernels compute, or the kernel of another op
};

Family elementwise_family();
Family division_family();
Family movement_family();
Family index_family();
Family reduce_family();
Family product_family();
Family image_family();
Family norm_family();
Family type_family();
Family primitive_family();
Family number_family();
Family copy_family();

// The call of the row's kernel with the inputs and nothing else.
Expected<void> write_inputs(NodeWriter& node);

template <Op op>
Expected<void> run_binary(RunningCall& call) {
  return call.store(2, op, NoAttrs{}, TRY(call.tensor(0)), TRY(call.tensor(1)));
}

// A kernel of two tensors that is one op.
template <Op op>
constexpr Kernel binary(std::string_view name, ElementTypes types = ElementTypes::kNumbers) {
  return {name, "tt", run_binary<op>, {op, write_inputs, types}};
}

inline Ints all_axes(const Tensor& tensor) {
  Ints axes(tensor.sizes().size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// A tensor without axes.
template <class Number>
Tensor scalar(Number number) {
  Tensor result(ElementType<Number>::kDType, {});
  result.mutable_data<Number>()[0] = number;
  return result;
}

}  // namespace isthmus::host
