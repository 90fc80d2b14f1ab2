// The table of host kernels.
#include "run/host_kernels.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "formats/pte_signatures.h"

namespace isthmus::run {
namespace {

// The files of this folder are the only place outside of ops/ and lower/ that knows a frontend's names: they are those
// of the file format.
std::vector<HostKernel> make_table() {
  std::vector<HostKernel> table;
  for (const auto family :
       {movement_host_kernels(), elementwise_host_kernels(), index_host_kernels(), reduce_host_kernels(),
        layer_host_kernels(), type_host_kernels(), primitive_host_kernels()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  for (HostKernel& kernel : table) {
    const pte::Signature* signature = pte::find_signature(kernel.name);
    CHECK(signature != nullptr, "a kernel without a signature: " + std::string(kernel.name));
    kernel.arity = signature->arity();
  }
  std::ranges::sort(table, {}, &HostKernel::name);
  return table;
}

bool is_state(const pte::Plan& plan, pte::ValueIndex value) {
  const auto* tensor = std::get_if<pte::Tensor>(&plan.values[value]);
  return tensor != nullptr && tensor->is_state();
}

// Whether a call copies the value to a state.
bool is_written_back(const pte::Plan& plan, pte::ValueIndex value) {
  for (const pte::Chain& chain : plan.chains) {
    for (const pte::Instruction& instruction : chain.instructions) {
      const auto* call = std::get_if<pte::KernelCall>(&instruction);
      if (call == nullptr || call->args.size() < 2 || call->args[1] != value || !is_state(plan, call->args[0]))
        continue;
      const HostKernel* kernel = find_host_kernel(full_name(plan.operators[call->operator_index]));
      if (kernel != nullptr && kernel->border == Border::kWritesBack) return true;
    }
  }
  return false;
}

}  // namespace

const HostKernel* find_host_kernel(std::string_view name) {
  static const std::vector<HostKernel> kTable = make_table();
  const auto found = std::ranges::lower_bound(kTable, name, {}, &HostKernel::name);
  return found == kTable.end() || found->name != name ? nullptr : &*found;
}

std::string full_name(const pte::Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

bool is_border_call(const pte::Plan& plan, const HostKernel& kernel, std::span<const pte::ValueIndex> args) {
  if (kernel.border == Border::kNone || args.size() != kernel.arity) return false;
  const auto is_in = [](const std::vector<pte::ValueIndex>& list, pte::ValueIndex value) {
    return std::ranges::find(list, value) != list.end();
  };
  switch (kernel.border) {
    case Border::kNone:
      break;
    case Border::kQuantizes:
      return is_in(plan.inputs, args.front()) || is_state(plan, args.front());
    case Border::kDequantizes:
      return is_in(plan.outputs, args.back()) || is_state(plan, args.back()) || is_written_back(plan, args.back());
    case Border::kWritesBack:
      return is_in(plan.inputs, args.front()) || is_state(plan, args.front());
  }
  return false;
}

}  // namespace isthmus::run
