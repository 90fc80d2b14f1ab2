// Gathers and words what a compile did.
#include "report/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <span>

#include "base/check.h"
#include "base/counts.h"
#include "formats/tosa/tosa.h"
#include "report/explain.h"
#include "report/rows.h"
#include "report/verdict.h"
#include "session/foreign_cause.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1024;
  if (bytes < 10 * kKibi) return fmt::format("{} bytes", bytes);
  if (bytes < 10 * kKibi * kKibi) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKibi);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kKibi * kKibi));
}

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

CompileSummary::HostNode host_node(const Outcome& outcome, const HostCauses& host, NodeId id) {
  const Node& node = outcome.graph[id];
  CompileSummary::HostNode row{node_name(outcome.graph, node),
                               op_text(node),
                               {},
                               {},
                               node.origin.source,
                               node.origin.module,
                               {},
                               node.origin.call,
                               host.rows(id),
                               host.needs_fix(host.chain(id).back())};
  const Reason& own = *outcome.host_reason(id);
  row.code = row.causes.size() > 1 ? code_text(own.code) : row.causes[0].code;
  row.reason = row.causes.size() > 1 ? text_of(own, outcome.target.label) : row.causes[0].text;
  row.hint = row.causes.back().hint;
  return row;
}

// Its name may be known, and this call of it not.
void explain_foreign(CompileSummary::HostNode& row, std::string_view cause) {
  constexpr std::string_view kHint = "change the model and export it again";
  row.reason = row.causes.back().text = cause;
  row.hint = row.causes.back().hint = kHint;
}

CompileSummary::IoConversion io_conversion(const Outcome& outcome, const HostCauses& host, NodeId id) {
  const Node& node = outcome.graph[id];
  const std::vector<NodeId> chain = host.chain(id);
  return {node_name(outcome.graph, node), std::string(name_of(node.op)),
          chain.size() > 1 ? node_name(outcome.graph, outcome.graph[chain[1]]) : ""};
}

void add_plan(CompileSummary& summary, const TargetDesc& target, const Graph& graph, const QuantPlan& plan) {
  summary.is_quantized = true;
  summary.has_parameters = plan.has_ranges;
  summary.groups = plan.groups.size();
  for (const Cut& cut : plan.cuts) {
    const Node& reader = graph[cut.tie.node];
    summary.rescales.push_back({graph[reader.inputs[cut.tie.input]].name, graph[reader.outputs[0]].name, cut.because});
  }
  if (plan.has_ranges) return;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (plan.precision[n] != Precision::kQuantized) continue;
    for (const RatioLimit& limit : target.integers.ratios) {
      if (limit.op != node.op) continue;
      summary.unproven.push_back(
          {graph[node.outputs[0]].name, std::string(name_of(node.op)),
           fmt::format("ratio of scales in {:g}..{:g}: {}", limit.min, limit.max, limit.because)});
    }
  }
}

CompileSummary::Io io_row(const Graph& graph, ValueId id, std::string name) {
  const TensorType& type = graph.type(id);
  CompileSummary::Io row{std::move(name), {}, std::string(name_of(type.dtype)), {}, type.quant};
  for (const Dim dim : type.shape) row.shape.push_back(graph.exprs().text(dim));
  row.type = fmt::format("{}[{}]", row.dtype, fmt::join(row.shape, ","));
  return row;
}

// "+1.3 dB, +25.1 KiB, +0.02 ms"
std::string to_text(const NodeGain& gain) {
  std::string out = fmt::format("{:+.1f} dB, {}{}", gain.db, gain.bytes < 0 ? "-" : "+",
                                bytes_text(static_cast<std::uint64_t>(std::abs(gain.bytes))));
  // No minus in front of zero.
  if (gain.milliseconds) out += fmt::format(", {:+.2f} ms", std::round(*gain.milliseconds * 100) / 100 + 0.0);
  if (gain.cycles) out += fmt::format(", {:+.0f} cycles", *gain.cycles);
  return out;
}

// The node that causes the fallback, where it is another one.
std::string cause_of(const CompileSummary::HostNode& node) { return to_text(node.causes.back()); }

