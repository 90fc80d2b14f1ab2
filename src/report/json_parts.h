// What all JSON objects that the command line prints have in common.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/diag.h"
#include "report/causes.h"

namespace isthmus {

using Json = nlohmann::ordered_json;

// Names come from untrusted files: bytes that are no UTF-8 are replaced, never a reason to fail.
inline std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// JSON has no infinity: what is exact is said to be this good.
inline double finite_db(double db) { return std::min(db, 200.0); }

inline Json causes_json(const std::vector<CauseRow>& rows) {
  Json list = Json::array();
  for (const CauseRow& row : rows) {
    list.push_back({{"node", row.node},
                    {"op", row.op},
                    {"origin", row.origin},
                    {"module", row.module},
                    {"code", row.code},
                    {"because", row.text}});
  }
  return list;
}

inline Json diagnostics_json(const std::vector<Diagnostic>& entries) {
  Json list = Json::array();
  for (const Diagnostic& entry : entries) {
    list.push_back({{"code", entry.code}, {"node", entry.node}, {"text", entry.text}});
  }
  return list;
}

}  // namespace isthmus
