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

}  // namespace

const HostKernel* find_host_kernel(std::string_view name) {
  static const std::vector<HostKernel> kTable = make_table();
  const auto found = std::ranges::lower_bound(kTable, name, {}, &HostKernel::name);
  return found == kTable.end() || found->name != name ? nullptr : &*found;
}

std::string full_name(const pte::Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

bool is_border_call(const pte::Plan& plan, const HostKernel& kernel, std::span<const pte::ValueIndex> args) {
  if (kernel.border == Border::kNone || args.size() != kernel.arity) return false;
  const bool is_entry = kernel.border == Border::kQuantizes;
  const std::vector<pte::ValueIndex>& outside = is_entry ? plan.inputs : plan.outputs;
  return std::ranges::find(outside, is_entry ? args.front() : args.back()) != outside.end();
}

}  // namespace isthmus::run