std::map<std::string, std::vector<const CompileSummary::HostNode*>> by_cause(
    const std::vector<CompileSummary::HostNode>& host) {
  std::map<std::string, std::vector<const CompileSummary::HostNode*>> groups;
  for (const CompileSummary::HostNode& node : host) {
    if (node.causes.size() > 1) groups[cause_of(node)].push_back(&node);
  }
  return groups;
}

std::string group_text(const std::string& cause, const std::vector<const CompileSummary::HostNode*>& nodes) {
  constexpr std::size_t kMaxNamed = 4;
  std::string out = fmt::format("  on the host: {} nodes because {}\n    ", nodes.size(), cause);
  for (std::size_t i = 0; i < std::min(kMaxNamed, nodes.size()); ++i) {
    out += fmt::format("{}{} %{}", i == 0 ? "" : ", ", nodes[i]->op, nodes[i]->node);
  }
  if (nodes.size() > kMaxNamed) out += fmt::format(" and {} more; -v lists them", nodes.size() - kMaxNamed);
  out += "\n";
  if (!nodes[0]->hint.empty()) out += fmt::format("    {}\n", nodes[0]->hint);
  return out;
}

void set_diagnostics(CompileSummary& summary, const Diagnostics& diagnostics) {
  summary.warnings.clear();
  summary.notes.clear();
  for (const Diagnostic& entry : diagnostics.entries()) {
    (entry.severity == Severity::kWarning ? summary.warnings : summary.notes).push_back(entry);
  }
}

// How far the program is from the model in float.
void add_comparison(const Session& session, CompileSummary::File& file) {
  file.samples = session.has_statistics() ? session.statistics().samples : 0;
  file.held_out = session.held_out().what;
  file.why_no_figure = session.held_out().why_none;
  const std::optional<Evaluation>& evaluation = session.evaluation();
  if (!evaluation) return;
  for (std::size_t i = 0; i < evaluation->outputs.size(); ++i) {
    file.sqnr.push_back({fmt::format("output_{}", i), evaluation->outputs[i].db()});
  }
  file.held_out_samples = evaluation->samples;
}

}  // namespace

CompileSummary summarize(const std::string& model, const TargetDesc& target, const Prepared& prepared,
                         const QuantizedModel* quantized, const Diagnostics& diagnostics) {
  const Outcome outcome = outcome_of(target, prepared, quantized);
  const HostCauses host(outcome);
  CompileSummary summary;
  summary.model = model;
  summary.target = target.name;
  summary.unfinished = target.unfinished;
  summary.label = target.label;
  summary.wider = target.integers.has_float ? "float" : "16 bits";
  summary.delegates = outcome.places.segments.size();
  summary.states = states_of(outcome.graph);
  for (std::uint32_t i = 0; i < outcome.graph.nodes().size(); ++i) {
    const bool is_on_host = outcome.host_reason(NodeId{i}) != nullptr;
    if (is_on_host && is_conversion(outcome.graph, outcome.graph.nodes()[i])) {
      summary.io_conversions.push_back(io_conversion(outcome, host, NodeId{i}));
      continue;
    }
    if (is_on_host) summary.host.push_back(host_node(outcome, host, NodeId{i}));
  }
  // Operators of the model as the target wants it, whatever becomes of them: conversions are not among them, and those
  // that are part of others are.
  for (const Node& node : outcome.model.nodes()) {
    if (!node.outputs.empty() && is_delegated(outcome, node.outputs[0])) ++summary.delegated_nodes;
  }
  summary.nodes = summary.delegated_nodes + summary.host.size();
  for (const ValueId id : outcome.graph.inputs())
    summary.inputs.push_back(io_row(outcome.graph, id, outcome.graph[id].name));
  for (const Output& output : outcome.graph.outputs()) {
    if (output.kind == OutputKind::kMutation) continue;
    const auto* id = std::get_if<ValueId>(&output.value);
    if (id == nullptr) continue;
    summary.outputs.push_back(io_row(outcome.graph, *id, fmt::format("output_{}", summary.outputs.size())));
  }
  if (quantized != nullptr) add_plan(summary, target, quantized->model, quantized->plan);
  for (const Diagnostic& entry : diagnostics.entries()) {
    const std::string_view cause = foreign_cause(entry);
    const auto row = cause.empty() ? summary.host.end()
                                   : std::ranges::find(summary.host, entry.node, &CompileSummary::HostNode::node);
    if (row != summary.host.end()) explain_foreign(*row, cause);
  }
  set_diagnostics(summary, diagnostics);
  return summary;
}

