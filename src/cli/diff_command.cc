// isthmus diff
#include <fmt/format.h>

#include <memory>

#include "base/bytes.h"
#include "base/untrusted_text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "evaluate/evaluation_file.h"
#include "program/anatomy/anatomy.h"
#include "report/diff/diff.h"
#include "report/eval.h"
#include "report/inspect.h"
#include "report/program.h"
#include "report/stats.h"
#include "report/tosa.h"
#include "session/open_model.h"
#include "stats/stats_file.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus {
namespace {

struct DiffOptions {
  std::string a, b;
  std::string method = "forward";
  bool wants_exit_code = false;
  CommonFlags common;
};

constexpr std::string_view kReport = "a JSON report";

bool looks_like_json(const Blob& file) {
  const std::size_t start = file.text().find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && file.text()[start] == '{';
}

Expected<void> read_program_side(DiffSide& side, const OpenFile& file, const std::string& method) {
  const pte::Program program = TRY(pte::read_program(file.bytes));
  const pte::Plan* plan = pte::find_plan(program, method);
  if (plan == nullptr) return bad_input(fmt::format("it has no method {}", shown(method)));
  side.facts = TRY(read_facts(to_json(summarize(file.path, file.bytes.size(), program, *plan))));
  side.graph = TRY(anatomy::take_apart(program, *plan));
  return {};
}

Expected<void> read_model_side(DiffSide& side, const OpenFile& file) {
  const OpenModel opened = TRY(open_model(file));
  Diagnostics diagnostics = opened.diagnostics;
  side.facts = TRY(read_facts(to_json(opened.onnx ? summarize(file.path, *opened.onnx, opened.model, diagnostics)
                                                  : summarize(file.path, opened.archive, opened.model, diagnostics))));
  // The spellings of the exporters are one op here.
  const Graph graph = TRY(within(canonicalize(opened.model.graph, diagnostics), file.path));
  side.graph = anatomy::take_apart(graph);
  side.is_model = true;
  return {};
}

Expected<void> read_side(DiffSide& side, const DiffOptions& options) {
  const Blob bytes = TRY(map_file(side.path));
  if (looks_like_json(bytes)) {
    side.kind = kReport;
    side.facts = TRY(within(read_facts(bytes.text()), side.path));
    return {};
  }
  const OpenFile file = TRY(open_file(side.path));
  side.kind = name_of(file.kind);
  switch (file.kind) {
    case FileKind::kProgram:
      return within(read_program_side(side, file, options.method), side.path);
    case FileKind::kTosa: {
      const tosa::Graph graph = TRY(within(tosa::read_graph(file.bytes), side.path));
      side.facts = TRY(read_facts(to_json(summarize(file.path, file.bytes.size(), graph))));
      side.graph = anatomy::take_apart(graph);
      return {};
    }
    case FileKind::kStatistics:
      side.statistics = TRY(within(read_stats(file.bytes), side.path));
      // Of its values the ranges are compared, and not each moment.
      for (const auto& [key, count] : {std::pair<std::string, std::uint64_t>("samples", side.statistics->samples),
                                       {"values", side.statistics->values.size()}}) {
        side.facts.rows.push_back({key, static_cast<double>(count), std::to_string(count), ""});
      }
      return {};
    case FileKind::kEvaluation: {
      EvaluationFile found = TRY(within(read_evaluation(file.bytes), side.path));
      side.facts = TRY(read_facts(to_json(EvalSummary{found.program, std::move(found.evaluation), {}})));
      return {};
    }
    case FileKind::kArchive:
    case FileKind::kOnnx:
      return read_model_side(side, file);
  }
  return {};
}

Expected<DiffSide> side_of(const std::string& path, const DiffOptions& options) {
  DiffSide side;
  side.path = path;
  TRY(read_side(side, options));
  return side;
}

Expected<ExitCode> diff(const DiffOptions& options) {
  const DiffSide a = TRY(side_of(options.a, options));
  const DiffSide b = TRY(side_of(options.b, options));
  const Difference found = TRY(difference(a, b));
  if (options.common.wants_json) {
    print_output(to_json(found));
  } else if (options.common.speaks()) {
    print_output(to_text(found, {.has_colour = stdout_has_colour()}, options.common.is_verbose));
  }
  return options.wants_exit_code && !found.is_none() ? kExitGate : kExitFine;
}

}  // namespace

Command add_diff(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "diff", "Compares two models, programs, statistics or reports: nodes, fallbacks, scales, sizes, figures.");
  const auto options = std::make_shared<DiffOptions>();
  const std::string files =
      "a model (.pt2, .onnx), program (.pte), TOSA graph (.tosa), statistics file (.stats), evaluation (.eval), the "
      "output of --json, or a baseline";
  command->add_option("A", options->a, files)->required();
  command->add_option("B", options->b, "the file to compare it with")->required();
  command->add_option("--method", options->method, "the method of .pte files")->capture_default_str();
  command->add_flag("--exit-code", options->wants_exit_code, "exit with 3 if the files differ");
  add_common_flags(*command, options->common, "print all rows of every part");
  command->footer(
      "Examples:\n  isthmus diff yesterday.pte today.pte\n  isthmus diff model.pt2 model.onnx\n"
      "  isthmus diff before.json after.json --exit-code -q");
  return {command, [options] { return diff(*options); }};
}

}  // namespace isthmus
