// Every JSON object that the command line prints.
#include <charconv>

#include "ops/table.h"
#include "report/bench.h"
#include "report/compile.h"
#include "report/eval.h"
#include "report/inspect.h"
#include "report/json_parts.h"
#include "report/op_table.h"
#include "report/program.h"
#include "report/run.h"
#include "report/stats.h"
#include "report/target_table.h"
#include "report/tosa.h"
#include "stats/range.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

// ["1", "3", "4*s0"] as [1, 3, "4*s0"].
Json shape_json(const std::vector<std::string>& shape) {
  Json result = Json::array();
  for (const std::string& dim : shape) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), number);
    const bool is_number = error == std::errc() && end == dim.data() + dim.size();
    result.push_back(is_number ? Json(number) : Json(dim));
  }
  return result;
}

Json counts_json(const Counts& counts) {
  Json result = Json::object();
  for (const auto& [name, count] : counts) result[name] = count;
  return result;
}

Json states_json(const std::vector<StateRow>& rows) {
  Json list = Json::array();
  for (const StateRow& row : rows) {
    list.push_back({{"name", row.name}, {"dtype", row.dtype}, {"shape", row.shape}, {"bytes", row.bytes}});
  }
  return list;
}

}  // namespace

std::string to_json(const ModelSummary& summary) {
  const auto tensors = [](const std::vector<ModelSummary::Tensor>& rows) {
    Json list = Json::array();
    for (const ModelSummary::Tensor& row : rows) {
      if (row.name.empty()) {
        list.push_back({{"value", row.dtype}});
      } else {
        list.push_back({{"name", row.name}, {"dtype", row.dtype}, {"shape", shape_json(row.shape)}});
      }
    }
    return list;
  };
  Json symbols = Json::array();
  for (const Symbol& symbol : summary.symbols) {
    const auto number = [](const std::optional<std::int64_t>& n) { return n ? Json(*n) : Json(nullptr); };
    symbols.push_back({{"name", symbol.name},
                       {"min", number(symbol.min)},
                       {"max", number(symbol.max)},
                       {"hint", number(symbol.hint)}});
  }
  Json warnings = Json::array();
  for (const Diagnostic& entry : summary.diagnostics) {
    if (entry.severity == Severity::kWarning) {
      warnings.push_back({{"code", entry.code}, {"node", entry.node}, {"text", entry.text}});
    }
  }
  return dump({{"kind", "pt2"},
               {"file", summary.file},
               {"bytes", summary.bytes},
               {"layout", summary.layout},
               {"torch_version", summary.torch_version},
               {"schema_version", summary.schema},
               {"inputs", tensors(summary.inputs)},
               {"outputs", tensors(summary.outputs)},
               {"state", states_json(summary.states)},
               {"parameters", summary.parameters.elements},
               {"parameter_tensors", summary.parameters.tensors},
               {"parameter_bytes", summary.parameters.bytes},
               {"buffers", summary.buffers.elements},
               {"buffer_tensors", summary.buffers.tensors},
               {"buffer_bytes", summary.buffers.bytes},
               {"constants", summary.constants.elements},
               {"constant_tensors", summary.constants.tensors},
               {"constant_bytes", summary.constants.bytes},
               {"symbols", std::move(symbols)},
               {"nodes", summary.nodes},
               {"ops", counts_json(summary.ops)},
               {"examples", summary.examples},
               {"warnings", std::move(warnings)}});
}

std::string to_json(const RunSummary& summary) {
  Json outputs = Json::array();
  for (const RunSummary::Written& output : summary.outputs) {
    outputs.push_back({{"name", output.name}, {"shape", output.shape}, {"dtype", output.dtype}, {"file", output.file}});
    if (summary.calls > 1) outputs.back()["call"] = output.call;
  }
  return dump({{"outputs", std::move(outputs)},
               {"calls", summary.calls},
               {"state", states_json(summary.states)},
               {"delegate_calls", summary.delegate_calls},
               {"host_calls", summary.host_calls},
               {"border_calls", summary.border_calls}});
}

