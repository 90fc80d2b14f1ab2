// A difference in words and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "report/diff/diff.h"
#include "report/json_parts.h"

namespace isthmus {
namespace {

constexpr std::size_t kShown = 20;  // rows of each part

// A part of the text: a title with a count, and the first rows.
class DiffPart {
 public:
  DiffPart(std::string& out, TextStyle style, bool is_verbose) : out_(out), style_(style), is_verbose_(is_verbose) {}

  void begin(std::string_view title) {
    rows_ = 0;
    out_ += style_.has_colour ? fmt::format("\033[1m{}\033[0m\n", title) : fmt::format("{}\n", title);
  }
  // With rows that are counted anew.
  void go_on() { rows_ = 0; }
  void add(const std::string& text) {
    ++rows_;
    if (is_verbose_ || rows_ <= kShown) out_ += "  " + text + "\n";
  }
  void end() {
    if (!is_verbose_ && rows_ > kShown) out_ += fmt::format("  and {} more; -v shows all\n", rows_ - kShown);
  }

 private:
  std::string& out_;
  TextStyle style_;
  bool is_verbose_;
  std::size_t rows_ = 0;
};

bool is_whole(double number) { return std::floor(number) == number && std::abs(number) < 1e15; }

std::string signed_text(double number) {
  if (!is_whole(number)) return fmt::format("{:+.4g}", number);
  const std::string digits = with_separators(static_cast<std::uint64_t>(std::abs(number)));
  return (number < 0 ? "-" : "+") + digits;
}

std::string side_text(const std::optional<Fact>& fact) {
  if (!fact) return "none";
  if (!fact->number) return harmless(fact->text);
  if (!is_whole(*fact->number)) return fact->text;
  return (*fact->number < 0 ? "-" : "") + with_separators(static_cast<std::uint64_t>(std::abs(*fact->number)));
}

std::string moved_text(const Difference::Figure& row) {
  if (!row.a || !row.b || !row.a->number || !row.b->number) return {};
  const double before = *row.a->number;
  const double by = *row.b->number - before;
  if (before == 0) return fmt::format("  ({})", signed_text(by));
  return fmt::format("  ({}, {:+.1f} %)", signed_text(by), 100 * by / std::abs(before));
}

std::string node_text(const Difference::NodeRow& row) {
  std::string text = harmless(row.op);
  if (!row.name.empty()) text += fmt::format(" %{}", harmless(row.name));
  std::string where = row.place;
  for (const std::string& word : {row.origin.module, row.origin.source}) {
    if (!word.empty()) where += (where.empty() ? "" : ", ") + harmless(word);
  }
  return where.empty() ? text : fmt::format("{} ({})", text, where);
}

std::string fallback_text(const Difference::Fallback& row) {
  std::string where = harmless(row.key.file);
  if (!row.key.module.empty()) where += (where.empty() ? "" : ", ") + harmless(row.key.module);
  return fmt::format("{}{} [{}]: {} -> {}", harmless(row.key.op), where.empty() ? "" : " (" + where + ")",
                     harmless(row.key.code), row.a, row.b);
}

Json node_json(const Difference::NodeRow& row) {
  return {{"node", row.name},
          {"op", row.op},
          {"place", row.place},
          {"fields", row.fields},
          {"module", row.origin.module},
          {"origin", row.origin.source}};
}

Json fact_json(const std::optional<Fact>& fact) {
  if (!fact) return nullptr;
  return fact->number ? Json(*fact->number) : Json(fact->text);
}

}  // namespace

std::string to_text(const Difference& difference, TextStyle style, bool is_verbose) {
  std::string out = fmt::format("a: {}, {}\nb: {}, {}\n", harmless(difference.a), difference.kind_a,
                                harmless(difference.b), difference.kind_b);
  DiffPart part(out, style, is_verbose);
  for (const std::string& sentence : difference.not_compared) out += "not compared: " + sentence + "\n";
  if (!difference.compared.empty()) {
    out += fmt::format("compared: {}\n", harmless(fmt::format("{}", fmt::join(difference.compared, ", "))));
  }
  if (difference.is_none()) return out + "no difference\n";
  if (!difference.figures.empty()) {
    part.begin("figures");
    for (const Difference::Figure& row : difference.figures) {
      part.add(fmt::format("{}: {} -> {}{}", harmless(row.key), side_text(row.a), side_text(row.b), moved_text(row)));
    }
    part.end();
  }
  if (!difference.fallbacks.empty()) {
    part.begin("operators on the CPU");
    for (const Difference::Fallback& row : difference.fallbacks) part.add(fallback_text(row));
    part.end();
  }
  if (difference.nodes) {
    const Difference::Nodes& nodes = *difference.nodes;
    part.begin(fmt::format("nodes: {} the same, {} changed, {} only in a, {} only in b", nodes.same,
                           nodes.changed.size(), nodes.only_a.size(), nodes.only_b.size()));
    for (const Difference::ChangedNode& node : nodes.changed) {
      std::string text = "~ " + node_text(node.a);
      for (const Difference::Change& change : node.changes) {
        text += fmt::format(
            "\n      {}: {}", change.what,
            change.a.empty() ? harmless(change.b) : fmt::format("{} -> {}", harmless(change.a), harmless(change.b)));
      }
      part.add(text);
    }
    part.end();
    part.go_on();
    for (const Difference::NodeRow& node : nodes.only_a) part.add("- " + node_text(node));
    part.end();
    part.go_on();
    for (const Difference::NodeRow& node : nodes.only_b) part.add("+ " + node_text(node));
    part.end();
  }
  if (!difference.ranges.empty()) {
    part.begin("ranges, largest change first");
    for (const Difference::Range& row : difference.ranges) {
      part.add(fmt::format("%{}: [{:.4g}, {:.4g}] -> [{:.4g}, {:.4g}]  (width times {:.3g})", harmless(row.value),
                           row.a.first, row.a.second, row.b.first, row.b.second, row.ratio));
    }
    part.end();
  }
  return out;
}

std::string to_json(const Difference& difference) {
  Json figures = Json::array();
  for (const Difference::Figure& row : difference.figures) {
    figures.push_back({{"what", row.key}, {"a", fact_json(row.a)}, {"b", fact_json(row.b)}});
  }
  Json fallbacks = Json::array();
  for (const Difference::Fallback& row : difference.fallbacks) {
    fallbacks.push_back({{"op", row.key.op},
                         {"code", row.key.code},
                         {"module", row.key.module},
                         {"file", row.key.file},
                         {"a", row.a},
                         {"b", row.b}});
  }
  Json json{{"a", difference.a},
            {"b", difference.b},
            {"kind_a", difference.kind_a},
            {"kind_b", difference.kind_b},
            {"differs", !difference.is_none()},
            {"compared", difference.compared},
            {"figures", std::move(figures)},
            {"fallbacks", std::move(fallbacks)}};
  if (difference.nodes) {
    const auto list = [](const std::vector<Difference::NodeRow>& rows) {
      Json result = Json::array();
      for (const Difference::NodeRow& row : rows) result.push_back(node_json(row));
      return result;
    };
    Json changed = Json::array();
    for (const Difference::ChangedNode& node : difference.nodes->changed) {
      Json changes = Json::array();
      for (const Difference::Change& change : node.changes) {
        changes.push_back({{"what", change.what}, {"a", change.a}, {"b", change.b}});
      }
      changed.push_back({{"a", node_json(node.a)}, {"b", node_json(node.b)}, {"changes", std::move(changes)}});
    }
    json["nodes"] = {{"same", difference.nodes->same},
                     {"changed", std::move(changed)},
                     {"only_a", list(difference.nodes->only_a)},
                     {"only_b", list(difference.nodes->only_b)}};
  }
  Json ranges = Json::array();
  for (const Difference::Range& row : difference.ranges) {
    ranges.push_back({{"value", row.value},
                      {"a", {row.a.first, row.a.second}},
                      {"b", {row.b.first, row.b.second}},
                      {"ratio", std::isfinite(row.ratio) ? Json(row.ratio) : Json(nullptr)}});
  }
  json["ranges"] = std::move(ranges);
  json["not_compared"] = difference.not_compared;
  return dump(json);
}

}  // namespace isthmus
