// The table of ExecuTorch's own kernels, by op.
#include "targets/host/portable/kernels.h"

#include <array>

namespace isthmus::executorch_kernels {

const KernelDef* find_kernel(Op op) {
  static const auto kTable = [] {
    std::array<const KernelDef*, kOpCount> table{};
    for (const auto family :
         {arithmetic_kernels(), reduce_kernels(), norm_kernels(), product_kernels(), image_kernels(), type_kernels()}) {
      for (const KernelDef& row : family) table.at(static_cast<std::size_t>(row.op)) = &row;
    }
    return table;
  }();
  return kTable.at(static_cast<std::size_t>(op));
}

}  // namespace isthmus::executorch_kernels
