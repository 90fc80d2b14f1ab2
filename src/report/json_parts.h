// What all JSON objects that the command line prints have in common.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "report/causes.h"
#include "report/rows.h"
#include "report/states.h"
#include "shard/manifest.h"

namespace isthmus {

using Json = nlohmann::ordered_json;

// Of the objects that the command line prints: grows when a key changes its meaning or goes, not when one is added.
inline constexpr int kSchemaVersion = 1;

// Names come from untrusted files: bytes that are not UTF-8 are replaced, never a reason to fail.
inline std::string dump(const Json& json) {
  Json object{{"schema_version", kSchemaVersion}};
  object.update(json);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// ["1", "3", "4*s0"] as [1, 3, "4*s0"].
inline Json shape_json(const std::vector<std::string>& shape) {
  Json result = Json::array();
  for (const std::string& dim : shape) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), number);
    const bool is_number = error == std::errc() && end == dim.data() + dim.size();
    result.push_back(is_number ? Json(number) : Json(dim));
  }
  return result;
}

inline Json counts_json(const Counts& counts) {
  Json result = Json::object();
  for (const auto& [name, count] : counts) result[name] = count;
  return result;
}

inline Json part_json(const Manifest& part) {
  Json shards = Json::array();
  for (const Manifest::Part& row : part.parts) {
    const SampleRange range = part.range_of(row);
    shards.push_back(
        {{"index", row.shard.index}, {"count", row.shard.count}, {"first", range.begin}, {"samples", range.count()}});
  }
  Json facts = Json::object();
  for (const Manifest::Fact& fact : part.facts) facts[fact.name] = fact.value;
  return {{"samples", part.known_samples()},
          {"of", part.samples},
          {"shards", std::move(shards)},
          {"facts", std::move(facts)}};
}

inline Json states_json(const std::vector<StateRow>& rows) {
  Json list = Json::array();
  for (const StateRow& row : rows) {
    list.push_back({{"name", row.name}, {"dtype", row.dtype}, {"shape", row.shape}, {"bytes", row.bytes}});
  }
  return list;
}

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

inline Json warnings_json(const std::vector<Diagnostic>& entries) {
  std::vector<Diagnostic> warnings;
  std::ranges::copy_if(entries, std::back_inserter(warnings),
                       [](const Diagnostic& entry) { return entry.severity == Severity::kWarning; });
  return diagnostics_json(warnings);
}

inline constexpr std::string_view kFailed = "failed";  // the kind of an error that is not a matter of usage
inline Json error_row(const Error& error, std::string_view kind) {
  return {{"kind", kind}, {"message", error.message}, {"places", error.places}};
}

}  // namespace isthmus