std::string to_json(const ProgramSummary& summary) {
  const auto tensors = [](const std::vector<ProgramSummary::Tensor>& rows) {
    Json list = Json::array();
    for (const ProgramSummary::Tensor& row : rows) {
      if (row.is_tensor) {
        list.push_back({{"name", row.name},
                        {"dtype", row.dtype},
                        {"shape", row.shape},
                        {"is_dynamic", row.is_dynamic},
                        {"dim_order", row.dim_order}});
      } else {
        list.push_back({{"name", row.name}, {"value", row.dtype}});
      }
    }
    return list;
  };
  Json delegates = Json::array();
  for (const ProgramSummary::Delegate& delegate : summary.delegates) {
    Json row{{"backend", delegate.backend}, {"bytes", delegate.bytes}, {"calls", delegate.calls}};
    if (delegate.is_read) {
      row["nodes"] = delegate.nodes;
      row["transposes"] = delegate.transposes;
      row["ops"] = counts_json(delegate.ops);
    }
    if (!delegate.problem.empty()) row["problem"] = delegate.problem;
    delegates.push_back(std::move(row));
  }
  Json host = Json::array();
  for (const ProgramSummary::HostOp& op : summary.host) {
    host.push_back({{"op", op.name}, {"calls", op.calls}, {"border_calls", op.border_calls}});
  }
  return dump({{"kind", "pte"},
               {"file", summary.file},
               {"bytes", summary.bytes},
               {"method", summary.method},
               {"methods", summary.methods},
               {"inputs", tensors(summary.inputs)},
               {"outputs", tensors(summary.outputs)},
               {"state", states_json(summary.states)},
               {"instructions", summary.instructions},
               {"memory_bytes", summary.memory_bytes()},
               {"memory", summary.memory},
               {"constants", summary.constants.count},
               {"constant_bytes", summary.constants.bytes},
               {"initial_values", summary.initial_values.count},
               {"initial_value_bytes", summary.initial_values.bytes},
               {"named_data", summary.named_data.count},
               {"named_data_bytes", summary.named_data.bytes},
               {"delegates", std::move(delegates)},
               {"transposes", summary.transposes()},
               {"host", std::move(host)},
               {"host_calls", summary.host_calls()},
               {"border_calls", summary.border_calls()},
               {"ops", counts_json(summary.ops)}});
}

std::string to_json(const TosaSummary& summary) {
  const auto tensors = [](const std::vector<TosaSummary::Tensor>& rows) {
    Json list = Json::array();
    for (const TosaSummary::Tensor& row : rows) {
      list.push_back({{"name", row.name}, {"dtype", row.dtype}, {"shape", row.shape}});
    }
    return list;
  };
  Json json{{"kind", "tosa"},
            {"file", summary.file},
            {"bytes", summary.bytes},
            {"version", summary.version},
            {"inputs", tensors(summary.inputs)},
            {"outputs", tensors(summary.outputs)},
            {"operators", summary.operators},
            {"constants", summary.constants},
            {"constant_bytes", summary.constant_bytes},
            {"products", summary.products},
            {"ops", counts_json(summary.ops)}};
  if (!summary.problem.empty()) json["problem"] = summary.problem;
  return dump(json);
}

std::string to_json(const BenchSummary& summary) {
  const run::Measurement& measured = summary.measured;
  Json json{
      {"file", summary.file},
      {"threads", summary.threads},
      {"load_ms", summary.load_seconds * 1e3},
      {"first_run_ms", measured.first_seconds * 1e3},
      {"runs", measured.runs},
      {"ms",
       {{"min", measured.min_seconds * 1e3}, {"p50", measured.p50_seconds * 1e3}, {"p90", measured.p90_seconds * 1e3}}},
      {"waited", measured.waited}};
  if (summary.is_program) {
    json["delegate_calls"] = measured.each.delegate_calls;
    json["host_calls"] = measured.each.host_calls;
    json["border_calls"] = measured.each.border_calls;
    json["delegate_ms"] = measured.each.delegate_seconds * 1e3;
    json["host_ms"] = measured.each.host_seconds * 1e3;
  }
  if (!measured.profile.empty()) {
    Json& rows = json["profile"] = Json::array();
    for (const run::OperatorTime& row : measured.profile) {
      rows.push_back({{"delegate", row.delegate ? Json(*row.delegate) : Json()},
                      {"operator", row.name},
                      {"ms", row.seconds * 1e3},
                      {"share", share_of(row.seconds, measured)}});
    }
  }
  return dump(json);
}

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

