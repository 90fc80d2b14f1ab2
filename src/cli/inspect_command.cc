// isthmus inspect
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "evaluate/evaluation_file.h"
#include "formats/tosa/tosa.h"
#include "ir/text.h"
#include "program/anatomy/anatomy.h"
#include "report/eval.h"
#include "report/inspect.h"
#include "report/model_explorer.h"
#include "report/program.h"
#include "report/stats.h"
#include "report/tosa.h"
#include "session/open_model.h"
#include "session/stage.h"
#include "stats/stats_file.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus {
namespace {

struct InspectOptions {
  std::string file;
  std::string stage{name_of(Stage::kLoad)};
  std::optional<std::string> method;
  std::vector<std::string> skipped;  // rewrites
  CommonFlags common;
  std::string graph_form;  // --graph
  bool wants_ir = false;
  bool wants_trace = false;
};

Expected<Graph> graph_after(const InspectOptions& options, const Graph& loaded, Diagnostics& diagnostics) {
  if (options.stage == name_of(Stage::kLoad)) return loaded;
  std::vector<RewriteTime> times;
  Graph graph =
      TRY(within(canonicalize(loaded, diagnostics, {.skip = {options.skipped.begin(), options.skipped.end()}}, &times),
                 options.file));
  if (options.wants_trace) {
    for (const RewriteTime& time : times) {
      print_note(fmt::format("{:>10.3f} ms  {:<20} {} runs, {} with changes\n", time.seconds * 1e3, time.name,
                             time.runs, time.changes));
    }
  }
  return graph;
}

void print_summary(const InspectOptions& options, const std::string& json, const std::string& text) {
  if (options.common.wants_json || options.common.speaks()) print_output(options.common.wants_json ? json : text);
}

// For the tool that --graph names.
Expected<void> print_graph(const InspectOptions& options, const anatomy::Graph& graph) {
  print_output(to_model_explorer(graph, std::filesystem::path(options.file).filename().string()));
  return {};
}

Expected<void> inspect_program(const InspectOptions& options, const OpenFile& file) {
  if (options.wants_ir) return bad_input(fmt::format("{} is a program file: it has no graph to print", file.path));
  if (!options.graph_form.empty()) {
    return print_graph(options, TRY(take_apart_program(file.path, file.bytes, options.method)));
  }
  const ProgramSummary summary = TRY(summarize_program(file.path, file.bytes, options.method));
  print_summary(options, to_json(summary), to_text(summary, {.has_colour = stdout_has_colour()}));
  return {};
}

Expected<void> inspect_statistics(const InspectOptions& options, const OpenFile& file) {
  if (options.wants_ir || !options.graph_form.empty()) {
    return bad_input(fmt::format("{} holds statistics: it has no graph to print", file.path));
  }
  const Statistics statistics = TRY(within(read_stats(file.bytes), file.path));
  const StatsSummary summary{file.path, &statistics};
  print_summary(options, to_json(summary), to_text(summary));
  return {};
}

Expected<void> inspect_evaluation(const InspectOptions& options, const OpenFile& file) {
  if (options.wants_ir || !options.graph_form.empty()) {
    return bad_input(fmt::format("{} holds an evaluation: it has no graph to print", file.path));
  }
  EvaluationFile found = TRY(within(read_evaluation(file.bytes), file.path));
  const EvalSummary summary{found.program, std::move(found.evaluation), {}};
  print_summary(options, to_json(summary), to_text(summary));
  return {};
}

Expected<void> inspect_tosa(const InspectOptions& options, const OpenFile& file) {
  if (options.wants_ir)
    return bad_input(fmt::format("{} is a TOSA graph: it has no graph of ours to print", file.path));
  const tosa::Graph graph = TRY(within(tosa::read_graph(file.bytes), file.path));
  if (!options.graph_form.empty()) return print_graph(options, anatomy::take_apart(graph));
  const TosaSummary summary = summarize(file.path, file.bytes.size(), graph);
  print_summary(options, to_json(summary), to_text(summary, {.has_colour = stdout_has_colour()}));
  return {};
}

Expected<void> inspect(const InspectOptions& options) {
  const OpenFile file = TRY(open_file(options.file));
  if (file.kind == FileKind::kStatistics) return inspect_statistics(options, file);
  if (file.kind == FileKind::kEvaluation) return inspect_evaluation(options, file);
  if (file.kind == FileKind::kProgram) return inspect_program(options, file);
  if (file.kind == FileKind::kTosa) return inspect_tosa(options, file);
  const OpenModel opened = TRY(open_model(file));
  Diagnostics diagnostics = opened.diagnostics;
  if (!options.graph_form.empty()) {
    if (options.common.speaks()) print_diagnostics(diagnostics);
    return print_graph(options, anatomy::take_apart(opened.model.graph));
  }
  if (options.wants_ir) {
    const Graph graph = TRY(graph_after(options, opened.model.graph, diagnostics));
    if (options.common.speaks()) print_diagnostics(diagnostics);
    print_output(print(graph));
    return {};
  }
  if (options.common.speaks()) print_diagnostics(diagnostics);
  const ModelSummary summary = opened.onnx ? summarize(options.file, *opened.onnx, opened.model, diagnostics)
                                           : summarize(options.file, opened.archive, opened.model, diagnostics);
  print_summary(options, to_json(summary), to_text(summary, {.has_colour = stdout_has_colour()}));
  return {};
}

}  // namespace

Command add_inspect(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect",
                                         "Shows the content of a .pt2, .onnx, .pte, .tosa, .stats or .eval file: "
                                         "inputs, outputs, operators, delegates, memory.");
  const auto options = std::make_shared<InspectOptions>();
  command
      ->add_option("FILE", options->file,
                   "a torch.export archive (.pt2), an ONNX model (.onnx), a program file (.pte), a TOSA graph "
                   "(.tosa), statistics (.stats) or an evaluation (.eval)")
      ->required();
  add_common_flags(*command, options->common);
  CLI::Option* ir = command->add_flag("--ir", options->wants_ir, "print the graph, one node per line")
                        ->excludes(command->get_option("--json"));
  const CLI::Validator stages =
      one_of({std::string(name_of(Stage::kLoad)), std::string(name_of(Stage::kCanonicalize))});
  command->add_option("--stop-after", options->stage, "with --ir: print the graph after this stage")
      ->check(stages)
      ->needs(ir);
  add_hidden_alias(*command, "--to", options->stage)->check(stages)->needs(ir);
  command
      ->add_option("--skip", options->skipped,
                   "with --stop-after: skip this rewrite (--trace lists them); may be repeated")
      ->needs(ir)
      ->allow_extra_args(false);
  command->add_flag("--trace", options->wants_trace, "with --ir: print the time of each rewrite to standard error")
      ->needs(ir);
  command->add_option("--method", options->method, "the method of a .pte file")->excludes(ir);
  command
      ->add_option("--graph", options->graph_form,
                   "print the graph for another tool; json: the format of Google's Model Explorer")
      ->check(one_of({"json"}))
      ->excludes(ir)
      ->excludes(command->get_option("--json"));
  command->footer(
      "Examples:\n  isthmus inspect model.pt2\n  isthmus inspect model.pte --json\n"
      "  isthmus inspect model.pt2 --graph json > model.json\n"
      "  isthmus inspect model.pt2 --ir --stop-after canonicalize");
  return {command, [options] { return fine(inspect(*options)); }};
}

}  // namespace isthmus