CompileSummary summarize(const Session& session) {
  CompileSummary summary =
      summarize(session.file(), session.target(), session.prepared(), session.quantized(), session.diagnostics());
  summary.times = session.times();
  summary.promoted = session.promoted();
  return summary;
}

namespace {

// What the finishing step says of all delegates; where it says nothing of one, what the target itself estimates.
std::optional<CompileSummary::Cost> cost_of(std::string_view target, const Compiled& compiled) {
  CompileSummary::Cost cost;
  const auto add = [&](double cycles, double sram_bytes) {
    cost.cycles += cycles;
    cost.sram_bytes = std::max(cost.sram_bytes, sram_bytes);
  };
  const auto figure = [](const FinishedDelegate& of, std::string_view name) -> std::optional<double> {
    const auto found = std::ranges::find(of.figures, name, &FinishFigure::name);
    return found == of.figures.end() ? std::nullopt : std::optional(found->number);
  };
  const auto is_told = [&](const FinishedDelegate& of) { return figure(of, "cycles") && figure(of, "sram_kib"); };
  if (!compiled.finished.empty() && std::ranges::all_of(compiled.finished, is_told)) {
    cost.source = compiled.finished_by;
    for (const FinishedDelegate& one : compiled.finished) add(*figure(one, "cycles"), *figure(one, "sram_kib") * 1024);
    return cost;
  }
  const TargetDesc* desc = find_target(target);
  if (desc == nullptr || desc->estimate == nullptr || compiled.delegates.empty()) return std::nullopt;
  cost.source = "estimate";
  for (const DelegateSummary& delegate : compiled.delegates) {
    const auto one = desc->estimate(target, delegate.blob);
    if (!one) return std::nullopt;
    add(one->cycles, one->sram_bytes);
  }
  return cost;
}

}  // namespace

void add_file(CompileSummary& summary, const std::string& path, const Graph& graph, const Compiled& compiled) {
  CompileSummary::File file;
  file.path = path;
  file.bytes = compiled.bytes.size();
  file.memory_bytes = compiled.memory.bytes;
  file.min_memory_bytes = compiled.memory.lower_bound;
  for (const DelegateSummary& delegate : compiled.delegates) {
    file.device_nodes += delegate.device_nodes;
    file.backend = delegate.backend;
    if (tosa::looks_like_graph(delegate.blob)) {
      const auto inside = tosa::read_graph(delegate.blob);
      CHECK(inside.has_value(), "a delegate of ours is not a graph that we read");
      file.tosa.push_back(figures_of(delegate.blob.size(), *inside));
    }
    for (const Conversion& conversion : delegate.conversions) {
      if (!conversion.moves_data) continue;
      file.transposes.push_back({graph[conversion.value].name, fmt::format("{}", fmt::join(conversion.from, "")),
                                 fmt::format("{}", fmt::join(conversion.to, "")), conversion.bytes});
    }
  }
  file.finished_by = compiled.finished_by;
  for (const FinishedDelegate& finished : compiled.finished) {
    file.backend = finished.delegate.id;
    if (!finished.figures.empty()) file.finished.push_back(finished);
  }
  file.cost = cost_of(summary.target, compiled);
  file.peak_rss_bytes = peak_rss_bytes();
  summary.file = std::move(file);
}

void add_file(CompileSummary& summary, const std::string& path, const Session& session) {
  add_file(summary, path, session.graph(), session.compiled());
  summary.file->costs = cost_table(outcome_of(session.target(), session.prepared(), session.quantized()));
  if (session.quantized() != nullptr) add_comparison(session, *summary.file);
  set_diagnostics(summary, session.diagnostics());
  summary.times = session.times();
}

