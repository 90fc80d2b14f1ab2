// isthmus check, isthmus compile
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "report/compile.h"
#include "session/artifacts.h"
#include "session/session.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

struct CompileOptions {
  SessionFlags session;
  std::string output;
  std::string stage;
  std::string tosa_folder, mlir_folder;
  std::optional<std::size_t> max_delegates;
  bool wants_errors = false;
  bool wants_json = false;
  bool is_quiet = false;
  bool is_verbose = false;

  const std::string& file() const { return session.model.file; }
};

ExitCode verdict(const CompileOptions& options, const CompileSummary& summary) {
  const bool is_too_many = options.max_delegates && summary.delegates > *options.max_delegates;
  return is_too_many ? kExitTooManyDelegates : kExitFine;
}

// The graph after the stage at which the user wants to stop.
Expected<ExitCode> print_stage(const CompileOptions& options, WithData with_data, Session& session) {
  fmt::print("{}", TRY(session.text_after(*find_stage(options.stage), with_data)));
  print_diagnostics(session.diagnostics());
  return kExitFine;
}

Expected<ExitCode> check(const CompileOptions& options) {
  Session session = TRY(open_session(options.session));
  if (!options.stage.empty()) return print_stage(options, WithData::kNo, session);
  TRY(session.place(WithData::kNo));
  const CompileSummary summary = summarize(session);
  if (!options.wants_json && !options.is_quiet) print_diagnostics(session.diagnostics());
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  TRY(session.demand_runnable());
  return verdict(options, summary);
}

// Of all delegates, as FOLDER/<model>_<number>.<ending>.
Expected<std::vector<std::string>> write_artifacts(const ArtifactKind& kind, const std::string& folder_name,
                                                   const Session& session) {
  std::vector<std::string> paths;
  if (folder_name.empty()) return paths;
  const std::filesystem::path folder = folder_name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::kEnvironment, fmt::format("{}: {}", folder_name, error.message()));
  const std::string stem = std::filesystem::path(session.file()).stem().string();
  for (const Blob& content : TRY(make_artifacts(kind, session.compiled(), session.target().name))) {
    paths.push_back((folder / fmt::format("{}_{}.{}", stem, paths.size(), kind.ending)).string());
    TRY(write_file(paths.back(), content.bytes()));
  }
  return paths;
}

Expected<ExitCode> compile_file(const CompileOptions& options) {
  Session session = TRY(open_session(options.session));
  if (!options.stage.empty()) return print_stage(options, WithData::kYes, session);
  if (options.output.empty()) return bad_input("compile: where to? Give the program file's name with -o OUT.pte");
  TRY(session.place(WithData::kYes));
  TRY(session.demand_runnable());
  CompileSummary summary = summarize(session);
  if (verdict(options, summary) == kExitFine) {
    TRY(session.compile());
    add_file(summary, options.output, session);
    if (session.quantized() != nullptr && options.wants_errors) {
      add_layer_errors(summary, session.quantized()->model, TRY(session.layer_errors()));
    }
    summary.file->tosa_files = TRY(write_artifacts(kTosaFile, options.tosa_folder, session));
    summary.file->mlir_files = TRY(write_artifacts(kMlirFile, options.mlir_folder, session));
    TRY(write_file(options.output, session.compiled().bytes));
  }
  if (!options.wants_json && !options.is_quiet) print_diagnostics(session.diagnostics());
  if (options.wants_json || !options.is_quiet) {
    fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  }
  return verdict(options, summary);
}

void add_common(CLI::App& command, CompileOptions& options) {
  add_session_options(command, options.session);
  command.add_option("--max-delegates", options.max_delegates, "exit with 3 if there are more delegates");
  std::vector<std::string> stages;
  for (const StageRow& row : isthmus::stages()) {
    if (row.has_graph) stages.emplace_back(row.name);
  }
  command.add_option("--to", options.stage, "stop after this stage and print the graph")->check(CLI::IsMember(stages));
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
      app.add_subcommand("compile", "Quantizes a model and writes the program file (.pte) that ExecuTorch loads.");
  const auto options = std::make_shared<CompileOptions>();
  add_common(*command, *options);
  add_calibration_options(*command, options->session, "the archive's examples");
  command
      ->add_option("--input-layout", options->session.input_layouts,
                   "nhwc: image inputs lie channels-last in memory and are not transposed; NAME=nhwc for one of them")
      ->allow_extra_args(false);
  for (const FinishingStep* step : all_finishing_steps()) {
    for (const FinishOption& option : step->options) {
      const std::string name(option.name);
      command->add_option(name, options->session.finish[name], std::string(option.help));
    }
  }
  command->add_option("--emit-tosa", options->tosa_folder,
                      "a folder for the TOSA graph of each delegate, as <model>_<number>.tosa");
  command->add_option("--emit-mlir", options->mlir_folder,
                      "the same as text of MLIR's tosa dialect, as <model>_<number>.mlir");
  command->add_flag("--errors", options->wants_errors, "what each value loses by quantization, the worst first");
  command->add_option("-o,--output", options->output, "the program file; an existing one is replaced when all is done");
  command->footer(
      "Examples:\n  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz --config quant.toml -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz --input-layout nhwc -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --float --max-batch 8 -o model.pte");
  return {command, [options] { return compile_file(*options); }};
}

}  // namespace isthmus
