// What a run, a measurement and a comparison found, as JSON.
#include "report/bench.h"
#include "report/eval.h"
#include "report/json_parts.h"
#include "report/run.h"

namespace isthmus {

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
               {"border_calls", summary.io_calls}});
}

std::string to_json(const BenchSummary& summary) {
  const run::Measurement& measured = summary.measured;
  Json json{{"file", summary.file},
            {"threads", summary.threads},
            {"load_ms", summary.load_seconds * 1e3},
            {"first_run_ms", measured.first_seconds * 1e3},
            {"runs", measured.runs},
            {"ms",
             {{"min", measured.min_seconds * 1e3},
              {"p50", measured.p50_seconds * 1e3},
              {"p90", measured.p90_seconds * 1e3},
              {"p99", measured.p99_seconds * 1e3},
              {"mean", measured.mean_seconds * 1e3}}},
            {"waited", measured.waited}};
  if (summary.is_program) {
    json["delegate_calls"] = measured.each.delegate_calls;
    json["host_calls"] = measured.each.host_calls;
    json["border_calls"] = measured.each.io_calls;
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

std::string to_json(const EvalSummary& summary) {
  const Evaluation& found = summary.evaluation;
  const auto share = [&](std::uint64_t part) {
    return found.rows == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(found.rows);
  };
  Json json{{"kind", "eval"}, {"file", summary.file}, {"samples", found.samples}};
  if (found.has_labels) {
    json["top1_reference"] = share(found.right_reference);
    json["top1"] = share(found.right);
  }
  json["agreement"] = share(found.agreeing);
  json["sqnr_db"] = Json::array();
  json["outputs"] = Json::array();
  for (const SignalToNoise& output : found.outputs) {
    json["sqnr_db"].push_back(finite_db(output.db()));
    json["outputs"].push_back({{"name", "output_" + std::to_string(json["outputs"].size())},
                               {"sqnr_db", finite_db(output.db())},
                               {"cosine", output.cosine()}});
  }
  json["warnings"] = diagnostics_json(summary.said);
  if (!summary.output.empty()) json["output"] = summary.output;
  if (found.part) {
    json["part"] = part_json(*found.part);
    json["was_done"] = summary.was_done;
  }
  return dump(json);
}

}  // namespace isthmus
