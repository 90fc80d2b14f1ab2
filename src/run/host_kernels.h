// The kernels of ExecuTorch that run on the host, by the names under which program files call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "formats/pte.h"
#include "run/host_call.h"

namespace isthmus::run {

// Kernels that stand at the model's border rather than compute: between numbers and codes, and to the states.
enum class Border : std::uint8_t { kNone, kQuantizes, kDequantizes, kWritesBack };

struct HostKernel {
  std::string_view name;             // with its overload after a dot
  Expected<void> (*run)(HostCall&);  // arguments are as many as the signature of this name has
  Border border = Border::kNone;
  std::size_t arity = 0;  // of that signature; filled in by the table
};

// Null if there is none of this name.
const HostKernel* find_host_kernel(std::string_view name);

// The name under which the kernel of an operator is found.
std::string full_name(const pte::Operator& op);

// Whether the call quantizes an input or a state of the plan, dequantizes one of its outputs or what is written to a
// state, or copies it there.
bool is_border_call(const pte::Plan& plan, const HostKernel& kernel, std::span<const pte::ValueIndex> args);

// The files of this table, by family of kernels.
std::span<const HostKernel> movement_host_kernels();
std::span<const HostKernel> elementwise_host_kernels();
std::span<const HostKernel> index_host_kernels();
std::span<const HostKernel> reduce_host_kernels();
std::span<const HostKernel> layer_host_kernels();
std::span<const HostKernel> type_host_kernels();
std::span<const HostKernel> primitive_host_kernels();

// A tensor without axes.
template <class Number>
Tensor scalar(Number number) {
  Tensor result(ElementType<Number>::kDType, {});
  result.mutable_data<Number>()[0] = number;
  return result;
}

}  // namespace isthmus::run
