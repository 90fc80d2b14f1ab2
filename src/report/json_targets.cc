// The tables of targets and ops, as JSON.
#include "ops/table.h"
#include "report/json_parts.h"
#include "report/op_table.h"
#include "report/target_table.h"
#include "targets/registry.h"

namespace isthmus {

std::string op_table_json() {
  const auto names = [](std::span<const Spelling> spellings) {
    Json list = Json::array();
    for (const Spelling& spelling : spellings) list.push_back(spelling.name);
    return list;
  };
  Json ops = Json::array();
  Json compounds = Json::array();
  for (const Family& family : families()) {
    for (const OpDef& row : family.ops) {
      ops.push_back({{"op", name_of(row.op)},
                     {"family", family.name},
                     {"flow", name_of(row.flow)},
                     {"spellings", names(row.spellings)}});
    }
    for (const Spelling& compound : family.compounds) {
      compounds.push_back({{"spelling", compound.name}, {"family", family.name}});
    }
  }
  return dump({{"ops", std::move(ops)}, {"compounds", std::move(compounds)}});
}

std::string targets_json() {
  Json targets = Json::array();
  for (const TargetDesc* target : all_targets()) targets.push_back({{"name", target->name}, {"what", target->what}});
  return dump({{"targets", targets}});
}

std::string target_json(const TargetDesc& target) {
  Json ops = Json::array();
  for (const Op op : target.ops()) ops.push_back(name_of(op));
  Json rules = Json::array();
  for (const Rewrite& row : target.legalize) rules.push_back({{"name", row.name}, {"what", row.what}});
  Json limits = Json::array();
  for (const LimitText& limit : target.limits == nullptr ? std::vector<LimitText>() : target.limits()) {
    limits.push_back({{"operator", limit.operator_name}, {"code", limit.code}, {"sentence", limit.sentence}});
  }
  return dump({{"name", target.name}, {"what", target.what}, {"ops", ops}, {"rules", rules}, {"limits", limits}});
}

}  // namespace isthmus
