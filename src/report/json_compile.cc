// What check, compile and calibrate found, as JSON.
#include <cmath>

#include "report/compile.h"
#include "report/error.h"
#include "report/json_parts.h"
#include "report/json_place.h"
#include "report/stats.h"

namespace isthmus {
namespace {

const std::string kOtherSeconds = "trials";  // of stages that were run for the sake of a comparison

// What a node brings the outputs if it is computed more precisely, and what that costs.
Json gain_json(const NodeGain& gain) {
  Json json{{"db", gain.db}, {"bytes", gain.bytes}};
  if (gain.milliseconds) json["ms"] = *gain.milliseconds;
  if (gain.cycles) json["cycles"] = *gain.cycles;
  return json;
}

}  // namespace

Json place_json(const CompileSummary& summary) {
  const auto io_rows = [&](const std::vector<CompileSummary::Io>& rows) {
    Json list = Json::array();
    for (const CompileSummary::Io& row : rows) {
      list.push_back({{"name", row.name}, {"shape", shape_json(row.shape)}, {"dtype", row.dtype}});
      if (!row.quant || !summary.has_parameters) continue;
      list.back()["scale"] = row.quant->scale();
      list.back()["zero_point"] = row.quant->zero_point;
    }
    return list;
  };
  Json host = Json::array();
  for (const CompileSummary::HostNode& node : summary.host) {
    host.push_back({{"node", node.node},
                    {"op", node.op},
                    {"code", node.code},
                    {"reason", node.reason},
                    {"origin", node.origin},
                    {"module", node.module},
                    {"hint", node.hint},
                    {"causes", causes_json(node.causes)}});
  }
  Json io_conversions = Json::array();
  for (const CompileSummary::IoConversion& row : summary.io_conversions) {
    io_conversions.push_back({{"value", row.value}, {"kind", row.kind}});
    if (!row.cause.empty()) io_conversions.back()["because_of"] = row.cause;
  }
  Json unproven = Json::array();
  for (const CompileSummary::Unproven& row : summary.unproven) {
    unproven.push_back({{"node", row.node}, {"op", row.op}, {"demand", row.demand}});
  }
  Json seconds = Json::object();
  for (const StageTime& time : summary.times) {
    const std::string& key = time.of.empty() ? time.name : kOtherSeconds;
    seconds[key] = seconds.value(key, 0.0) + time.seconds;
  }
  Json json{{"model", summary.model},
            {"target", summary.target},
            {"nodes", summary.nodes},
            {"delegates", summary.delegates},
            {"delegated_nodes", summary.delegated_nodes},
            {"host", host},
            {"inputs", io_rows(summary.inputs)},
            {"outputs", io_rows(summary.outputs)},
            {"state", states_json(summary.states)},
            {"borders", io_conversions},
            {"unproven", unproven},
            {"warnings", diagnostics_json(summary.warnings)},
            {"notes", diagnostics_json(summary.notes)},
            {"seconds", seconds}};
  if (summary.error) json["error"] = error_row(*summary.error, kFailed);
  if (!summary.is_quantized) return json;
  json["groups"] = summary.groups;
  json["rescales"] = Json::array();
  for (const CompileSummary::Rescale& row : summary.rescales) {
    json["rescales"].push_back({{"value", row.value}, {"reader", row.reader}, {"because", row.because}});
  }
  return json;
}

std::string to_json(const CompileSummary& summary) {
  Json json = place_json(summary);
  if (!summary.broken_gates.empty()) json["broken_gates"] = summary.broken_gates;
  for (const CompileSummary::LayerError& row : summary.errors) {
    json["errors"].push_back({{"value", row.value},
                              {"op", row.op},
                              {"origin", row.origin},
                              {"module", row.module},
                              {"db", finite_db(row.db)},
                              {"cosine", row.cosine},
                              {"rounding_db", finite_db(row.rounding_db)},
                              {"alone_db", finite_db(row.alone_db)}});
    if (row.gain) json["errors"].back()["gain"] = gain_json(*row.gain);
  }
  if (summary.file) {
    const CompileSummary::File& file = *summary.file;
    Json transposes = Json::array();
    for (const CompileSummary::Transpose& row : file.transposes) {
      transposes.push_back({{"value", row.value}, {"from", row.from}, {"to", row.to}, {"bytes", row.bytes}});
    }
    json["output"] = file.path;
    json["bytes"] = file.bytes;
    json["memory_bytes"] = file.memory_bytes;
    json["least_memory_bytes"] = file.min_memory_bytes;
    json["delegate_nodes"] = file.device_nodes;
    if (!file.backend.empty()) json["backend"] = file.backend;
    for (const FinishedDelegate& finished : file.finished) {
      Json figures = Json::object();
      for (const FinishFigure& figure : finished.figures) figures[std::string(figure.name)] = figure.number;
      json[file.finished_by].push_back(std::move(figures));
    }
    if (file.cost) {
      json["cost"] = {{"cycles", std::round(file.cost->cycles)},
                      {"sram_bytes", std::round(file.cost->sram_bytes)},
                      {"source", file.cost->source}};
      if (file.costs) json["cost"]["nodes"] = rows_json(*file.costs);
    }
    for (const TosaFigures& figures : file.tosa) {
      json["tosa"].push_back({{"bytes", figures.bytes},
                              {"operators", figures.operators},
                              {"macs", figures.products},
                              {"transposes", figures.transposes}});
    }
    if (!file.tosa_files.empty()) json["tosa_files"] = file.tosa_files;
    if (!file.mlir_files.empty()) json["mlir_files"] = file.mlir_files;
    json["transposes"] = transposes;
    json["peak_rss_bytes"] = file.peak_rss_bytes;
    if (summary.is_quantized) {
      json["samples"] = file.samples;
      json["sqnr_db"] = Json::array();
      for (const CompileSummary::OutputError& row : file.sqnr) {
        json["sqnr_db"].push_back({{"output", row.output}, {"db", finite_db(row.db)}});
        for (Json& output : json["outputs"]) {
          if (output["name"] == row.output) output["sqnr_db"] = finite_db(row.db);
        }
      }
      json["held_out_samples"] = file.held_out_samples;
      if (file.held_out_samples > 0) {
        json["held_out"] = file.held_out;
      } else {
        json["why_no_sqnr"] = file.why_no_figure;
      }
    }
  }
  for (const NodeGain& gain : summary.promoted) {
    json["promoted"].push_back(gain_json(gain));
    json["promoted"].back()["node"] = gain.node;
  }
  return dump(json);
}

std::string to_json(const CalibrateSummary& summary) {
  Json json{{"model", summary.model},
            {"target", summary.target},
            {"output", summary.output},
            {"samples", summary.statistics->samples},
            {"values", summary.statistics->values.size()},
            {"reproducible", summary.statistics->is_reproducible},
            {"seconds", {{std::string(name_of(Stage::kCalibrate)), summary.seconds}}},
            {"warnings", warnings_json(summary.diagnostics)}};
  if (summary.statistics->part) {
    json["part"] = part_json(*summary.statistics->part);
    json["was_done"] = summary.was_done;
  }
  return dump(json);
}

}  // namespace isthmus
