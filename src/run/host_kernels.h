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

// Kernels that stand at the model's border rather than compute: between numbers and codes.
enum class Border : std::uint8_t { kNone, kQuantizes, kDequantizes };

struct HostKernel {
  std::string_view name;  // with its overload after a dot
  std::size_t arity;      // the schema's arguments, outs included, and once more the result
  Expected<void> (*run)(HostCall&);
  Border border = Border::kNone;
};

// Null if there is none of this name.
const HostKernel* find_host_kernel(std::string_view name);

// The name under which the kernel of an operator is found.
std::string full_name(const pte::Operator& op);

// Whether the call quantizes an input of the plan or dequantizes one of its outputs.
bool is_border_call(const pte::Plan& plan, const HostKernel& kernel, std::span<const pte::ValueIndex> args);

}  // namespace isthmus::run
