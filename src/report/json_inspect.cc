// What is in a file, as JSON.
#include "report/inspect.h"
#include "report/json_parts.h"
#include "report/program.h"
#include "report/stats.h"
#include "report/tosa.h"
#include "stats/range.h"

namespace isthmus {

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
  return dump({{"kind", summary.kind},
               {"file", summary.file},
               {"bytes", summary.bytes},
               {"layout", summary.layout},
               {"torch_version", summary.torch_version},
               {"torch_schema", summary.schema},
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
               {"warnings", warnings_json(summary.diagnostics)}});
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
        if (row.params) {
          list.back()["scale"] = row.params->scale;
          list.back()["zero_point"] = row.params->zero_point;
        }
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
    host.push_back({{"op", op.name}, {"calls", op.calls}, {"border_calls", op.io_calls}});
  }
  Json json({{"kind", "pte"},
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
             {"border_calls", summary.io_calls()},
             {"ops", counts_json(summary.ops)}});
  if (summary.provenance) {
    json["provenance"] = Json::object();
    for (const auto& [key, value] : summary.provenance->facts) json["provenance"][key] = value;
    json["provenance"]["config"] = summary.provenance->config;
  }
  return dump(json);
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
  Json json{{"kind", "stats"},
            {"file", summary.file},
            {"samples", summary.statistics->samples},
            {"reproducible", summary.statistics->is_reproducible},
            {"values", std::move(values)}};
  if (summary.statistics->part) json["part"] = part_json(*summary.statistics->part);
  return dump(json);
}

}  // namespace isthmus
