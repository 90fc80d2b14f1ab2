// Reads, writes and compares baselines.
#include "report/baseline.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "formats/json.h"
#include "report/json_parts.h"

namespace isthmus {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::string>;  // op, code, module, file

Key key_of(const Baseline::Fallback& row) { return {row.op, row.code, row.module, row.file}; }

std::string text_of(const Baseline::Fallback& row) {
  std::string out = harmless(row.op);
  if (!row.file.empty())
    out += fmt::format(" ({}{})", harmless(row.file), row.module.empty() ? "" : ", " + harmless(row.module));
  return out + fmt::format(" [{}]", harmless(row.code));
}

Expected<std::size_t> count_of(json::Value object, std::string_view key) {
  const json::Value value = TRY(object.get(key));
  const std::int64_t number = TRY(value.as_integer());
  if (number < 0) return value.expected("a count");
  return static_cast<std::size_t>(number);
}

Expected<std::optional<std::size_t>> count_if_there(json::Value object, std::string_view key) {
  if (!TRY(object.find(key))) return std::nullopt;
  return TRY(count_of(object, key));
}

Expected<std::string> text_at(json::Value object, std::string_view key) {
  return std::string(TRY(TRY(object.get(key)).as_text()));
}

Expected<Baseline::Fallback> read_fallback(json::Value row) {
  return Baseline::Fallback{TRY(text_at(row, "op")), TRY(text_at(row, "code")), TRY(text_at(row, "module")),
                            TRY(text_at(row, "file")), TRY(count_of(row, "count"))};
}

void compare(std::vector<std::string>& out, std::string_view what, std::optional<std::size_t> before,
             std::optional<std::size_t> now) {
  if (before && now && *before != *now) out.push_back(fmt::format("{}: {} -> {}", what, *before, *now));
}

void compare_sizes(std::vector<std::string>& out, std::string_view what, std::optional<std::uint64_t> before,
                   std::optional<std::uint64_t> now) {
  if (!before || !now || *now <= *before) return;
  out.push_back(fmt::format("{}: {} -> {} bytes (+{})", what, with_separators(*before), with_separators(*now),
                            with_separators(*now - *before)));
}

}  // namespace

Baseline baseline_of(const CompileSummary& summary) {
  Baseline result{.target = summary.target,
                  .delegates = summary.delegates,
                  .delegated_nodes = summary.delegated_nodes,
                  .host = {},
                  .has_data = summary.has_parameters,
                  .groups = {},
                  .rescales = {},
                  .bytes = {},
                  .memory_bytes = {}};
  std::map<Key, std::size_t> counts;
  for (const CompileSummary::HostNode& node : summary.host) {
    ++counts[{node.op, node.code, node.module, node.origin.substr(0, node.origin.rfind(':'))}];
  }
  for (const auto& [key, count] : counts) {
    result.host.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), count});
  }
  if (summary.is_quantized) {
    result.groups = summary.groups;
    result.rescales = summary.rescales.size();
  }
  if (summary.file) {
    result.bytes = summary.file->bytes;
    result.memory_bytes = summary.file->memory_bytes;
  }
  return result;
}

std::string to_text(const Baseline& baseline) {
  Json json{{"schema_version", kSchemaVersion},
            {"target", baseline.target},
            {"delegates", baseline.delegates},
            {"delegated_nodes", baseline.delegated_nodes},
            {"has_data", baseline.has_data}};
  if (baseline.groups) json["groups"] = *baseline.groups;
  if (baseline.rescales) json["rescales"] = *baseline.rescales;
  if (baseline.bytes) json["bytes"] = *baseline.bytes;
  if (baseline.memory_bytes) json["memory_bytes"] = *baseline.memory_bytes;
  const auto line = [](const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::string out = "{\n";
  for (const auto& [key, value] : json.items()) out += fmt::format("  {}: {},\n", line(key), line(value));
  out += "  \"host\": [";
  for (const Baseline::Fallback& row : baseline.host) {
    out += fmt::format(
        "{}\n    {}", &row == baseline.host.data() ? "" : ",",
        line({{"op", row.op}, {"code", row.code}, {"module", row.module}, {"file", row.file}, {"count", row.count}}));
  }
  return out + (baseline.host.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Expected<Baseline> read_baseline(std::string_view text) {
  const json::Document document = TRY(json::Document::parse(text));
  const json::Value root = document.root();
  if (TRY(count_of(root, "schema_version")) != kSchemaVersion) {
    return TRY(root.get("schema_version"))
        .expected(fmt::format("{}: write it anew with --write-baseline", kSchemaVersion));
  }
  Baseline result;
  result.target = TRY(text_at(root, "target"));
  result.delegates = TRY(count_of(root, "delegates"));
  result.delegated_nodes = TRY(count_of(root, "delegated_nodes"));
  result.host = TRY(json::read_each(TRY(root.get("host")), read_fallback));
  result.has_data = TRY(TRY(root.get("has_data")).as_bool());
  result.groups = TRY(count_if_there(root, "groups"));
  result.rescales = TRY(count_if_there(root, "rescales"));
  result.bytes = TRY(count_if_there(root, "bytes"));
  result.memory_bytes = TRY(count_if_there(root, "memory_bytes"));
  return result;
}

std::vector<std::string> differences(const Baseline& before, const Baseline& now) {
  std::vector<std::string> out;
  if (before.target != now.target) {
    out.push_back(fmt::format("target: {} -> {}", harmless(before.target), now.target));
    return out;  // nothing else can be compared
  }
  compare(out, "delegates", before.delegates, now.delegates);
  compare(out, "operators in delegates", before.delegated_nodes, now.delegated_nodes);
  std::map<Key, std::pair<std::size_t, std::size_t>> counts;
  std::map<Key, const Baseline::Fallback*> rows;
  for (const Baseline::Fallback& row : before.host) {
    counts[key_of(row)].first += row.count;
    rows[key_of(row)] = &row;
  }
  for (const Baseline::Fallback& row : now.host) {
    counts[key_of(row)].second += row.count;
    rows[key_of(row)] = &row;
  }
  for (const auto& [key, count] : counts) {
    const auto [was, is] = count;
    if (was == is) continue;
    const std::string_view what = was == 0 ? "new on the CPU" : is == 0 ? "no longer on the CPU" : "on the CPU";
    const std::string times = was != 0 && is != 0     ? fmt::format(": {} -> {}", was, is)
                              : std::max(was, is) > 1 ? fmt::format(": {} times", std::max(was, is))
                                                      : "";
    out.push_back(fmt::format("{}: {}{}", what, text_of(*rows[key]), times));
  }
  if (before.has_data == now.has_data) {
    compare(out, "groups that share a scale", before.groups, now.groups);
    compare(out, "requantize nodes", before.rescales, now.rescales);
  }
  compare_sizes(out, "program file", before.bytes, now.bytes);
  compare_sizes(out, "memory for values", before.memory_bytes, now.memory_bytes);
  return out;
}

}  // namespace isthmus
