// The table of reference kernels, by op.
#include <array>
#include <string>

#include "exec/kernel.h"

namespace isthmus {
namespace {

using Table = std::array<const KernelDef*, kOpCount>;

Table make_table() {
  Table table{};
  for (const auto family :
       {movement_kernels(), index_kernels(), type_kernels(), binary_kernels(), unary_kernels(), reduce_kernels(),
        conv_kernels(), product_kernels(), pool_kernels(), norm_kernels(), image_kernels()}) {
    for (const KernelDef& row : family) {
      const KernelDef*& place = table.at(static_cast<std::size_t>(row.op));
      CHECK(place == nullptr, "two kernels for " + std::string(name_of(row.op)));
      place = &row;
    }
  }
  return table;
}

}  // namespace

const KernelDef& kernel_def(Op op) {
  static const Table kTable = make_table();
  const KernelDef* row = kTable.at(static_cast<std::size_t>(op));
  CHECK(row != nullptr, "no kernel for " + std::string(name_of(op)));
  return *row;
}

}  // namespace isthmus
