// Flattens JSON.
#include "report/diff/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/json.h"
#include "report/json_parts.h"

namespace isthmus {
namespace {

// What differs from run to run, and what only says which file it is about.
constexpr std::string_view kLeftOut[] = {"schema_version", "kind",    "file",         "model",      "output",
                                         "reference",      "seconds", "waited",       "runs",       "data",
                                         "peak_rss_bytes", "load_ms", "first_run_ms", "provenance", "torch_version"};
// What calls a row of a list, the first that it has.
constexpr std::string_view kNames[] = {"name", "node", "value", "output", "backend", "op", "code", "what"};

bool is_left_out(std::string_view key) { return std::ranges::find(kLeftOut, key) != std::end(kLeftOut); }

class FactReader {
 public:
  Expected<Facts> run(json::Value root) {
    const json::Value version = TRY(root.get("schema_version"));
    if (TRY(version.as_integer()) != kSchemaVersion) return version.expected(fmt::format("{}", kSchemaVersion));
    TRY(add_members(root, ""));
    return std::move(facts_);
  }

 private:
  Expected<void> add_members(json::Value object, const std::string& path) {
    for (const json::Value member : TRY(object.members())) {
      if (is_left_out(member.key())) continue;
      if (member.key() == "host" && TRY(add_fallbacks(member))) continue;
      TRY(add(member, path.empty() ? std::string(member.key()) : fmt::format("{}.{}", path, member.key())));
    }
    return {};
  }

  Expected<void> add(json::Value value, const std::string& path) {
    switch (value.kind()) {
      case json::Kind::kNull:
        return {};
      case json::Kind::kObject:
        return add_members(value, path);
      case json::Kind::kArray:
        return add_list(value, path);
      case json::Kind::kInteger:
      case json::Kind::kNumber:
        facts_.rows.push_back({path, TRY(value.as_number()), TRY(text_of(value)), row_});
        return {};
      case json::Kind::kBool:
      case json::Kind::kString:
        facts_.rows.push_back({path, {}, TRY(text_of(value)), row_});
        return {};
    }
    return {};
  }

  static Expected<std::string> text_of(json::Value value) {
    switch (value.kind()) {
      case json::Kind::kBool:
        return std::string(TRY(value.as_bool()) ? "true" : "false");
      case json::Kind::kInteger:
        return fmt::format("{}", TRY(value.as_integer()));
      case json::Kind::kNumber:
        return fmt::format("{:.6g}", TRY(value.as_number()));
      case json::Kind::kString:
        return std::string(TRY(value.as_text()));
      default:
        return std::string("...");
    }
  }

  // Of numbers and texts one fact; of rows how many there are, and each of them.
  Expected<void> add_list(json::Value list, const std::string& path) {
    const json::Children items = TRY(list.elements());
    const bool has_rows =
        std::ranges::any_of(items, [](json::Value item) { return item.kind() == json::Kind::kObject; });
    if (!has_rows) {
      std::string text;
      for (const json::Value item : items) text += (text.empty() ? "" : ",") + TRY(text_of(item));
      facts_.rows.push_back({path, {}, "[" + text + "]", row_});
      return {};
    }
    std::size_t count = 0;
    std::map<std::string, std::size_t> uses;
    for (const json::Value item : items) {
      ++count;
      if (item.kind() != json::Kind::kObject) continue;
      std::string name = TRY(name_of(item, count - 1));
      if (const std::size_t use = ++uses[name]; use > 1) name += fmt::format(" {}", use);
      const std::string outer = std::exchange(row_, fmt::format("{}[{}]", path, name));
      TRY(add_members(item, row_));
      row_ = outer;
    }
    facts_.rows.push_back({path, static_cast<double>(count), fmt::format("{}", count), row_});
    return {};
  }
  static Expected<std::string> name_of(json::Value row, std::size_t index) {
    for (const std::string_view key : kNames) {
      const auto value = TRY(row.find(key));
      if (value && value->kind() == json::Kind::kString) return std::string(TRY(value->as_text()));
    }
    return std::to_string(index);
  }

  // Rows of operators on the CPU with a reason; false where it is another list.
  Expected<bool> add_fallbacks(json::Value list) {
    if (list.kind() != json::Kind::kArray) return false;
    std::map<FallbackKey, std::size_t> rows;
    for (const json::Value row : TRY(list.elements())) {
      if (row.kind() != json::Kind::kObject || !TRY(row.find("code"))) return false;
      const auto text = [&](std::string_view key) -> Expected<std::string> {
        const auto value = TRY(row.find(key));
        return value ? std::string(TRY(value->as_text())) : std::string();
      };
      std::string file = TRY(text("file"));
      if (file.empty()) {
        file = TRY(text("origin"));
        file.resize(std::min(file.rfind(':'), file.size()));
      }
      std::int64_t count = 1;
      if (const auto value = TRY(row.find("count"))) count = std::max<std::int64_t>(TRY(value->as_integer()), 0);
      rows[{TRY(text("op")), TRY(text("code")), TRY(text("module")), file}] += static_cast<std::size_t>(count);
    }
    facts_.has_fallbacks = true;
    for (const auto& [key, count] : rows) facts_.fallbacks[key] += count;
    return true;
  }

  Facts facts_;
  std::string row_;
};

}  // namespace

Expected<Facts> read_facts(std::string_view text) {
  const json::Document document = TRY(json::Document::parse(text));
  return FactReader().run(document.root());
}

}  // namespace isthmus
