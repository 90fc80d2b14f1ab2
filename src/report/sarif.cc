// Writes a log with one run: a result for each operator on the CPU and for each warning.
#include "report/sarif.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "report/json_parts.h"

namespace isthmus {
namespace {

// A path as a URI: what is not plain in it is percent-encoded.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char byte : path) {
    if (kPlain.find(byte) != std::string_view::npos) {
      uri += byte;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return uri;
}

class Log {
 public:
  Log(const CompileSummary& summary, const SourcePaths& paths) : summary_(summary), paths_(paths) {}

  void add(const CompileSummary::HostNode& node) {
    const bool is_own = node.causes.size() == 1;
    std::string text = fmt::format("{} runs on the CPU: {}.", node.call.empty() ? node.op : node.call, node.reason);
    if (!is_own) text += fmt::format(" Because of {}.", to_text(node.causes.back()));
    if (!node.hint.empty()) text += fmt::format(" {}{}.", node.needs_fix ? "What to do: " : "", node.hint);
    add_result(node.code, "an operator runs on the CPU", node.needs_fix ? "warning" : "note", text, node.origin,
               node.module, node.node);
  }
  void add(const Diagnostic& warning) {
    add_result(warning.code, "a warning of isthmus", "warning", warning.text, {}, {}, warning.node);
  }
  void add(const Error& error) { add_result("error", "the model does not compile", "error", error.text(), {}, {}, {}); }

  Json json() const {
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs",
             {{{"tool", {{"driver", {{"name", "isthmus"}, {"rules", rules_}}}}},
               {"properties", {{"model", summary_.model}, {"target", summary_.target}}},
               {"results", results_}}}}};
  }

 private:
  Json physical(const std::string& origin) const {
    const std::size_t colon = origin.rfind(':');
    if (origin.empty() || colon == std::string::npos) return {{"artifactLocation", {{"uri", uri_of(summary_.model)}}}};
    const auto known = paths_.find(origin);
    const std::string path = known == paths_.end() ? origin.substr(0, colon) : known->second;
    Json place{{"artifactLocation", {{"uri", uri_of(path)}}}};
    int line = 0;
    const auto [end, error] = std::from_chars(origin.data() + colon + 1, origin.data() + origin.size(), line);
    if (error == std::errc() && end == origin.data() + origin.size() && line > 0)
      place["region"] = {{"startLine", line}};
    return place;
  }

  void add_result(const std::string& code, const std::string& what, std::string_view level, const std::string& text,
                  const std::string& origin, const std::string& module, const std::string& node) {
    const auto [known, is_new] = index_of_.try_emplace(code, rules_.size());
    if (is_new) rules_.push_back({{"id", code}, {"shortDescription", {{"text", what}}}});
    Json location{{"physicalLocation", physical(origin)}};
    if (!node.empty()) {
      location["logicalLocations"] = {
          {{"name", node}, {"fullyQualifiedName", module.empty() ? node : fmt::format("{}.{}", module, node)}}};
    }
    results_.push_back({{"ruleId", code},
                        {"ruleIndex", known->second},
                        {"level", level},
                        {"message", {{"text", text}}},
                        {"locations", Json::array({location})}});
  }

  const CompileSummary& summary_;
  const SourcePaths& paths_;
  std::map<std::string, std::size_t> index_of_;  // by code
  Json rules_ = Json::array();
  Json results_ = Json::array();
};

}  // namespace

std::string to_sarif(const CompileSummary& summary, const SourcePaths& paths) {
  Log log(summary, paths);
  for (const CompileSummary::HostNode& node : summary.host) log.add(node);
  for (const Diagnostic& warning : summary.warnings) log.add(warning);
  if (summary.error) log.add(*summary.error);
  return log.json().dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace isthmus