std::string to_json(const CompileSummary& summary) {
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
  Json borders = Json::array();
  for (const CompileSummary::Border& row : summary.borders) {
    borders.push_back({{"value", row.value}, {"kind", row.kind}});
    if (!row.cause.empty()) borders.back()["because_of"] = row.cause;
  }
  Json unproven = Json::array();
  for (const CompileSummary::Unproven& row : summary.unproven) {
    unproven.push_back({{"node", row.node}, {"op", row.op}, {"demand", row.demand}});
  }
  Json rescales = Json::array();
  for (const CompileSummary::Rescale& row : summary.rescales) {
    rescales.push_back({{"value", row.value}, {"reader", row.reader}, {"because", row.because}});
  }
  Json seconds = Json::object();
  for (const StageTime& time : summary.times) seconds[time.stage] = seconds.value(time.stage, 0.0) + time.seconds;
  Json json{{"model", summary.model},
            {"target", summary.target},
            {"nodes", summary.nodes},
            {"delegates", summary.delegates},
            {"delegated_nodes", summary.delegated_nodes},
            {"host", host},
            {"state", states_json(summary.states)},
            {"borders", borders},
            {"unproven", unproven},
            {"warnings", diagnostics_json(summary.warnings)},
            {"notes", diagnostics_json(summary.notes)},
            {"seconds", seconds}};
  for (const CompileSummary::LayerError& row : summary.errors) {
    json["errors"].push_back({{"value", row.value},
                              {"op", row.op},
                              {"origin", row.origin},
                              {"module", row.module},
                              {"db", finite_db(row.db)},
                              {"cosine", row.cosine},
                              {"rounding_db", finite_db(row.rounding_db)},
                              {"alone_db", finite_db(row.alone_db)}});
  }
  if (summary.is_quantized) {
    json["groups"] = summary.groups;
    json["rescales"] = rescales;
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
    json["least_memory_bytes"] = file.least_memory_bytes;
    json["delegate_nodes"] = file.device_nodes;
    if (!file.backend.empty()) json["backend"] = file.backend;
    for (const FinishedDelegate& finished : file.finished) {
      Json figures = Json::object();
      for (const FinishFigure& figure : finished.figures) figures[std::string(figure.name)] = figure.number;
      json[file.finished_by].push_back(std::move(figures));
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
      }
      json["held_out_samples"] = file.held_out_samples;
      if (file.held_out_samples > 0) {
        json["held_out"] = file.held_out;
      } else {
        json["why_no_sqnr"] = file.why_no_figure;
      }
    }
  }
  return dump(json);
}

std::string to_json(const EvalSummary& summary) {
  const Evaluation& found = summary.evaluation;
  const auto share = [&](std::uint64_t part) {
    return found.rows == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(found.rows);
  };
  Json json{{"samples", found.samples}};
  if (found.has_labels) {
    json["top1_reference"] = share(found.right_reference);
    json["top1"] = share(found.right);
  }
  json["agreement"] = share(found.agreeing);
  json["sqnr_db"] = Json::array();
  for (const SignalToNoise& output : found.outputs) json["sqnr_db"].push_back(finite_db(output.db()));
  json["warnings"] = diagnostics_json(summary.said);
  return dump(json);
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

std::string to_json(const CalibrateSummary& summary) {
  Json warnings = Json::array();
  for (const Diagnostic& entry : summary.diagnostics) {
    if (entry.severity == Severity::kWarning) {
      warnings.push_back({{"code", entry.code}, {"node", entry.node}, {"text", entry.text}});
    }
  }
  return dump({{"model", summary.model},
               {"target", summary.target},
               {"output", summary.output},
               {"samples", summary.statistics->samples},
               {"values", summary.statistics->values.size()},
               {"reproducible", summary.statistics->is_reproducible},
               {"seconds", summary.seconds},
               {"warnings", warnings}});
}

std::string to_json(const StatsSummary& summary) {
  Json values = Json::array();
  for (const auto& [name, value] : summary.statistics->values) {
    const Range range = range_of(value);
    values.push_back({{"name", name},
                      {"count", value.moments.count},
                      {"min", value.moments.min},
                      {"max", value.moments.max},
                      {"mean", value.moments.mean()},
                      {"variance", value.moments.variance()},
                      {"nans", value.moments.nans},
                      {"infinities", value.moments.infinities},
                      {"range", {range.min, range.max}}});
  }
  return dump({{"kind", "stats"},
               {"samples", summary.statistics->samples},
               {"reproducible", summary.statistics->is_reproducible},
               {"values", values}});
}

}  // namespace isthmus