void add_layer_errors(CompileSummary& summary, const Graph& model, const std::vector<ValueError>& errors,
                      const std::vector<NodeGain>& gains) {
  for (const ValueError& error : errors) {
    const Node* maker = model.producer(error.value);
    summary.errors.push_back({model[error.value].name, maker == nullptr ? "input" : std::string(name_of(maker->op)),
                              maker == nullptr ? "" : maker->origin.source,
                              maker == nullptr ? "" : maker->origin.module, error.total.db(), error.total.cosine(),
                              error.rounding.db(), error.alone.db()});
    const auto gain = std::ranges::find(gains, summary.errors.back().value, &NodeGain::node);
    if (gain != gains.end()) summary.errors.back().gain = *gain;
  }
  // Of a node that computes in float already, or that only hands numbers on, the outputs gain nothing.
  std::ranges::stable_sort(summary.errors, [](const auto& a, const auto& b) {
    if (a.gain.has_value() != b.gain.has_value()) return a.gain.has_value();
    return a.gain ? a.gain->db > b.gain->db : a.db < b.db;
  });
}

std::string to_text(const CompileSummary& summary, bool is_verbose, TextStyle style) {
  const Verdict verdict = verdict_of(summary);
  std::string out =
      fmt::format("{} for {}: {}\n", summary.model, summary.target, in_colour(verdict.headline, verdict.grade, style));
  const std::map<std::string, std::vector<const CompileSummary::HostNode*>> groups = by_cause(summary.host);
  for (const CompileSummary::HostNode& node : summary.host) {
    const auto group = node.causes.size() > 1 ? groups.find(cause_of(node)) : groups.end();
    if (!is_verbose && group != groups.end() && group->second.size() > 1) {
      if (group->second[0] == &node) out += group_text(group->first, group->second);
      continue;
    }
    out += fmt::format("  on the host: {} %{}", node.op, node.node);
    if (!node.origin.empty()) out += fmt::format(" ({}{})", node.origin, node.module.empty() ? "" : ", " + node.module);
    out += fmt::format("\n    {} [{}]\n", node.reason, node.code);
    if (node.causes.size() > 1) out += fmt::format("    because {}\n", cause_of(node));
    if (!node.hint.empty()) out += fmt::format("    {}\n", node.hint);
  }
  if (!summary.states.empty()) {
    out += fmt::format("  {} of state kept between runs:\n", bytes_text(bytes_of(summary.states)));
    for (const StateRow& row : summary.states) out += fmt::format("    {}\n", to_text(row));
  }
  const auto add_io = [&](std::string_view side, const std::vector<CompileSummary::Io>& rows) {
    for (const CompileSummary::Io& row : rows) {
      if (!row.quant) continue;
      out += fmt::format("  {} {}: {}, scale {}, zero point {}\n", side, row.name, row.type, row.quant->scale(),
                         row.quant->zero_point);
    }
  };
  if (summary.has_parameters) {
    add_io("input", summary.inputs);
    add_io("output", summary.outputs);
  }
  if (summary.is_quantized) {
    out += fmt::format("  {} a scale each, {}, {} on the host\n",
                       summary.groups == 1 ? "1 group shares" : fmt::format("{} groups share", summary.groups),
                       counted(summary.rescales.size(), "requantize node"),
                       counted(summary.io_conversions.size(), "I/O conversion"));
    for (const CompileSummary::Rescale& row : summary.rescales) {
      out += fmt::format("    requantize %{} for %{}: {}\n", row.value, row.reader, row.because);
    }
  }
  for (const NodeGain& gain : summary.promoted) {
    out += fmt::format("  promoted to {}: %{}, {}\n", summary.wider, gain.node, to_text(gain));
  }
  if (summary.file) {
    const CompileSummary::File& file = *summary.file;
    for (const CompileSummary::OutputError& row : file.sqnr) {
      out += fmt::format("  {}: SQNR {}, on {}\n", row.output, db_text(row.db), file.held_out);
    }
    if (summary.is_quantized && file.sqnr.empty() && !file.why_no_figure.empty()) {
      out += fmt::format("  no SQNR: {}\n", file.why_no_figure);
    }
    out += fmt::format("  {}: {}, {} of memory for values (minimum {})\n", file.path, bytes_text(file.bytes),
                       bytes_text(file.memory_bytes), bytes_text(file.min_memory_bytes));
    if (file.tosa.empty() && file.device_nodes > 0) {
      out += fmt::format("  {} in {}, {} of them transposes\n",
                         counted(file.device_nodes, fmt::format("{} node", summary.label)),
                         summary.delegates == 1 ? "the delegate" : "the delegates", file.transposes.size());
    }
    if (!file.backend.empty() && file.finished_by.empty() && summary.unfinished) {
      out += fmt::format("  {} {} ({}): {}\n", summary.delegates == 1 ? "the delegate holds" : "the delegates hold",
                         summary.unfinished->what, file.backend, summary.unfinished->why);
    }
    for (const TosaFigures& figures : file.tosa) {
      out += fmt::format("  TOSA: {} bytes, {} operators, {} of them TRANSPOSE, {} multiplications\n",
                         with_separators(figures.bytes), figures.operators, figures.transposes,
                         with_separators(figures.products));
    }
    for (const FinishedDelegate& finished : file.finished) {
      out += fmt::format("  {} {}\n", file.finished_by, finished.sentence);
    }
    if (file.cost && file.finished.empty()) {
      out += fmt::format("  {}: {} cycles, {} of SRAM\n", file.cost->source,
                         with_separators(static_cast<std::uint64_t>(file.cost->cycles)),
                         bytes_text(static_cast<std::uint64_t>(file.cost->sram_bytes)));
    }
    if (file.costs && is_verbose) {
      out += fmt::format("  estimate per node, {} cycles and {} of SRAM in total:\n",
                         with_separators(static_cast<std::uint64_t>(file.costs->cycles)),
                         bytes_text(static_cast<std::uint64_t>(file.costs->sram_bytes)));
      out += rows_text(*file.costs, true);
    }
    for (const std::string& path : file.tosa_files) out += fmt::format("  {}: a delegate's TOSA graph\n", path);
    for (const std::string& path : file.mlir_files) out += fmt::format("  {}: the same as MLIR text\n", path);
    for (const CompileSummary::Transpose& row : file.transposes) {
      if (is_verbose) {
        out += fmt::format("    %{}: made in order {}, read in order {}, {}\n", row.value, row.from, row.to,
                           bytes_text(row.bytes));
      }
    }
  }
  constexpr std::size_t kMaxErrors = 10;
  const std::size_t shown = is_verbose ? summary.errors.size() : std::min(kMaxErrors, summary.errors.size());
  if (shown > 0) {
    out += fmt::format(
        "  gain at the outputs if only this node is computed in {}, and its cost; SQNR of the value, SQNR of its own "
        "rounding, dB lost by sharing a scale:\n",
        summary.wider);
  }
  for (const CompileSummary::LayerError& row : std::span(summary.errors).first(shown)) {
    out += fmt::format(
        "    {:<36} {:>6} {:>6} {:5.1f}  {} %{}{}\n", row.gain ? to_text(*row.gain) : "-", db_number(row.db),
        db_number(row.rounding_db), db_of_sharing(row.rounding_db, row.alone_db), row.op, row.value,
        row.origin.empty() ? "" : fmt::format(" ({}{}{})", row.origin, row.module.empty() ? "" : " ", row.module));
  }
  if (shown < summary.errors.size())
    out += fmt::format("    and {} more; -v lists them\n", summary.errors.size() - shown);
  if (is_verbose) {
    double others = 0;
    for (const StageTime& time : summary.times) {
      if (time.of.empty()) {
        out += fmt::format("  {:>10.3f} ms  {}\n", time.seconds * 1e3, time.name);
      } else {
        others += time.seconds;
      }
    }
    if (others > 0) out += fmt::format("  {:>10.3f} ms  trials of configurations, float reference\n", others * 1e3);
  }
  return out;
}

}  // namespace isthmus
