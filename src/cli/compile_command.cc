// isthmus check, isthmus compile
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/calibration.h"
#include "cli/commands.h"
#include "cli/float_reference.h"
#include "cli/model_options.h"
#include "cli/open_model.h"
#include "cli/quant_options.h"
#include "cli/terminal.h"
#include "evaluate/layer_errors.h"
#include "ir/text.h"
#include "pipeline.h"
#include "report/compile.h"

namespace isthmus {
namespace {

struct CompileOptions {
  ModelOptions model;
  DataOptions samples;
  QuantOptions quant;
  std::string output;
  std::string stage;
  std::optional<std::size_t> most_delegates;
  std::size_t threads = default_threads();
  bool is_float = false;
  bool wants_errors = false;
  bool wants_json = false;
  bool is_quiet = false;
  bool is_verbose = false;
};

ExitCode verdict(const CompileOptions& options, const CompileSummary& summary) {
  const bool is_too_many = options.most_delegates && summary.delegates > *options.most_delegates;
  return is_too_many ? kExitTooManyDelegates : kExitFine;
}

// A model on its way: what `check` and `compile` have in common.
struct Journey {
  OpenModel opened;
  PrepareOptions wanted;
  QuantConfig config;
  Diagnostics diagnostics;
  std::optional<Prepared> prepared;
  std::optional<Statistics> statistics;
  std::optional<QuantizedModel> quantized;

  const BackendDesc& backend() const { return *wanted.backend; }
};

Expected<Journey> start(const CompileOptions& options) {
  Diagnostics diagnostics;
  OpenModel opened = TRY(open_model(options.model.file, diagnostics));
  return Journey{std::move(opened), TRY(prepare_options(options.model)), TRY(config_of(options.quant)),
                 std::move(diagnostics), std::nullopt, std::nullopt, std::nullopt};
}

// Without data where `check` asks, with them where `compile` does.
Expected<void> travel(const CompileOptions& options, bool with_data, Journey& journey) {
  const Graph& loaded = journey.opened.model.graph;
  journey.prepared = TRY(within(prepare(loaded, journey.wanted, journey.diagnostics), options.model.file));
  if (options.is_float) return {};
  if (with_data) {
    const xnnpack::ThreadPool threads(options.threads);
    const auto begin = std::chrono::steady_clock::now();
    journey.statistics = TRY(gather_statistics(options.samples, options.model.file, journey.opened.model,
                                               *journey.prepared, threads, journey.diagnostics));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    journey.prepared->times.push_back({"calibrate", elapsed.count()});
  }
  const Statistics* known = journey.statistics ? &*journey.statistics : nullptr;
  journey.quantized = TRY(within(
      quantize(*journey.prepared, journey.backend(), known, journey.config, journey.diagnostics), options.model.file));
  return {};
}

CompileSummary summary_of(const CompileOptions& options, const Journey& journey) {
  return summarize(options.model.file, journey.backend(), *journey.prepared,
                   journey.quantized ? &*journey.quantized : nullptr, journey.diagnostics);
}

// The graph after the stage at which the user wants to stop.
Expected<void> print_stage(const CompileOptions& options, bool with_data, Journey& journey) {
  std::vector<StageTime> times;
  std::vector<RewriteTime> rewrites;
  const Graph& loaded = journey.opened.model.graph;
  if (options.stage == "load") {
    fmt::print("{}", print(loaded));
  } else if (options.stage == "canonicalize") {
    fmt::print("{}", print(TRY(canonical_graph(loaded, journey.wanted, journey.diagnostics, times, rewrites))));
  } else if (options.stage == "legalize") {
    fmt::print("{}", print(TRY(prepare(loaded, journey.wanted, journey.diagnostics)).graph));
  } else {
    TRY(travel(options, with_data, journey));
    const Graph& graph = journey.quantized ? journey.quantized->quantized.graph : journey.prepared->graph;
    const Partitioning& places = journey.quantized ? journey.quantized->partitioning : journey.prepared->partitioning;
    TextOptions text;
    if (options.stage == "partition") text.notes = notes_of(places, journey.backend().name);
    fmt::print("{}", print(graph, text));
  }
  print_diagnostics(journey.diagnostics);
  return {};
}

Expected<ExitCode> check(const CompileOptions& options) {
  Journey journey = TRY(start(options));
  if (!options.stage.empty()) {
    TRY(within(print_stage(options, false, journey), options.model.file));
    return kExitFine;
  }
  TRY(travel(options, false, journey));
  const CompileSummary summary = summary_of(options, journey);
  if (!options.wants_json && !options.is_quiet) print_diagnostics(journey.diagnostics);
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  return verdict(options, summary);
}

// How far the finished file is from the model in float, on a few of the samples.
Expected<void> compare(const CompileOptions& options, const Journey& journey, const Compiled& compiled,
                       pthreadpool* threads, CompileSummary::File& file) {
  constexpr std::size_t kMostCompared = 8;
  Diagnostics ignored;
  DataOptions few = options.samples;
  if (few.data.ends_with(".stats")) few.data.clear();
  few.most = std::min(few.most.value_or(kMostCompared), kMostCompared);
  const auto samples =
      TRY(samples_of(few, options.model.file, journey.opened.model, *journey.prepared, ignored));
  const Runner reference = TRY(float_runner(*journey.prepared, journey.opened.model, threads));
  const Runner program = TRY(program_runner(Blob(compiled.bytes, nullptr), threads));
  const Evaluation evaluation = TRY(evaluate(reference, program, *samples, {}));
  for (std::size_t i = 0; i < evaluation.outputs.size(); ++i) {
    file.sqnr.push_back({fmt::format("output_{}", i), evaluation.outputs[i].db()});
  }
  file.compared_samples = evaluation.samples;
  file.samples = journey.statistics->samples;
  return {};
}

// What each value lost, on the reference kernels.
Expected<void> add_errors(const CompileOptions& options, const Journey& journey, CompileSummary& summary) {
  constexpr std::size_t kMostSamples = 4;
  Diagnostics ignored;
  DataOptions few = options.samples;
  if (few.data.ends_with(".stats")) few.data.clear();
  const auto samples =
      TRY(samples_of(few, options.model.file, journey.opened.model, *journey.prepared, ignored));
  const auto errors = TRY(layer_errors(journey.quantized->model, journey.quantized->quantized, journey.quantized->plan,
                                       journey.backend(), *samples, kMostSamples));
  add_layer_errors(summary, journey.quantized->model, errors);
  return {};
}

Expected<ExitCode> compile_file(const CompileOptions& options) {
  Journey journey = TRY(start(options));
  if (!options.stage.empty()) {
    TRY(within(print_stage(options, true, journey), options.model.file));
    return kExitFine;
  }
  if (options.output.empty()) return bad_input("compile: where to? Give the program file's name with -o OUT.pte");
  TRY(travel(options, true, journey));
  CompileSummary summary = summary_of(options, journey);
  if (verdict(options, summary) == kExitFine) {
    const xnnpack::ThreadPool threads(options.threads);
    const Graph& graph = journey.quantized ? journey.quantized->quantized.graph : journey.prepared->graph;
    const Partitioning& places = journey.quantized ? journey.quantized->partitioning : journey.prepared->partitioning;
    const Compiled compiled =
        TRY(within(compile(graph, places, journey.backend(), journey.opened.model.examples, threads.get()),
                   options.model.file));
    add_file(summary, options.output, graph, compiled);
    if (journey.quantized) TRY(compare(options, journey, compiled, threads.get(), *summary.file));
    if (journey.quantized && options.wants_errors) TRY(add_errors(options, journey, summary));
    TRY(write_file(options.output, compiled.bytes));
  }
  if (!options.wants_json && !options.is_quiet) print_diagnostics(journey.diagnostics);
  if (options.wants_json || !options.is_quiet) {
    fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, options.is_verbose));
  }
  return verdict(options, summary);
}

