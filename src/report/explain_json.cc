// What `explain` prints for scripts. Keys are stable.
#include "report/explain.h"
#include "report/json_parts.h"
#include "report/json_place.h"
#include "report/overview.h"

namespace isthmus {
namespace {

Json range_json(const Range& range) { return {range.min, range.max}; }

Json group_json(const Explanation::SharedScale& group) {
  Json members = Json::array();
  for (const Explanation::GroupMember& member : group.members) {
    Json row{{"value", member.value}, {"bits_lost", member.bits_lost}};
    row["own_range"] = member.own ? range_json(*member.own) : Json(nullptr);
    row["tie"] = nullptr;
    if (const auto& tie = member.tie) {
      row["tie"] = {
          {"op", tie->op}, {"node", tie->node}, {"because", tie->because}, {"origin", tie->origin}, {"of", tie->of}};
    }
    members.push_back(std::move(row));
  }
  Json json{{"members", std::move(members)}, {"storage", group.storage}};
  json["scale"] = group.has_parameters ? Json(group.scale) : Json(nullptr);
  json["zero_point"] = group.has_parameters ? Json(group.zero_point) : Json(nullptr);
  json["range"] = group.has_parameters ? range_json(group.range) : Json(nullptr);
  json["pin"] = nullptr;
  if (!group.pin.empty()) json["pin"] = {{"value", group.pin}, {"origin", group.pin_origin}};
  return json;
}

Json node_json(const Explanation& of) {
  return {{"node", of.node},     {"op", of.op},     {"origin", of.origin},       {"call", of.call},
          {"module", of.module}, {"type", of.type}, {"precision", of.precision}, {"place", of.place}};
}

}  // namespace

std::string to_json(const Explanation& explanation) {
  Json json = node_json(explanation);
  json["aliases"] = explanation.aliases;
  json["because"] = explanation.because;
  json["rewrites"] = Json::array();
  for (const Explanation::Rewritten& row : explanation.rewrites) {
    json["rewrites"].push_back({{"rewrite", row.rewrite}, {"what", row.what}, {"of", row.of}});
  }
  json["becomes"] = Json::array();
  for (const Explanation::DeviceOperators& row : explanation.becomes) {
    json["becomes"].push_back({{"operator", row.name}, {"count", row.count}});
  }
  json["readers"] = explanation.readers;
  json["group"] = explanation.group ? group_json(*explanation.group) : Json(nullptr);
  json["cuts"] = Json::array();
  for (const Explanation::CutEdge& cut : explanation.cuts) {
    json["cuts"].push_back({{"value", cut.value},
                            {"reader", cut.reader},
                            {"op", cut.op},
                            {"origin", cut.origin},
                            {"because", cut.because},
                            {"bits", cut.bits},
                            {"bytes", cut.bytes},
                            {"own", cut.is_own}});
  }
  json["conversions"] = Json::array();
  for (const Explanation::Converted& row : explanation.conversions) {
    json["conversions"].push_back({{"value", row.value}, {"kind", row.kind}, {"place", row.place}});
  }
  json["causes"] = causes_json(explanation.causes);
  json["fix"] = explanation.fix;
  if (const auto& error = explanation.error) {
    json["loss"] = {{"db", finite_db(error->db)},
                    {"cosine", error->cosine},
                    {"rounding_db", finite_db(error->rounding_db)},
                    {"alone_db", finite_db(error->alone_db)}};
  }
  return dump(json);
}

std::string to_json(const std::vector<Explanation>& matches) {
  Json list = Json::array();
  for (const Explanation& match : matches) list.push_back(node_json(match));
  return dump({{"matches", std::move(list)}});
}

std::string to_json(const Overview& overview) {
  const CompileSummary& summary = overview.summary;
  Json roots = Json::array();
  for (const Overview::Root& root : overview.roots) {
    Json row = causes_json({root.cause})[0];
    row["nodes"] = root.nodes;
    row["delegates"] = root.delegates;
    row["fix"] = root.fix;
    roots.push_back(std::move(row));
  }
  Json rewrites = Json::array();
  for (const Overview::Rewritten& row : overview.rewrites) {
    rewrites.push_back({{"rewrite", row.rewrite}, {"what", row.what}, {"nodes", row.nodes}, {"example", row.example}});
  }
  Json precisions = Json::array();
  for (const Overview::NodesOf& row : overview.precisions) {
    Json because = Json::array();
    for (const Overview::Because& reason : row.because) {
      because.push_back({{"because", reason.text}, {"nodes", reason.nodes}, {"example", reason.example}});
    }
    precisions.push_back({{"precision", row.precision}, {"nodes", row.nodes}, {"because", std::move(because)}});
  }
  Json groups = Json::array();
  for (const Overview::SharedScale& group : overview.groups) {
    Json row{{"first", group.first}, {"members", group.members}, {"storage", group.storage}};
    if (overview.has_ranges) {
      row["scale"] = group.scale;
      row["zero_point"] = group.zero_point;
      row["range"] = range_json(group.range);
    }
    if (!group.worst.empty()) row["worst"] = {{"value", group.worst}, {"bits_lost", group.worst_bits}};
    groups.push_back(std::move(row));
  }
  Json json = place_json(summary);
  json["roots"] = std::move(roots);
  json["rewrites"] = std::move(rewrites);
  json["precisions"] = std::move(precisions);
  json["conversions"] = overview.conversions;
  json["group_rows"] = std::move(groups);
  return dump(json);
}

}  // namespace isthmus
