// isthmus check, isthmus compile
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "cli/commands.h"
#include "session/runners.h"
#include "session/input_layout.h"
#include "session/session.h"
#include "cli/terminal.h"
#include "formats/tosa/tosa.h"
#include "formats/tosa/tosa_mlir.h"
#include "ir/text.h"
#include "session/stages.h"
#include "report/compile.h"
#include "targets/registry.h"

namespace isthmus {
namespace {

struct CompileOptions {
  JourneyOptions journey;
  std::string output;
  std::vector<std::string> input_layouts;
  std::string stage;
  std::string tosa_folder, mlir_folder;
  FinishSettings finish;  // of the steps of all targets
  std::optional<std::size_t> most_delegates;
  bool wants_errors = false;
  bool wants_json = false;
  bool is_quiet = false;
  bool is_verbose = false;

  const std::string& file() const { return journey.model.file; }
};

ExitCode verdict(const CompileOptions& options, const CompileSummary& summary) {
  const bool is_too_many = options.most_delegates && summary.delegates > *options.most_delegates;
  return is_too_many ? kExitTooManyDelegates : kExitFine;
}

// The graph after the stage at which the user wants to stop.
Expected<void> print_stage(const CompileOptions& options, bool with_data, Journey& journey) {
  std::vector<StageTime> times;
  std::vector<RewriteTime> rewrites;
  const Graph& loaded = journey.opened.model.graph;
  const Stage stage = *find_stage(options.stage);
  if (stage == Stage::kLoad) {
    fmt::print("{}", print(loaded));
  } else if (stage == Stage::kCanonicalize) {
    fmt::print("{}", print(TRY(canonical_graph(loaded, journey.wanted, journey.diagnostics, times, rewrites))));
  } else if (stage == Stage::kLegalize) {
    fmt::print("{}", print(TRY(prepare(loaded, journey.wanted, journey.diagnostics)).graph));
  } else {
    TRY(travel(options.journey, with_data, journey));
    TextOptions text;
    if (stage == Stage::kPartition) text.notes = notes_of(journey.places(), journey.target().name);
    fmt::print("{}", print(journey.graph(), text));
  }
  print_diagnostics(journey.diagnostics);
  return {};
}

Expected<ExitCode> check(const CompileOptions& options) {
  Journey journey = TRY(start(options.journey));
  if (!options.stage.empty()) {
    TRY(within(print_stage(options, false, journey), options.file()));
    return kExitFine;
  }
  TRY(travel(options.journey, false, journey));
  const CompileSummary summary = summary_of(options.journey, journey);
  if (!options.wants_json && !options.is_quiet) print_diagnostics(journey.diagnostics);
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  TRY(demand_runnable(options.journey, journey));
  return verdict(options, summary);
}

// How far the finished file is from the model in float, on samples that calibration did not see.
Expected<void> compare(const Journey& journey, const Compiled& compiled, std::size_t threads,
                       CompileSummary::File& file) {
  file.samples = journey.statistics ? journey.statistics->samples : 0;
  file.held_out = journey.held_out.what;
  file.why_no_figure = journey.held_out.why_none;
  if (journey.held_out.samples.empty()) return {};
  const auto samples = given_samples(journey.held_out.samples);
  const RunnerMaker reference = TRY(float_runners(*journey.prepared, journey.opened.model));
  const RunnerMaker program = program_runners(Blob(compiled.runnable(), nullptr), &journey.quantized->quantized.graph);
  const bool has_states = !journey.prepared->graph.states().empty();
  const Evaluation evaluation = TRY(evaluate_side_by_side(reference, program, *samples, {}, has_states ? 1 : threads));
  for (std::size_t i = 0; i < evaluation.outputs.size(); ++i) {
    file.sqnr.push_back({fmt::format("output_{}", i), evaluation.outputs[i].db()});
  }
  file.held_out_samples = evaluation.samples;
  return {};
}

// The target's finishing step, where it is wanted or at hand; nothing where the delegates stay as they are.
Expected<std::optional<Finisher>> finisher_for(const TargetDesc& target, const FinishSettings& settings) {
  for (const FinishingStep* step : all_finishing_steps()) {
    for (const FinishOption& option : step->options) {
      const bool is_demanded = option.demands_step && !setting_of(settings, option).empty();
      if (!is_demanded || step == target.finish) continue;
      return bad_input(fmt::format("{}: it compiles nothing for {}", option.name, target.name));
    }
  }
  if (target.finish == nullptr) return std::optional<Finisher>();
  return target.finish->prepare(target.name, settings);
}

// A form of each delegate that the user may want beside the program.
struct ArtifactKind {
  std::string_view flag;
  std::string_view ending;
  Expected<Blob> (*make)(const Blob& delegate);
};
constexpr ArtifactKind kTosaFile{"--emit-tosa", "tosa",
                                 [](const Blob& delegate) -> Expected<Blob> { return delegate; }};
constexpr ArtifactKind kMlirFile{"--emit-mlir", "mlir", [](const Blob& delegate) -> Expected<Blob> {
                                   const tosa::Graph graph = TRY(tosa::read_graph(delegate));
                                   const std::string text = tosa::to_mlir(graph);
                                   const auto bytes = std::as_bytes(std::span(text));
                                   return Blob::owning(std::vector<std::byte>(bytes.begin(), bytes.end()));
                                 }};

// Of all delegates, as FOLDER/<model>_<number>.<ending>.
Expected<std::vector<std::string>> write_artifacts(const ArtifactKind& kind, const std::string& folder_name,
                                                   const CompileOptions& options, const Compiled& compiled) {
  std::vector<std::string> paths;
  if (folder_name.empty()) return paths;
  const std::filesystem::path folder = folder_name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::kEnvironment, fmt::format("{}: {}", folder_name, error.message()));
  const std::string stem = std::filesystem::path(options.file()).stem().string();
  for (const DelegateSummary& delegate : compiled.delegates) {
    if (!tosa::looks_like_graph(delegate.blob)) {
      return bad_input(
          fmt::format("{}: delegates for {} hold no TOSA graphs", kind.flag, options.journey.model.target));
    }
    paths.push_back((folder / fmt::format("{}_{}.{}", stem, paths.size(), kind.ending)).string());
    const Blob content = TRY(kind.make(delegate.blob));
    TRY(write_file(paths.back(), content.bytes()));
  }
  return paths;
}

Expected<ExitCode> compile_file(const CompileOptions& options) {
  Journey journey = TRY(start(options.journey));
  if (!options.stage.empty()) {
    TRY(within(print_stage(options, true, journey), options.file()));
    return kExitFine;
  }
  if (options.output.empty()) return bad_input("compile: where to? Give the program file's name with -o OUT.pte");
  const std::optional<Finisher> finisher = TRY(finisher_for(journey.target(), options.finish));
  TRY(travel(options.journey, true, journey));
  TRY(demand_runnable(options.journey, journey));
  CompileSummary summary = summary_of(options.journey, journey);
  if (verdict(options, summary) == kExitFine) {
    const std::vector<Order> orders = TRY(input_orders(journey.graph(), options.input_layouts));
    const bool is_compiled = journey.compiled && !finisher && options.input_layouts.empty();
    const Compiled compiled =
        is_compiled
            ? *std::exchange(journey.compiled, std::nullopt)
            : TRY(within(compile(journey.graph(), journey.places(), journey.target(), journey.opened.model.examples,
                                 nullptr, finisher ? &*finisher : nullptr, orders),
                         options.file()));
    add_file(summary, options.output, journey.graph(), compiled);
    if (journey.quantized) TRY(compare(journey, compiled, options.journey.threads, *summary.file));
    if (journey.quantized && options.wants_errors) {
      add_layer_errors(summary, journey.quantized->model, TRY(errors_of(options.journey, journey)));
    }
    summary.file->tosa_files = TRY(write_artifacts(kTosaFile, options.tosa_folder, options, compiled));
    summary.file->mlir_files = TRY(write_artifacts(kMlirFile, options.mlir_folder, options, compiled));
    TRY(write_file(options.output, compiled.bytes));
  }
  if (!options.wants_json && !options.is_quiet) print_diagnostics(journey.diagnostics);
  if (options.wants_json || !options.is_quiet) {
    fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  }
  return verdict(options, summary);
}

void add_common(CLI::App& command, CompileOptions& options) {
  add_journey_options(command, options.journey);
  command.add_option("--max-delegates", options.most_delegates, "exit with 3 if there are more delegates");
  std::vector<std::string> stages;
  for (const Stage stage : stages_with_graph()) stages.emplace_back(name_of(stage));
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
  add_data_options(*command, options->journey, "the archive's examples");
  command
      ->add_option("--input-layout", options->input_layouts,
                   "nhwc: image inputs lie channels-last in memory and are not transposed; NAME=nhwc for one of them")
      ->allow_extra_args(false);
  for (const FinishingStep* step : all_finishing_steps()) {
    for (const FinishOption& option : step->options) {
      const std::string name(option.name);
      command->add_option(name, options->finish[name], std::string(option.help));
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