void add_common(CLI::App& command, CompileOptions& options) {
  add_model_options(command, options.model);
  add_quant_options(command, options.quant);
  command.add_flag("--float", options.is_float, "keep all numbers in float");
  command.add_option("--max-delegates", options.most_delegates, "exit with 3 if there are more delegates");
  command.add_option("--to", options.stage, "stop after this stage and print the graph")
      ->check(CLI::IsMember({"load", "canonicalize", "legalize", "quantize", "partition"}));
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
  command->add_option("--calibrate", options->samples.data,
                      "an .npz with one array per input (its first axis counts samples), a folder of .npy and .npz "
                      "files, or a .stats file of `isthmus calibrate`; without it, the archive's examples");
  command->add_option("--samples", options->samples.most, "at most so many samples")->check(CLI::PositiveNumber);
  command->add_flag("--errors", options->wants_errors, "what each value loses by quantization, the worst first");
  command->add_option("-o,--output", options->output, "the program file; an existing one is replaced when all is done");
  command->add_option("--threads", options->threads, "for calibration and the trial run; all cores by default")
      ->check(CLI::Range(1, 1024));
  command->footer(
      "Examples:\n  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz --config quant.toml -o model.pte\n"
      "  isthmus compile model.pt2 --target xnnpack --float --max-batch 8 -o model.pte");
  return {command, [options] { return compile_file(*options); }};
}

}  // namespace isthmus
