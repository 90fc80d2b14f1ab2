// Names and default attributes of the ops.
#include "ir/op.h"

#include <array>

namespace isthmus {
namespace {

constexpr std::array<std::string_view, kOpCount> kNames{
#define OP(enumerator, name, ...) name,
#include "ir/ops.def"
#undef OP
};

}  // namespace

std::string_view name_of(Op op) { return kNames.at(static_cast<std::size_t>(op)); }

std::optional<Op> op_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}

Attrs default_attrs(Op op) {
  switch (op) {
#define OP(enumerator, name, attributes) \
  case Op::enumerator:                   \
    return attributes{};
#include "ir/ops.def"
#undef OP
  }
  return NoAttrs{};
}

}  // namespace isthmus
