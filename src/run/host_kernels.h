// The kernels of ExecuTorch that run on the host, by the names under which program files call them.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/expected.h"
#include "run/host_call.h"

namespace isthmus::run {

struct HostKernel {
  std::string_view name;  // with its overload after a dot
  std::size_t arity;      // the schema's arguments, outs included, and once more the result
  Expected<void> (*run)(HostCall&);
};

// Null if there is none of this name.
const HostKernel* find_host_kernel(std::string_view name);

}  // namespace isthmus::run
