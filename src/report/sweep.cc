// The front, and the rows as text, CSV and JSON.
#include "report/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/counts.h"
#include "base/untrusted_text.h"
#include "formats/json.h"
#include "report/json_parts.h"
#include "report/verdict.h"

namespace isthmus {
namespace {

// Between two runs of the same program on a machine at rest.
constexpr double kTimeNoise = 0.05;

// The larger, the better.
double accuracy_of(const SweepFigures& figures) {
  if (figures.top1) return *figures.top1;
  return figures.sqnr_db.value_or(0);
}

std::optional<double> time_of(const SweepFigures& figures) { return figures.cycles ? figures.cycles : figures.ms; }

bool beats(const SweepFigures& a, const SweepFigures& b) {
  const double time_a = time_of(a).value_or(0);
  const double time_b = time_of(b).value_or(0);
  const double noise = a.cycles ? 0 : kTimeNoise;
  if (accuracy_of(a) < accuracy_of(b) || a.bytes > b.bytes || time_a > time_b * (1 + noise)) return false;
  return accuracy_of(a) > accuracy_of(b) || a.bytes < b.bytes || time_a * (1 + noise) < time_b;
}

std::string percent(const std::optional<double>& share) { return share ? fmt::format("{:.2f} %", 100 * *share) : ""; }

std::string time_text(const SweepFigures& figures) {
  if (figures.cycles) return with_separators(static_cast<std::uint64_t>(*figures.cycles)) + " cycles";
  return figures.ms ? fmt::format("{:.3f} ms", *figures.ms) : "";
}

// One line: errors may have many.
std::string error_line(const Error& error) {
  std::string text = harmless(error.text());
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, ";");
  return text;
}

struct Column {
  std::string_view title;
  bool is_number = false;
  std::string (*text)(const SweepFigures&) = nullptr;
};
constexpr Column kColumns[] = {
    {.title = "top-1", .is_number = true, .text = [](const SweepFigures& found) { return percent(found.top1); }},
    {.title = "in float",
     .is_number = true,
     .text = [](const SweepFigures& found) { return percent(found.top1_reference); }},
    {.title = "SQNR",
     .is_number = true,
     .text =
         [](const SweepFigures& found) {
           if (!found.sqnr_db) return std::string();
           return *found.sqnr_db >= kExactDb ? "exact" : db_text(*found.sqnr_db);
         }},
    {.title = "delegates",
     .is_number = true,
     .text = [](const SweepFigures& found) { return with_separators(found.delegates); }},
    {.title = "on the CPU",
     .is_number = true,
     .text = [](const SweepFigures& found) { return with_separators(found.nodes - found.delegated_nodes); }},
    {.title = "bytes",
     .is_number = true,
     .text = [](const SweepFigures& found) { return with_separators(found.bytes); }},
    {.title = "time", .is_number = true, .text = time_text},
};

// A word that a table of commas can hold.
std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

Json figures_json(const SweepFigures& found) {
  Json json{{"samples", found.samples}};
  const auto add = [&](const char* key, const std::optional<double>& number) {
    if (number) json[key] = *number;
  };
  add("top1_reference", found.top1_reference);
  add("top1", found.top1);
  add("agreement", found.agreement);
  add("sqnr_db", found.sqnr_db);
  json["nodes"] = found.nodes;
  json["delegated_nodes"] = found.delegated_nodes;
  json["delegates"] = found.delegates;
  json["bytes"] = found.bytes;
  add("cycles", found.cycles);
  if (found.cycles) json["cycles_source"] = found.cycles_source;
  add("ms", found.ms);
  json["seconds"] = found.seconds;
  return json;
}

Expected<std::uint64_t> count_of(json::Value object, std::string_view key) {
  const json::Value value = TRY(object.get(key));
  const std::int64_t number = TRY(value.as_integer());
  if (number < 0) return value.expected("a count");
  return static_cast<std::uint64_t>(number);
}

Expected<std::optional<double>> number_if_there(json::Value object, std::string_view key) {
  const auto value = TRY(object.find(key));
  if (!value) return std::nullopt;
  return TRY(value->as_number());
}

Expected<SweepFigures> read_figures(json::Value object) {
  SweepFigures found;
  found.samples = TRY(count_of(object, "samples"));
  found.top1_reference = TRY(number_if_there(object, "top1_reference"));
  found.top1 = TRY(number_if_there(object, "top1"));
  found.agreement = TRY(number_if_there(object, "agreement"));
  found.sqnr_db = TRY(number_if_there(object, "sqnr_db"));
  found.nodes = TRY(count_of(object, "nodes"));
  found.delegated_nodes = TRY(count_of(object, "delegated_nodes"));
  if (found.delegated_nodes > found.nodes) return object.expected("no more delegated nodes than nodes");
  found.delegates = TRY(count_of(object, "delegates"));
  found.bytes = TRY(count_of(object, "bytes"));
  found.cycles = TRY(number_if_there(object, "cycles"));
  if (found.cycles && !(*found.cycles >= 0 && *found.cycles < 1e18)) return object.expected("a count of cycles");
  if (found.cycles) found.cycles_source = TRY(TRY(object.get("cycles_source")).as_text());
  found.ms = TRY(number_if_there(object, "ms"));
  found.seconds = TRY(TRY(object.get("seconds")).as_number());
  return found;
}

Expected<Error> read_error(json::Value object) {
  // Others are not kept.
  Error error(ErrorKind::kBadInput, std::string(TRY(TRY(object.get("message")).as_text())));
  for (const json::Value place : TRY(TRY(object.get("places")).elements())) {
    error.places.emplace_back(TRY(place.as_text()));
  }
  return error;
}

}  // namespace

