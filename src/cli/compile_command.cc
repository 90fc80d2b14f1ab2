// isthmus check, isthmus compile
#include <fmt/format.h>

#include <memory>

#include "backends/xnnpack/thread_pool.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/open_model.h"
#include "cli/terminal.h"
#include "ir/text.h"
#include "pipeline.h"
#include "report/compile.h"

namespace isthmus {
namespace {

struct CompileOptions {
  ModelOptions model;
  std::string output;
  std::string stage;
  std::optional<std::size_t> most_delegates;
  std::size_t threads = default_threads();
  bool is_float = false;
  bool wants_json = false;
  bool is_quiet = false;
  bool is_verbose = false;
};

ExitCode verdict(const CompileOptions& options, const CompileSummary& summary) {
  const bool is_too_many = options.most_delegates && summary.delegates > *options.most_delegates;
  return is_too_many ? kExitTooManyDelegates : kExitFine;
}

// The graph after the stage at which the user wants to stop.
Expected<void> print_stage(const CompileOptions& options, const PrepareOptions& wanted, const Graph& loaded) {
  Diagnostics diagnostics;
  std::vector<StageTime> times;
  std::vector<RewriteTime> rewrites;
  if (options.stage == "load") {
    fmt::print("{}", print(loaded));
  } else if (options.stage == "canonicalize") {
    fmt::print("{}", print(TRY(canonical_graph(loaded, wanted, diagnostics, times, rewrites))));
  } else {
    const Prepared prepared = TRY(prepare(loaded, wanted, diagnostics));
    TextOptions text;
    if (options.stage == "partition") text.notes = notes_of(prepared.partitioning, wanted.backend->name);
    fmt::print("{}", print(prepared.graph, text));
  }
  print_diagnostics(diagnostics);
  return {};
}

Expected<ExitCode> check(const CompileOptions& options) {
  Diagnostics diagnostics;
  const OpenModel opened = TRY(open_model(options.model.file, diagnostics));
  const PrepareOptions wanted = TRY(prepare_options(options.model));
  if (!options.stage.empty()) {
    TRY(within(print_stage(options, wanted, opened.model.graph), options.model.file));
    return kExitFine;
  }
  const Prepared prepared = TRY(within(prepare(opened.model.graph, wanted, diagnostics), options.model.file));
  const CompileSummary summary = summarize(options.model.file, *wanted.backend, prepared, diagnostics);
  if (!options.wants_json && !options.is_quiet) print_diagnostics(diagnostics);
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  return verdict(options, summary);
}

Expected<ExitCode> compile_file(const CompileOptions& options) {
  if (!options.stage.empty()) return check(options);
  if (options.output.empty()) return bad_input("compile: where to? Give the program file's name with -o OUT.pte");
  Diagnostics diagnostics;
  const OpenModel opened = TRY(open_model(options.model.file, diagnostics));
  const PrepareOptions wanted = TRY(prepare_options(options.model));
  const Prepared prepared = TRY(within(prepare(opened.model.graph, wanted, diagnostics), options.model.file));
  CompileSummary summary = summarize(options.model.file, *wanted.backend, prepared, diagnostics);
  if (verdict(options, summary) == kExitFine) {
    const xnnpack::ThreadPool threads(options.threads);
    const Compiled compiled =
        TRY(within(compile(prepared, *wanted.backend, opened.model.examples, threads.get()), options.model.file));
    TRY(write_file(options.output, compiled.bytes));
    add_file(summary, options.output, prepared, compiled);
  }
  if (!options.wants_json && !options.is_quiet) print_diagnostics(diagnostics);
  if (options.wants_json || !options.is_quiet) {
    fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  }
  return verdict(options, summary);
}

void add_common(CLI::App& command, CompileOptions& options) {
  add_model_options(command, options.model);
  command.add_option("--max-delegates", options.most_delegates, "exit with 3 if there are more delegates");
  command.add_option("--to", options.stage, "stop after this stage and print the graph")
      ->check(CLI::IsMember({"load", "canonicalize", "legalize", "partition"}));
  command.add_flag("--json", options.wants_json, "one JSON object on standard output");
  command.add_flag("-q,--quiet", options.is_quiet, "say nothing but errors");
  command.add_flag("-v,--verbose", options.is_verbose, "also the times of the stages and what is transposed");
}

}  // namespace

Command add_check(CLI::App& app) {
  CLI::App* command = app.add_subcommand("check", "One delegate or not, and why. Needs no data and writes nothing.");
  const auto options = std::make_shared<CompileOptions>();
  add_common(*command, *options);
  command->footer(
      "Examples:\n  isthmus check model.pt2 --target xnnpack\n"
      "  isthmus check model.pt2 --target xnnpack --max-delegates 1");
  return {command, [options] { return check(*options); }};
}

Command add_compile(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("compile", "Writes the program file (.pte) that the ExecuTorch runtime loads.");
  const auto options = std::make_shared<CompileOptions>();
  add_common(*command, *options);
  command->add_flag("--float", options->is_float, "keep all numbers in float")->required();
  command->add_option("-o,--output", options->output, "the program file; an existing one is replaced when all is done");
  command->add_option("--threads", options->threads, "for the trial run of the finished file; all cores by default")
      ->check(CLI::Range(1, 1024));
  command->footer(
      "Examples:\n  isthmus compile model.pt2 --target xnnpack --float -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --float --max-batch 8 -o model.pte");
  return {command, [options] { return compile_file(*options); }};
}

}  // namespace isthmus
