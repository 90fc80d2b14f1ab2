// isthmus check, isthmus compile
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/output_file.h"
#include "cli/ci_options.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/contradictions.h"
#include "cli/report_option.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "report/compile.h"
#include "report/debug_map.h"
#include "report/gates.h"
#include "session/artifacts.h"
#include "session/session.h"

namespace isthmus {
namespace {

struct CompileOptions {
  SessionFlags session;
  std::string output;
  std::string stage;
  std::string tosa_folder, mlir_folder;
  Gates gates;
  CiOptions ci;
  std::string report;
  std::string debug_map;
  bool wants_errors = false;
  CommonFlags common;

  const std::string& file() const { return session.model.file; }
};

// Says which gates are not met, also where it is to be quiet.
ExitCode verdict(const CompileSummary& summary) {
  for (const std::string& sentence : summary.broken_gates) print_error(Error(ErrorKind::kUnsupported, sentence));
  return summary.broken_gates.empty() ? kExitFine : kExitGate;
}

void print_summary(const CompileOptions& options, const Session& session, const CompileSummary& summary) {
  if (options.common.speaks()) {
    print_diagnostics(session.diagnostics());
    print_output(to_text(summary, options.common.is_verbose, {.has_colour = stdout_has_colour()}));
  } else if (options.common.wants_json) {
    print_output(to_json(summary));
  }
}

// The graph after the stage at which the user wants to stop.
Expected<ExitCode> print_stage(const CompileOptions& options, WithData with_data, Session& session) {
  print_output(TRY(session.text_after(*find_stage(options.stage), with_data)));
  if (options.common.speaks()) print_diagnostics(session.diagnostics());
  return kExitFine;
}

Expected<void> demand_reports_writable(const CompileOptions& options) {
  const std::vector<std::string> inputs{options.file(), options.session.data.path, options.session.quant.file};
  std::vector<std::string> paths = options.ci.outputs();
  paths.push_back(options.report);
  paths.push_back(options.debug_map);
  for (const std::string& path : paths) {
    if (!path.empty()) TRY(demand_writable(path, inputs));
  }
  return {};
}

Expected<ExitCode> check(const CompileOptions& options) {
  if (const auto mistake = contradiction_of(options.session)) return usage_error(*mistake, options.common);
  TRY(demand_reports_writable(options));
  Session session = TRY(open_session(options.session));
  if (!options.stage.empty()) return print_stage(options, WithData::kNo, session);
  TRY(session.place(WithData::kNo));
  CompileSummary summary = summarize(session);
  const Expected<void> runnable = session.demand_runnable();
  if (!runnable) summary.error = runnable.error();
  summary.broken_gates = broken_gates(summary, options.gates);
  TRY(compare_with_baseline(options.ci, summary));
  TRY(write_ci_files(options.ci, session, summary));
  TRY(write_report(options.report, summary, session));
  print_summary(options, session, summary);
  TRY(runnable);
  return verdict(summary);
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
  if (const auto mistake = contradiction_of(options.session)) return usage_error(*mistake, options.common);
  if (options.session.is_float && options.wants_errors) {
    return usage_error("--layer-errors and --float exclude each other: a float model has no rounding errors",
                       options.common);
  }
  if (options.stage.empty()) {
    if (options.output.empty()) return usage_error("compile: missing output path: -o OUT.pte", options.common);
    const std::vector<std::string> inputs{options.file(), options.session.data.path, options.session.quant.file};
    TRY(demand_writable(options.output, inputs));
  }
  TRY(demand_reports_writable(options));
  Session session = TRY(open_session(options.session));
  if (!options.stage.empty()) return print_stage(options, WithData::kYes, session);
  TRY(session.place(WithData::kYes));
  TRY(session.demand_runnable());
  CompileSummary summary = summarize(session);
  summary.broken_gates = broken_gates(summary, options.gates);
  std::vector<ValueError> errors;
  if (summary.broken_gates.empty()) {
    TRY(session.compile());
    add_file(summary, options.output, session);
    if (session.quantized() != nullptr && options.wants_errors) {
      errors = TRY(session.layer_errors());
      add_layer_errors(summary, session.quantized()->model, errors, TRY(session.node_gains()));
    }
    summary.file->tosa_files = TRY(write_artifacts(kTosaFile, options.tosa_folder, session));
    summary.file->mlir_files = TRY(write_artifacts(kMlirFile, options.mlir_folder, session));
    TRY(compare_with_baseline(options.ci, summary));
    if (summary.broken_gates.empty()) TRY(write_file(options.output, session.compiled().bytes));
    if (summary.broken_gates.empty() && !options.debug_map.empty()) {
      const std::string map = debug_map(session);
      TRY(write_file(options.debug_map, std::as_bytes(std::span(map))));
    }
  }
  TRY(write_ci_files(options.ci, session, summary));
  TRY(write_report(options.report, summary, session, std::move(errors)));
  print_summary(options, session, summary);
  return verdict(summary);
}

void add_common(CLI::App& command, CompileOptions& options) {
  add_session_options(command, options.session);
  add_session_limits(command, options.session);
  command
      .add_option("--max-delegates", options.gates.max_delegates,
                  "exit with 3 if there are more than N delegates, or none")
      ->check(at_least(0));
  command
      .add_option("--max-host-ops", options.gates.max_host_ops,
                  "exit with 3 if more than N operators run on the CPU; quantize and dequantize at inputs and outputs "
                  "do not count")
      ->check(at_least(0));
  command.add_flag("--require-full-delegation", options.gates.requires_full_delegation,
                   "exit with 3 unless every operator runs on the target");
  add_ci_options(command, options.ci);
  add_report_option(command, options.report);
  std::vector<std::string> stages;
  for (const StageRow& row : isthmus::stages()) {
    if (row.has_graph) stages.emplace_back(row.name);
  }
  command.add_option("--stop-after", options.stage, "stop after this stage and print the graph")->check(one_of(stages));
  add_hidden_alias(command, "--to", options.stage)->check(one_of(stages));
  add_common_flags(command, options.common, "also print the times of the stages and the transposes");
}

}  // namespace

Command add_check(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("check", "Reports where each operator runs, and why. Needs no data and writes no program.");
  const auto options = std::make_shared<CompileOptions>();
  add_common(*command, *options);
  command->footer(
      "Examples:\n  isthmus check model.pt2 --target xnnpack\n"
      "  isthmus check model.pt2 --target xnnpack --require-full-delegation\n"
      "  isthmus check model.pt2 --target xnnpack --baseline model.lock --sarif isthmus.sarif\n"
      "  isthmus check model.pt2 --target xnnpack --report report.html");
  return {command, [options] { return check(*options); }};
}

Command add_compile(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("compile", "Quantizes a model and writes the program file (.pte) that ExecuTorch loads.");
  const auto options = std::make_shared<CompileOptions>();
  add_common(*command, *options);
  add_calibration_options(*command, options->session, "the example inputs of the model");
  add_program_file_options(*command, options->session);
  command->add_option("--emit-tosa", options->tosa_folder,
                      "write the TOSA graph of each delegate to this folder, as <model>_<number>.tosa");
  command->add_option("--emit-mlir", options->mlir_folder,
                      "write it as MLIR text (tosa dialect) to this folder, as <model>_<number>.mlir");
  command->add_option("--debug-map", options->debug_map,
                      "write JSON that maps each instruction and delegate operator, as ExecuTorch's profiler numbers "
                      "them, to nodes and source lines");
  command->add_flag("--layer-errors", options->wants_errors,
                    "print the quantization error of each value; nodes that would improve the outputs most in higher "
                    "precision come first");
  command->add_flag("--errors", options->wants_errors)->group("");
  command->add_option("-o,--output", options->output,
                      "the program file to write; an existing file is replaced only on success");
  command->footer(
      "Examples:\n  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz --config quant.toml -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz --input-layout nhwc -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz --report report.html -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz --debug-map map.json -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --float --max-batch 8 -o model.pte");
  return {command, [options] { return compile_file(*options); }};
}

}  // namespace isthmus
