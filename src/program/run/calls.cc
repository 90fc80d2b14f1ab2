// Asks the table of host kernels.
#include "program/run/calls.h"

#include "targets/host/kernel.h"

namespace isthmus::run {

std::string kernel_of(const pte::Plan& plan, const pte::KernelCall& call) {
  return host::full_name(plan.operators[call.operator_index]);
}

bool is_io_call(const pte::Plan& plan, const pte::KernelCall& call) {
  const host::Kernel* kernel = host::find_kernel(kernel_of(plan, call));
  return kernel != nullptr && host::is_io_call(plan, *kernel, call.args);
}

}  // namespace isthmus::run
