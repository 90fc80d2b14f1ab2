// The table of reference kernels, by op.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "interpret/half.h"
#include "interpret/kernel.h"

namespace isthmus {
namespace {

using Table = std::array<const KernelDef*, kOpCount>;

Table make_table() {
  Table table{};
  for (const auto family :
       {movement_kernels(), index_kernels(), type_kernels(), dynamic_kernels(), binary_kernels(), unary_kernels(),
        reduce_kernels(), conv_kernels(), product_kernels(), pool_kernels(), norm_kernels(), image_kernels()}) {
    for (const KernelDef& row : family) {
      const KernelDef*& place = table.at(static_cast<std::size_t>(row.op));
      CHECK(place == nullptr, "two kernels for " + std::string(name_of(row.op)));
      place = &row;
    }
  }
  return table;
}

Expected<void> demand_arithmetic(DType dtype) {
  const bool has_arithmetic =
      dtype == DType::kBool || is_integer(dtype) || dtype == DType::kF32 || dtype == DType::kF64 || is_half(dtype);
  if (has_arithmetic) return {};
  return fail(ErrorKind::kUnsupported, fmt::format("arithmetic on {} is not supported", name_of(dtype)));
}

}  // namespace

const KernelDef& kernel_def(Op op) {
  static const Table kTable = make_table();
  const KernelDef* row = kTable.at(static_cast<std::size_t>(op));
  CHECK(row != nullptr, "no kernel for " + std::string(name_of(op)));
  return *row;
}

Expected<Tensor> run_kernel(const KernelDef& row, const KernelContext& context) {
  // Kernels make tables as long as an axis, and beside an empty one another may be of any length.
  if (std::ranges::find(context.sizes, 0) != context.sizes.end()) return context.result();
  if (row.half == HalfPrecision::kAsBytes) return row.kernel(context);
  std::vector<Tensor> wide;
  bool has_half = is_half(context.dtype);
  for (const Tensor& input : context.inputs) {
    TRY(demand_arithmetic(input.dtype()));
    has_half = has_half || is_half(input.dtype());
    wide.push_back(widened(input));
  }
  TRY(demand_arithmetic(context.dtype));
  if (!has_half) return row.kernel(context);
  const DType compute = is_half(context.dtype) ? DType::kF32 : context.dtype;
  Attrs attrs = context.attrs;
  if (auto* target = std::get_if<DTypeAttrs>(&attrs); target != nullptr && is_half(target->dtype)) {
    target->dtype = DType::kF32;
  }
  const Tensor result = TRY(row.kernel({wide, attrs, compute, context.sizes}));
  return is_half(context.dtype) ? narrowed(result, context.dtype) : result;
}

}  // namespace isthmus
