// Finding rows.
#include "backends/integers.h"

#include "ops/table.h"

namespace isthmus {

const SharingRow* sharing_of(const IntegerRules& rules, Op op) {
  const SharingRow* by_flow = nullptr;
  for (const SharingRow& row : rules.sharing) {
    if (const Op* of = std::get_if<Op>(&row.of); of != nullptr && *of == op) return &row;
    if (const QFlow* of = std::get_if<QFlow>(&row.of); of != nullptr && *of == def(op).flow) by_flow = &row;
  }
  return by_flow;
}

bool must_share(const IntegerRules& rules, Op op) {
  const SharingRow* row = sharing_of(rules, op);
  return row != nullptr && row->sharing == Sharing::kMustEqual;
}

bool is_data_input(Op op, std::size_t input) {
  const OpDef& row = def(op);
  if (row.roles.empty()) return false;
  return row.roles[input < row.roles.size() ? input : row.roles.size() - 1] == Role::kData;
}

}  // namespace isthmus
