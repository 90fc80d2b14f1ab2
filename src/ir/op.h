// The ops by name. What each of them is and does stands in ops/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/attrs.h"

namespace isthmus {

enum class Op : std::uint8_t {
#define OP(enumerator, ...) enumerator,
#include "ir/ops.def"
#undef OP
};

inline constexpr std::size_t kOpCount = 0
#define OP(...) +1
#include "ir/ops.def"
#undef OP
    ;

std::string_view name_of(Op op);
std::optional<Op> op_from_name(std::string_view name);
Attrs default_attrs(Op op);

}  // namespace isthmus
