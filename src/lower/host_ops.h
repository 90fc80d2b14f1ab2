// The ops that ExecuTorch's host kernels compute: by which name, and with which arguments.
#pragma once

#include <string_view>

#include "base/expected.h"
#include "lower/program_values.h"

namespace isthmus {

// Appends the arguments of a call before its out; each fails where the kernel cannot do what the node asks.
using WriteArguments = Expected<void> (*)(ProgramValues& values, const Node& node, std::vector<pte::ValueIndex>& args);

struct HostOp {
  Op op;
  std::string_view name;
  std::string_view overload;
  WriteArguments write;
};

// Null where ExecuTorch has no kernel for the op.
const HostOp* find_host_op(Op op);

}  // namespace isthmus
