// The table of element types.
#include "base/dtype.h"

#include <algorithm>
#include <array>

namespace isthmus {
namespace {

constexpr std::array kTable{
#define DTYPE(enumerator, name, bytes, kind) DTypeInfo{DType::enumerator, name, bytes, kind},
#include "base/dtypes.def"
#undef DTYPE
};

}  // namespace

const DTypeInfo& info(DType dtype) { return kTable.at(static_cast<std::size_t>(dtype)); }

std::optional<DType> dtype_from_name(std::string_view name) {
  const auto row = std::ranges::find(kTable, name, &DTypeInfo::name);
  if (row == kTable.end()) return std::nullopt;
  return row->dtype;
}

}  // namespace isthmus