std::size_t SweepSummary::failed() const {
  return static_cast<std::size_t>(std::ranges::count_if(rows, [](const SweepRow& row) { return !row.figures; }));
}

void mark_front(std::vector<SweepRow>& rows) {
  for (SweepRow& row : rows) {
    row.is_on_front = row.figures && std::ranges::none_of(rows, [&](const SweepRow& other) {
                        return other.figures && other.model == row.model && other.target == row.target &&
                               beats(*other.figures, *row.figures);
                      });
  }
}

std::string to_text(const SweepSummary& summary, TextStyle style) {
  std::vector<std::vector<std::string>> cells{{"model", "target", "configuration"}};
  for (const Column& column : kColumns) cells[0].emplace_back(column.title);
  for (const SweepRow& row : summary.rows) {
    std::vector<std::string>& line = cells.emplace_back();
    line = {harmless(row.model), harmless(row.target), harmless(row.configuration)};
    if (!row.figures) continue;
    for (const Column& column : kColumns) line.push_back(column.text(*row.figures));
  }
  std::vector<std::size_t> widths(cells[0].size());
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  const auto done_before = std::ranges::count(summary.rows, true, &SweepRow::was_done);
  std::string out =
      fmt::format("{}: {}, {} of them done before, {} failed; in {}\n", harmless(summary.plan),
                  counted(summary.rows.size(), "point"), done_before, summary.failed(), harmless(summary.folder));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_on_front = i > 0 && summary.rows[i - 1].is_on_front;
    std::string line = is_on_front ? "*" : " ";
    for (std::size_t c = 0; c < cells[i].size(); ++c) {
      const bool is_number = c >= 3 && kColumns[c - 3].is_number;
      line +=
          is_number ? fmt::format(" {:>{}} ", cells[i][c], widths[c]) : fmt::format(" {:<{}} ", cells[i][c], widths[c]);
    }
    if (i > 0 && !summary.rows[i - 1].figures) line += " failed: " + error_line(summary.rows[i - 1].figures.error());
    line.erase(line.find_last_not_of(' ') + 1);
    out += (is_on_front ? in_colour(line, Grade::kGood, style) : line) + "\n";
  }
  out +=
      "* on the Pareto front: no point of the same model and target is better in one of accuracy, bytes and time and "
      "at least as good in the others\n";
  return out;
}

std::string to_csv(const SweepSummary& summary) {
  constexpr std::string_view kKeys[] = {
      "samples",   "top1_reference", "top1",   "agreement",     "sqnr_db", "nodes",  "delegated_nodes",
      "delegates", "bytes",          "cycles", "cycles_source", "ms",      "seconds"};
  std::string out = fmt::format("model,target,configuration,is_on_front,{},error\n", fmt::join(kKeys, ","));
  for (const SweepRow& row : summary.rows) {
    out += fmt::format("{},{},{},{},", csv_text(row.model), csv_text(row.target), csv_text(row.configuration),
                       row.is_on_front ? 1 : 0);
    const Json figures = row.figures ? figures_json(*row.figures) : Json::object();
    for (const std::string_view key : kKeys) {
      const auto found = figures.find(key);
      if (found != figures.end()) out += found->is_string() ? csv_text(found->get<std::string>()) : found->dump();
      out += ',';
    }
    out += (row.figures ? "" : csv_text(error_line(row.figures.error()))) + "\n";
  }
  return out;
}

std::string to_json(const SweepSummary& summary) {
  Json points = Json::array();
  for (const SweepRow& row : summary.rows) {
    Json point{{"point", row.point},       {"model", row.model},
               {"target", row.target},     {"configuration", row.configuration},
               {"was_done", row.was_done}, {"is_on_front", row.is_on_front}};
    if (row.figures) {
      point["program"] = row.program;
      point.update(figures_json(*row.figures));
    } else {
      point["error"] = error_row(row.figures.error(), kFailed);
    }
    points.push_back(std::move(point));
  }
  return dump({{"kind", "sweep"},
               {"plan", summary.plan},
               {"folder", summary.folder},
               {"failed", summary.failed()},
               {"points", std::move(points)}});
}

std::string write_record(const SweepRecord& record) {
  Json json{{"kind", "point"}, {"key", record.key}};
  if (record.figures) {
    json["figures"] = figures_json(*record.figures);
  } else {
    json["error"] = error_row(record.figures.error(), kFailed);
  }
  return dump(json);
}

Expected<SweepRecord> read_record(const Blob& file) {
  const json::Document document = TRY(json::Document::parse(file.text()));
  const json::Value root = document.root();
  std::string key(TRY(TRY(root.get("key")).as_text()));
  if (const auto figures = TRY(root.find("figures"))) return SweepRecord{std::move(key), TRY(read_figures(*figures))};
  return SweepRecord{std::move(key), tl::unexpected<Error>(TRY(read_error(TRY(root.get("error")))))};
}

}  // namespace isthmus
